package recall

// anthropic is the Messages API.
type anthropic struct{}

func (anthropic) list() string  { return "messages" }
func (anthropic) wrapped() bool { return true }

func (anthropic) Offer(body []byte) ([]byte, bool) {
	tool := object("name", Tool, "description", about, "input_schema", []byte(schema))
	return offerIn(body, "messages", "tools", tool)
}

// offerIn declares the tool in a list of tools, which is made if there is none.
func offerIn(body []byte, list, tools string, tool []byte) ([]byte, bool) {
	if !isList(body, list) {
		return body, false
	}
	switch v := at(body, tools); {
	case absent(v):
		return set(body, array(tool), tools), true
	case v[0] == '[':
		return appendTo(body, tools, tool), true
	}
	return body, false
}

func (anthropic) Hear(reply []byte) *Turn {
	if !readable(reply) || !isList(reply, "content") {
		return nil
	}
	t := &Turn{Ready: text(reply, "stop_reason") == "tool_use", Output: number(reply, "usage", "output_tokens")}
	var said [][]byte
	for _, b := range elements(reply, "content") {
		said = t.anthropicBlock(said, b)
	}
	t.Said = [][]byte{object("role", "assistant", "content", array(said...))}
	return t
}

// anthropicBlock adds a block to what was said.
func (t *Turn) anthropicBlock(said [][]byte, b []byte) [][]byte {
	switch kind := text(b, "type"); {
	case kind == "tool_use" && text(b, "name") == Tool:
		t.Calls = append(t.Calls, newCall(text(b, "id"), at(b, "input"), b, len(t.Others)))
	case kind == "tool_use":
		t.Others = append(t.Others, Other{text(b, "id"), text(b, "name"), at(b, "input")})
		t.Shown = append(t.Shown, b)
	default:
		t.Shown = append(t.Shown, b)
		if kind == "text" && text(b, "text") == "" {
			return said // which the API gives and does not take
		}
	}
	return append(said, b)
}

func (anthropic) Reply(last []byte, before []*Turn, now *Turn) []byte {
	last = set(last, array(shown(before, now)...), "content")
	if now.Alone() {
		last = set(last, quote("end_turn"), "stop_reason")
	}
	return plus(last, outputs(before), "usage", "output_tokens")
}

func (anthropic) Result(c Call, text string) []byte {
	return object("type", "tool_result", "tool_use_id", c.ID, "content", text)
}

func (anthropic) asked(results [][]byte) [][]byte {
	return [][]byte{object("role", "user", "content", array(results...))}
}

func (anthropic) Stream() Filter { return &anthropicFilter{newBlocks("index")} }

// An anthropicFilter passes on a stream of the Messages API.
type anthropicFilter struct{ blocks }

func (f *anthropicFilter) Take(e Event) []Event {
	if !readable(e.Data) {
		return []Event{e}
	}
	i := number(e.Data, "index")
	switch text(e.Data, "type") {
	case "message_start":
		f.now.Output = number(e.Data, "message", "usage", "output_tokens")
		if f.round > 0 {
			return nil
		}
	case "content_block_start":
		block := at(e.Data, "content_block")
		f.begin(i, text(block, "type") == "tool_use" && text(block, "name") == Tool, block)
		return f.block(e, i)
	case "content_block_delta":
		if b := f.grown[i]; b != nil {
			b.addAnthropic(at(e.Data, "delta"))
		}
		return f.block(e, i)
	case "content_block_stop":
		if b := f.grown[i]; b != nil {
			f.said = f.now.anthropicBlock(f.said, b.finishAnthropic())
		}
		return f.block(e, i)
	case "message_delta":
		if n := number(e.Data, "usage", "output_tokens"); n > 0 {
			f.now.Output = n
		}
		f.now.Ready = text(e.Data, "delta", "stop_reason") == "tool_use"
		if f.output > 0 {
			e = e.changed(plus(e.Data, f.output, "usage", "output_tokens"))
		}
		return f.last(e)
	case "message_stop":
		return f.last(e)
	}
	return []Event{e}
}

func (f *anthropicFilter) Close() []Event {
	for i, e := range f.held {
		if at(e.Data, "delta", "stop_reason") != nil {
			f.held[i] = e.changed(set(e.Data, quote("end_turn"), "delta", "stop_reason"))
		}
	}
	return f.held
}

// addAnthropic takes a piece.
func (g *growing) addAnthropic(delta []byte) {
	switch text(delta, "type") {
	case "text_delta":
		g.grow("text", text(delta, "text"))
	case "thinking_delta":
		g.grow("thinking", text(delta, "thinking"))
	case "signature_delta":
		g.grow("signature", text(delta, "signature"))
	case "input_json_delta":
		g.grow("input", text(delta, "partial_json"))
	case "compaction_delta":
		g.grow("content", text(delta, "content"))
	case "citations_delta":
		g.citations = append(g.citations, at(delta, "citation"))
	}
}

// finishAnthropic is the whole block.
func (g *growing) finishAnthropic() []byte {
	b := g.start
	for _, name := range []string{"text", "thinking", "signature", "content"} {
		if part, ok := g.parts[name]; ok {
			b = set(b, quote(text(b, name)+string(part)), name)
		}
	}
	if part := g.parts["input"]; readable(part) {
		b = set(b, part, "input")
	}
	if g.citations != nil {
		b = set(b, array(g.citations...), "citations")
	}
	return b
}
