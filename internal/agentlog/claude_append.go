package agentlog

import (
	"crypto/sha256"
	"fmt"

	"github.com/pare-llm/pare/wire"
)

// appendBranch adds the repaired thread behind everything: from the first message
// that changes or lies behind a gap on, every line once more, with a uuid of its
// own. It returns false if it adds nothing: a side chain that would begin anew would
// be another one, and the old one stay as it is.
func appendBranch(e *edits, t *Thread, pieces []piece) bool {
	c := t.claude
	gap := firstBehindGap(e.file, t)
	if pieces == nil && gap == len(t.sources) {
		return false
	}
	if pieces == nil {
		for i := range t.sources {
			pieces = append(pieces, piece{message: i})
		}
	}
	from := 0
	for from < min(gap, len(pieces)) && pieces[from].message == from && pieces[from].raw == nil {
		from++
	}
	if from == len(pieces) && from > 0 {
		from-- // only the end goes: the agent goes on from the newest line, which must be another one then
	}
	if from < len(t.sources) {
		from = messageStart(t, from)
	}
	if t.Kind == Side && from == 0 {
		return false
	}
	if gap < len(t.sources) {
		e.addChange(Change{Thread: t.Name, Line: e.file.units[t.sources[gap].unit].line}, wire.ActionInsert, "dangling-parent", nil, 0, "written once more, linked to what was in front of the gap")
	}
	parent, stamp := "", ""
	before := make(map[int]bool)
	for _, p := range t.sources[:from] {
		before[p.unit] = true
	}
	for _, u := range c.path {
		if before[u] {
			parent = c.entries[u].uuid
		}
		if millis(c.entries[u].timestamp) > millis(stamp) {
			stamp = c.entries[u].timestamp
		}
	}
	uuids := make(map[string]string) // of the copies
	near := t.sources[max(0, from-1)].unit
	for _, p := range pieces[from:] {
		stamp = nextMillisecond(stamp)
		var line []byte
		if p.message < 0 {
			line, parent = e.newLine(c, p, near, parent, stamp)
		} else {
			near = t.sources[p.message].unit
			line, parent = e.copyLine(c, p, near, parent, stamp, uuids)
		}
		e.appended = append(e.appended, line)
	}
	if t.Kind == Main {
		e.appended = append(e.appended, e.lastPrompt(c, near, parent))
	}
	return true
}

// lastPrompt writes the line by which versions from 2.1 on find the leaf, in the manner
// of the last one in the file.
func (e *edits) lastPrompt(c *claudeThread, near int, leaf string) []byte {
	var said []byte
	for i := len(c.entries) - 1; i >= 0; i-- {
		if c.entries[i].kind == "last-prompt" {
			said = e.file.object(i).Value("lastPrompt")
			break
		}
	}
	session := e.file.object(near).Mark("sessionId")
	return write("type", "last-prompt", "lastPrompt", said, "leafUuid", leaf, "sessionId", session)
}

// wholeMessages goes back from a message of a thread until no line in front of it
// has a part behind it: by a message id, or the parent of a result, the agent would
// fetch the originals of the lines behind it once more.
func messageStart(t *Thread, from int) int {
	c := t.claude
	first := make(map[string]int) // by message id, and by uuid of assistants' lines
	for i := len(t.sources) - 1; i >= 0; i-- {
		if en := &c.entries[t.sources[i].unit]; en.isAssistant {
			first["message "+en.id], first["line "+en.uuid] = i, i
		}
	}
	delete(first, "message ")
	for from > 0 && !c.entries[t.sources[from-1].unit].isAssistant && !c.entries[t.sources[from-1].unit].hasNonResult {
		from--
	}
	for from > 0 && c.entries[t.sources[from-1].unit].isAssistant {
		from--
	}
	for i := len(t.sources) - 1; i >= from; i-- {
		en := &c.entries[t.sources[i].unit]
		name := "message " + en.id
		if !en.isAssistant {
			name = "line " + en.parent
		}
		if k, ok := first[name]; ok {
			from = min(from, k)
		}
	}
	return from
}

// behindGap returns the first message of a thread that the agent does not get to: it
// lies behind a line whose parent is not there, hangs on nothing itself, or stands on a line
// with two objects. It is the number of messages if there is none.
func firstBehindGap(l *Log, t *Thread) int {
	behind, gap := make(map[int]bool), false
	for _, u := range t.claude.path {
		if _, ok := l.newParents[u]; ok || !l.units[u].alone {
			gap = true
		}
		behind[u] = gap
	}
	for i, p := range t.sources {
		if _, loose := l.newParents[p.unit]; loose || behind[p.unit] || !l.units[p.unit].alone {
			return i
		}
	}
	return len(t.sources)
}

// copyLine writes a line once more for another branch. Its message gets an id of its
// own: by the id the agent would take the original for a part of it.
func (e *edits) copyLine(c *claudeThread, p piece, u int, parent, stamp string, uuids map[string]string) ([]byte, string) {
	en := &c.entries[u]
	message := e.file.raw[en.message.Start:en.message.End]
	if p.raw != nil {
		message = e.file.withContent(en.message, p.raw)
	}
	if en.id != "" {
		sum := sha256.Sum256([]byte("pare\x00" + en.id))
		message = setMembers(message, "id", fmt.Sprintf("msg_%x", sum[:12]))
	}
	uuid := e.mintUUID(c, parent, message)
	uuids[en.uuid] = uuid
	line := e.file.object(u).With("parentUuid", uuidOrNull(parent), "message", message, "uuid", uuid, "timestamp", stamp)
	if s := uuids[objectOf(line).Text("sourceToolAssistantUUID")]; s != "" {
		line = setMembers(line, "sourceToolAssistantUUID", s)
	}
	return line, uuid
}
