package paretest

var bedrockHand = hand{
	model: "us.anthropic.claude-opus-4-6-v1:0",
	id: func(c string, _ RenderOptions) string {
		return "tooluse_" + c + filler(c, 13)
	},
	group:            (*renderer).bedrock,
	body:             (*renderer).bedrockBody,
	wordsJoinResults: true,
}

func (r *renderer) bedrock(g group) {
	r.placeAll(g, "content")
	r.message(object("role", text(g.role()), "content", r.blocks(g, func(_ int, step Step) *node {
		switch step.Op {
		case Think:
			return object("reasoningContent", object("reasoningText", object("text", text(step.Text), "signature", text(signature(step.Text, 96)))))
		case Call:
			return object("toolUse", object("toolUseId", r.id(step), "name", text(step.Tool), "input", args(step)))
		case Result:
			content := list()
			if step.Text != "" { // a blank text would be refused
				content.items = append(content.items, object("text", text(step.Text)))
			}
			return object("toolResult", object("toolUseId", r.id(step), "content", content))
		case Fail:
			return object("toolResult", object("toolUseId", r.id(step), "content", list(object("text", text(step.Text))), "status", text("error")))
		case Image:
			return object("image", object("format", text("png"), "source", object("bytes", text(picture))))
		}
		return object("text", text(step.Text))
	})))
}

func (r *renderer) bedrockBody(name, system string, thinks bool) *node {
	b := object("modelId", text(name))
	if system != "" {
		b.add("system", list(object("text", text(system))))
	}
	b.add("messages", r.messages)
	tools := object()
	r.tools(tools, "tools", func(name string, schema *node) *node {
		return object("toolSpec", object("name", text(name), "description", text("The "+name+" tool."), "inputSchema", object("json", schema)))
	})
	if len(tools.keys) > 0 {
		b.add("toolConfig", tools)
	}
	b.add("inferenceConfig", object("maxTokens", literal("8192")))
	if thinks {
		b.add("additionalModelRequestFields", object("thinking", object("type", text("adaptive"))))
	}
	return b
}
