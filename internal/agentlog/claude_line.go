package agentlog

import (
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/pare-llm/pare/transcript"
)

// uuidValue writes a parent, which may be none.
func uuidOrNull(uuid string) []byte {
	if uuid == "" {
		return []byte("null")
	}
	return quote(uuid)
}

// copied are the members that a new line takes over from its neighbour.
var copiedMembers = []string{"isSidechain", "userType", "cwd", "sessionId", "version", "gitBranch", "slug", "agentId", "entrypoint", "sessionKind", "session_id"}

// newLine writes a line of its own in the manner of a neighbour. All that is in it
// follows from the neighbour and the message.
func (e *edits) newLine(c *claudeThread, p piece, near int, parent, stamp string) (line []byte, uuid string) {
	o := e.file.object(near)
	if _, ok := c.index[parent]; !ok && !e.mintedIDs[parent] {
		parent = ""
	}
	uuid = e.mintUUID(c, parent, p.raw)
	pairs := []any{"parentUuid", uuidOrNull(parent)}
	for _, name := range copiedMembers {
		pairs = append(pairs, name, o.Mark(name))
	}
	kind := "user"
	if p.role == transcript.Assistant {
		kind = "assistant"
	} else {
		pairs = append(pairs, "promptId", e.promptID(c, near))
	}
	pairs = append(pairs, "type", kind, "message", p.raw)
	source := e.callLine(c, p.raw)
	if source == "" {
		pairs = append(pairs, "isMeta", []byte("true"))
	}
	pairs = append(pairs, "uuid", uuid, "timestamp", nextMillisecond(stamp))
	if source != "" {
		pairs = append(pairs, "sourceToolAssistantUUID", source)
	}
	return write(pairs...), uuid
}

// promptID returns the promptId of the lines of the user around a line, up its branch, or nil
// where the agent writes none.
func (e *edits) promptID(c *claudeThread, near int) []byte {
	var asked []int
	var id []byte
	for u, ok := near, true; ok; u, ok = c.index[c.entries[u].parent] {
		if known, ok := e.links.promptIDs[u]; ok {
			id = known
			break
		}
		asked = append(asked, u)
		e.links.promptIDs[u] = nil // a circle ends here
		if c.entries[u].kind == "user" {
			id = e.file.object(u).Mark("promptId")
			break
		}
	}
	for _, u := range asked {
		e.links.promptIDs[u] = id
	}
	return id
}

// callLine returns the uuid of the line whose call the first result of a message
// answers, or "".
func (e *edits) callLine(c *claudeThread, message []byte) string {
	m := objectOf(message)
	for _, b := range m.List("content") {
		id := objectAt(message, b).Text("tool_use_id")
		if id == "" {
			continue
		}
		if u, ok := c.callers[id]; ok {
			return c.entries[u].uuid
		}
	}
	return ""
}

// callersOf says which unit makes the call of an id; the last one counts.
func callersOf(entries []claudeEntry) map[string]int {
	callers := make(map[string]int)
	for i := range entries {
		for _, id := range entries[i].calls {
			callers[id] = i
		}
	}
	return callers
}

// mint makes a uuid out of what a line says and where it hangs.
func (e *edits) mintUUID(c *claudeThread, parent string, message []byte) string {
	for n := 0; ; n++ {
		h := sha256.New()
		fmt.Fprintf(h, "pare\x00%s\x00%d\x00", parent, n)
		h.Write(message)
		id := uuidFromSum([32]byte(h.Sum(nil)))
		if _, taken := c.index[id]; !taken && !e.mintedIDs[id] {
			e.mintedIDs[id] = true
			return id
		}
	}
}

// later returns the time a millisecond after another one; a text that is no time
// stays as it is.
func nextMillisecond(stamp string) string {
	at, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil {
		return stamp
	}
	return at.Add(time.Millisecond).UTC().Format("2006-01-02T15:04:05.000Z")
}
