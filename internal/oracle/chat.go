package oracle

// chat checks Chat Completions. After an assistant message with tool_calls, tool messages that
// answer each id once must follow before anything else; a tool message is wrong everywhere
// else. The old function_call with its function message is a separate family: one function
// message right after the call. Neither family answers for the other, and only assistants
// call.
func (c *judge) chat() {
	var open map[string]int // the calls that tool messages may answer: how often they were
	var order []string      // their ids
	at := 0
	old, oldDone := -1, false // the message with a function_call that is to be answered
	oldName := ""
	settle := func() {
		if old >= 0 && !oldDone {
			c.fault(Unanswered, "", "%d.function_call", old)
		}
		old, oldDone = -1, false
		for _, id := range order {
			if open[id] == 0 {
				c.fault(Unanswered, id, "%d", at)
			}
		}
		open, order = nil, nil
	}
	for i, v := range c.list {
		m := asObject(v)
		switch role := m.text("role"); {
		case role == "function" && old >= 0 && m.text("name") == oldName:
			if oldDone {
				c.fault(Twice, "", "%d", i)
			}
			oldDone = true
		case role == "function":
			settle()
			c.fault(Orphan, "", "%d", i)
		case role == "tool":
			id := m.text("tool_call_id")
			n, asked := open[id]
			switch {
			case !asked:
				c.fault(Orphan, id, "%d", i)
			case n > 0:
				c.fault(Twice, id, "%d", i)
			}
			if asked {
				open[id]++
			}
		default:
			settle()
			if role != "assistant" {
				if m.has("function_call") || len(m.list("tool_calls")) > 0 {
					c.fault(Misplaced, "", "%d", i)
				}
				break
			}
			open, at = map[string]int{}, i
			if m.has("function_call") {
				old, oldName = i, m.object("function_call").text("name")
			}
			for j, call := range m.list("tool_calls") {
				id := asObject(call).text("id")
				if _, there := open[id]; there {
					c.fault(Reused, id, "%d.tool_calls.%d", i, j)
					continue
				}
				open[id] = 0
				order = append(order, id)
			}
		}
	}
	settle()
}
