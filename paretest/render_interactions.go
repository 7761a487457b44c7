package paretest

import "fmt"

var interactionsHand = hand{
	model: "gemini-2.5-flash", // which takes calls whose thoughts are not shown
	id: func(c string, _ RenderOptions) string {
		return c
	},
	group:      (*renderer).interactions,
	body:       (*renderer).interactionsBody,
	wordsApart: true,
}

func (r *renderer) interactions(g group) {
	if g.by == person {
		r.placeAll(g, "content")
		r.message(object("type", text("user_input"), "content", r.blocks(g, func(_ int, step Step) *node {
			if step.Op == Image {
				return object("type", text("image"), "mime_type", text("image/png"), "data", text(picture))
			}
			return object("type", text("text"), "text", text(step.Text))
		})))
		return
	}
	for _, i := range g.steps {
		step := r.s[i]
		if step.Op == Say {
			r.place(i, "content.0")
			r.message(object("type", text("model_output"), "content", list(object("type", text("text"), "text", text(step.Text)))))
			continue
		}
		r.place(i, "")
		switch step.Op {
		case Think:
			r.message(object("type", text("thought"), "summary", list(object("type", text("text"), "text", text(step.Text))), "signature", text(signature(fmt.Sprint(i, step.Text), 60))))
		case Call:
			r.message(object("type", text("function_call"), "id", r.id(step), "name", text(step.Tool), "arguments", args(step)))
		default:
			result := object("type", text("function_result"), "call_id", r.id(step), "name", text(r.toolOf(i)), "result", text(step.Text))
			if step.Op == Fail {
				result.add("is_error", literal("true"))
			}
			r.message(result)
		}
	}
}

func (r *renderer) interactionsBody(name, system string, _ bool) *node {
	b := object("model", text(name))
	if system != "" {
		b.add("system_instruction", text(system))
	}
	b.add("input", r.messages)
	r.tools(b, "tools", func(name string, schema *node) *node {
		return object("type", text("function"), "name", text(name), "description", text("The "+name+" tool."), "parameters", schema)
	})
	b.add("store", literal("false"))
	b.add("generation_config", object("thinking_level", text("low")))
	return b
}
