package planner

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/internal/breaker"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A Summarizer writes a summary of content that is removed from a history. It must not modify or
// retain its input, and must be safe for concurrent use. Package summary has two.
type Summarizer func(context.Context, Removed) (Summary, error)

// A Summary is the result of a summarizer.
type Summary struct {
	Text string
	// Pinned states that a person wrote the summary. It stays unchanged, whatever its length, and is
	// never condensed.
	Pinned bool
	// Items are the items that the summarizer has archived.
	Items []archive.Item
}

// A Compactor compacts histories with a summarizer. Concurrent compactions of the same content
// share one call of the summarizer. The fields must not be modified while it is in use.
type Compactor struct {
	// Summarize writes the summaries. Nil: removed content is archived, and a note names it.
	Summarize Summarizer
	// MinKeep is the number of messages that stay at the end, at least. Zero: 12.
	MinKeep int
	// Inside allows a cut inside one unbroken run of tool use, if there is no other.
	Inside bool
	// Above is the number of tokens up to which histories are left alone.
	Above int
	// MaxTokens limits the tokens of all summaries of a history together. Above it, the oldest
	// summaries are condensed into one; see [Removed.Level]. Zero: 2,000.
	MaxTokens int
	// Timeout limits a call of the summarizer. Zero: two minutes.
	Timeout time.Duration
	// Memory stores the summaries of windows, so that later requests contain the same ones. Nil: the
	// compactor remembers them itself.
	Memory Memory
	// Options controls how summaries are placed, and how requests are repaired and counted.
	Options CompactOptions

	mu       sync.Mutex
	calls    map[runKey]*summarizerCall
	texts    map[runKey]string // of summaries
	failures breaker.Breaker
	writing  map[runKey]bool // histories that are being summarized in the background
	prepared map[runKey]bool // histories that were summarized in the background
}

// A Memory stores the texts of summaries by key. It must be safe for concurrent use.
type Memory interface {
	Load(key string) (text string, ok bool)
	Store(key, text string)
}

// A runKey identifies the content that a summary replaces.
type runKey [sha256.Size]byte

func (k runKey) String() string { return fmt.Sprintf("%x", k[:]) }

// A summarizerCall is a call of the summarizer that several callers may wait for.
type summarizerCall struct {
	done    chan struct{} // closed when summary and err are set
	waiting int           // callers; guarded by Compactor.mu
	cancel  context.CancelFunc
	summary Summary
	err     error
}

// MinKeep returns how many messages a compaction keeps at least.
func MinKeep(c *Compactor) int {
	if c.MinKeep == 0 {
		return 12
	}
	return c.MinKeep
}

func (c *Compactor) maxTokens() int {
	if c.MaxTokens == 0 {
		return 2000
	}
	return c.MaxTokens
}

func (c *Compactor) timeout() time.Duration {
	if c.Timeout == 0 {
		return 2 * time.Minute
	}
	return c.Timeout
}

// validate returns an error if the fields are invalid.
func (c *Compactor) validate(o Options) error {
	switch {
	case c.MinKeep < 0 || c.MaxTokens < 0 || c.Above < 0 || c.Timeout < 0:
		return errors.New("compact: MinKeep, MaxTokens, Above and Timeout must not be less than 0")
	case c.Above > 0 && o.Counter == nil:
		return errors.New("compact: Above is a number of tokens and needs Options.Counter; tokens.For(model) is one")
	}
	return nil
}

