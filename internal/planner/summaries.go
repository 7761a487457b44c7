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
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A droppedHistory is the content that a window drops and that summaries replace, in batches: each
// batch has its own summary.
type droppedHistory struct {
	r          *wire.Request
	o          Options
	batches    [][]transcript.BlockID
	rest       []transcript.BlockID // too few blocks for a batch so far
	isArchived bool
	frame      int // tokens around a message
}

// writtenSummaries are the summaries of a droppedHistory.
type writtenSummaries struct {
	text    string // "" if there is no room for any summary
	before  int    // the message before which they belong
	indexes []archive.Item
}

// summarize writes the summaries of all batches with a function. Where it fails, a line describes
// the removed content, and failed is called with the error.
func (c *Compactor) summarize(dropped *droppedHistory, write func(Removed) (string, error), failed func(error)) (w writtenSummaries) {
	t := dropped.r.Transcript()
	v := c.levels(context.Background(), dropped.r, dropped.o)
	v.maxTokens -= dropped.o.countText(wording.SummaryBegin) + dropped.o.countText(wording.SummaryEnd) + dropped.frame + 2
	v.lenient = true
	v.write = func(h Removed) (s Summary, err error) {
		s.Text, err = write(h)
		return s, err
	}
	v.name = func(records []record) string {
		handle, items := indexRecords(records)
		w.indexes = append(w.indexes, items...)
		return handle
	}
	batches := dropped.batches
	if len(dropped.rest) > 0 {
		batches = append(slices.Clip(batches), dropped.rest)
	}
	w.before = len(t.Messages())
	for i, blocks := range batches {
		w.before = min(w.before, t.Block(blocks[0]).Message)
		if t.IsCompacted() {
			w.before = max(w.before, t.StartMessage()+1) // the provider does not read earlier messages
		}
		h := Removed{Request: dropped.r, Blocks: blocks, Prior: w.text, Compacted: dialect.Compaction(dropped.r, t.Start())}
		lost := lossOf(&h)
		if dropped.isArchived {
			items := itemsOfBlocks(dropped.r, blocks)
			index := archive.Index(items)
			w.indexes = append(append(w.indexes, items...), index...)
			lost.archive = index[len(index)-1].ID
		}
		text, err := "", errNotWrittenYet
		if i < len(dropped.batches) {
			text, _, err = v.add(h, lost)
		}
		if err != nil {
			failed(err)
			text = v.addUnsummarized(w.text, lost)
		}
		w.text = text
		if text == "" {
			break
		}
	}
	return w
}

// itemsOfBlocks returns the archive items of dropped blocks: one item for each message of which all
// blocks are dropped, and one for each other block.
func itemsOfBlocks(r *wire.Request, blocks []transcript.BlockID) (items []archive.Item) {
	t := r.Transcript()
	for i := 0; i < len(blocks); {
		m := t.Messages()[t.Block(blocks[i]).Message]
		n := int(m.End - m.First)
		isMessage := blocks[i] == m.First && i+n <= len(blocks) && blocks[i+n-1] == m.End-1
		if isMessage {
			items = append(items, archive.New(r.MessagePath(t.Block(blocks[i]).Message), t.Bytes(m.Span)))
			i += n
			continue
		}
		items = append(items, archive.New(r.Path(blocks[i]), t.Bytes(t.Block(blocks[i]).Span)))
		i++
	}
	return items
}

// inEqualBatches returns the dropped history in batches of an eighth of a window. The batches stay
// the same when more is dropped later, as long as the oldest content is dropped first. The newest
// blocks, which are too few for a batch or belong to turns that are not dropped completely, are the
// rest.
func (d droppedHistory) inEqualBatches(windowTokens int) droppedHistory {
	t, batchTokens := d.r.Transcript(), windowTokens/8
	blocks := slices.Concat(d.batches...)
	slices.Sort(blocks)
	end := endOfLastTurn(t, blocks)
	d.batches = nil
	tokens, first := 0, 0
	for i, b := range blocks {
		m := t.Block(b).Message
		if m >= end {
			break
		}
		tokens += dialect.BlockTokens(d.r, d.o.Counter, b)
		endsMessage := i+1 == len(blocks) || t.Block(blocks[i+1]).Message != m
		if tokens >= batchTokens && endsMessage {
			d.batches = append(d.batches, blocks[first:i+1])
			tokens, first = 0, i+1
		}
	}
	d.rest = blocks[first:]
	return d
}

// endOfLastTurn returns the end of the last turn whose first message has dropped blocks, in
// messages.
func endOfLastTurn(t *transcript.Transcript, blocks []transcript.BlockID) int {
	messages := t.Messages()
	for _, b := range slices.Backward(blocks) {
		m := t.Block(b).Message
		if !messages[m].Begins {
			continue
		}
		end := m + 1
		for end < len(messages) && !messages[end].Begins {
			end++
		}
		return end
	}
	return len(messages)
}

