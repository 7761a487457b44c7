package histories

import "github.com/pare-llm/pare/internal/jsontree"

var bedrockRenderer = dialectRenderer{
	model: "us.anthropic.claude-opus-4-6-v1:0",
	id: func(c string, _ RenderOptions) string {
		return "tooluse_" + c + randomID(c, 13)
	},
	group:            (*renderer).bedrock,
	body:             (*renderer).bedrockBody,
	wordsJoinResults: true,
}

func (r *renderer) bedrock(g group) {
	r.placeAll(g, "content")
	r.message(jsontree.Object("role", jsontree.Text(g.role()), "content", r.blocks(g, func(_ int, step Step) *jsontree.Node {
		switch step.Op {
		case Think:
			return jsontree.Object("reasoningContent", jsontree.Object("reasoningText", jsontree.Object("text", jsontree.Text(step.Text), "signature", jsontree.Text(signature(step.Text, 96)))))
		case Call:
			return jsontree.Object("toolUse", jsontree.Object("toolUseId", r.id(step), "name", jsontree.Text(step.Tool), "input", args(step)))
		case Result:
			content := jsontree.List()
			if step.Text != "" { // a blank text would be refused
				content.Items = append(content.Items, jsontree.Object("text", jsontree.Text(step.Text)))
			}
			return jsontree.Object("toolResult", jsontree.Object("toolUseId", r.id(step), "content", content))
		case Fail:
			return jsontree.Object("toolResult", jsontree.Object("toolUseId", r.id(step), "content", jsontree.List(jsontree.Object("text", jsontree.Text(step.Text))), "status", jsontree.Text("error")))
		case Image:
			return jsontree.Object("image", jsontree.Object("format", jsontree.Text("png"), "source", jsontree.Object("bytes", jsontree.Text(picture))))
		}
		return jsontree.Object("text", jsontree.Text(step.Text))
	})))
}

func (r *renderer) bedrockBody(name, system string, thinks bool) *jsontree.Node {
	b := jsontree.Object("modelId", jsontree.Text(name))
	if system != "" {
		b.Add("system", jsontree.List(jsontree.Object("text", jsontree.Text(system))))
	}
	b.Add("messages", r.messages)
	tools := jsontree.Object()
	r.tools(tools, "tools", func(name string, schema *jsontree.Node) *jsontree.Node {
		return jsontree.Object("toolSpec", jsontree.Object("name", jsontree.Text(name), "description", jsontree.Text("The "+name+" tool."), "inputSchema", jsontree.Object("json", schema)))
	})
	if len(tools.Keys) > 0 {
		b.Add("toolConfig", tools)
	}
	b.Add("inferenceConfig", jsontree.Object("maxTokens", jsontree.Literal("8192")))
	if thinks {
		b.Add("additionalModelRequestFields", jsontree.Object("thinking", jsontree.Object("type", jsontree.Text("adaptive"))))
	}
	return b
}