// compact compacts the result of a draft. It emits the events of the compaction.
func (c *Compactor) compact(ctx context.Context, d draft, o CompactOptions) (plan *Plan, err error) {
	if err := c.validate(o.Options); err != nil {
		return nil, err
	}
	r := d.result()
	o.Options = o.guarded()
	defer CatchFault(&plan, &err)
	if o.Counter != nil && c.Above > 0 {
		if n := r.Tokens(o.Counter); n <= c.Above {
			return d.skipCompaction(o.Options, "at most %d tokens are left alone, there are %d", c.Above, n), nil
		}
	}
	minKeep := MinKeep(c)
	cut, found := r.Transcript().Split(minKeep, c.Inside)
	switch {
	case !found && minKeep == 1:
		return d.skipCompaction(o.Options, "nothing can be separated from the last message"), nil
	case !found:
		return d.skipCompaction(o.Options, "nothing can be separated from the last %d messages", minKeep), nil
	}
	h := removedHead(r, cut, o.FoldTask)
	if len(h.Blocks) == 0 {
		return d.skipCompaction(o.Options, "there is nothing before the cut but what must stay"), nil
	}
	o.emit(Event{eventCompactionStarted, CompactionStarted{Cut: cut.Before(), Prior: h.Prior != "", TotalMessages: len(r.Transcript().Messages())}})
	plan, err = c.compactHead(ctx, d, h, o)
	var failure *CompactionError
	isNoteTooLarge := c.Summarize == nil && errors.As(err, &failure) && failure.Reason == reasonLarger
	if isNoteTooLarge {
		return d.skipCompaction(o.Options, "the note would be larger than what it stands for"), nil
	}
	if err != nil {
		o.emit(Event{eventCompactionFailed, CompactionFailed{Cut: cut.Before(), Error: err.Error()}})
		return nil, err
	}
	kind := eventCompactionCompleted
	if c.Summarize == nil {
		kind = eventCompactionArchived
	}
	done := CompactionDone{Conserved: plan.Conserved(), Cut: cut.Before(), Retained: len(plan.Result().Transcript().Messages())}
	plan.events = append(plan.events, Event{kind, done})
	o.emit(Event{kind, done})
	return plan, nil
}

// archivedNote is the note that replaces content without a summarizer.
const archivedNote = "What stood here is archived. It was not summarized."

// compactHead replaces the head of a history by a summary or, without a summarizer, by a note with
// the handle of the archived content.
func (c *Compactor) compactHead(ctx context.Context, d draft, h Removed, o CompactOptions) (*Plan, error) {
	o.Archived = o.Archived || c.Summarize == nil
	v := c.levels(ctx, h.Request, o.Options)
	return d.compact(ctx, h, o, func(h Removed, lost loss, name nameFunc) (string, Summary, error) {
		v.name = name
		return v.add(h, lost)
	})
}

// levels returns the levels of the compactor's summaries.
func (c *Compactor) levels(ctx context.Context, r *wire.Request, o Options) *summaryLevels {
	if o.Counter == nil {
		o.Counter = tokens.For(r.Model())
	}
	v := &summaryLevels{maxTokens: c.maxTokens(), count: o.countText, counter: o.Counter}
	if c.Summarize == nil {
		v.mustStay = func(r record) bool { return r.text != archivedNote }
		v.write = func(Removed) (Summary, error) { return Summary{Text: archivedNote, Items: c.Options.Items}, nil }
		return v
	}
	v.write = func(h Removed) (s Summary, err error) {
		if h.Level > 1 {
			s.Text, err = c.rememberedSummary(ctx, h)
			return s, err
		}
		return c.summary(ctx, h)
	}
	return v
}

// skipCompaction returns the plan of the draft, with an event that says why it is not compacted.
func (d draft) skipCompaction(o Options, format string, args ...any) *Plan {
	e := Event{eventCompactionSkipped, CompactionSkipped{fmt.Sprintf(format, args...)}}
	p := d.unreported()
	if !p.Empty() {
		p = d.plan(o)
	}
	p.events = append(p.events, e)
	o.emit(e)
	return p
}

// summary calls the summarizer, or waits for a running call with the same content. It returns an
// error without a call while the summarizer is left out because it keeps failing.
func (c *Compactor) summary(ctx context.Context, h Removed) (Summary, error) {
	key := h.key()
	call, err := c.join(ctx, key, h)
	if err != nil {
		return Summary{}, err
	}
	select {
	case <-call.done:
		return call.summary, call.err
	case <-ctx.Done():
		c.leave(key, call)
		return Summary{}, &CompactionError{reasonTimeout, fmt.Errorf("wait for the summary: %w", ctx.Err())}
	}
}

// join returns the running call of the summarizer for a key, or starts one. The call outlives the
// caller that started it as long as another caller waits.
func (c *Compactor) join(ctx context.Context, key runKey, h Removed) (*summarizerCall, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	call := c.calls[key]
	if call == nil {
		if err := c.checkAvailable(key); err != nil {
			return nil, err
		}
		if c.calls == nil {
			c.calls = make(map[runKey]*summarizerCall)
		}
		callCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.timeout())
		call = &summarizerCall{done: make(chan struct{}), cancel: cancel}
		c.calls[key] = call
		go c.run(callCtx, key, call, h)
	}
	call.waiting++
	return call, nil
}

