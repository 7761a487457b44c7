package paretest

import "fmt"

var geminiHand = hand{
	model: "gemini-3-pro-preview",
	id: func(c string, _ RenderOptions) string {
		return c
	},
	group:       (*renderer).gemini,
	body:        (*renderer).geminiBody,
	idsOptional: true,
}

func (r *renderer) gemini(g group) {
	r.placeAll(g, "parts")
	role := "user"
	if g.by == model {
		role = "model"
	}
	signed := false
	parts := r.blocks(g, func(i int, step Step) *node {
		switch step.Op {
		case Think:
			return object("text", text(step.Text), "thought", literal("true"))
		case Call:
			part := object("functionCall", r.function(step, step.Tool, "args", args(step)))
			// The first call of a step is signed, and one that was thought about.
			if !signed || r.s[i-1].Op == Think {
				part.add("thoughtSignature", text(signature(fmt.Sprint(i, step.ID), 60)))
			}
			signed = true
			return part
		case Result:
			return object("functionResponse", r.function(step, r.toolOf(i), "response", object("output", text(step.Text))))
		case Fail:
			return object("functionResponse", r.function(step, r.toolOf(i), "response", object("error", text(step.Text))))
		case Image:
			return object("inlineData", object("mimeType", text("image/png"), "data", text(picture)))
		}
		return object("text", text(step.Text))
	})
	r.message(object("role", text(role), "parts", parts))
}

// function is a call or a response of Gemini.
func (r *renderer) function(step Step, name, payload string, v *node) *node {
	n := object()
	if !r.o.NoIDs {
		n.add("id", r.id(step))
	}
	n.add("name", text(name))
	n.add(payload, v)
	return n
}

// toolOf returns the tool that result i came from. An orphan needs a name too; it
// has one that no call bears.
func (r *renderer) toolOf(i int) string {
	if c := r.s.callOf(i); c >= 0 {
		return r.s[c].Tool
	}
	return "forgotten_tool"
}

func (r *renderer) geminiTools(b *node) {
	declared := object()
	r.tools(declared, "functionDeclarations", func(name string, schema *node) *node {
		return object("name", text(name), "description", text("The "+name+" tool."), "parameters", schema)
	})
	if len(declared.keys) > 0 {
		b.add("tools", list(declared))
	}
}

func (r *renderer) geminiBody(name, system string, _ bool) *node {
	b := object("model", text("models/"+name))
	if system != "" {
		b.add("systemInstruction", object("parts", list(object("text", text(system)))))
	}
	b.add("contents", r.messages)
	r.geminiTools(b)
	b.add("generationConfig", object("temperature", literal("1.0")))
	return b
}
