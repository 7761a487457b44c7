package oracle

// resultKinds lists the output items that answer each kind of call. Other clients answer two kinds
// with a plain output, and the provider accepted it.
var resultKinds = map[string][]string{
	"function_call":    {"function_call_output"},
	"custom_tool_call": {"custom_tool_call_output"},
	"local_shell_call": {"local_shell_call_output", "function_call_output"},
	"shell_call":       {"shell_call_output"},
	"apply_patch_call": {"apply_patch_call_output"},
	"computer_call":    {"computer_call_output"},
	"tool_search_call": {"tool_search_output", "function_call_output"},
	"program":          {"program_output"},
}

// responses checks the Responses API: a call is answered by one output of its kind with its
// call_id, anywhere after it. A later call of the same kind must not repeat an id.
func (c *judge) responses() {
	chained := c.body.has("previous_response_id") || c.body.has("conversation")
	type call struct {
		index    int
		kind, id string
		outputs  int
	}
	var calls []*call
	approvals := map[string]int{} // by request: how often it was answered, plus one
	outputs := map[string]bool{}
	shells := map[string]string{} // call ids by the ids of the items
	called := map[string]bool{}   // programs that have called something
	spoken := -1                  // the last message
	for _, kinds := range resultKinds {
		for _, k := range kinds {
			outputs[k] = true
		}
	}
	for i, v := range c.list {
		item := asObject(v)
		kind, id := item.text("type"), item.text("call_id")
		switch {
		case kind == "local_shell_call":
			shells[item.text("id")] = id
		case kind == "local_shell_call_output" && id == "":
			if id = item.text("id"); shells[id] != "" {
				id = shells[id]
			}
		case kind == "message" || kind == "":
			spoken = i
		}
		if caller := asObject(item["caller"]); caller.text("caller_id") != "" {
			called[caller.text("caller_id")] = true
		}
		switch {
		case kind == "tool_search_call" && item.text("execution") != "client":
			// The provider searches itself.
		case resultKinds[kind] != nil:
			for _, o := range calls {
				if o.kind == kind && o.id == id {
					c.fault(Reused, id, "%d", i)
					break
				}
			}
			calls = append(calls, &call{i, kind, id, 0})
		case kind == "tool_search_output" && item.text("execution") != "client":
		case outputs[kind]:
			var open, done *call
			for _, o := range calls {
				if o.id != id || !contains(resultKinds[o.kind], kind) {
					continue
				}
				if o.outputs == 0 && open == nil {
					open = o
				} else {
					done = o
				}
			}
			switch {
			case open != nil:
				open.outputs++
			case done != nil:
				c.fault(Twice, id, "%d", i)
			case !chained:
				c.fault(Orphan, id, "%d", i)
			}
		case kind == "mcp_approval_request":
			if approvals[item.text("id")] > 0 {
				c.fault(Reused, item.text("id"), "%d", i)
			}
			approvals[item.text("id")] = 1
		case kind == "mcp_approval_response":
			r := item.text("approval_request_id")
			switch n := approvals[r]; {
			case n == 0 && !chained:
				c.fault(Orphan, r, "%d", i)
			case n > 1:
				c.fault(Twice, r, "%d", i)
			case n == 1:
				approvals[r]++
			}
		}
	}
	for _, o := range calls {
		if o.kind == "program" && called[o.id] && o.index > spoken {
			continue // it still runs
		}
		if o.outputs == 0 {
			c.fault(Unanswered, o.id, "%d", o.index)
		}
	}
}

func contains(all []string, s string) bool {
	for _, a := range all {
		if a == s {
			return true
		}
	}
	return false
}
