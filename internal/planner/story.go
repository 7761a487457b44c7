package planner

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/internal/breaker"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A story is the summaries of everything that a window drops, batch by batch.
type story struct {
	c        *Compactor
	r        *wire.Request
	o        Options
	lost     [][]transcript.BlockID
	rest     []transcript.BlockID // that are too few for a summary so far
	archived bool
	frame    int // tokens of the marks around a message

	text    string // the summaries; "": there is no room for any
	at      int    // the message in front of which they belong
	indexes []archive.Item
}

// tell writes the summaries. Where there is none, a line says what it would stand for.
func (s *story) tell(ask func(Removed) (string, error), failed func(error)) {
	t := s.r.Transcript()
	s.text, s.at, s.indexes = "", len(t.Messages()), nil
	v := s.c.levels(context.Background(), s.r, s.o)
	v.most -= s.o.countText(wording.SummaryBegin) + s.o.countText(wording.SummaryEnd) + s.frame + 2
	v.lenient = true
	v.write = func(h Removed) (made Summary, err error) {
		made.Text, err = ask(h)
		return made, err
	}
	v.name = func(run []record) string {
		return indexed(run, func(item archive.Item) { s.indexes = append(s.indexes, item) })
	}
	batches := s.lost
	if len(s.rest) > 0 {
		batches = append(batches[:len(batches):len(batches)], s.rest)
	}
	for i, blocks := range batches {
		s.at = min(s.at, t.Block(blocks[0]).Message)
		if t.IsCompacted() {
			s.at = max(s.at, t.StartMessage()+1) // in front of it nobody would read the summary
		}
		h := Removed{Request: s.r, Blocks: blocks, Prior: s.text, Compacted: wirex.Compaction(s.r, t.Start())}
		gone := lossOf(&h)
		if s.archived {
			items := itemsOfBlocks(s.r, blocks)
			index := archive.Index(items)
			s.indexes = append(append(s.indexes, items...), index...)
			gone.archive = index[len(index)-1].ID
		}
		next, err := "", errLater
		if i < len(s.lost) {
			next, _, err = v.add(h, gone)
		}
		if err != nil {
			failed(err)
			next = v.note(s.text, gone)
		}
		if s.text = next; next == "" {
			return
		}
	}
}

// itemsOfBlocks is what the archive keeps of blocks that go: messages as a whole where all of their blocks do.
func itemsOfBlocks(r *wire.Request, blocks []transcript.BlockID) (all []archive.Item) {
	t := r.Transcript()
	for i := 0; i < len(blocks); {
		m := t.Messages()[t.Block(blocks[i]).Message]
		if n := int(m.End - m.First); blocks[i] == m.First && i+n <= len(blocks) && blocks[i+n-1] == m.End-1 {
			all = append(all, archive.New(r.MessagePath(t.Block(blocks[i]).Message), t.Bytes(m.Span)))
			i += n
			continue
		}
		all = append(all, archive.New(r.Path(blocks[i]), t.Bytes(t.Block(blocks[i]).Span)))
		i++
	}
	return all
}

// chunk parts what is dropped into batches of an eighth of the window, which stay what they are however much more
// is dropped later, as long as what goes is the oldest. The newest, which are too few for a batch or of
// turns that have not gone as a whole, are left for later.
func (s *story) chunk(limit int) {
	t, size := s.r.Transcript(), limit/8
	blocks := slices.Concat(s.lost...)
	slices.Sort(blocks)
	end := len(t.Messages())
	for i := len(blocks) - 1; i >= 0; i-- {
		if m := t.Block(blocks[i]).Message; t.Messages()[m].Begins {
			for end = m + 1; end < len(t.Messages()) && !t.Messages()[end].Begins; end++ {
			}
			break
		}
	}
	n, from := 0, 0
	s.lost = nil
	for i, b := range blocks {
		if t.Block(b).Message >= end {
			break
		}
		n += wirex.BlockTokens(s.r, s.o.Counter, b)
		if last := i+1 == len(blocks); n >= size && (last || t.Block(blocks[i+1]).Message != t.Block(b).Message) {
			s.lost, n, from = append(s.lost, blocks[from:i+1]), 0, i+1
		}
	}
	s.rest = blocks[from:]
}

// errLater says that a summary is not there so far.
var errLater = errors.New("the summary is not written yet")

// maxWriters is how many histories a Compactor summarizes in the background at the same time.
const maxWriters = 4

// maxPrepared is how many histories a Compactor remembers as prepared; then it forgets all of them.
const maxPrepared = 1000

