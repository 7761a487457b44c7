package agentlog

import (
	"bytes"
	"hash/maphash"
	"slices"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/wire"
)

// A geminiFold goes through the lines of a chat as Gemini CLI does. When it resumes one, it
// writes a head again, a $set with nothing but the context of the new run, and a $set with
// all messages from before. If that last line is lost, the program forgets them: they are
// read as if it were there, and Fix writes it again.
type geminiFold struct {
	l     *Log
	all   []record
	index map[string]int // into all, by id

	headed  bool     // there is a head, wherever
	session string   // that the chat is of
	before  []record // the messages at the last head; nil: they were said again
	hollow  int      // the unit whose $set took them away; -1: none
}

// A geminiGap is the place where the messages from before a resume are to be said again.
type geminiGap struct {
	hollow int // the unit of the $set that took them away
	in     int // the unit in front of which they belong; -1: at the end
	all    []record
}

// foldGemini goes through all lines. A copy of a line puts back what was so when it was
// written; where that leaves less than without it, the copies are damage.
func foldGemini(l *Log) *geminiFold {
	f := &geminiFold{l: l}
	f.run(nil)
	again := geminiCopies(l)
	if again == nil {
		return f
	}
	gap := l.gap
	first := &geminiFold{l: l}
	first.run(again)
	if !first.recalls(f) {
		l.gap = gap
		return f
	}
	for i, u := range l.units {
		if again[i] {
			l.copies = append(l.copies, i)
			l.damageAt(u.span.Start, u.line, "duplicate-line")
			l.worsen("the agent goes back to what was so when the first one was written, and forgets the rest")
		}
	}
	return first
}

// recalls reports whether a fold leaves all messages that another one does, and more of them or
// other versions.
func (f *geminiFold) recalls(other *geminiFold) bool {
	more := len(f.all) > len(other.all)
	for _, r := range other.all {
		k, ok := f.index[r.id]
		if !ok {
			return false
		}
		at := f.all[k].at
		more = more || !bytes.Equal(f.l.raw[at.Start:at.End], f.l.raw[r.at.Start:r.at.End])
	}
	return more
}

// geminiCopies are the lines of messages that repeat an earlier line, byte for byte; nil: there
// are none.
func geminiCopies(l *Log) (again map[int]bool) {
	seed := maphash.MakeSeed()
	seen := make(map[uint64]int, len(l.units))
	for i, u := range l.units {
		line := l.raw[u.span.Start:u.span.End]
		key := maphash.Bytes(seed, line)
		first, ok := seen[key]
		if !ok {
			seen[key] = i
			continue
		}
		at := l.units[first].span
		o := objectAt(l.raw, u.span)
		if !bytes.Equal(l.raw[at.Start:at.End], line) || o.Text("id") == "" && !o.Object("$set").Has("messages") {
			continue
		}
		if again == nil {
			again = make(map[int]bool)
		}
		again[i] = true
	}
	return again
}

// run goes through the lines but for some.
func (f *geminiFold) run(without map[int]bool) {
	f.hollow, f.index, f.l.gap = -1, make(map[string]int), nil
	for i, u := range f.l.units {
		if u.alone && !without[i] { // else the line is no JSON to the program
			f.line(i, objectAt(f.l.raw, u.span))
		}
	}
	f.mind(-1)
}

// records returns the messages that are left, and notes what is missing among them.
func (f *geminiFold) records() []record {
	if g := f.l.gap; g != nil {
		at := f.l.units[g.hollow]
		f.l.damageAt(at.span.Start, at.line, "lost-snapshot")
	}
	return f.all
}

func (f *geminiFold) line(i int, o object) {
	id := o.Text("id")
	if at := o.Object("$set"); id == "" {
		f.headed = f.headed || o.Text("sessionId") != "" && o.Text("projectHash") != "" || at.Text("sessionId") != "" && at.Text("projectHash") != ""
	}
	switch {
	case o.Has("$rewindTo"):
		f.mind(i)
		k, ok := f.index[o.Text("$rewindTo")]
		if !ok {
			k = 0
		}
		for _, r := range f.all[k:] {
			delete(f.index, r.id)
		}
		f.all = f.all[:k]
	case id != "":
		f.mind(i)
		f.put(record{id, i, f.l.units[i].span})
	case o.Has("$set"):
		if set := o.Object("$set"); set.Has("messages") {
			f.set(i, set.List("messages"))
		}
	case o.Has("messages"):
		f.putList(i, o.List("messages"))
	case o.Has("sessionId") && o.Has("startTime"):
		f.head(o.Text("sessionId"))
	}
}

func (f *geminiFold) put(r record) {
	k, ok := f.index[r.id]
	if !ok {
		k = len(f.all)
		f.index[r.id] = k
		f.all = append(f.all, record{})
	}
	f.all[k] = r
}

func (f *geminiFold) putList(unit int, list []jsonspan.Span) {
	for _, e := range list {
		if id := objectAt(f.l.raw, e).Text("id"); id != "" {
			f.put(record{id, unit, e})
		}
	}
}

// head begins a run: the first, or one that resumes the same chat.
func (f *geminiFold) head(session string) {
	if f.session == "" {
		f.session = session
	}
	if session == f.session && f.says(f.all) {
		f.before, f.hollow = slices.Clone(f.all), -1
	}
}

// set puts a list in the place of all messages.
func (f *geminiFold) set(i int, list []jsonspan.Span) {
	f.all, f.index = nil, make(map[string]int)
	f.putList(i, list)
	switch {
	case f.says(f.all): // all that is sent from here on: what was lost before is no longer missed
		f.before, f.hollow, f.l.gap = nil, -1, nil
	case f.before != nil:
		f.hollow = i
	}
}

// says reports whether something of some messages is sent.
func (f *geminiFold) says(all []record) bool {
	return slices.ContainsFunc(all, func(r record) bool {
		m := objectAt(f.l.raw, r.at)
		return m.Text("type") != "user" || !geminiIgnored(geminiContent(m))
	})
}

// mind brings the messages from before a resume back if nothing has said them again by
// the time that the next message comes.
func (f *geminiFold) mind(next int) {
	if f.before != nil && f.hollow >= 0 {
		for _, r := range f.before {
			if _, ok := f.index[r.id]; !ok {
				f.put(r)
			}
		}
		f.l.gap = &geminiGap{f.hollow, next, slices.Clone(f.all)}
	}
	f.before, f.hollow = nil, -1
}

// finish says the messages from before a resume again, where that was lost, and writes a
// head where there is none; it may stand anywhere.
func (c geminiCLI) finish(e *edits) {
	if e.l.headless() {
		e.crown(c.head(e.l))
		if e.appendOnly {
			e.end, e.top = append(e.end, e.top...), nil
		}
	}
	if e.l.gap == nil {
		return
	}
	g := *e.l.gap
	if e.appendOnly { // all that is sent, behind everything
		g.in, g.all = -1, e.l.records
	}
	var all [][]byte
	for _, r := range g.all {
		all = append(all, e.l.raw[r.at.Start:r.at.End])
	}
	set := e.l.object(g.hollow).Object("$set")
	line := write("$set", write("messages", array(all...), "lastUpdated", set.Mark("lastUpdated")))
	if g.in < 0 {
		e.end = append(e.end, line)
	} else {
		x := e.unit(g.in)
		x.before = append(x.before, line)
	}
	e.log(Change{Line: e.l.units[g.hollow].line}, wire.ActionInsert, "lost-snapshot", nil, len(line), "the messages from before the session was resumed, said again")
}
