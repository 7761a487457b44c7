package agentlog

import "github.com/pare-llm/pare"

// shorten appends the lines that Claude Code itself appends when it compacts a session: a boundary,
// where the loader of every version stops, and the remaining conversation after it. All kept
// messages are copied after the boundary, because only 2.1 can preserve lines before it and no
// version can preserve a part of a line.
func (claude) shorten(e *edits, t *Thread, plan *pare.Plan) error {
	tree := t.claude
	neighbor, stamp := t.sources[len(t.sources)-1].unit, ""
	for i := range tree.entries {
		if en := &tree.entries[i]; en.inTree && !en.isSide && millis(en.timestamp) > millis(stamp) {
			stamp = en.timestamp
		}
	}
	stamp = nextMillisecond(stamp)
	line, parent := e.boundary(tree, neighbor, stamp, e.file.Size(t).Tokens)
	e.appended = append(e.appended, line)
	attached := attachments(t)
	copier := lineCopier{e, tree, make(map[string]string)}
	for _, p := range buildPieces(t, t.Request, plan.Result(), false) {
		stamp = nextMillisecond(stamp)
		if p.message < 0 {
			line, parent = e.newLine(tree, p, neighbor, parent, stamp)
			if text := firstText(objectOf(p.raw)); isSummary(text) {
				line = setMembers(line, "isVisibleInTranscriptOnly", []byte("true"), "isCompactSummary", []byte("true"))
			}
			e.appended = append(e.appended, line)
			continue
		}
		neighbor = t.sources[p.message].unit
		line, parent = copier.copy(p, neighbor, parent, stamp)
		e.appended = append(e.appended, withoutOldUsage(line, p.raw != nil))
		for _, u := range attached[neighbor] {
			stamp = nextMillisecond(stamp)
			parent = e.mintUUID(tree, parent, e.unitBytes(u))
			e.appended = append(e.appended, e.file.object(u).With("parentUuid", uuidOrNull(objectOf(line).Text("uuid")), "uuid", parent, "timestamp", stamp))
			line = e.appended[len(e.appended)-1]
		}
	}
	e.appended = append(e.appended, e.lastPrompt(tree, neighbor, parent))
	return nil
}

// boundary returns a compaction boundary and its uuid.
func (e *edits) boundary(c *claudeThread, neighbor int, stamp string, tokens int) (line []byte, uuid string) {
	o := e.file.object(neighbor)
	meta := write("trigger", "manual", "preTokens", tokens)
	uuid = e.mintUUID(c, c.entries[neighbor].uuid, meta)
	pairs := []any{"parentUuid", []byte("null"), "logicalParentUuid", uuidOrNull(c.entries[neighbor].uuid)}
	for _, name := range copiedMembers {
		pairs = append(pairs, name, o.Mark(name))
	}
	return write(append(pairs, "type", "system", "subtype", "compact_boundary", "content", "Conversation compacted", "isMeta", []byte("false"),
		"timestamp", stamp, "uuid", uuid, "level", "info", "compactMetadata", meta)...), uuid
}

// withoutOldUsage removes values from a copied line that are true only of the original: the token
// counts of its request, which would make the agent compact again immediately, and, if the content
// has changed, the raw tool result.
func withoutOldUsage(line []byte, changed bool) []byte {
	record := objectOf(line)
	if changed {
		line = record.Without("toolUseResult")
		record = objectOf(line)
	}
	message := record.Object("message")
	used := message.Object("usage")
	if len(used.Members) == 0 {
		return line
	}
	now := zeroCounts(used, "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
	return record.With("message", message.With("usage", now))
}

// attachments returns, by message unit, the attachment lines that follow it on the path. The agent
// sends a part of them, such as prompts that the user typed while it worked.
func attachments(t *Thread) map[int][]int {
	all := make(map[int][]int)
	last := -1
	for _, u := range t.claude.path {
		switch e := &t.claude.entries[u]; {
		case e.hasMessage():
			last = u
		case e.kind == "attachment" && last >= 0:
			all[last] = append(all[last], u)
		}
	}
	return all
}

// firstText returns the first text of a message.
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
