package pare

import (
	"slices"
	"strconv"
	"sync"

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
	at   int // they stand in front of this change
	o    Options
	cost func(transcript.BlockID) int // of a block of the repaired request, if a ladder counts; nil: nobody does
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
	return o.Counter == nil || o.Uncounted || total(o.Counter)
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
	t := p.mended.Transcript()
	n, decisions := len(p.edits.all), p.verdicts()
	for _, d := range decisions {
		if d.Action == ActionDrop {
			n += len(t.Atoms()[d.Atom].Blocks)
		}
	}
	p.changes = slices.Grow(repairs, n+len(later))
	w := logger{Plan: p, ids: make([]string, 0, n)}
	for i := range decisions {
		d := &decisions[i]
		if d.Action != ActionDrop {
			continue
		}
		for _, b := range t.Atoms()[d.Atom].Blocks {
			w.log("drop", &d.Reasons[0], b, -t.Blocks()[b].Span.Len(), -due.weigh(p.mended, b))
		}
	}
	for i := range p.edits.all {
		e, why := &p.edits.all[i], p.edits.why(i)
		was := t.Blocks()[e.Block].Body
		w.log("archive", &why, e.Block, len(e.Text)-was.Len(), due.o.weighSaid(p.mended, e.Block, e.Text)-due.weigh(p.mended, e.Block))
	}
	p.changes = append(p.changes, later...)
}

// weigh counts the tokens of a block of the repaired request, or none.
func (w *owing) weigh(r *wire.Request, b transcript.BlockID) int {
	switch {
	case w.o.Counter == nil || w.o.Uncounted:
		return 0
	case w.cost != nil:
		return w.cost(b)
	}
	return r.BlockTokens(w.o.Counter, b)
}

// A logger records what was decided. There may be thousands of changes, so their ids and
// paths share memory.
type logger struct {
	*Plan
	ids   []string
	paths wire.Paths
}

// log records a change that was decided.
func (w *logger) log(action string, why *Reason, b transcript.BlockID, bytes, tokens int) {
	id := w.mended.Transcript().Blocks()[b].CallID
	ids := []string{}
	if id != "" {
		n := len(w.ids)
		w.ids = append(w.ids, id)
		ids = w.ids[n : n+1 : n+1]
	}
	for _, path := range w.mended.PathsIn(w.in, b, &w.paths) {
		w.changes = append(w.changes, wire.Change{Action: action, Rule: why.Rule, Path: path, IDs: ids, Reason: why.Text, Bytes: bytes, Tokens: tokens})
		bytes, tokens = 0, 0 // the others were joined to the first
	}
}

// edited reports whether the plan edits a block.
func (p *Plan) edited(b transcript.BlockID) bool {
	_, ok := slices.BinarySearchFunc(p.edits.all, b, func(e wire.BlockEdit, b transcript.BlockID) int { return int(e.Block - b) })
	return ok
}

// appendReceipt appends a change as a line of JSON: what plain.Marshal writes, which looks
// at every type and every byte anew.
func appendReceipt(line []byte, c *wire.Change) ([]byte, error) {
	if !ordinary(c.Action, c.Rule, c.Path, c.Reason) || !ordinary(c.IDs...) || c.IDs == nil {
		text, err := plain.Marshal(c)
		return append(append(line, text...), '\n'), err
	}
	text := func(key, value string) { line = append(append(append(line, key...), value...), '"') }
	text(`{"action":"`, c.Action)
	text(`,"rule":"`, c.Rule)
	text(`,"path":"`, c.Path)
	line = append(line, `,"ids":[`...)
	for i, id := range c.IDs {
		if i > 0 {
			line = append(line, ',')
		}
		text(`"`, id)
	}
	text(`],"reason":"`, c.Reason)
	line = strconv.AppendInt(append(line, `,"tokens":`...), int64(c.Tokens), 10)
	line = strconv.AppendInt(append(line, `,"bytes":`...), int64(c.Bytes), 10)
	return append(line, "}\n"...), nil
}

// ordinary reports whether texts stand in JSON as they are.
func ordinary(texts ...string) bool {
	for _, s := range texts {
		for len(s) >= 8 {
			if special(uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56) {
				return false
			}
			s = s[8:]
		}
		for i := range len(s) {
			if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
				return false
			}
		}
	}
	return true
}

// special reports whether one of eight bytes is a control character, a quote, a backslash
// or not of ASCII. A byte below a bound sets its highest bit when the bound is taken off.
func special(x uint64) bool {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	zero := func(x uint64) uint64 { return x - ones } // of bytes below 0x80
	return (x|(x+ones)|zero(x^ones*'"')|zero(x^ones*'\\')|(x-ones*' '))&high != 0
}
