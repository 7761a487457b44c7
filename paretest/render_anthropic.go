package paretest

var anthropicHand = hand{
	model: "claude-opus-4-6",
	id: func(c string, _ RenderOptions) string {
		return "toolu_01" + c + filler(c, 13)
	},
	group:            (*renderer).anthropic,
	body:             (*renderer).anthropicBody,
	wordsJoinResults: true,
}

func (r *renderer) anthropic(g group) {
	if len(g.steps) == 1 && r.s[g.steps[0]].Op == User {
		r.place(g.steps[0], "content")
		r.message(object("role", text("user"), "content", text(r.s[g.steps[0]].Text)))
		return
	}
	r.placeAll(g, "content")
	r.message(object("role", text(g.role()), "content", r.blocks(g, func(_ int, step Step) *node {
		switch step.Op {
		case Think:
			return object("type", text("thinking"), "thinking", text(step.Text), "signature", text(signature(step.Text, 96)))
		case Call:
			return object("type", text("tool_use"), "id", r.id(step), "name", text(step.Tool), "input", args(step))
		case Result:
			return object("type", text("tool_result"), "tool_use_id", r.id(step), "content", text(step.Text))
		case Fail:
			return object("type", text("tool_result"), "tool_use_id", r.id(step), "content", text(step.Text), "is_error", literal("true"))
		case Image:
			return object("type", text("image"), "source", object("type", text("base64"), "media_type", text("image/png"), "data", text(picture)))
		}
		return object("type", text("text"), "text", text(step.Text))
	})))
}

func (r *renderer) anthropicBody(name, system string, thinks bool) *node {
	b := object("model", text(name), "max_tokens", literal("8192"))
	if thinks {
		b.add("thinking", object("type", text("adaptive")))
	}
	if system != "" {
		b.add("system", list(object("type", text("text"), "text", text(system))))
	}
	r.tools(b, "tools", func(name string, schema *node) *node {
		return object("name", text(name), "description", text("The "+name+" tool."), "input_schema", schema)
	})
	b.add("messages", r.messages)
	return b
}
