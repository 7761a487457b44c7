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
type geminiReplay struct {
	file     *Log
	messages []chatRecord
	index    map[string]int // into all, by id

	hasHead      bool         // there is a head, wherever
	session      string       // that the chat is of
	beforeResume []chatRecord // the messages at the last head; nil: they were said again
	emptiedBy    int          // the unit whose $set took them away; -1: none
}

// A geminiGap is the place where the messages from before a resume are to be said again.
type snapshotGap struct {
	emptiedBy    int // the unit of the $set that took them away
	insertBefore int // the unit in front of which they belong; -1: at the end
	messages     []chatRecord
}

// foldGemini goes through all lines. A copy of a line puts back what was so when it was
// written; where that leaves less than without it, the copies are damage.
func replayGemini(l *Log) *geminiReplay {
	f := &geminiReplay{file: l}
	f.run(nil)
	again := duplicateMessages(l)
	if again == nil {
		return f
	}
	gap := l.snapshotGap
	first := &geminiReplay{file: l}
	first.run(again)
	if !first.keepsMoreThan(f) {
		l.snapshotGap = gap
		return f
	}
	for i, u := range l.units {
		if again[i] {
			l.duplicates = append(l.duplicates, i)
			l.damageAt(u.span.Start, u.line, "duplicate-line")
			l.markHarmful("the agent goes back to what was so when the first one was written, and forgets the rest")
		}
	}
	return first
}

// recalls reports whether a fold leaves all messages that another one does, and more of them or
// other versions.
func (f *geminiReplay) keepsMoreThan(other *geminiReplay) bool {
	more := len(f.messages) > len(other.messages)
	for _, r := range other.messages {
		k, ok := f.index[r.id]
		if !ok {
			return false
		}
		at := f.messages[k].at
		more = more || !bytes.Equal(f.file.raw[at.Start:at.End], f.file.raw[r.at.Start:r.at.End])
	}
	return more
}

// geminiCopies are the lines of messages that repeat an earlier line, byte for byte; nil: there
// are none.
func duplicateMessages(l *Log) (again map[int]bool) {
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
func (f *geminiReplay) run(without map[int]bool) {
	f.emptiedBy, f.index, f.file.snapshotGap = -1, make(map[string]int), nil
	for i, u := range f.file.units {
		if u.alone && !without[i] { // else the line is no JSON to the program
			f.applyLine(i, objectAt(f.file.raw, u.span))
		}
	}
	f.restoreForgotten(-1)
}

// records returns the messages that are left, and notes what is missing among them.
func (f *geminiReplay) records() []chatRecord {
	if g := f.file.snapshotGap; g != nil {
		at := f.file.units[g.emptiedBy]
		f.file.damageAt(at.span.Start, at.line, "lost-snapshot")
	}
	return f.messages
}

func (f *geminiReplay) applyLine(i int, o object) {
	id := o.Text("id")
	if at := o.Object("$set"); id == "" {
		f.hasHead = f.hasHead || o.Text("sessionId") != "" && o.Text("projectHash") != "" || at.Text("sessionId") != "" && at.Text("projectHash") != ""
	}
	switch {
	case o.Has("$rewindTo"):
		f.restoreForgotten(i)
		k, ok := f.index[o.Text("$rewindTo")]
		if !ok {
			k = 0
		}
		for _, r := range f.messages[k:] {
			delete(f.index, r.id)
		}
		f.messages = f.messages[:k]
	case id != "":
		f.restoreForgotten(i)
		f.put(chatRecord{id, i, f.file.units[i].span})
	case o.Has("$set"):
		if set := o.Object("$set"); set.Has("messages") {
			f.replaceAll(i, set.List("messages"))
		}
	case o.Has("messages"):
		f.putList(i, o.List("messages"))
	case o.Has("sessionId") && o.Has("startTime"):
		f.beginRun(o.Text("sessionId"))
	}
}

func (f *geminiReplay) put(r chatRecord) {
	k, ok := f.index[r.id]
	if !ok {
		k = len(f.messages)
		f.index[r.id] = k
		f.messages = append(f.messages, chatRecord{})
	}
	f.messages[k] = r
}

func (f *geminiReplay) putList(unit int, list []jsonspan.Span) {
	for _, e := range list {
		if id := objectAt(f.file.raw, e).Text("id"); id != "" {
			f.put(chatRecord{id, unit, e})
		}
	}
}

// head begins a run: the first, or one that resumes the same chat.
func (f *geminiReplay) beginRun(session string) {
	if f.session == "" {
		f.session = session
	}
	if session == f.session && f.hasSentMessage(f.messages) {
		f.beforeResume, f.emptiedBy = slices.Clone(f.messages), -1
	}
}

// set puts a list in the place of all messages.
func (f *geminiReplay) replaceAll(i int, list []jsonspan.Span) {
	f.messages, f.index = nil, make(map[string]int)
	f.putList(i, list)
	switch {
	case f.hasSentMessage(f.messages): // all that is sent from here on: what was lost before is no longer missed
		f.beforeResume, f.emptiedBy, f.file.snapshotGap = nil, -1, nil
	case f.beforeResume != nil:
		f.emptiedBy = i
	}
}

// says reports whether something of some messages is sent.
func (f *geminiReplay) hasSentMessage(all []chatRecord) bool {
	return slices.ContainsFunc(all, func(r chatRecord) bool {
		m := objectAt(f.file.raw, r.at)
		return m.Text("type") != "user" || !isUnsentUserMessage(geminiContent(m))
	})
}

// mind brings the messages from before a resume back if nothing has said them again by
// the time that the next message comes.
func (f *geminiReplay) restoreForgotten(next int) {
	if f.beforeResume != nil && f.emptiedBy >= 0 {
		for _, r := range f.beforeResume {
			if _, ok := f.index[r.id]; !ok {
				f.put(r)
			}
		}
		f.file.snapshotGap = &snapshotGap{f.emptiedBy, next, slices.Clone(f.messages)}
	}
	f.beforeResume, f.emptiedBy = nil, -1
}

// finish says the messages from before a resume again, where that was lost, and writes a
// head where there is none; it may stand anywhere.
func (c geminiCLI) finish(e *edits) {
	if e.file.lacksHead() {
		e.prependHead(c.newHead(e.file))
		if e.appendOnly {
			e.appended, e.prepended = append(e.appended, e.prepended...), nil
		}
	}
	if e.file.snapshotGap == nil {
		return
	}
	g := *e.file.snapshotGap
	if e.appendOnly { // all that is sent, behind everything
		g.insertBefore, g.messages = -1, e.file.chatRecords
	}
	var all [][]byte
	for _, r := range g.messages {
		all = append(all, e.file.raw[r.at.Start:r.at.End])
	}
	set := e.file.object(g.emptiedBy).Object("$set")
	line := write("$set", write("messages", array(all...), "lastUpdated", set.Mark("lastUpdated")))
	if g.insertBefore < 0 {
		e.appended = append(e.appended, line)
	} else {
		x := e.unit(g.insertBefore)
		x.before = append(x.before, line)
	}
	e.addChange(Change{Line: e.file.units[g.emptiedBy].line}, wire.ActionInsert, "lost-snapshot", nil, len(line), "the messages from before the session was resumed, said again")
}
