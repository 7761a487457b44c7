package dialect

import "github.com/pare-llm/pare/transcript"

// toyGrammar is a dialect that reads messages as Anthropic's does, from a list of another
// name.
var toyGrammar = grammar{
	name: "toy", list: "dialogue", blocks: inContent, nested: true, marksFailure: true, assistant: "assistant",
	apart: true, joins: [transcript.Tool + 1]bool{transcript.User: true, transcript.Assistant: true},
	roles:   []namedRole{{"user", transcript.User}, {"assistant", transcript.Assistant}},
	idLimit: 64, nameLimit: 200,
	shows:     [][2]string{{"tool_use_id", "tool_result"}, {"input", "tool_use"}, {"text", "text"}},
	endpoints: []endpoint{{end: "/toy"}},
	tells:     tells{body: []string{"dialogue"}},
	words:     pairWords{ids: []string{"id", "tool_use_id"}},
	rules:     toyRules,
	speech:    toy{},
}

type toy struct{ anthropic }
