package recall

import "github.com/pare-llm/pare/internal/jsonedit"

// interactions is Gemini's Interactions, where the client keeps the history.
type interactions struct{}

func (interactions) list() string  { return "input" }
func (interactions) wrapped() bool { return false }

func (interactions) Offer(body []byte) ([]byte, bool) {
	// What the server keeps can be gone on from by its id. A call that the client never saw
	// would wait there for a result, and nothing says that calls are to come one at a time.
	if string(at(body, "store")) != "false" || string(at(body, "background")) == "true" {
		return body, false
	}
	for _, name := range []string{"agent", "cached_content"} { // which have tools of their own
		if !absent(at(body, name)) {
			return body, false
		}
	}
	functions := false
	tools := elements(body, "tools")
	for _, t := range tools {
		functions = functions || text(t, "type") == "function"
	}
	switch {
	case functions:
	case len(tools) > 0, !absent(at(body, "response_format")), !absent(at(body, "response_mime_type")):
		return body, false // older models take Google's own tools alone, and a format without any
	}
	return offerIn(body, "input", "tools", object("type", "function", "name", Tool, "description", about, "parameters", []byte(schema)))
}

func (interactions) Hear(reply []byte) *Turn {
	if !readable(reply) || !isList(reply, "steps") {
		return nil
	}
	t := &Turn{Ready: interactionWaits(reply), Output: interactionOutput(reply)}
	for _, s := range elements(reply, "steps") {
		t.step(s)
	}
	return t
}

// interactionWaits reports whether the model waits for results.
func interactionWaits(interaction []byte) bool {
	return text(interaction, "status") == "requires_action"
}

func interactionOutput(interaction []byte) int {
	return number(interaction, "usage", "total_output_tokens") + number(interaction, "usage", "total_thought_tokens")
}

// step adds one to what was said.
func (t *Turn) step(s []byte) {
	t.Said = append(t.Said, s)
	switch call := text(s, "type") == "function_call"; {
	case call && text(s, "name") == Tool:
		t.Calls = append(t.Calls, newCall(text(s, "id"), at(s, "arguments"), s, len(t.Others)))
		return
	case call:
		t.Others = append(t.Others, Other{text(s, "id"), text(s, "name"), at(s, "arguments")})
	}
	t.Shown = append(t.Shown, s)
}

func (interactions) Reply(last []byte, before []*Turn, now *Turn) []byte {
	last = set(last, array(shown(before, now)...), "steps")
	if now.Alone() {
		last = set(last, quote("completed"), "status")
	}
	return interactionPlus(last, outputs(before))
}

func interactionPlus(interaction []byte, n int) []byte {
	return plus(plus(interaction, n, "usage", "total_output_tokens"), n, "usage", "total_tokens")
}

func (interactions) Result(c Call, text string) []byte {
	return object("type", "function_result", "call_id", c.ID, "name", Tool, "result", text)
}

func (interactions) asked(results [][]byte) [][]byte { return results }

func (interactions) Stream() Filter { return &interactionsFilter{blocks: newBlocks("index")} }

// An interactionsFilter passes on the events of an interaction.
type interactionsFilter struct {
	blocks
	before []*Turn
	id     []byte // that the client knows the reply by
}

func (f *interactionsFilter) Next() {
	f.before = append(f.before, f.now)
	f.blocks.Next()
}

func (f *interactionsFilter) Turn() *Turn { return f.now }

func (f *interactionsFilter) Take(e Event) []Event {
	if !readable(e.Data) {
		return f.last(e) // the line behind the last event
	}
	i := number(e.Data, f.number)
	switch text(e.Data, "event_type") {
	case "interaction.created":
		if f.round > 0 {
			return nil
		}
		f.id = at(e.Data, "interaction", "id")
	case "interaction.status_update":
		if f.round > 0 && text(e.Data, "status") == "in_progress" {
			return nil
		}
		f.now.Ready = interactionWaits(e.Data)
		return f.last(e)
	case "step.start":
		s := at(e.Data, "step")
		f.begin(i, text(s, "type") == "function_call" && text(s, "name") == Tool, s)
		return f.block(e, i)
	case "step.delta":
		if g := f.grown[i]; g != nil {
			g.addStep(at(e.Data, "delta"))
		}
		return f.block(e, i)
	case "step.stop":
		if g := f.grown[i]; g != nil {
			f.now.step(g.finishStep())
		}
		return f.block(e, i)
	case "interaction.completed":
		f.now.Ready = interactionWaits(at(e.Data, "interaction"))
		f.now.Output = interactionOutput(at(e.Data, "interaction"))
		if f.now.Alone() {
			return f.last(e)
		}
		return []Event{f.ended(e)}
	}
	return []Event{e}
}

// ended is the last event with everything in it that the client has seen.
func (f *interactionsFilter) ended(e Event) Event {
	whole := at(e.Data, "interaction")
	if whole == nil || len(f.now.Calls) == 0 && f.round == 0 {
		return e
	}
	if isList(whole, "steps") {
		whole = interactions{}.Reply(whole, f.before, f.now)
	} else if whole = interactionPlus(whole, outputs(f.before)); f.now.Alone() {
		whole = set(whole, quote("completed"), "status")
	}
	if f.id != nil {
		whole = set(whole, f.id, "id")
	}
	return e.changed(set(e.Data, whole, "interaction"))
}

func (f *interactionsFilter) Close() []Event {
	for i, e := range f.held {
		switch text(e.Data, "event_type") {
		case "interaction.completed":
			f.held[i] = f.ended(e)
		case "interaction.status_update":
			f.held[i] = e.changed(set(e.Data, quote("completed"), "status"))
		}
	}
	return f.held
}

// addStep takes a piece of a step.
func (g *growing) addStep(delta []byte) {
	switch kind := text(delta, "type"); kind {
	case "text":
		g.grow("text", text(delta, "text"))
	case "text_annotation_delta":
		g.citations = append(g.citations, elements(delta, "annotations")...)
	case "arguments_delta":
		g.grow("arguments", text(delta, "arguments"))
	case "thought_signature":
		g.grow("signature", text(delta, "signature"))
	case "thought_summary":
		g.list("summary", at(delta, "content"))
	case "image", "audio", "video", "document":
		g.endText()
		g.list("content", delta)
	default: // what the provider runs comes as a whole
		for name, value := range jsonedit.All(delta) {
			if name != "type" {
				g.start = set(g.start, value, name)
			}
		}
	}
}

// endText makes an element of the text so far.
func (g *growing) endText() {
	piece, ok := g.parts["text"]
	if !ok {
		return
	}
	t := object("type", "text", "text", string(piece))
	if g.citations != nil {
		t = set(t, array(g.citations...), "annotations")
	}
	g.list("content", t)
	delete(g.parts, "text")
	g.citations = nil
}

// list adds an element to a list of the block.
func (g *growing) list(member string, element []byte) {
	if element == nil {
		return
	}
	if g.lists == nil {
		g.lists = make(map[string][][]byte)
	}
	g.lists[member] = append(g.lists[member], element)
}

// finishStep is the whole step.
func (g *growing) finishStep() []byte {
	g.endText()
	s := g.start
	for _, name := range []string{"content", "summary"} {
		if more := g.lists[name]; more != nil {
			s = set(s, array(append(elements(s, name), more...)...), name)
		}
	}
	if part, ok := g.parts["signature"]; ok {
		s = set(s, quote(text(s, "signature")+string(part)), "signature")
	}
	if part := g.parts["arguments"]; readable(part) {
		s = set(s, part, "arguments")
	}
	return s
}
