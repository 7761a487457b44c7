package recall

// responses is the Responses API.
type responses struct{}

func (responses) list() string  { return "input" }
func (responses) wrapped() bool { return false }

func (responses) Offer(body []byte) ([]byte, bool) {
	if string(at(body, "background")) == "true" { // nobody waits for the reply
		return body, false
	}
	out, ok := offerIn(body, "input", "tools", object("type", "function", "name", Tool, "description", about, "parameters", []byte(schema), "strict", []byte("false")))
	if ok && string(at(body, "store")) != "false" {
		// The client may go on from what the server holds. A call that it never saw would wait
		// there for a result, so this one must come alone.
		out = set(out, []byte("false"), "parallel_tool_calls")
	}
	return out, ok
}

func (responses) Hear(reply []byte) *Turn {
	if !readable(reply) || !isList(reply, "output") {
		return nil
	}
	t := &Turn{Ready: text(reply, "status") == "completed", Output: number(reply, "usage", "output_tokens")}
	for _, item := range elements(reply, "output") {
		t.responsesItem(item)
	}
	return t
}

func (t *Turn) responsesItem(item []byte) {
	t.Said = append(t.Said, item)
	switch kind := text(item, "type"); {
	case kind == "function_call" && text(item, "name") == Tool:
		t.Calls = append(t.Calls, newCall(text(item, "call_id"), []byte(text(item, "arguments")), item, len(t.Others)))
		return
	case kind == "function_call":
		t.Others = append(t.Others, Other{text(item, "call_id"), text(item, "name"), []byte(text(item, "arguments"))})
	case waits[kind]:
		t.Others = append(t.Others, Other{text(item, "call_id"), kind, nil})
	}
	t.Shown = append(t.Shown, item)
}

// waits are the other items that a client has to answer.
var waits = map[string]bool{"custom_tool_call": true, "computer_call": true, "local_shell_call": true, "shell_call": true, "apply_patch_call": true, "mcp_approval_request": true}

func (responses) Reply(last []byte, before []*Turn, now *Turn) []byte {
	last = set(last, array(shown(before, now)...), "output")
	last = plus(last, outputs(before), "usage", "output_tokens")
	return plus(last, outputs(before), "usage", "total_tokens")
}

func (responses) Result(c Call, text string) []byte {
	return object("type", "function_call_output", "call_id", c.ID, "output", text)
}

func (responses) asked(results [][]byte) [][]byte { return results }

func (responses) Stream() Filter { f := &responsesFilter{}; f.Next(); return f }

// A responsesFilter passes on the events of a response.
type responsesFilter struct {
	round    int
	sequence int // the number behind those of the events that have passed
	withheld bool
	places
	before []*Turn
	now    *Turn
	held   []Event
}

func (f *responsesFilter) Next() {
	if f.now != nil {
		f.round++
		f.before = append(f.before, f.now)
	}
	f.now, f.held = &Turn{}, nil
	f.places.next()
}

func (f *responsesFilter) Take(e Event) []Event {
	if !readable(e.Data) {
		return []Event{e}
	}
	kind := text(e.Data, "type")
	if at(e.Data, "output_index") != nil {
		return f.item(e, kind)
	}
	switch kind {
	case "response.created", "response.in_progress", "response.queued":
		if f.round > 0 {
			return nil
		}
	case "response.completed", "response.incomplete", "response.failed":
		return f.last(e, kind)
	}
	return f.pass(e)
}

// item passes on an event of an item that the client sees.
func (f *responsesFilter) item(e Event, kind string) []Event {
	i := number(e.Data, "output_index")
	item := at(e.Data, "item")
	switch kind {
	case "response.output_item.added":
		f.put(i, text(item, "type") == "function_call" && text(item, "name") == Tool)
	case "response.output_item.done":
		f.now.responsesItem(item)
	}
	n, ok := f.of[i]
	switch {
	case !ok:
		return f.pass(e)
	case n < 0:
		f.withheld = true
		return nil
	}
	return f.pass(e.numbered(n, "output_index"))
}

// last passes on the event that ends a response, or holds it back.
func (f *responsesFilter) last(e Event, kind string) []Event {
	f.now.Ready = kind == "response.completed"
	f.now.Output = number(e.Data, "response", "usage", "output_tokens")
	// What was added and never done, as in a reply that was cut off, is in here only.
	if items := elements(e.Data, "response", "output"); len(items) > len(f.now.Said) {
		said := *f.now
		said.Said, said.Shown, said.Calls, said.Others = nil, nil, nil, nil
		f.now = &said
		for _, item := range items {
			f.now.responsesItem(item)
		}
	}
	if f.now.Alone() {
		f.held = append(f.held, e)
		return nil
	}
	return f.pass(f.ended(e))
}

// ended is the last event with everything in it that the client has seen.
func (f *responsesFilter) ended(e Event) Event {
	response := at(e.Data, "response")
	if len(f.now.Calls) == 0 && f.round == 0 || !isList(response, "output") {
		return e
	}
	return e.changed(set(e.Data, responses{}.Reply(response, f.before, f.now), "response"))
}

// pass gives an event its number in the reply, if one before it was withheld.
func (f *responsesFilter) pass(e Event) []Event {
	if at(e.Data, "sequence_number") != nil {
		if f.withheld {
			e = e.numbered(f.sequence, "sequence_number")
		}
		f.sequence = number(e.Data, "sequence_number") + 1
	}
	return []Event{e}
}

func (f *responsesFilter) Turn() *Turn { return f.now }

func (f *responsesFilter) Close() []Event {
	var all []Event
	for _, e := range f.held {
		all = append(all, f.pass(f.ended(e))...)
	}
	return all
}
