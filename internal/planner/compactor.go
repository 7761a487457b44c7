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

// A Summarizer writes a summary of what is taken out of a history. It must not keep
// or change what it is given, and is called by many goroutines. Package summary has two.
type Summarizer func(context.Context, Removed) (Summary, error)

// A Summary is what a summarizer made. Many goroutines may read it.
type Summary struct {
	Text string
	// Pinned says that a person wrote it: it stays as it is, however long, and is never condensed.
	Pinned bool
	// Items are what the summarizer has archived.
	Items []archive.Item
}

// A Compactor compacts histories with a summarizer. Compactions of one history that
// are asked for at the same time share one run. It may be used by many goroutines; its
// fields must not change meanwhile.
type Compactor struct {
	// Summarize writes the summaries; nil: what goes is archived and named, see [Plan.Archive].
	Summarize Summarizer
	// MinKeep is how many messages at the end stay at least. Zero: 12.
	MinKeep int
	// Inside allows a cut inside one unbroken run of tool use, if there is no other.
	Inside bool
	// Above leaves histories of at most so many tokens alone; zero: none.
	Above int
	// MaxTokens is how long all summaries of a history together may be; zero: 2,000. When they
	// would be longer, the oldest are condensed into one, see [Removed.Level].
	MaxTokens int
	// Timeout ends a run of the summarizer. Zero: two minutes.
	Timeout time.Duration
	// Memory keeps the summaries that Fit asked for, so that the same ones are sent
	// again. Nil: the compactor remembers them itself, for as long as it lives.
	Memory Memory
	// Options says how summaries are placed, and what is repaired and counted.
	Options CompactOptions

	mu       sync.Mutex
	runs     map[runKey]*run
	known    map[string]string
	failures breaker.Breaker

	writing  map[runKey]bool // histories that are summarized in the background
	prepared map[runKey]bool // histories that were, and need not be again
}

// A Memory keeps texts by name. Its methods are called by many goroutines.
type Memory interface {
	Load(key string) (text string, ok bool)
	Store(key, text string)
}

type runKey [sha256.Size]byte

// A run is one call of the summarizer that several callers may wait for.
type run struct {
	done    chan struct{}
	waiting int
	cancel  context.CancelFunc
	summary Summary
	err     error
}

