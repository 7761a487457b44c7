package agentlog

import "github.com/pare-llm/pare"

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
			if text := firstText(objectOf(p.raw)); isSummary(text) {
				line = setMembers(line, "isVisibleInTranscriptOnly", []byte("true"), "isCompactSummary", []byte("true"))
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
			e.end = append(e.end, e.l.object(u).With("parentUuid", uuidValue(objectOf(line).Text("uuid")), "uuid", parent, "timestamp", stamp))
			line = e.end[len(e.end)-1]
		}
	}
	e.end = append(e.end, e.lastPrompt(c, near, parent))
	return nil
}

// boundary writes the line at which a compaction begins.
func (e *edits) boundary(c *ccChain, near int, stamp string, tokens int) (line []byte, uuid string) {
	o := e.l.object(near)
	meta := write("trigger", "manual", "preTokens", tokens)
	uuid = e.mint(c, c.entries[near].uuid, meta)
	pairs := []any{"parentUuid", []byte("null"), "logicalParentUuid", uuidValue(c.entries[near].uuid)}
	for _, name := range copied {
		pairs = append(pairs, name, o.Mark(name))
	}
	return write(append(pairs, "type", "system", "subtype", "compact_boundary", "content", "Conversation compacted", "isMeta", []byte("false"),
		"timestamp", stamp, "uuid", uuid, "level", "info", "compactMetadata", meta)...), uuid
}

// fresh takes out of a copied line what was true of the original only: what the API counted
// when it was sent, by which the agent would compact the session at once, and, if its content
// has changed, what the tool had returned.
func fresh(line []byte, changed bool) []byte {
	whole := objectOf(line)
	if changed {
		line = whole.Without("toolUseResult")
		whole = objectOf(line)
	}
	message := whole.Object("message")
	used := message.Object("usage")
	if len(used.Members) == 0 {
		return line
	}
	now := unused(used, "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
	return whole.With("message", message.With("usage", now))
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
func firstText(o object) string {
	if text := o.Text("content"); text != "" {
		return text
	}
	for _, b := range o.List("content") {
		if text := objectAt(o.Raw, b).Text("text"); text != "" {
			return text
		}
	}
	return ""
}
