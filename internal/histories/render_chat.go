package histories

import (
	"fmt"
	"strings"

	"github.com/pare-llm/pare/internal/jsontree"
)

var chatRenderer = dialectRenderer{
	model: "gpt-5.2",
	id: func(c string, o RenderOptions) string {
		if o.mistral() {
			return c
		}
		return "call_" + c + randomID(c, 15)
	},
	group:         (*renderer).chat,
	body:          (*renderer).chatBody,
	systemMessage: true, wordsApart: true,
}

func (r *renderer) chat(g group) {
	switch g.by {
	case tool:
		for _, i := range g.steps {
			r.place(i, "")
			r.message(jsontree.Object("role", jsontree.Text("tool"), "tool_call_id", r.id(r.s[i]), "content", jsontree.Text(r.s[i].Text)))
		}
	case model:
		r.chatAssistant(g)
	default:
		r.chatUser(g)
	}
}

func (r *renderer) chatUser(g group) {
	m := jsontree.Object("role", jsontree.Text("user"))
	if len(g.steps) == 1 && r.s[g.steps[0]].Op == User {
		r.place(g.steps[0], "content")
		m.Add("content", jsontree.Text(r.s[g.steps[0]].Text))
		r.message(m)
		return
	}
	r.placeAll(g, "content")
	m.Add("content", r.blocks(g, func(_ int, step Step) *jsontree.Node {
		if step.Op == Image {
			return jsontree.Object("type", jsontree.Text("image_url"), "image_url", jsontree.Object("url", jsontree.Text("data:image/png;base64,"+picture)))
		}
		return jsontree.Object("type", jsontree.Text("text"), "text", jsontree.Text(step.Text))
	}))
	r.message(m)
}

// chatAssistant writes texts and calls separately, so the order between them is lost, and
// joins all thinking in one string.
func (r *renderer) chatAssistant(g group) {
	var thoughts []string
	var says []int
	calls := jsontree.List()
	for _, i := range g.steps {
		switch step := r.s[i]; step.Op {
		case Think:
			r.place(i, "reasoning_content")
			thoughts = append(thoughts, step.Text)
		case Call:
			r.place(i, fmt.Sprintf("tool_calls.%d", len(calls.Items)))
			function := jsontree.Object("name", jsontree.Text(step.Tool), "arguments", jsontree.Text(step.Args))
			calls.Items = append(calls.Items, jsontree.Object("id", r.id(step), "type", jsontree.Text("function"), "function", function))
		default:
			says = append(says, i)
		}
	}
	m := jsontree.Object("role", jsontree.Text("assistant"))
	if thoughts != nil {
		m.Add("reasoning_content", jsontree.Text(strings.Join(thoughts, "\n")))
	}
	switch {
	case len(says) == 1:
		r.place(says[0], "content")
		m.Add("content", jsontree.Text(r.s[says[0]].Text))
	case len(says) > 1:
		r.placeAll(group{model, says}, "content")
		m.Add("content", r.blocks(group{model, says}, func(_ int, step Step) *jsontree.Node {
			return jsontree.Object("type", jsontree.Text("text"), "text", jsontree.Text(step.Text))
		}))
	case len(calls.Items) == 0:
		m.Add("content", jsontree.Text(""))
	default:
		m.Add("content", jsontree.Literal("null"))
	}
	if len(calls.Items) > 0 {
		m.Add("tool_calls", calls)
	}
	r.message(m)
}

func (r *renderer) chatBody(name, _ string, _ bool) *jsontree.Node {
	b := jsontree.Object("model", jsontree.Text(name), "messages", r.messages)
	r.tools(b, "tools", func(name string, schema *jsontree.Node) *jsontree.Node {
		return jsontree.Object("type", jsontree.Text("function"), "function", jsontree.Object("name", jsontree.Text(name), "description", jsontree.Text("The "+name+" tool."), "parameters", schema))
	})
	b.Add("stream", jsontree.Literal("true"))
	return b
}
