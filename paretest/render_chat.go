package paretest

import (
	"fmt"
	"strings"
)

var chatHand = hand{
	model: "gpt-5.2",
	id: func(c string, o RenderOptions) string {
		if o.mistral() {
			return c
		}
		return "call_" + c + filler(c, 15)
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
			r.message(object("role", text("tool"), "tool_call_id", r.id(r.s[i]), "content", text(r.s[i].Text)))
		}
	case model:
		r.chatAssistant(g)
	default:
		r.chatUser(g)
	}
}

func (r *renderer) chatUser(g group) {
	m := object("role", text("user"))
	if len(g.steps) == 1 && r.s[g.steps[0]].Op == User {
		r.place(g.steps[0], "content")
		m.add("content", text(r.s[g.steps[0]].Text))
		r.message(m)
		return
	}
	r.placeAll(g, "content")
	m.add("content", r.blocks(g, func(_ int, step Step) *node {
		if step.Op == Image {
			return object("type", text("image_url"), "image_url", object("url", text("data:image/png;base64,"+picture)))
		}
		return object("type", text("text"), "text", text(step.Text))
	}))
	r.message(m)
}

// chatAssistant: texts and calls stand apart, so the order between them is lost,
// and all thinking goes into one string.
func (r *renderer) chatAssistant(g group) {
	var thoughts []string
	var says []int
	calls := list()
	for _, i := range g.steps {
		switch step := r.s[i]; step.Op {
		case Think:
			r.place(i, "reasoning_content")
			thoughts = append(thoughts, step.Text)
		case Call:
			r.place(i, fmt.Sprintf("tool_calls.%d", len(calls.items)))
			function := object("name", text(step.Tool), "arguments", text(step.Args))
			calls.items = append(calls.items, object("id", r.id(step), "type", text("function"), "function", function))
		default:
			says = append(says, i)
		}
	}
	m := object("role", text("assistant"))
	if thoughts != nil {
		m.add("reasoning_content", text(strings.Join(thoughts, "\n")))
	}
	switch {
	case len(says) == 1:
		r.place(says[0], "content")
		m.add("content", text(r.s[says[0]].Text))
	case len(says) > 1:
		r.placeAll(group{model, says}, "content")
		m.add("content", r.blocks(group{model, says}, func(_ int, step Step) *node {
			return object("type", text("text"), "text", text(step.Text))
		}))
	case len(calls.items) == 0:
		m.add("content", text(""))
	default:
		m.add("content", literal("null"))
	}
	if len(calls.items) > 0 {
		m.add("tool_calls", calls)
	}
	r.message(m)
}

func (r *renderer) chatBody(name, _ string, _ bool) *node {
	b := object("model", text(name), "messages", r.messages)
	r.tools(b, "tools", func(name string, schema *node) *node {
		return object("type", text("function"), "function", object("name", text(name), "description", text("The "+name+" tool."), "parameters", schema))
	})
	b.add("stream", literal("true"))
	return b
}
