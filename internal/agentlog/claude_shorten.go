package agentlog

import (
	"strconv"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/jsonspan"
)

// shorten appends what Claude Code itself appends when it compacts a session: a boundary, at
// which the loader of every version stops, and behind it the conversation as it goes on. All
// that stays is written once more behind the boundary, since only 2.1 can keep lines in front
// of it, and none can keep a part of one.
func (claude) shorten(e *edits, t *Thread, plan *pare.Plan) error {
	c := t.tree
	near, stamp := t.parts[len(t.parts)-1].unit, ""
	for i := range c.entries {
		if en := &c.entries[i]; en.linked && !en.side && millis(en.stamp) > millis(stamp) {
			stamp = en.stamp
		}
	}
	stamp = later(stamp)
	line, parent := e.boundary(c, near, stamp, e.l.Size(t).Tokens)
	e.end = append(e.end, line)
	beside := attachments(t)
	uuids := make(map[string]string) // of the copies
	for _, p := range piecesOf(t, t.Request, plan.Result(), false) {
		stamp = later(stamp)
		if p.message < 0 {
			line, parent = e.newLine(c, p, near, parent, stamp)
			if text := objectAt(p.raw, jsonspan.Span{End: len(p.raw)}).firstText(); isSummary(text) {
				line = setMembers(line, jsonspan.Span{End: len(line)}, "isVisibleInTranscriptOnly", []byte("true"), "isCompactSummary", []byte("true"))
			}
			e.end = append(e.end, line)
			continue
		}
		near = t.parts[p.message].unit
		line, parent = e.copyLine(c, p, near, parent, stamp, uuids)
		e.end = append(e.end, fresh(line, p.raw != nil))
		for _, u := range beside[near] {
			stamp = later(stamp)
			parent = e.mint(c, parent, e.body(u))
			e.end = append(e.end, setMembers(e.l.raw, e.l.units[u].span, "parentUuid", uuidValue(objectAt(line, jsonspan.Span{End: len(line)}).text("uuid")), "uuid", parent, "timestamp", stamp))
			line = e.end[len(e.end)-1]
		}
	}
	e.end = append(e.end, e.lastPrompt(c, near, parent))
	return nil
}

// boundary writes the line at which a compaction begins.
func (e *edits) boundary(c *ccChain, near int, stamp string, tokens int) (line []byte, uuid string) {
	o := objectAt(e.l.raw, e.l.units[near].span)
	meta := write("trigger", "manual", "preTokens", strconv.AppendInt(nil, int64(tokens), 10))
	uuid = e.mint(c, c.entries[near].uuid, meta)
	pairs := []any{"parentUuid", []byte("null"), "logicalParentUuid", uuidValue(c.entries[near].uuid)}
	for _, name := range copied {
		pairs = append(pairs, name, o.mark(name))
	}
	return write(append(pairs, "type", "system", "subtype", "compact_boundary", "content", "Conversation compacted", "isMeta", []byte("false"),
		"timestamp", stamp, "uuid", uuid, "level", "info", "compactMetadata", meta)...), uuid
}

// fresh takes out of a copied line what was true of the original only: what the API counted
// when it was sent, by which the agent would compact the session at once, and, if its content
// has changed, what the tool had returned.
func fresh(line []byte, changed bool) []byte {
	whole := objectAt(line, jsonspan.Span{End: len(line)})
	if changed && whole.has("toolUseResult") {
		line = withoutMember(line, "toolUseResult")
		whole = objectAt(line, jsonspan.Span{End: len(line)})
	}
	message := whole.object("message")
	used := message.object("usage")
	if len(used.members) == 0 {
		return line
	}
	var pairs []any
	for _, name := range []string{"input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"} {
		if used.has(name) {
			pairs = append(pairs, name, []byte("0"))
		}
	}
	now := setMembers(line, message.span, "usage", setMembers(line, used.span, pairs...))
	return setMembers(line, whole.span, "message", now)
}

// attachments are the lines behind each message of the path that are none themselves, and of
// which the agent sends something: prompts that the user has typed while it worked.
func attachments(t *Thread) map[int][]int {
	all := make(map[int][]int)
	last := -1
	for _, u := range t.tree.path {
		switch e := &t.tree.entries[u]; {
		case e.speaking():
			last = u
		case e.kind == "attachment" && last >= 0:
			all[last] = append(all[last], u)
		}
	}
	return all
}

// firstText is the first text of a message.
func (o object) firstText() string {
	if text := o.text("content"); text != "" {
		return text
	}
	for _, b := range o.list("content") {
		if text := objectAt(o.raw, b).text("text"); text != "" {
			return text
		}
	}
	return ""
}
