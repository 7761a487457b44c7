package histories

import (
	"fmt"

	"github.com/pare-llm/pare/internal/jsontree"
)

var interactionsRenderer = dialectRenderer{
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
		r.message(jsontree.Object("type", jsontree.Text("user_input"), "content", r.blocks(g, func(_ int, step Step) *jsontree.Node {
			if step.Op == Image {
				return jsontree.Object("type", jsontree.Text("image"), "mime_type", jsontree.Text("image/png"), "data", jsontree.Text(picture))
			}
			return jsontree.Object("type", jsontree.Text("text"), "text", jsontree.Text(step.Text))
		})))
		return
	}
	for _, i := range g.steps {
		step := r.s[i]
		if step.Op == Say {
			r.place(i, "content.0")
			r.message(jsontree.Object("type", jsontree.Text("model_output"), "content", jsontree.List(jsontree.Object("type", jsontree.Text("text"), "text", jsontree.Text(step.Text)))))
			continue
		}
		r.place(i, "")
		switch step.Op {
		case Think:
			r.message(jsontree.Object("type", jsontree.Text("thought"), "summary", jsontree.List(jsontree.Object("type", jsontree.Text("text"), "text", jsontree.Text(step.Text))), "signature", jsontree.Text(signature(fmt.Sprint(i, step.Text), 60))))
		case Call:
			r.message(jsontree.Object("type", jsontree.Text("function_call"), "id", r.id(step), "name", jsontree.Text(step.Tool), "arguments", args(step)))
		default:
			result := jsontree.Object("type", jsontree.Text("function_result"), "call_id", r.id(step), "name", jsontree.Text(r.toolOf(i)), "result", jsontree.Text(step.Text))
			if step.Op == Fail {
				result.Add("is_error", jsontree.Literal("true"))
			}
			r.message(result)
		}
	}
}

func (r *renderer) interactionsBody(name, system string, _ bool) *jsontree.Node {
	b := jsontree.Object("model", jsontree.Text(name))
	if system != "" {
		b.Add("system_instruction", jsontree.Text(system))
	}
	b.Add("input", r.messages)
	r.tools(b, "tools", func(name string, schema *jsontree.Node) *jsontree.Node {
		return jsontree.Object("type", jsontree.Text("function"), "name", jsontree.Text(name), "description", jsontree.Text("The "+name+" tool."), "parameters", schema)
	})
	b.Add("store", jsontree.Literal("false"))
	b.Add("generation_config", jsontree.Object("thinking_level", jsontree.Text("low")))
	return b
}