// leave cancels a call that no caller waits for anymore.
func (c *Compactor) leave(key runKey, call *summarizerCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	call.waiting--
	if call.waiting > 0 {
		return
	}
	call.cancel()
	if c.calls[key] == call {
		delete(c.calls, key)
	}
}

// checkAvailable returns an error if the summarizer must not be called for a batch, because it has
// failed too often. A batch that it refuses counts as left out, once.
func (c *Compactor) checkAvailable(batch runKey) error {
	if err := c.failures.Start(breaker.Job(batch)); err != nil {
		return &CompactionError{reasonLeftOut, fmt.Errorf("the summarizer is %w", err)}
	}
	return nil
}

// run calls the summarizer and sets the result of the call. It does not wait for a summarizer that
// ignores the end of its context.
func (c *Compactor) run(ctx context.Context, key runKey, call *summarizerCall, h Removed) {
	defer call.cancel()
	call.summary, call.err = c.callSummarizer(ctx, h)
	c.mu.Lock()
	isCanceled := errors.Is(ctx.Err(), context.Canceled)
	if !isCanceled || call.err == nil {
		c.failures.Record(breaker.Job(key), call.err)
	}
	if c.calls[key] == call {
		delete(c.calls, key)
	}
	c.mu.Unlock()
	close(call.done)
}

// callSummarizer calls the summarizer until the end of ctx. A panic of the summarizer is an error.
func (c *Compactor) callSummarizer(ctx context.Context, h Removed) (Summary, error) {
	type result struct {
		summary Summary
		err     error
	}
	results := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if p := recover(); p != nil {
				r = result{err: fmt.Errorf("the summarizer panicked: %v", p)}
			}
			results <- r
		}()
		r.summary, r.err = c.Summarize(ctx, h)
	}()
	select {
	case r := <-results:
		if r.err != nil {
			return r.summary, &CompactionError{reasonSummarizer, fmt.Errorf("summarize: %w", r.err)}
		}
		return r.summary, r.summary.check()
	case <-ctx.Done():
		return Summary{}, &CompactionError{reasonTimeout, fmt.Errorf("the summarizer did not answer within %v", c.timeout())}
	}
}

// key returns the key of the content that a summary replaces.
func (h *Removed) key() runKey {
	sum := sha256.New()
	writeNumber := func(n int) {
		var raw [8]byte
		binary.LittleEndian.PutUint64(raw[:], uint64(n))
		sum.Write(raw[:])
	}
	writeBytes := func(raw []byte) {
		writeNumber(len(raw))
		sum.Write(raw)
	}
	writeBytes([]byte(h.Prior))
	if h.Level > 1 {
		writeBytes([]byte{byte(h.Level)})
	}
	if h.Compacted != "" {
		writeBytes([]byte(h.Compacted))
	}
	writeNumber(h.MaxTokens)
	t := h.Request.Transcript()
	for _, b := range h.Blocks {
		writeBytes(t.Bytes(t.Block(b).Span))
	}
	return runKey(sum.Sum(nil))
}

// fitWithSummaries fits a window and replaces dropped exchanges and turns by summaries. Without
// room for summaries, it fits the window with a mark.
func (c *Compactor) fitWithSummaries(ctx context.Context, p *windowPlanner) (fit, error) {
	f, err := p.fit(c.maxTokens(), 0)
	if err != nil {
		if f, err = p.fitMarked(); err != nil {
			return fit{}, err
		}
		reason := fmt.Sprintf("the window has no room for a summary of %d tokens beside what must stay", c.maxTokens())
		f.events = append(f.events, Event{eventCompactionFailed, CompactionFailed{Error: reason}})
		return f, nil
	}
	lost := f.search.lostBlocks()
	if len(lost) > 0 {
		return c.withSummaries(ctx, p, f, lost), nil
	}
	if p.o.SummarizeLater {
		c.prepare(ctx, p)
	}
	return f, nil
}

