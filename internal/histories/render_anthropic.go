package histories

import "github.com/pare-llm/pare/internal/jsontree"

var anthropicRenderer = dialectRenderer{
	model: "claude-opus-4-6",
	id: func(c string, _ RenderOptions) string {
		return "toolu_01" + c + randomID(c, 13)
	},
	group:            (*renderer).anthropic,
	body:             (*renderer).anthropicBody,
	wordsJoinResults: true,
}

func (r *renderer) anthropic(g group) {
	if len(g.steps) == 1 && r.s[g.steps[0]].Op == User {
		r.place(g.steps[0], "content")
		r.message(jsontree.Object("role", jsontree.Text("user"), "content", jsontree.Text(r.s[g.steps[0]].Text)))
		return
	}
	r.placeAll(g, "content")
	r.message(jsontree.Object("role", jsontree.Text(g.role()), "content", r.blocks(g, func(_ int, step Step) *jsontree.Node {
		switch step.Op {
		case Think:
			return jsontree.Object("type", jsontree.Text("thinking"), "thinking", jsontree.Text(step.Text), "signature", jsontree.Text(signature(step.Text, 96)))
		case Call:
			return jsontree.Object("type", jsontree.Text("tool_use"), "id", r.id(step), "name", jsontree.Text(step.Tool), "input", args(step))
		case Result:
			return jsontree.Object("type", jsontree.Text("tool_result"), "tool_use_id", r.id(step), "content", jsontree.Text(step.Text))
		case Fail:
			return jsontree.Object("type", jsontree.Text("tool_result"), "tool_use_id", r.id(step), "content", jsontree.Text(step.Text), "is_error", jsontree.Literal("true"))
		case Image:
			return jsontree.Object("type", jsontree.Text("image"), "source", jsontree.Object("type", jsontree.Text("base64"), "media_type", jsontree.Text("image/png"), "data", jsontree.Text(picture)))
		}
		return jsontree.Object("type", jsontree.Text("text"), "text", jsontree.Text(step.Text))
	})))
}

func (r *renderer) anthropicBody(name, system string, thinks bool) *jsontree.Node {
	b := jsontree.Object("model", jsontree.Text(name), "max_tokens", jsontree.Literal("8192"))
	if thinks {
		b.Add("thinking", jsontree.Object("type", jsontree.Text("adaptive")))
	}
	if system != "" {
		b.Add("system", jsontree.List(jsontree.Object("type", jsontree.Text("text"), "text", jsontree.Text(system))))
	}
	r.tools(b, "tools", func(name string, schema *jsontree.Node) *jsontree.Node {
		return jsontree.Object("name", jsontree.Text(name), "description", jsontree.Text("The "+name+" tool."), "input_schema", schema)
	})
	b.Add("messages", r.messages)
	return b
}
