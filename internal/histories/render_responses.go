package histories

import (
	"fmt"

	"github.com/pare-llm/pare/internal/jsontree"
)

var responsesRenderer = dialectRenderer{
	model: "gpt-5.2-codex",
	id: func(c string, _ RenderOptions) string {
		return "call_" + c + randomID(c, 15)
	},
	group:      (*renderer).responses,
	body:       (*renderer).responsesBody,
	wordsApart: true,
	idsOnce:    true,
}

func (r *renderer) responses(g group) {
	if g.by == person {
		r.placeAll(g, "content")
		r.message(jsontree.Object("type", jsontree.Text("message"), "role", jsontree.Text("user"), "content", r.blocks(g, func(_ int, step Step) *jsontree.Node {
			if step.Op == Image {
				return jsontree.Object("type", jsontree.Text("input_image"), "image_url", jsontree.Text("data:image/png;base64,"+picture))
			}
			return jsontree.Object("type", jsontree.Text("input_text"), "text", jsontree.Text(step.Text))
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
			id := "rs_" + randomID(fmt.Sprint(i, step.Text), 48)
			r.message(jsontree.Object("type", jsontree.Text("reasoning"), "id", jsontree.Text(id), "summary", jsontree.List(), "encrypted_content", jsontree.Text("gAAAAAB"+signature(id, 120))))
		case Call:
			r.place(i, "")
			r.message(jsontree.Object("type", jsontree.Text("function_call"), "call_id", r.id(step), "name", jsontree.Text(step.Tool), "arguments", jsontree.Text(step.Args)))
		case Result, Fail:
			r.place(i, "")
			r.message(jsontree.Object("type", jsontree.Text("function_call_output"), "call_id", r.id(step), "output", jsontree.Text(step.Text)))
		default:
			r.place(i, "content.0")
			part := jsontree.Object("type", jsontree.Text("output_text"), "text", jsontree.Text(step.Text), "annotations", jsontree.List())
			r.message(jsontree.Object("type", jsontree.Text("message"), "role", jsontree.Text("assistant"), "content", jsontree.List(part)))
		}
	}
}

func (r *renderer) responsesBody(name, system string, _ bool) *jsontree.Node {
	b := jsontree.Object("model", jsontree.Text(name))
	if system != "" {
		b.Add("instructions", jsontree.Text(system))
	}
	b.Add("input", r.messages)
	r.tools(b, "tools", func(name string, schema *jsontree.Node) *jsontree.Node {
		return jsontree.Object("type", jsontree.Text("function"), "name", jsontree.Text(name), "description", jsontree.Text("The "+name+" tool."), "parameters", schema, "strict", jsontree.Literal("false"))
	})
	b.Add("store", jsontree.Literal("false"))
	b.Add("include", jsontree.List(jsontree.Text("reasoning.encrypted_content")))
	return b
}