func (c *Compactor) minKeep() int {
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

// valid says what is wrong with the fields.
func (c *Compactor) validate(o Options) error {
	switch {
	case c.MinKeep < 0 || c.MaxTokens < 0 || c.Above < 0 || c.Timeout < 0:
		return errors.New("compact: MinKeep, MaxTokens, Above and Timeout must not be less than 0")
	case c.Above > 0 && o.Counter == nil:
		return errors.New("compact: Above is a number of tokens and needs Options.Counter; tokens.For(model) is one")
	}
	return nil
}

// MinKeep returns how many messages a compaction keeps at least.
func MinKeep(c *Compactor) int { return c.minKeep() }

// compact compacts what a plan has made so far.
func (c *Compactor) compact(ctx context.Context, base draft, o CompactOptions) (plan *Plan, err error) {
	if err := c.validate(o.Options); err != nil {
		return nil, err
	}
	r := base.result()
	o.Options = o.guarded()
	defer CatchFault(&plan, &err)
	if o.Counter != nil && c.Above > 0 {
		if n := r.Tokens(o.Counter); n <= c.Above {
			return base.skip(o.Options, "at most %d tokens are left alone, there are %d", c.Above, n), nil
		}
	}
	cut, ok := r.Transcript().Split(c.minKeep(), c.Inside)
	if !ok {
		if c.minKeep() == 1 {
			return base.skip(o.Options, "nothing can be separated from the last message"), nil
		}
		return base.skip(o.Options, "nothing can be separated from the last %d messages", c.minKeep()), nil
	}
	h := headOf(r, cut, o.FoldTask)
	if len(h.Blocks) == 0 {
		return base.skip(o.Options, "there is nothing before the cut but what must stay"), nil
	}
	o.emit(Event{eventCompactionStarted, CompactionStarted{Cut: cut.Before(), Prior: h.Prior != "", TotalMessages: len(r.Transcript().Messages())}})
	plan, err = c.at(ctx, base, h, o)
	var why *CompactionError
	if c.Summarize == nil && errors.As(err, &why) && why.Reason == reasonLarger {
		// Nobody has failed: there is too little to be worth a note.
		return base.skip(o.Options, "the note would be larger than what it stands for"), nil
	}
	if err != nil {
		o.emit(Event{eventCompactionFailed, CompactionFailed{Cut: cut.Before(), Error: err.Error()}})
		return nil, err
	}
	kind := eventCompactionCompleted
	if c.Summarize == nil {
		kind = eventCompactionArchived
	}
	e := Event{kind, CompactionDone{Conserved: plan.Conserved(), Cut: cut.Before(), Retained: len(plan.Result().Transcript().Messages())}}
	plan.events = append(plan.events, e)
	o.emit(e)
	return plan, nil
}

// offloaded is the note where there is no summarizer.
const offloaded = "What stood here is archived. It was not summarized."

// at puts a summary in the place of a head or, without a summarizer, a note with the name of the archive
// that holds what [Plan.Archive] returns.
func (c *Compactor) at(ctx context.Context, base draft, h Removed, o CompactOptions) (*Plan, error) {
	o.Archived = o.Archived || c.Summarize == nil
	v := c.levels(ctx, h.Request, o.Options)
	return base.compact(ctx, h, o, func(h Removed, lost loss, name nameFunc) (string, Summary, error) {
		v.name = name
		return v.add(h, lost)
	})
}

// levels adds summaries that the compactor writes.
func (c *Compactor) levels(ctx context.Context, r *wire.Request, o Options) *levels {
	if o.Counter == nil {
		o.Counter = tokens.For(r.Model())
	}
	v := &levels{most: c.maxTokens(), count: o.countText, counter: o.Counter}
	v.write = func(h Removed) (s Summary, err error) {
		if h.Level > 1 {
			s.Text, err = c.remember(ctx, h)
			return s, err
		}
		return c.summary(ctx, h)
	}
	if c.Summarize == nil {
		v.whole = func(r record) bool { return r.text != offloaded }
		v.write = func(Removed) (Summary, error) { return Summary{Text: offloaded, Items: c.Options.Items}, nil }
	}
	return v
}

// skip leaves a plan as it is, and says why.
func (d draft) skip(o Options, format string, args ...any) *Plan {
	e := Event{eventCompactionSkipped, CompactionSkipped{fmt.Sprintf(format, args...)}}
	p := d.unreported()
	if !p.Empty() {
		p = d.plan(o)
	}
	p.events = append(p.events, e)
	o.emit(e)
	return p
}

// summary calls the summarizer, or waits for the call that another caller began. It returns an
// error without a call while the summarizer is left out because it keeps failing.
func (c *Compactor) summary(ctx context.Context, h Removed) (Summary, error) {
	key := h.key()
	c.mu.Lock()
	if c.runs == nil {
		c.runs = make(map[runKey]*run)
	}
	x := c.runs[key]
	if x == nil {
		if err := c.leftOut(key); err != nil {
			c.mu.Unlock()
			return Summary{}, err
		}
		// The run outlives the caller that began it as long as another one waits.
		bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.timeout())
		x = &run{done: make(chan struct{}), cancel: cancel}
		c.runs[key] = x
		go c.run(bound, key, x, h)
	}
	x.waiting++
	c.mu.Unlock()
	select {
	case <-x.done:
		return x.summary, x.err
	case <-ctx.Done():
		c.leave(key, x)
		return Summary{}, &CompactionError{reasonTimeout, fmt.Errorf("wait for the summary: %w", ctx.Err())}
	}
}

// leftOut returns an error if the summarizer must not be called for a batch, because it has failed
// too often. A batch that it refuses counts as left out, once.
func (c *Compactor) leftOut(batch runKey) error {
	if err := c.failures.Start(breaker.Job(batch)); err != nil {
		return &CompactionError{reasonLeftOut, fmt.Errorf("the summarizer is %w", err)}
	}
	return nil
}

// leave ends a run that nobody waits for any more.
func (c *Compactor) leave(key runKey, x *run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if x.waiting--; x.waiting == 0 {
		x.cancel()
		if c.runs[key] == x {
			delete(c.runs, key)
		}
	}
}

// run calls the summarizer. One that does not heed its context is left behind.
func (c *Compactor) run(ctx context.Context, key runKey, x *run, h Removed) {
	defer x.cancel()
	type outcome struct {
		s   Summary
		err error
	}
	got := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if p := recover(); p != nil {
				o = outcome{err: fmt.Errorf("the summarizer panicked: %v", p)}
			}
			got <- o
		}()
		o.s, o.err = c.Summarize(ctx, h)
	}()
	select {
	case o := <-got:
		x.summary, x.err = o.s, o.s.wrong()
		if o.err != nil {
			x.err = &CompactionError{reasonSummarizer, fmt.Errorf("summarize: %w", o.err)}
		}
	case <-ctx.Done():
		x.err = &CompactionError{reasonTimeout, fmt.Errorf("the summarizer did not answer within %v", c.timeout())}
	}
	c.mu.Lock()
	if isCanceled := errors.Is(ctx.Err(), context.Canceled); !isCanceled || x.err == nil {
		c.failures.Record(breaker.Job(key), x.err)
	}
	if c.runs[key] == x {
		delete(c.runs, key)
	}
	c.mu.Unlock()
	close(x.done)
}

