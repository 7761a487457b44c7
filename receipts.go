package pare

import (
	"slices"
	"sync"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/internal/ladder"
	"github.com/pare-llm/pare/internal/plain"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// What a plan has decided is known by its decisions and edits. To write that down, block
// by block, with paths of the input and what each cost, takes longer than to do it, so it
// is done when somebody asks.

// An owing is the receipts of what was decided, as long as they are not written.
type owing struct {
	at    int // they stand in front of this change
	drops int // blocks
	o     Options
	by    *ladder.Ladder // which knows what blocks of the repaired request cost; nil: there is none
}

// A deferred is a report that nobody has asked for so far.
type deferred struct {
	once sync.Once
	o    Options
}

// report makes receipts and events: now if somebody listens, or if something of the
// caller's takes part that may fail, and else when they are asked for.
func (p *Plan) report(o Options) {
	if o.Sink != nil || !o.trusted() {
		p.tell(o)
		return
	}
	p.later = &deferred{o: o}
}

// told makes sure that receipts and events are there.
func (p *Plan) told() *Plan {
	if p.later != nil {
		p.later.once.Do(func() { p.tell(p.later.o) })
	}
	return p
}

// trusted reports whether to count cannot fail.
func (o *Options) trusted() bool {
	return o.Counter == nil || o.SkipTokenCounts || total(o.Counter)
}

// total reports whether a counter is one of our own that counts everything.
func total(c wire.Counter) bool {
	_, ours := c.(tokens.Estimator)
	return ours
}

// writeOwed writes down what was decided.
func (p *Plan) writeOwed() {
	if p.owed == nil {
		return
	}
	due := p.owed
	p.owed = nil
	repairs, later := p.changes[:due.at:due.at], p.changes[due.at:]
	t := p.repaired.Transcript()
	n := due.drops + len(p.edits.all)
	p.changes = slices.Grow(repairs, n+len(later))
	w := logger{Plan: p, ids: make([]string, 0, n)}
	for a, left := 0, due.drops; left > 0; a++ {
		why, drops := p.drops(transcript.AtomID(a))
		if !drops {
			continue
		}
		for _, b := range t.Atoms()[a].Blocks {
			w.log(wire.ActionDrop, &why, b, -t.Blocks()[b].Span.Len(), -due.weigh(p.repaired, b))
		}
		left -= len(t.Atoms()[a].Blocks)
	}
	for i := range p.edits.all {
		e, why := &p.edits.all[i], p.edits.why(i)
		was := t.Blocks()[e.Block].Body
		w.log(wire.ActionArchive, &why, e.Block, len(e.Text)-was.Len(), due.weighSaid(p.repaired, e)-due.weigh(p.repaired, e.Block))
	}
	p.changes = append(p.changes, later...)
}

// weigh counts the tokens of a block of the repaired request, or none.
func (w *owing) weigh(r *wire.Request, b transcript.BlockID) int {
	switch {
	case w.o.Counter == nil || w.o.SkipTokenCounts:
		return 0
	case w.by != nil:
		return w.by.Cost(b)
	}
	return wirex.BlockTokens(r, w.o.Counter, b)
}

// weighSaid counts a text in the place of what a block says, or nothing.
func (w *owing) weighSaid(r *wire.Request, e *wire.BlockEdit) int {
	switch {
	case w.o.Counter == nil || w.o.SkipTokenCounts:
		return 0
	case w.by != nil:
		return w.by.SaidCost(e.Block)
	}
	return wirex.SaidTokens(r, w.o.Counter, e.Block, e.Text)
}

// A logger records what was decided. There may be thousands of changes, so their ids and
// paths share memory.
type logger struct {
	*Plan
	ids   []string
	paths wire.Paths
}

// log records a change that was decided.
func (w *logger) log(action wire.Action, why *Reason, b transcript.BlockID, bytes, tokens int) {
	id := w.repaired.Transcript().Blocks()[b].CallID
	ids := []string{}
	if id != "" {
		n := len(w.ids)
		w.ids = append(w.ids, id)
		ids = w.ids[n : n+1 : n+1]
	}
	for _, path := range wirex.PathsIn(w.repaired, w.in, b, &w.paths) {
		w.changes = append(w.changes, wire.Change{Action: action, Rule: why.Rule, Path: path, IDs: ids, Reason: why.Text, Bytes: bytes, Tokens: tokens})
		bytes, tokens = 0, 0 // the others were joined to the first
	}
}

// edited reports whether the plan edits a block.
func (p *Plan) edited(b transcript.BlockID) bool {
	_, ok := slices.BinarySearchFunc(p.edits.all, b, func(e wire.BlockEdit, b transcript.BlockID) int { return int(e.Block - b) })
	return ok
}

// A receiptWriter writes changes as lines of JSON: what plain.Marshal writes, which looks at
// every type and every byte anew. Most say what the one before says, but for a few words.
type receiptWriter struct {
	lines              []byte
	last               wire.Change // that stands in JSON as it is
	beginning, reasons []byte      // of its line: up to the path, and from the reason up to the tokens
}

// receiptWriters are those that nobody uses.
var receiptWriters = sync.Pool{New: func() any { return new(receiptWriter) }}

// back gives a writer back, unless a line was large.
func (w *receiptWriter) back() {
	const roomy = 64 << 10
	if w.lines, w.last = w.lines[:0], (wire.Change{}); cap(w.lines) <= roomy {
		receiptWriters.Put(w)
	}
}

// add adds a line.
func (w *receiptWriter) add(c *wire.Change) error {
	if c.Removed != "" {
		return w.addAny(c)
	}
	if c.Action != w.last.Action || c.Rule != w.last.Rule || c.Reason != w.last.Reason {
		if !ordinary(string(c.Action)) || !ordinary(c.Rule) || !ordinary(c.Reason) {
			return w.addAny(c)
		}
		w.last = *c
		w.beginning = append(append(append(append(append(w.beginning[:0], `{"action":"`...), c.Action...), `","rule":"`...), c.Rule...), `","path":"`...)
		w.reasons = append(append(append(w.reasons[:0], `],"reason":"`...), c.Reason...), `","tokens":`...)
	}
	if !ordinary(c.Path) || c.IDs == nil || slices.ContainsFunc(c.IDs, func(id string) bool { return !ordinary(id) }) {
		return w.addAny(c)
	}
	line := append(append(append(w.lines, w.beginning...), c.Path...), `","ids":[`...)
	for i, id := range c.IDs {
		if i > 0 {
			line = append(line, ',')
		}
		line = append(append(append(line, '"'), id...), '"')
	}
	line = jsonspan.AppendInt(append(line, w.reasons...), c.Tokens)
	line = jsonspan.AppendInt(append(line, `,"bytes":`...), c.Bytes)
	w.lines = append(line, "}\n"...)
	return nil
}

// addAny adds a line about anything.
func (w *receiptWriter) addAny(c *wire.Change) error {
	text, err := plain.Marshal(c)
	w.lines = append(append(w.lines, text...), '\n')
	return err
}

// ordinary reports whether a text stands in JSON as it is.
func ordinary(s string) bool {
	word := func(s string) uint64 {
		return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
	}
	if len(s) >= 8 {
		found := special(word(s[len(s)-8:]))
		for rest := s; len(rest) > 8; rest = rest[8:] {
			found |= special(word(rest[:8]))
		}
		return found == 0
	}
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// special is zero unless one of eight bytes is a control character, a quote, a backslash
// or not of ASCII. A byte below a bound sets its highest bit when the bound is taken off.
func special(x uint64) uint64 {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	zero := func(x uint64) uint64 { return x - ones } // of bytes below 0x80
	return (x | (x + ones) | zero(x^ones*'"') | zero(x^ones*'\\') | (x - ones*' ')) & high
}
