package wire

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// Beginnings are the requests that led to a history: its first messages, and what stands
// beside the list. They take turns in a few buffers, so that only what is new is copied, and
// share the history's index where nothing reaches beyond their end. They are for one
// goroutine.
type Beginnings struct {
	whole  *Request
	o      Options
	prof   Profile
	t      *transcript.Beginnings // nil: each one is read
	notes  []int                  // by number of messages: how many notes are about them, or about what stands in front of the list
	behind []note                 // those about what stands behind it
	bufs   []buffer
	next   int
	lore   *lore
	copied int // bytes, in all
}

// A buffer holds the first bytes of the history, and what stands behind the list.
type buffer struct {
	raw   []byte
	upTo  int      // those that are of the history
	holds *Request // nil: none that shares the history's index
}

// A lore is what was learned of the blocks of a history.
type lore struct {
	blocks []transcript.Block
	ids    func() bool // whether each call has one of its own
	mu     sync.Mutex
	of     map[any]any
}

func newLore(blocks []transcript.Block) *lore {
	return &lore{of: make(map[any]any), blocks: blocks, ids: sync.OnceValue(func() bool {
		seen := make(map[string]bool)
		for i := range blocks {
			if b := &blocks[i]; b.Kind == transcript.Call && b.CallID != "" {
				if seen[b.CallID] {
					return false
				}
				seen[b.CallID] = true
			}
		}
		return true
	})}
}

// ownIDs reports whether no two calls of a request are known to have one id, since none of the
// history do that it is a beginning of, or made of one.
func (r *Request) ownIDs() bool {
	if r.loose != nil {
		r = r.loose.of
	}
	return r.lore != nil && r.lore.ids()
}

// Lore returns what was learned under a key of the blocks of a history that r is a beginning
// of: what is true of a block in one beginning is true in all, since they are the same
// bytes in one index. The first one to ask makes it, for so many blocks. Nil: r is no
// beginning, or one with an index of its own. Many goroutines may ask, and get the same.
func (r *Request) Lore(key any, first func(blocks int) any) any {
	if r.lore == nil {
		return nil
	}
	r.lore.mu.Lock()
	defer r.lore.mu.Unlock()
	known, ok := r.lore.of[key]
	if !ok {
		known = first(len(r.lore.blocks))
		r.lore.of[key] = known
	}
	return known
}

// Beginnings returns the beginnings of r, as if each had been parsed with the options. At
// any time so many are in use, at least three.
func (r *Request) Beginnings(o Options, inUse int) (*Beginnings, error) {
	r = r.gathered()
	b := &Beginnings{whole: r, o: o, bufs: make([]buffer, max(inUse, 3)), lore: newLore(r.t.Blocks())}
	b.o.Dialect = r.Dialect
	var err error
	if b.prof, err = ResolveProfile(r.Dialect, o.Profile, r.head.model); err != nil {
		return nil, err
	}
	if !o.Structural || len(r.flaws) > 0 || r.head.listKind != jsonspan.Array || slices.ContainsFunc(r.notes, note.declares) {
		return b, nil
	}
	b.notes = make([]int, len(r.t.Messages())+1)
	at, list := r.listNotes, r.notes[r.listNotes:]
	for i := range b.notes {
		for len(list) > 0 && list[0].message >= 0 && int(list[0].message) < i {
			at, list = at+1, list[1:]
		}
		b.notes[i] = at
	}
	if b.behind = list; slices.ContainsFunc(list, func(n note) bool { return n.message >= 0 }) {
		return b, nil // not in order
	}
	b.t = r.t.Beginnings()
	return b, nil
}

// At returns the request of the first n messages; there must be some. Its bytes are used
// again as soon as so many others have been asked for as are in use, so nobody may keep it.
func (b *Beginnings) At(n int) (*Request, error) {
	buf := &b.bufs[b.next]
	b.next = (b.next + 1) % len(b.bufs)
	raw := b.body(buf, n)
	known := b.sound(n)
	buf.holds = nil
	if b.t != nil {
		if t, ok := b.t.At(n, raw); ok {
			r := b.shared(n, raw, t)
			r.sound, buf.holds = known, r
			if proveCarried {
				fresh, err := Parse(slices.Clone(raw), b.o)
				if err != nil {
					return nil, err
				}
				r.mustEqual(fresh)
			}
			return r, nil
		}
	}
	return Parse(raw, b.o)
}

// sound is what is known of the first n messages from the longest of the requests before that
// was found clean.
func (b *Beginnings) sound(n int) (s sound) {
	longest := 0
	for i := range b.bufs {
		r := b.bufs[i].holds
		if r == nil || atomic.LoadUint32(&r.clean) == 0 || len(r.t.Messages()) > n || len(r.t.Messages()) <= longest {
			continue
		}
		whole, all := 0, r.t.Exchanges() // nothing reaches beyond its end
		if len(r.sound.parts) > 0 {
			whole = r.sound.parts[0].Last
		}
		for whole < len(all) && all[whole].State == transcript.Whole && !all[whole].Server {
			whole++
		}
		longest = len(r.t.Messages())
		s = r.behind([]transcript.Stretch{{End: longest, Last: whole}})
	}
	return s
}

// body writes the bytes of the first n messages, and those around the list.
func (b *Beginnings) body(buf *buffer, n int) []byte {
	all, whole := b.whole.t.Messages(), b.whole.raw
	end, behind := all[n-1].Span.End, whole[all[len(all)-1].Span.End:]
	if buf.raw == nil {
		buf.raw = make([]byte, 0, len(whole)) // what is not written takes no memory
	}
	from := min(buf.upTo, end)
	buf.raw = append(append(buf.raw[:from], whole[from:end]...), behind...)
	b.copied += len(buf.raw) - from
	buf.upTo = end
	return buf.raw
}

// shared is the request of the first n messages with the history's own index.
func (b *Beginnings) shared(n int, raw []byte, t *transcript.Transcript) *Request {
	w := b.whole
	blocks, by := len(t.Blocks()), len(raw)-len(w.raw)
	r := &Request{
		Dialect: w.Dialect, Profile: b.prof, g: w.g, t: t, raw: raw, list: transcript.Span{Start: w.list.Start, End: w.list.End + by}, bare: w.bare, head: w.head,
		where: w.where[:blocks:blocks], extra: w.extra[:n:n], frame: w.frame[:n:n], o: b.o, notes: w.notes[:b.notes[n]:b.notes[n]], listNotes: w.listNotes,
		lore: b.lore, shares: w.shares,
	}
	if len(b.behind) > 0 {
		r.notes = slices.Concat(r.notes, b.behind)
	}
	ties, _ := slices.BinarySearchFunc(w.ties, blocks, func(t transcript.Tie, blocks int) int { return int(max(t.From, t.To)) - blocks })
	r.ties = w.ties[:ties:ties]
	r.head.said = slices.Clone(w.head.said)
	for k := range r.head.said {
		if u := &r.head.said[k]; u.span.Start > w.list.Start {
			u.span = transcript.Span{Start: u.span.Start + by, End: u.span.End + by}
		}
	}
	return r
}
