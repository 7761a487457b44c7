package wire

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// Beginnings are the requests that led to a history: its first messages, and what stands
// beside the list. They share the history's bytes, and its index where nothing reaches beyond
// their end, so making one takes no time then. They are for one goroutine.
type Beginnings struct {
	whole  *Request
	o      Options
	prof   Profile
	t      *transcript.Beginnings // nil: each one is read
	notes  []int                  // by number of messages: how many notes are about them, or about what stands in front of the list
	behind []note                 // those about what stands behind it
	rest   int                    // where it stands
	lore   *lore
}

// A lore is what was learned of the blocks of a history.
type lore struct {
	blocks []transcript.Block
	ids    func() bool // whether each call has one of its own
	mu     sync.Mutex
	of     map[any]any
	clean  []uint32             // by number of messages, atomic: see Request
	upTo   []transcript.Stretch // by number of messages: what is known of a longer one if they are clean
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

// Beginnings returns the beginnings of r, as if each had been parsed with the options.
func (r *Request) Beginnings(o Options) (*Beginnings, error) {
	r = r.gathered()
	b := &Beginnings{whole: r, o: o, lore: newLore(r.t.Blocks())}
	b.o.Dialect = r.Dialect
	var err error
	if b.prof, err = ResolveProfile(r.Dialect, o.Profile, r.head.model); err != nil {
		return nil, err
	}
	all := r.t.Messages()
	if len(all) > 0 {
		b.rest = all[len(all)-1].Span.End
	}
	if !o.Structural || len(r.flaws) > 0 || r.head.listKind != jsonspan.Array || slices.ContainsFunc(r.notes, note.declares) {
		return b, nil
	}
	b.notes = make([]int, len(all)+1)
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
	b.lore.clean, b.lore.upTo = make([]uint32, len(all)+1), make([]transcript.Stretch, len(all)+1)
	for n := range b.lore.upTo {
		b.lore.upTo[n] = b.t.Stretch(n)
	}
	return b, nil
}

// Shares reports whether the request of the first n messages takes no time: it is not read.
func (b *Beginnings) Shares(n int) bool { return b.t != nil && b.t.Shares(n) }

// At returns the request of the first n messages; there must be some.
func (b *Beginnings) At(n int) (*Request, error) {
	w := b.whole
	body := func() []byte { return slices.Concat(w.raw[:w.t.Messages()[n-1].Span.End], w.raw[b.rest:]) }
	if !b.Shares(n) {
		return Parse(body(), b.o)
	}
	r := b.shared(n, b.t.At(n))
	if proveCarried {
		fresh, err := Parse(body(), b.o)
		if err != nil {
			return nil, err
		}
		r.gathered().mustEqual(fresh)
	}
	return r, nil
}

// shared is the request of the first n messages with the history's own index.
func (b *Beginnings) shared(n int, t *transcript.Transcript) *Request {
	w, blocks := b.whole, len(t.Blocks())
	r := &Request{
		Dialect: w.Dialect, Profile: b.prof, g: w.g, t: t, raw: w.raw, rest: b.rest, list: w.list, bare: w.bare, head: w.head,
		where: w.where[:blocks:blocks], extra: w.extra[:n:n], frame: w.frame[:n:n], o: b.o, notes: w.notes[:b.notes[n]:b.notes[n]], listNotes: w.listNotes,
		lore: b.lore, shares: w.shares,
	}
	if len(b.behind) > 0 {
		r.notes = slices.Concat(r.notes, b.behind)
	}
	ties, _ := slices.BinarySearchFunc(w.ties, blocks, func(t transcript.Tie, blocks int) int { return int(max(t.From, t.To)) - blocks })
	r.ties = w.ties[:ties:ties]
	return r
}

// learn notes that nothing was found in a beginning of a history, in some ways to check.
func (l *lore) learn(r *Request, ways uint32) {
	if l != nil {
		atomic.OrUint32(&l.clean[len(r.t.Messages())], ways)
	}
}

// known is what is known of a beginning from the longest one, no longer than it, in which nothing
// was found in some way.
func (l *lore) known(r *Request, way uint32) stretches {
	for n := len(r.t.Messages()); n > 0; n-- {
		if atomic.LoadUint32(&l.clean[n])&way != 0 {
			return l.upTo[n : n+1]
		}
	}
	return nil
}