// withSummaries returns a fit with summaries of the lost content. If there is no room for them, or
// the result would not fit, it returns the fit with a mark.
func (c *Compactor) withSummaries(ctx context.Context, p *windowPlanner, f fit, lost [][]transcript.BlockID) fit {
	addEvent := func(e Event) { f.events = append(f.events, e) }
	failed := func(err error) {
		addEvent(Event{eventCompactionFailed, CompactionFailed{Error: err.Error()}})
		p.base.faults = withSummarizerFault(p.base.faults, err)
	}
	dropped := droppedHistory{r: p.base.result(), o: p.o, batches: lost, isArchived: p.w.Archive, frame: f.search.meter.frame}
	var summaries writtenSummaries
	if p.o.SummarizeLater {
		dropped = dropped.inEqualBatches(p.w.Tokens)
		isMissing := false
		summaries, isMissing = c.existingSummaries(ctx, &dropped, failed)
		if isMissing {
			addEvent(Event{eventCompactionSkipped, CompactionSkipped{"a summary is being written, for a later request"}})
		}
	} else {
		write := func(h Removed) (string, error) { return c.rememberedSummary(ctx, h) }
		summaries = c.summarize(&dropped, write, failed)
	}
	if summaries.text == "" {
		return p.withMarkIfPossible(f)
	}
	a, err := p.attemptSummaries(f.search, summaries)
	if err != nil {
		failed(err)
		return p.withMarkIfPossible(f)
	}
	return fit{search: f.search, attempt: a, indexes: summaries.indexes, events: f.events}
}

// attemptSummaries carries out the current state of a search with summaries. It returns an error if
// the result does not fit or is not sound.
func (p *windowPlanner) attemptSummaries(s *windowSearch, w writtenSummaries) (attempt, error) {
	a, err := p.attempt(s, summaryInsertion(w.before, w.text))
	if err != nil {
		return attempt{}, err
	}
	n := a.result().Tokens(p.o.Counter)
	switch {
	case n > p.w.Tokens:
		return attempt{}, newCompactionError(reasonLarger, "with its summary the history has %d tokens, the limit is %d", n, p.w.Tokens)
	case a.broken != nil:
		return attempt{}, a.broken
	case !a.isSound():
		return attempt{}, &RefusedError{a.remaining}
	}
	return a, nil
}

// summarizerPart names the summarizer in a FaultError.
const summarizerPart = "summarizer"

// withSummarizerFault returns faults with err if the summarizer caused it, unless the faults
// already name the summarizer.
func withSummarizerFault(faults []*FaultError, err error) []*FaultError {
	var failure *CompactionError
	if !errors.As(err, &failure) {
		return faults
	}
	switch failure.Reason {
	case reasonSummarizer, reasonTimeout, reasonLeftOut, reasonBlank, reasonNotText, reasonCalls:
	default:
		return faults
	}
	isNamed := func(f *FaultError) bool { return f.Part == summarizerPart }
	if slices.ContainsFunc(faults, isNamed) {
		return faults
	}
	return append(slices.Clip(faults), &FaultError{Part: summarizerPart, Err: err})
}

// rememberedSummary returns the text of a summary from memory, or writes and stores it.
func (c *Compactor) rememberedSummary(ctx context.Context, h Removed) (string, error) {
	key := h.key()
	if text, found := c.load(key); found {
		return text, nil
	}
	s, err := c.summary(ctx, h)
	if err != nil {
		return "", err
	}
	c.keepText(key, s.Text)
	if c.Memory != nil {
		defer Blame("memory")
		c.Memory.Store(key.String(), s.Text)
	}
	return s.Text, nil
}

// load returns a summary that the compactor or its memory has.
func (c *Compactor) load(key runKey) (string, bool) {
	c.mu.Lock()
	text, found := c.texts[key]
	c.mu.Unlock()
	if found || c.Memory == nil {
		return text, found
	}
	defer Blame("memory")
	if text, found = c.Memory.Load(key.String()); found {
		c.keepText(key, text)
	}
	return text, found
}

// maxTexts is how many summaries a Compactor remembers; then it forgets all of them. They can be
// written again.
const maxTexts = 10_000

func (c *Compactor) keepText(key runKey, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.texts == nil || len(c.texts) > maxTexts {
		c.texts = make(map[runKey]string)
	}
	c.texts[key] = text
}
