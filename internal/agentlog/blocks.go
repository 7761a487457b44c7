package agentlog

import (
	"cmp"

	"github.com/pare-llm/pare/internal/jsonspan"
)

// A messageBuilder collects the blocks of one message and the place of each block in the file.
type messageBuilder struct {
	counts *pairCounts // counts calls and results; may be nil
	member string      // name of the list of blocks; "" means content
	blocks [][]byte
	spans  []jsonspan.Span
}

func (m *messageBuilder) add(block []byte, at jsonspan.Span) {
	m.blocks, m.spans = append(m.blocks, block), append(m.spans, at)
}

// addText adds an Anthropic text block. A value that is not a JSON string becomes an empty text.
func (m *messageBuilder) addText(text []byte, at jsonspan.Span) {
	m.add(textBlock(stringOrEmpty(text)), at)
}

func (m *messageBuilder) addCall(id, name string, input []byte, at jsonspan.Span) {
	if m.counts != nil {
		m.counts.calls[id]++
	}
	if len(input) == 0 || input[0] != '{' {
		input = []byte("{}")
	}
	m.add(write("type", "tool_use", "id", id, "name", name, "input", input), at)
}

func (m *messageBuilder) addResult(id string, content [][]byte, failed bool, at jsonspan.Span) {
	if m.counts != nil {
		m.counts.results[id]++
	}
	var mark []byte
	if failed {
		mark = []byte("true")
	}
	m.add(write("type", "tool_result", "tool_use_id", id, "content", array(content...), "is_error", mark), at)
}

// appendTo adds the collected blocks to b as one message. It returns the number of messages added,
// 0 or 1.
func (m *messageBuilder) appendTo(b *bodyBuilder, unit int, role string) int {
	if len(m.blocks) == 0 {
		return 0
	}
	b.appendBuilt(unit, write("role", role, cmp.Or(m.member, "content"), array(m.blocks...)), m.spans)
	return 1
}

// roleOf returns "assistant" for the names that agents use for the model, and "user" for all
// others.
func roleOf(name string) string {
	if name == "assistant" || name == "model" {
		return "assistant"
	}
	return "user"
}

// textBlock returns an Anthropic text block.
func textBlock(text any) []byte { return write("type", "text", "text", text) }

// stringOrEmpty returns raw if it is a JSON string, else an empty JSON string.
func stringOrEmpty(raw []byte) []byte {
	if len(raw) == 0 || raw[0] != '"' {
		return []byte(`""`)
	}
	return raw
}

// textBlocks returns the texts of a content as blocks. The content is a string or a list of objects
// with a text.
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
