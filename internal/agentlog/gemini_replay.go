package agentlog

import (
	"bytes"
	"hash/maphash"
	"slices"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/wire"
)

// A geminiReplay processes the lines of a chat as Gemini CLI does. When Gemini CLI resumes a chat,
// it writes a new head, a $set with only the context of the new run, and a $set with all earlier
// messages. If the last of these lines is lost, the program forgets the messages. The replay reads
// them as if the line existed, and Fix writes it again.
type geminiReplay struct {
	file     *Log
	messages []chatRecord
	index    map[string]int // by id: the index in messages

	hasHead      bool         // some line is a head
	session      string       // id of the session
	beforeResume []chatRecord // the messages at the last head; nil once they were repeated
	emptiedBy    int          // the unit whose $set removed them; -1 if none
}

// A snapshotGap is the place where the messages from before a resume must be repeated.
type snapshotGap struct {
	emptiedBy    int // the unit whose $set removed them
	insertBefore int // the unit before which they belong; -1 for the end
	messages     []chatRecord
}

// replayGemini processes all lines. A copy of a line restores an older state of its message; where
// this loses something, the copies are damage.
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

// keepsMoreThan reports whether f has all messages of other, and more or different ones.
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

// duplicateMessages returns the units of message lines that repeat an earlier line. It returns nil
// if there are none.
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

// run processes all lines except the given ones.
func (f *geminiReplay) run(without map[int]bool) {
	f.emptiedBy, f.index, f.file.snapshotGap = -1, make(map[string]int), nil
	for i, u := range f.file.units {
		if u.alone && !without[i] { // otherwise Gemini CLI cannot parse the line
			f.applyLine(i, objectAt(f.file.raw, u.span))
		}
	}
	f.restoreForgotten(-1)
}

// records returns the resulting messages and reports a missing snapshot.
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

// beginRun processes a head: the first one, or one that resumes the same chat.
func (f *geminiReplay) beginRun(session string) {
	if f.session == "" {
		f.session = session
	}
	if session == f.session && f.hasSentMessage(f.messages) {
		f.beforeResume, f.emptiedBy = slices.Clone(f.messages), -1
	}
}

// replaceAll replaces all messages by a list.
func (f *geminiReplay) replaceAll(i int, list []jsonspan.Span) {
	f.messages, f.index = nil, make(map[string]int)
	f.putList(i, list)
	switch {
	case f.hasSentMessage(f.messages): // these messages are sent, so earlier losses no longer matter
		f.beforeResume, f.emptiedBy, f.file.snapshotGap = nil, -1, nil
	case f.beforeResume != nil:
		f.emptiedBy = i
	}
}

// hasSentMessage reports whether one of the messages is sent.
func (f *geminiReplay) hasSentMessage(all []chatRecord) bool {
	return slices.ContainsFunc(all, func(r chatRecord) bool {
		m := objectAt(f.file.raw, r.at)
		return m.Text("type") != "user" || !isUnsentUserMessage(geminiContent(m))
	})
}

// restoreForgotten restores the messages from before a resume if they were not repeated before the
// next message.
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

// finish repeats the messages from before a resume if their snapshot was lost, and writes a missing
// head. The head may be anywhere in the file.
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
	if e.appendOnly { // all sent messages, at the end of the file
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
