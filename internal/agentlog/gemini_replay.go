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
	repeated := duplicateMessages(l)
	if repeated == nil {
		return f
	}
	gap := l.snapshotGap
	first := &geminiReplay{file: l}
	first.run(repeated)
	if !first.keepsMoreThan(f) {
		l.snapshotGap = gap
		return f
	}
	for i, u := range l.units {
		if repeated[i] {
			l.duplicates = append(l.duplicates, i)
			l.damageAt(u.span.Start, u.line, "duplicate-line")
			l.markHarmful("the agent goes back to what was so when the first one was written, and forgets the rest")
		}
	}
	return first
}

// keepsMoreThan reports whether f has all messages of other, and more or different ones.
func (r *geminiReplay) keepsMoreThan(other *geminiReplay) bool {
	more := len(r.messages) > len(other.messages)
	for _, record := range other.messages {
		k, ok := r.index[record.id]
		if !ok {
			return false
		}
		at := r.messages[k].at
		more = more || !bytes.Equal(r.file.raw[at.Start:at.End], r.file.raw[record.at.Start:record.at.End])
	}
	return more
}

// duplicateMessages returns the units of message lines that repeat an earlier line. It returns nil
// if there are none.
func duplicateMessages(l *Log) (repeated map[int]bool) {
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
		if repeated == nil {
			repeated = make(map[int]bool)
		}
		repeated[i] = true
	}
	return repeated
}

// run processes all lines except the given ones.
func (r *geminiReplay) run(without map[int]bool) {
	r.emptiedBy, r.index, r.file.snapshotGap = -1, make(map[string]int), nil
	for i, u := range r.file.units {
		if u.alone && !without[i] { // otherwise Gemini CLI cannot parse the line
			r.applyLine(i, objectAt(r.file.raw, u.span))
		}
	}
	r.restoreForgotten(-1)
}

// records returns the resulting messages and reports a missing snapshot.
func (r *geminiReplay) records() []chatRecord {
	if g := r.file.snapshotGap; g != nil {
		at := r.file.units[g.emptiedBy]
		r.file.damageAt(at.span.Start, at.line, "lost-snapshot")
	}
	return r.messages
}

func (r *geminiReplay) applyLine(i int, o object) {
	id := o.Text("id")
	if at := o.Object("$set"); id == "" {
		r.hasHead = r.hasHead || o.Text("sessionId") != "" && o.Text("projectHash") != "" || at.Text("sessionId") != "" && at.Text("projectHash") != ""
	}
	switch {
	case o.Has("$rewindTo"):
		r.restoreForgotten(i)
		k, ok := r.index[o.Text("$rewindTo")]
		if !ok {
			k = 0
		}
		for _, record := range r.messages[k:] {
			delete(r.index, record.id)
		}
		r.messages = r.messages[:k]
	case id != "":
		r.restoreForgotten(i)
		r.put(chatRecord{id, i, r.file.units[i].span})
	case o.Has("$set"):
		if set := o.Object("$set"); set.Has("messages") {
			r.replaceAll(i, set.List("messages"))
		}
	case o.Has("messages"):
		r.putList(i, o.List("messages"))
	case o.Has("sessionId") && o.Has("startTime"):
		r.beginRun(o.Text("sessionId"))
	}
}

func (r *geminiReplay) put(record chatRecord) {
	k, ok := r.index[record.id]
	if !ok {
		k = len(r.messages)
		r.index[record.id] = k
		r.messages = append(r.messages, chatRecord{})
	}
	r.messages[k] = record
}

func (r *geminiReplay) putList(unit int, list []jsonspan.Span) {
	for _, e := range list {
		if id := objectAt(r.file.raw, e).Text("id"); id != "" {
			r.put(chatRecord{id, unit, e})
		}
	}
}

// beginRun processes a head: the first one, or one that resumes the same chat.
func (r *geminiReplay) beginRun(session string) {
	if r.session == "" {
		r.session = session
	}
	if session == r.session && r.hasSentMessage(r.messages) {
		r.beforeResume, r.emptiedBy = slices.Clone(r.messages), -1
	}
}

// replaceAll replaces all messages by a list.
func (r *geminiReplay) replaceAll(i int, list []jsonspan.Span) {
	r.messages, r.index = nil, make(map[string]int)
	r.putList(i, list)
	switch {
	case r.hasSentMessage(r.messages): // these messages are sent, so earlier losses no longer matter
		r.beforeResume, r.emptiedBy, r.file.snapshotGap = nil, -1, nil
	case r.beforeResume != nil:
		r.emptiedBy = i
	}
}

// hasSentMessage reports whether one of the messages is sent.
func (r *geminiReplay) hasSentMessage(all []chatRecord) bool {
	return slices.ContainsFunc(all, func(record chatRecord) bool {
		m := objectAt(r.file.raw, record.at)
		return m.Text("type") != "user" || !isUnsentUserMessage(geminiContent(m))
	})
}

// restoreForgotten restores the messages from before a resume if they were not repeated before the
// next message.
func (r *geminiReplay) restoreForgotten(next int) {
	if r.beforeResume != nil && r.emptiedBy >= 0 {
		for _, record := range r.beforeResume {
			if _, ok := r.index[record.id]; !ok {
				r.put(record)
			}
		}
		r.file.snapshotGap = &snapshotGap{r.emptiedBy, next, slices.Clone(r.messages)}
	}
	r.beforeResume, r.emptiedBy = nil, -1
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
	e.addChange(Change{Line: e.file.units[g.emptiedBy].line, Change: wire.Change{Action: wire.ActionInsert, Rule: "lost-snapshot", Bytes: len(line)}}, "the messages from before the session was resumed, said again")
}
