package paretest

import "fmt"

var responsesHand = hand{
	model: "gpt-5.2-codex",
	id: func(c string, _ RenderOptions) string {
		return "call_" + c + filler(c, 15)
	},
	group:      (*renderer).responses,
	body:       (*renderer).responsesBody,
	wordsApart: true,
	idsOnce:    true,
}

func (r *renderer) responses(g group) {
	if g.by == person {
		r.placeAll(g, "content")
		r.message(object("type", text("message"), "role", text("user"), "content", r.blocks(g, func(_ int, step Step) *node {
			if step.Op == Image {
				return object("type", text("input_image"), "image_url", text("data:image/png;base64,"+picture))
			}
			return object("type", text("input_text"), "text", text(step.Text))
		})))
		return
	}
	for j, i := range g.steps {
		step := r.s[i]
		switch step.Op {
		case Think:
			if j > 0 && r.s[g.steps[j-1]].Op == Think { // one item reasons once
				r.paths[i] = r.paths[g.steps[j-1]]
				continue
			}
			r.place(i, "")
			id := "rs_" + filler(fmt.Sprint(i, step.Text), 48)
			r.message(object("type", text("reasoning"), "id", text(id), "summary", list(), "encrypted_content", text("gAAAAAB"+signature(id, 120))))
		case Call:
			r.place(i, "")
			r.message(object("type", text("function_call"), "call_id", r.id(step), "name", text(step.Tool), "arguments", text(step.Args)))
		case Result, Fail:
			r.place(i, "")
			r.message(object("type", text("function_call_output"), "call_id", r.id(step), "output", text(step.Text)))
		default:
			r.place(i, "content.0")
			part := object("type", text("output_text"), "text", text(step.Text), "annotations", list())
			r.message(object("type", text("message"), "role", text("assistant"), "content", list(part)))
		}
	}
}

func (r *renderer) responsesBody(name, system string, _ bool) *node {
	b := object("model", text(name))
	if system != "" {
		b.add("instructions", text(system))
	}
	b.add("input", r.messages)
	r.tools(b, "tools", func(name string, schema *node) *node {
		return object("type", text("function"), "name", text(name), "description", text("The "+name+" tool."), "parameters", schema, "strict", literal("false"))
	})
	b.add("store", literal("false"))
	b.add("include", list(text("reasoning.encrypted_content")))
	return b
}
