package histories

import "github.com/pare-llm/pare/internal/jsontree"

var toyRenderer = dialectRenderer{
	model: "toy-1",
	id:    func(c string, _ RenderOptions) string { return "toy_" + c },
	group: (*renderer).anthropic,
	body: func(r *renderer, name, _ string, _ bool) *jsontree.Node {
		return jsontree.Object("dialogue", r.messages, "model", jsontree.Text(name))
	},
	wordsJoinResults: true,
}
