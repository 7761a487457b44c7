package agentlog

import (
	"crypto/sha256"
	"fmt"

	"github.com/pare-llm/pare/wire"
)

// appendBranch appends the repaired thread to the file: every line from the first change or gap on,
// each with a new uuid. It returns false if it appends nothing: a side chain that begins anew would
// be a new chain next to the faulty one.
func appendBranch(e *edits, t *Thread, pieces []piece) bool {
	tree := t.claude
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
		// Only the end is dropped: the agent resumes from the newest line, so another line must
		// become the newest.
		from--
	}
	if from < len(t.sources) {
		from = messageStart(t, from)
	}
	if t.Kind == Side && from == 0 {
		return false
	}
	if gap < len(t.sources) {
		e.addChange(Change{Thread: t.Name, Line: e.file.units[t.sources[gap].unit].line, Change: wire.Change{Action: wire.ActionInsert, Rule: "dangling-parent"}}, "written once more, linked to what was in front of the gap")
	}
	parent, stamp := "", ""
	before := make(map[int]bool)
	for _, p := range t.sources[:from] {
		before[p.unit] = true
	}
	for _, u := range tree.path {
		if before[u] {
			parent = tree.entries[u].uuid
		}
		if millis(tree.entries[u].timestamp) > millis(stamp) {
			stamp = tree.entries[u].timestamp
		}
	}
	copier := lineCopier{e, tree, make(map[string]string)}
	neighbor := t.sources[max(0, from-1)].unit
	for _, p := range pieces[from:] {
		stamp = nextMillisecond(stamp)
		var line []byte
		if p.message < 0 {
			line, parent = e.newLine(tree, p, neighbor, parent, stamp)
		} else {
			neighbor = t.sources[p.message].unit
			line, parent = copier.copy(p, neighbor, parent, stamp)
		}
		e.appended = append(e.appended, line)
	}
	if t.Kind == Main {
		e.appended = append(e.appended, e.lastPrompt(tree, neighbor, parent))
	}
	return true
}

// lastPrompt returns the last-prompt line by which versions since 2.1 find the leaf. It repeats the
// text of the file's previous one.
func (e *edits) lastPrompt(c *claudeThread, neighbor int, leaf string) []byte {
	var text []byte
	for i := len(c.entries) - 1; i >= 0; i-- {
		if c.entries[i].kind == "last-prompt" {
			text = e.file.object(i).Value("lastPrompt")
			break
		}
	}
	session := e.file.object(neighbor).Mark("sessionId")
	return write("type", "last-prompt", "lastPrompt", text, "leafUuid", leaf, "sessionId", session)
}

// messageStart moves from back until no earlier line is a part of a message that continues after
// it. Otherwise the agent would also fetch the originals of the copied lines, by their message id
// or as parents of results.
func messageStart(t *Thread, from int) int {
	c := t.claude
	first := make(map[string]int) // by message id, and by uuid of assistant lines
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

// firstBehindGap returns the first message of a thread that the agent cannot reach: a line with a
// missing parent precedes it, it has no parent itself, or it shares its line with another object.
// It returns the number of messages if there is none.
func firstBehindGap(l *Log, t *Thread) int {
	following, gap := make(map[int]bool), false
	for _, u := range t.claude.path {
		if _, ok := l.newParents[u]; ok || !l.units[u].alone {
			gap = true
		}
		following[u] = gap
	}
	for i, p := range t.sources {
		if _, loose := l.newParents[p.unit]; loose || following[p.unit] || !l.units[p.unit].alone {
			return i
		}
	}
	return len(t.sources)
}

// A lineCopier copies lines of a thread to another branch.
type lineCopier struct {
	edits *edits
	tree  *claudeThread
	uuids map[string]string // by old uuid: the uuid of the copy
}

// copy returns a copy of the line of a piece, and its uuid. Its message gets a new id, because the
// agent would merge messages with the same id.
func (c *lineCopier) copy(p piece, u int, parent, stamp string) ([]byte, string) {
	entry, file := &c.tree.entries[u], c.edits.file
	message := file.raw[entry.message.Start:entry.message.End]
	if p.raw != nil {
		message = file.withContent(entry.message, p.raw)
	}
	if entry.id != "" {
		sum := sha256.Sum256([]byte("pare\x00" + entry.id))
		message = setMembers(message, "id", fmt.Sprintf("msg_%x", sum[:12]))
	}
	uuid := c.edits.mintUUID(c.tree, parent, message)
	c.uuids[entry.uuid] = uuid
	line := file.object(u).With("parentUuid", uuidOrNull(parent), "message", message, "uuid", uuid, "timestamp", stamp)
	if s := c.uuids[objectOf(line).Text("sourceToolAssistantUUID")]; s != "" {
		line = setMembers(line, "sourceToolAssistantUUID", s)
	}
	return line, uuid
}
