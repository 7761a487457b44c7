package recall

// bedrock is the Converse API of AWS.
type bedrock struct{}

func (bedrock) list() string  { return "messages" }
func (bedrock) wrapped() bool { return false }

func (bedrock) Offer(body []byte) ([]byte, bool) {
	tool := object("toolSpec", object("name", Tool, "description", about, "inputSchema", object("json", []byte(schema))))
	switch v := at(body, "toolConfig"); {
	case !isList(body, "messages"):
		return body, false
	case absent(v):
		return set(body, object("tools", array(tool)), "toolConfig"), true
	case isList(v, "tools"):
		return set(body, appendTo(v, "tools", tool), "toolConfig"), true
	}
	return body, false
}

func (bedrock) Hear(reply []byte) *Turn {
	if !readable(reply) || !isList(reply, "output", "message", "content") {
		return nil
	}
	t := &Turn{Ready: text(reply, "stopReason") == "tool_use", Output: number(reply, "usage", "outputTokens")}
	var said [][]byte
	for _, b := range elements(reply, "output", "message", "content") {
		said = t.bedrockBlock(said, b)
	}
	t.Said = [][]byte{object("role", "assistant", "content", array(said...))}
	return t
}

func (t *Turn) bedrockBlock(said [][]byte, b []byte) [][]byte {
	switch use := at(b, "toolUse"); {
	case use == nil:
		t.Shown = append(t.Shown, b)
		if v := at(b, "text"); v != nil && text(b, "text") == "" {
			return said
		}
	case text(use, "name") == Tool:
		t.Calls = append(t.Calls, newCall(text(use, "toolUseId"), at(use, "input"), b, len(t.Others)))
	default:
		t.Others = append(t.Others, Other{text(use, "toolUseId"), text(use, "name"), at(use, "input")})
		t.Shown = append(t.Shown, b)
	}
	return append(said, b)
}

func (bedrock) Reply(last []byte, before []*Turn, now *Turn) []byte {
	last = set(last, array(shown(before, now)...), "output", "message", "content")
	if now.Alone() {
		last = set(last, quote("end_turn"), "stopReason")
	}
	last = plus(last, outputs(before), "usage", "outputTokens")
	return plus(last, outputs(before), "usage", "totalTokens")
}

func (bedrock) Result(c Call, text string) []byte {
	return object("toolResult", object("toolUseId", c.ID, "content", array(object("text", text))))
}

func (bedrock) asked(results [][]byte) [][]byte { return anthropic{}.asked(results) }

func (bedrock) Stream() Filter { return &bedrockFilter{newBlocks("contentBlockIndex")} }

// A bedrockFilter passes on a stream of the Converse API.
type bedrockFilter struct{ blocks }

func (f *bedrockFilter) Take(e Event) []Event {
	if !readable(e.Data) {
		return []Event{e}
	}
	i := number(e.Data, f.number)
	switch e.Name {
	case "messageStart":
		if f.round > 0 {
			return nil
		}
	case "contentBlockStart":
		f.begin(i, text(e.Data, "start", "toolUse", "name") == Tool, at(e.Data, "start"))
		return f.block(e, i)
	case "contentBlockDelta":
		if f.grown[i] == nil { // texts begin without notice
			f.begin(i, false, []byte("{}"))
		}
		f.grown[i].addBedrock(at(e.Data, "delta"))
		return f.block(e, i)
	case "contentBlockStop":
		if b := f.grown[i]; b != nil {
			f.said = f.now.bedrockBlock(f.said, b.finishBedrock())
		}
		return f.block(e, i)
	case "messageStop":
		f.now.Ready = text(e.Data, "stopReason") == "tool_use"
		return f.last(e)
	case "metadata":
		f.now.Output = number(e.Data, "usage", "outputTokens")
		if f.output > 0 {
			e = e.changed(plus(plus(e.Data, f.output, "usage", "outputTokens"), f.output, "usage", "totalTokens"))
		}
		return f.last(e)
	}
	return []Event{e}
}

func (f *bedrockFilter) Close() []Event {
	for i, e := range f.held {
		if e.Name == "messageStop" {
			f.held[i] = e.changed(set(e.Data, quote("end_turn"), "stopReason"))
		}
	}
	return f.held
}

// addBedrock takes a piece.
func (g *growing) addBedrock(delta []byte) {
	if at(delta, "text") != nil {
		g.grow("text", text(delta, "text"))
	}
	if at(delta, "toolUse", "input") != nil {
		g.grow("input", text(delta, "toolUse", "input"))
	}
	for _, name := range []string{"text", "signature"} {
		if at(delta, "reasoningContent", name) != nil {
			g.grow("reasoning "+name, text(delta, "reasoningContent", name))
		}
	}
	if v := at(delta, "reasoningContent", "redactedContent"); v != nil {
		g.start = object("reasoningContent", object("redactedContent", v))
	}
}

func (g *growing) finishBedrock() []byte {
	b := g.start
	if part, ok := g.parts["text"]; ok {
		b = object("text", string(part))
	}
	if thought, ok := g.parts["reasoning text"]; ok {
		t := object("text", string(thought))
		if signature, ok := g.parts["reasoning signature"]; ok {
			t = set(t, quote(string(signature)), "signature")
		}
		b = object("reasoningContent", object("reasoningText", t))
	}
	if use := at(b, "toolUse"); use != nil {
		input := g.parts["input"]
		if !readable(input) {
			input = []byte("{}")
		}
		b = set(b, set(use, input, "input"), "toolUse")
	}
	return b
}