// errNotWrittenYet is the error for a summary that does not exist yet.
var errNotWrittenYet = errors.New("the summary is not written yet")

// maxWriters is how many histories a Compactor summarizes in the background at the same time.
const maxWriters = 4

// maxPrepared is how many histories a Compactor remembers as prepared; then it forgets all of them.
const maxPrepared = 1000

// existingSummaries returns the summaries that exist. A line replaces a batch for which the
// summarizer is left out. If another summary is missing, it starts to write all of them in the
// background, for later requests, and isMissing is true.
func (c *Compactor) existingSummaries(ctx context.Context, dropped *droppedHistory, failed func(error)) (w writtenSummaries, isMissing bool) {
	var firstMissing runKey
	w = c.summarize(dropped, func(h Removed) (string, error) {
		if isMissing {
			return "", errNotWrittenYet // it depends on the missing summary
		}
		key := h.key()
		if text, found := c.load(key); found {
			return text, nil
		}
		if err := c.checkAvailable(key); err != nil {
			return "", err
		}
		firstMissing, isMissing = key, true
		return "", errNotWrittenYet
	}, failed)
	if !isMissing {
		return w, false
	}
	c.inBackground(ctx, firstMissing, dropped.r, func(ctx context.Context, r *wire.Request) bool {
		copied := *dropped
		copied.r = r
		c.writeAll(ctx, &copied)
		return false
	})
	if err := c.failures.Err(); err != nil {
		failed(&CompactionError{reasonSummarizer, fmt.Errorf("summarize: %w", err)})
	}
	return w, true
}

// writeAll writes all summaries into memory. It stops at the first failure, but skips batches for
// which the summarizer is left out.
func (c *Compactor) writeAll(ctx context.Context, dropped *droppedHistory) {
	var failure error
	c.summarize(dropped, func(h Removed) (string, error) {
		if failure != nil {
			return "", failure
		}
		text, err := c.rememberedSummary(ctx, h)
		if err != nil && !errors.Is(err, breaker.ErrLeftOut) {
			failure = err
		}
		return text, err
	}, func(error) {})
}

// prepare writes the summaries that a history will need soon, from four fifths of its window on. It
// does so every eight messages.
func (c *Compactor) prepare(ctx context.Context, p *windowPlanner) {
	r, w, o := p.base.result(), p.w, p.o
	t := r.Transcript()
	messages := len(t.Messages())
	if messages < 3 || r.Tokens(o.Counter) < w.Tokens/5*4 {
		return
	}
	beginning := t.Bytes(transcript.Span{Start: t.Messages()[0].Span.Start, End: t.Messages()[2].Span.End})
	key := runKey(sha256.Sum256(fmt.Appendf(nil, "%d %s", messages/8, beginning)))
	o.Sink = nil
	c.inBackground(ctx, key, r, func(ctx context.Context, r *wire.Request) bool {
		// A window of half the size drops complete turns, the same ones as later.
		half := w
		half.Low, half.Tokens = w.Low/2, w.Tokens/2
		p, err := newWindowPlanner(ctx, r, half, o)
		if err != nil {
			return true
		}
		f, err := p.fit(c.maxTokens(), 0)
		if err != nil {
			return true
		}
		lost := f.search.lostBlocks()
		if len(lost) == 0 {
			return true
		}
		dropped := droppedHistory{r: p.base.result(), o: o, batches: lost, isArchived: w.Archive, frame: f.search.meter.frame}
		dropped = dropped.inEqualBatches(w.Tokens)
		c.writeAll(ctx, &dropped)
		return true
	})
}

// inBackground calls write in the background, unless a call with the same key is running, or has
// returned true. It passes a copy of the request, because the caller may reuse its bytes.
func (c *Compactor) inBackground(ctx context.Context, key runKey, r *wire.Request, write func(context.Context, *wire.Request) (isDone bool)) {
	if !c.beginWriting(key) {
		return
	}
	body, options := bytes.Clone(r.Raw()), wire.Options{Dialect: r.Dialect, Model: r.Model()}
	ctx = context.WithoutCancel(ctx)
	go func() {
		isDone := false
		defer func() {
			recover() // a part of the policy panicked: the next request reports it
			c.endWriting(key, isDone)
		}()
		if copied, err := wire.Parse(body, options); err == nil {
			isDone = write(ctx, copied)
		}
	}()
}

// beginWriting records that summaries are being written, and reports whether that is allowed now.
func (c *Compactor) beginWriting(key runKey) bool {
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

// endWriting records that summaries are no longer being written. If isDone is set, beginWriting
// refuses the key from now on.
func (c *Compactor) endWriting(key runKey, isDone bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.writing, key)
	if !isDone {
		return
	}
	if c.prepared == nil || len(c.prepared) >= maxPrepared {
		c.prepared = make(map[runKey]bool)
	}
	c.prepared[key] = true
}