// readAhead places the summaries that exist. A line takes the place of a batch for which the
// summarizer is left out. If another summary is missing, readAhead starts to write all of them in the
// background, for later requests, and returns true.
func (s *story) readAhead(ctx context.Context, failed func(error)) (missing bool) {
	var first runKey
	s.tell(func(h Removed) (string, error) {
		if missing {
			return "", errLater // the summaries before it will have other words
		}
		key := h.key()
		if text, ok := s.c.loadKey(key); ok {
			return text, nil
		}
		if err := s.c.leftOut(key); err != nil {
			return "", err
		}
		first, missing = key, true
		return "", errLater
	}, failed)
	if missing {
		s.c.writeAhead(ctx, first, s)
		if err := s.c.failures.Err(); err != nil {
			failed(&CompactionError{reasonSummarizer, fmt.Errorf("summarize: %w", err)})
		}
	}
	return missing
}

// writeAhead writes the summaries of a story in the background, once at a time.
func (c *Compactor) writeAhead(ctx context.Context, key runKey, s *story) {
	mine := *s
	c.behind(ctx, key, s.r, func(ctx context.Context, r *wire.Request) bool {
		mine.r = r
		mine.write(ctx)
		return false
	})
}

// write writes all summaries. It stops at the first failure, but passes batches for which the
// summarizer is left out.
func (s *story) write(ctx context.Context) {
	var failed error
	s.tell(func(h Removed) (string, error) {
		if failed != nil {
			return "", failed
		}
		text, err := s.c.remember(ctx, h)
		if err != nil && !errors.Is(err, breaker.ErrLeftOut) {
			failed = err
		}
		return text, err
	}, func(error) {})
}

// prepare writes the summaries that a history will need soon: from four fifths of its window on, as if that were
// full. It does so every eight messages, not at every request.
func (c *Compactor) prepare(ctx context.Context, f *windowPlanner) {
	r, w, o := f.base.result(), f.w, f.o
	t := r.Transcript()
	if len(t.Messages()) < 3 || r.Tokens(o.Counter) < w.Tokens/5*4 {
		return
	}
	n := len(t.Messages())
	first := t.Bytes(transcript.Span{Start: t.Messages()[0].Span.Start, End: t.Messages()[2].Span.End})
	key := runKey(sha256.Sum256(fmt.Appendf(nil, "%d %s", n/8, first)))
	o.Sink = nil
	c.behind(ctx, key, r, func(ctx context.Context, r *wire.Request) bool {
		full := w // and smaller: then turns go as a whole, the same ones as later
		full.Low, full.Tokens = w.Low/2, w.Tokens/2
		f, err := newWindowPlanner(ctx, r, full, o)
		if err != nil {
			return true
		}
		t, err := f.fit(c.maxTokens(), 0)
		if err != nil {
			return true
		}
		lost := t.search.lostBlocks()
		if len(lost) == 0 {
			return true
		}
		s := &story{c: c, r: f.base.result(), o: o, lost: lost, archived: w.Archive, frame: t.search.meter.frame}
		s.chunk(w.Tokens)
		s.write(ctx)
		return true
	})
}

// behind calls write in the background, unless a call with the same key is under way, or was, and
// returned true: once is enough. It copies the request, whose bytes the caller may reuse.
func (c *Compactor) behind(ctx context.Context, key runKey, r *wire.Request, write func(context.Context, *wire.Request) (once bool)) {
	if !c.begin(key) {
		return
	}
	body, dialect, model := bytes.Clone(r.Raw()), r.Dialect, r.Model()
	ctx = context.WithoutCancel(ctx)
	go func() {
		once := false
		defer func() {
			recover() // a part of the policy panicked: the next request names it
			c.end(key, once)
		}()
		if copied, err := wire.Parse(body, wire.Options{Dialect: dialect, Model: model}); err == nil {
			once = write(ctx, copied)
		}
	}()
}

// begin reports whether summaries may be written in the background now, and if so, notes that they are.
func (c *Compactor) begin(key runKey) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.writing[key] || c.prepared[key] || len(c.writing) >= maxWriters {
		return false
	}
	if c.writing == nil {
		c.writing = make(map[runKey]bool)
	}
	c.writing[key] = true
	return true
}

// end notes that summaries are no longer being written. If once is set, begin refuses the key from now on.
func (c *Compactor) end(key runKey, once bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.writing, key)
	if !once {
		return
	}
	if c.prepared == nil || len(c.prepared) >= maxPrepared {
		c.prepared = make(map[runKey]bool)
	}
	c.prepared[key] = true
}
