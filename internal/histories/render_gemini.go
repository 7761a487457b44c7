package histories

import (
	"fmt"

	"github.com/pare-llm/pare/internal/jsontree"
)

var geminiRenderer = dialectRenderer{
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
	parts := r.blocks(g, func(i int, step Step) *jsontree.Node {
		switch step.Op {
		case Think:
			return jsontree.Object("text", jsontree.Text(step.Text), "thought", jsontree.Literal("true"))
		case Call:
			part := jsontree.Object("functionCall", r.function(step, step.Tool, "args", args(step)))
			// The first call of a step is signed, and one that was thought about.
			if !signed || r.s[i-1].Op == Think {
				part.Add("thoughtSignature", jsontree.Text(signature(fmt.Sprint(i, step.ID), 60)))
			}
			signed = true
			return part
		case Result:
			return jsontree.Object("functionResponse", r.function(step, r.toolOf(i), "response", jsontree.Object("output", jsontree.Text(step.Text))))
		case Fail:
			return jsontree.Object("functionResponse", r.function(step, r.toolOf(i), "response", jsontree.Object("error", jsontree.Text(step.Text))))
		case Image:
			return jsontree.Object("inlineData", jsontree.Object("mimeType", jsontree.Text("image/png"), "data", jsontree.Text(picture)))
		}
		return jsontree.Object("text", jsontree.Text(step.Text))
	})
	r.message(jsontree.Object("role", jsontree.Text(role), "parts", parts))
}

// function is a call or a response of Gemini.
func (r *renderer) function(step Step, name, payload string, v *jsontree.Node) *jsontree.Node {
	n := jsontree.Object()
	if !r.o.NoIDs {
		n.Add("id", r.id(step))
	}
	n.Add("name", jsontree.Text(name))
	n.Add(payload, v)
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

func (r *renderer) geminiTools(b *jsontree.Node) {
	declared := jsontree.Object()
	r.tools(declared, "functionDeclarations", func(name string, schema *jsontree.Node) *jsontree.Node {
		return jsontree.Object("name", jsontree.Text(name), "description", jsontree.Text("The "+name+" tool."), "parameters", schema)
	})
	if len(declared.Keys) > 0 {
		b.Add("tools", jsontree.List(declared))
	}
}

func (r *renderer) geminiBody(name, system string, _ bool) *jsontree.Node {
	b := jsontree.Object("model", jsontree.Text("models/"+name))
	if system != "" {
		b.Add("systemInstruction", jsontree.Object("parts", jsontree.List(jsontree.Object("text", jsontree.Text(system)))))
	}
	b.Add("contents", r.messages)
	r.geminiTools(b)
	b.Add("generationConfig", jsontree.Object("temperature", jsontree.Literal("1.0")))
	return b
}
