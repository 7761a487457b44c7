package agentlog

import (
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/pare-llm/pare/transcript"
)

// uuidOrNull returns uuid as a JSON string, or null if it is empty.
func uuidOrNull(uuid string) []byte {
	if uuid == "" {
		return []byte("null")
	}
	return quote(uuid)
}

// copiedMembers are the members that a new line copies from its neighbor.
var copiedMembers = []string{"isSidechain", "userType", "cwd", "sessionId", "version", "gitBranch", "slug", "agentId", "entrypoint", "sessionKind", "session_id"}

// newLine returns a new line and its uuid. Everything in it is derived from the message and the
// neighbor.
func (e *edits) newLine(c *claudeThread, p piece, neighbor int, parent, stamp string) (line []byte, uuid string) {
	o := e.file.object(neighbor)
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
		pairs = append(pairs, "promptId", e.promptID(c, neighbor))
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

// promptID returns the promptId of the nearest user line among neighbor and its ancestors, or nil
// if the agent writes none.
func (e *edits) promptID(c *claudeThread, neighbor int) []byte {
	var asked []int
	var id []byte
	for u, ok := neighbor, true; ok; u, ok = c.index[c.entries[u].parent] {
		if known, ok := e.links.promptIDs[u]; ok {
			id = known
			break
		}
		asked = append(asked, u)
		e.links.promptIDs[u] = nil // stops at a cycle
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

// callLine returns the uuid of the line with the call that the first result of a message answers,
// or "".
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

// callersOf returns, by call id, the last unit with the call.
func callersOf(entries []claudeEntry) map[string]int {
	callers := make(map[string]int)
	for i := range entries {
		for _, id := range entries[i].calls {
			callers[id] = i
		}
	}
	return callers
}

// mintUUID derives an unused uuid from a line's parent and message.
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

// nextMillisecond returns the time one millisecond after stamp. An invalid time is returned
// unchanged.
func nextMillisecond(stamp string) string {
	at, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil {
		return stamp
	}
	return at.Add(time.Millisecond).UTC().Format("2006-01-02T15:04:05.000Z")
}