// key names what is to be summarized.
func (h *Removed) key() (k runKey) {
	sum := sha256.New()
	t := h.Request.Transcript()
	var n [8]byte
	put := func(raw []byte) {
		binary.LittleEndian.PutUint64(n[:], uint64(len(raw)))
		sum.Write(n[:])
		sum.Write(raw)
	}
	put([]byte(h.Prior))
	if h.Level > 1 {
		put([]byte{byte(h.Level)})
	}
	if h.Compacted != "" {
		put([]byte(h.Compacted))
	}
	binary.LittleEndian.PutUint64(n[:], uint64(h.MaxTokens))
	sum.Write(n[:])
	for _, b := range h.Blocks {
		put(t.Bytes(t.Block(b).Span))
	}
	return runKey(sum.Sum(nil))
}

// fitWithSummaries fits a window and replaces dropped exchanges and turns by summaries. Without room
// for summaries, it fits the window with a mark.
func (c *Compactor) fitWithSummaries(ctx context.Context, p *windowPlanner) (fit, error) {
	t, err := p.fit(c.maxTokens(), 0)
	if err != nil {
		if t, err = p.fitMarked(); err != nil {
			return fit{}, err
		}
		t.events = append(t.events, Event{eventCompactionFailed, CompactionFailed{Error: fmt.Sprintf("the window has no room for a summary of %d tokens beside what must stay", c.maxTokens())}})
		return t, nil
	}
	lost := t.search.lostBlocks()
	if len(lost) > 0 {
		return c.tell(ctx, p, lost, t), nil
	}
	if p.o.SummarizeLater {
		c.prepare(ctx, p)
	}
	return t, nil
}

// tell puts the summaries of all batches into the plan. What has none is named in its
// place; if there is no place, a mark stands for everything.
func (c *Compactor) tell(ctx context.Context, f *windowPlanner, lost [][]transcript.BlockID, bare fit) fit {
	note := func(e Event) { bare.events = append(bare.events, e) }
	failed := func(err error) {
		note(Event{eventCompactionFailed, CompactionFailed{Error: err.Error()}})
		f.base.faults = withSummarizerFault(f.base.faults, err)
	}
	o := f.o
	s := &story{c: c, r: f.base.result(), o: o, lost: lost, archived: f.w.Archive, frame: bare.search.meter.frame}
	if o.SummarizeLater {
		if s.chunk(f.w.Tokens); s.readAhead(ctx, failed) {
			note(Event{eventCompactionSkipped, CompactionSkipped{"a summary is being written, for a later request"}})
		}
	} else {
		s.tell(func(h Removed) (string, error) { return c.remember(ctx, h) }, failed)
	}
	if s.text == "" {
		return f.withMarkIfPossible(bare)
	}
	a, err := f.attempt(bare.search, summaryInsertion(s.at, s.text))
	if err == nil {
		if n := a.result().Tokens(o.Counter); n > f.w.Tokens {
			err = uncompacted(reasonLarger, "with its summary the history has %d tokens, the limit is %d", n, f.w.Tokens)
		}
	}
	if err == nil {
		if a.broken != nil {
			err = a.broken
		} else if !a.isSound() {
			err = &RefusedError{a.remaining}
		}
	}
	if err != nil {
		failed(err)
		return f.withMarkIfPossible(bare)
	}
	return fit{search: bare.search, attempt: a, indexes: s.indexes, events: bare.events}
}

// withSummarizerFault adds err to the faults of a plan if the summarizer is to blame for it, unless
// the faults name the summarizer already.
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
	isNamed := func(f *FaultError) bool { return f.Part == partSummarizer }
	if slices.ContainsFunc(faults, isNamed) {
		return faults
	}
	return append(slices.Clip(faults), &FaultError{Part: partSummarizer, Err: err})
}

// partSummarizer names the summarizer in a FaultError.
const partSummarizer = "summarizer"

// remember returns the text of a summary: from memory, or a new one.
func (c *Compactor) remember(ctx context.Context, h Removed) (string, error) {
	key := h.key()
	if text, ok := c.loadKey(key); ok {
		return text, nil
	}
	s, err := c.summary(ctx, h)
	if err != nil {
		return "", err
	}
	c.store(fmt.Sprintf("%x", key[:]), s.Text)
	return s.Text, nil
}

func (c *Compactor) loadKey(key runKey) (string, bool) { return c.load(fmt.Sprintf("%x", key[:])) }

// load finds a summary: here or, if there is a memory, there.
func (c *Compactor) load(key string) (string, bool) {
	c.mu.Lock()
	text, ok := c.known[key]
	c.mu.Unlock()
	if ok || c.Memory == nil {
		return text, ok
	}
	defer Blame("memory")
	if text, ok = c.Memory.Load(key); ok {
		c.keepText(key, text)
	}
	return text, ok
}

func (c *Compactor) store(key, text string) {
	c.keepText(key, text)
	if c.Memory != nil {
		defer Blame("memory")
		c.Memory.Store(key, text)
	}
}

// keepText remembers a summary for as long as the compactor lives.
func (c *Compactor) keepText(key, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) > 10_000 {
		c.known = make(map[string]string) // they can be made again
	}
	c.known[key] = text
}
