package agentlog

import (
	"cmp"

	"github.com/pare-llm/pare/internal/jsonspan"
)

// A turn collects the blocks of one message of a thread, and where in the file each comes from.
type messageBuilder struct {
	counts *pairCounts // counts calls and results; nil: somebody else does
	member string      // that holds the blocks; "" is content
	blocks [][]byte
	spans  []jsonspan.Span
}

func (t *messageBuilder) add(block []byte, at jsonspan.Span) {
	t.blocks, t.spans = append(t.blocks, block), append(t.spans, at)
}

// text adds a text in the dialect of Anthropic: a JSON string, or nothing for anything else.
func (t *messageBuilder) addText(said []byte, at jsonspan.Span) {
	t.add(textBlock(stringOrEmpty(said)), at)
}

// call adds a call, and result the result of one.
func (t *messageBuilder) addCall(id, name string, input []byte, at jsonspan.Span) {
	if t.counts != nil {
		t.counts.calls[id]++
	}
	if len(input) == 0 || input[0] != '{' {
		input = []byte("{}")
	}
	t.add(write("type", "tool_use", "id", id, "name", name, "input", input), at)
}

func (t *messageBuilder) addResult(id string, said [][]byte, failed bool, at jsonspan.Span) {
	if t.counts != nil {
		t.counts.results[id]++
	}
	var mark []byte
	if failed {
		mark = []byte("true")
	}
	t.add(write("type", "tool_result", "tool_use_id", id, "content", array(said...), "is_error", mark), at)
}

// put makes a message of what was collected; 0: there is nothing.
func (t *messageBuilder) appendTo(b *bodyBuilder, unit int, role string) int {
	if len(t.blocks) == 0 {
		return 0
	}
	b.appendBuilt(unit, write("role", role, cmp.Or(t.member, "content"), array(t.blocks...)), t.spans)
	return 1
}

// roleOf is the role of a message whose agent says assistant, or model, for one of them.
func roleOf(said string) string {
	if said == "assistant" || said == "model" {
		return "assistant"
	}
	return "user"
}

// textBlock is a text in the dialect of Anthropic.
func textBlock(said any) []byte { return write("type", "text", "text", said) }

// stringOr returns a JSON string, or an empty one for anything else.
func stringOrEmpty(raw []byte) []byte {
	if len(raw) == 0 || raw[0] != '"' {
		return []byte(`""`)
	}
	return raw
}

// textsIn returns the texts in some content as blocks: a string, or a list of
// objects with a text.
func textBlocks(raw []byte, at jsonspan.Span) [][]byte {
	if at.Len() == 0 {
		return nil
	}
	switch raw[at.Start] {
	case '"':
		return [][]byte{textBlock(raw[at.Start:at.End])}
	case '[':
		var all [][]byte
		for _, e := range jsonspan.Elements(raw, at) {
			if v := objectAt(raw, e).Value("text"); len(v) > 0 && v[0] == '"' {
				all = append(all, textBlock(v))
			}
		}
		return all
	}
	return nil
}
