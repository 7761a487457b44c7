package oracle

import "strings"

// anthropic checks the Messages API. Neighbors of one role form one turn. Every tool_use of an
// assistant turn needs one tool_result among the results at the start of the next user turn.
// Every tool_result answers a tool_use of the turn before. The provider's own tools are
// answered within the assistant's turns, which results of the client may interrupt.
func (c *judge) anthropic() {
	turns := c.turns("content", true)
	for k, t := range turns {
		var before, after *turn
		if k > 0 {
			before = &turns[k-1]
		}
		if k+1 < len(turns) {
			after = &turns[k+1]
		}
		if t.role == "assistant" {
			c.anthropicCalls(t, after)
		}
		c.anthropicResults(t, before)
	}
	c.serverTools(turns)
}

func (c *judge) anthropicCalls(t turn, after *turn) {
	answered := map[string]bool{}
	if after != nil && after.role == "user" {
		for _, b := range after.parts {
			if b.text("type") != "tool_result" {
				break // only the results at the start count
			}
			answered[b.text("tool_use_id")] = true
		}
	}
	seen := map[string]bool{}
	for _, b := range t.parts {
		if b.text("type") != "tool_use" {
			continue
		}
		id := b.text("id")
		if seen[id] {
			c.fault(Reused, id, "%s", b.path)
		}
		seen[id] = true
		if !answered[id] {
			c.fault(Unanswered, id, "%s", b.path)
		}
	}
}

func (c *judge) anthropicResults(t turn, before *turn) {
	asked := map[string]bool{}
	if before != nil && before.role == "assistant" {
		for _, b := range before.parts {
			if b.text("type") == "tool_use" {
				asked[b.text("id")] = true
			}
		}
	}
	seen := map[string]bool{}
	for _, b := range t.parts {
		id := b.text("tool_use_id")
		switch kind := b.text("type"); {
		case kind == "tool_use" && t.role != "assistant":
			c.fault(Misplaced, b.text("id"), "%s", b.path)
		case kind != "tool_result":
		case t.role != "user":
			c.fault(Misplaced, id, "%s", b.path)
		case !asked[id]:
			c.fault(Orphan, id, "%s", b.path)
		case seen[id]:
			c.fault(Twice, id, "%s", b.path)
		default:
			seen[id] = true
		}
	}
}

// serverTools checks the tools that the provider runs itself. A result follows its use within
// the same run of assistant turns, which only results of the client may interrupt. A use
// without a result is legal only in the last turn, while the model may still be working.
func (c *judge) serverTools(turns []turn) {
	type use struct {
		part
		turn int
	}
	var open []use
	lose := func(before int) {
		for _, u := range open {
			if u.turn < before {
				c.fault(Unanswered, u.text("id"), "%s", u.path)
			}
		}
		open = nil
	}
	last := 0 // turn of the assistant's
	for k, t := range turns {
		if t.role != "assistant" {
			c.serverStrays(t)
			if !onlyResults(t) {
				lose(k)
			}
			continue
		}
		last = k
		for _, b := range t.parts {
			kind := b.text("type")
			switch {
			case kind == "server_tool_use" || kind == "mcp_tool_use":
				open = append(open, use{b, k})
			case strings.HasSuffix(kind, "_tool_result"):
				at := -1
				for i, u := range open {
					if u.text("id") == b.text("tool_use_id") && (kind == "mcp_tool_result") == (u.text("type") == "mcp_tool_use") {
						at = i
					}
				}
				if at < 0 {
					c.fault(Orphan, b.text("tool_use_id"), "%s", b.path)
					continue
				}
				open = append(open[:at:at], open[at+1:]...)
			}
		}
	}
	lose(last)
}

// serverStrays judges server tools in a turn that is not the assistant's.
func (c *judge) serverStrays(t turn) {
	for _, b := range t.parts {
		switch kind := b.text("type"); {
		case kind == "server_tool_use", kind == "mcp_tool_use":
			c.fault(Misplaced, b.text("id"), "%s", b.path)
		case strings.HasSuffix(kind, "_tool_result"):
			c.fault(Misplaced, b.text("tool_use_id"), "%s", b.path)
		}
	}
}

// onlyResults reports whether a user's turn holds nothing but answers to calls.
func onlyResults(t turn) bool {
	for _, b := range t.parts {
		if b.text("type") != "tool_result" {
			return false
		}
	}
	return t.role == "user"
}
