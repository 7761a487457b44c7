package agentlog

import "github.com/pare-llm/pare/internal/jsonspan"

func toolUse(id, name string, input []byte) []byte {
	if len(input) == 0 || input[0] != '{' {
		input = []byte("{}")
	}
	return write("type", "tool_use", "id", id, "name", name, "input", input)
}

func toolResult(id string, content [][]byte, failed bool) []byte {
	var mark []byte
	if failed {
		mark = []byte("true")
	}
	return write("type", "tool_result", "tool_use_id", id, "content", array(content...), "is_error", mark)
}

// stringOr returns a JSON string, or an empty one for anything else.
func stringOr(raw []byte) []byte {
	if len(raw) == 0 || raw[0] != '"' {
		return []byte(`""`)
	}
	return raw
}

// textsIn returns the texts in some content as blocks: a string, or a list of
// objects with a text.
func textsIn(raw []byte, at jsonspan.Span) [][]byte {
	if at.Len() == 0 {
		return nil
	}
	switch raw[at.Start] {
	case '"':
		return [][]byte{write("type", "text", "text", raw[at.Start:at.End])}
	case '[':
		var all [][]byte
		for _, e := range jsonspan.Elements(raw, at) {
			if v := objectAt(raw, e).Value("text"); len(v) > 0 && v[0] == '"' {
				all = append(all, write("type", "text", "text", v))
			}
		}
		return all
	}
	return nil
}
