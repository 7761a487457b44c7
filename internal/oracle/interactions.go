package oracle

import "strings"

// interactions checks Interactions, a list of steps. Consecutive model steps are one turn. Its
// calls are answered by the results right after it, each by one result of its id. A request
// that continues a stored interaction may answer calls that it does not contain. Turns with
// roles are the schema before June 2026.
func (c *judge) interactions() {
	chained := c.body.has("previous_interaction_id")
	type call struct {
		index    int
		id, name string
		done     bool
	}
	var open []*call
	answering := false // results have been seen since the model's turn
	settle := func() {
		for _, o := range open {
			if !o.done {
				c.fault(Unanswered, o.id, "%d", o.index)
			}
		}
		open, answering = nil, false
	}
	user := false // a user step was found
	for i, v := range c.list {
		step := asObject(v)
		typ := step.text("type")
		switch {
		case typ == "" && (step.has("role") || step.has("content")):
			c.fault(Roles, "", "%d", i)
			return
		case typ == "function_result":
			answering = true
			var at, before *call
			id := step.text("call_id")
			if id == "" {
				id = step.text("id")
			}
			for _, o := range open {
				switch {
				case o.id != id:
				case o.done:
					before = o
				case at == nil || at.name != step.text("name") && o.name == step.text("name"):
					at = o
				}
			}
			switch {
			case at != nil:
				at.done = true
			case before != nil:
				c.fault(Twice, id, "%d", i)
			case !chained:
				c.fault(Orphan, id, "%d", i)
			}
		case typ == "user_input" || typ == "text" || typ == "image" || typ == "audio" || typ == "video" || typ == "document":
			settle()
			user = true
		default:
			if answering {
				settle()
			}
			if typ != "function_call" {
				continue
			}
			if !user && !chained {
				c.fault(Roles, step.text("id"), "%d", i)
				user = true
			}
			id := step.text("id")
			if id == "" {
				id = step.text("call_id")
			}
			for _, o := range open {
				if o.id == id && id != "" {
					c.fault(Reused, id, "%d", i)
					break
				}
			}
			open = append(open, &call{i, id, strings.TrimSpace(step.text("name")), false})
		}
	}
	settle()
}
