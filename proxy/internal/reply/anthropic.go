package reply

import "github.com/pare-llm/pare/internal/jsonedit"

// anthropic is the Messages API.
type anthropic struct{}

func (anthropic) readWhole(reply []byte) [][]byte {
	return anthropicMessage(jsonedit.Elements(reply, "content"))
}

// anthropicMessage returns a message with blocks. Empty texts are left out: the API sends them
// and rejects them in requests.
func anthropicMessage(blocks [][]byte) [][]byte {
	var content [][]byte
	for _, b := range blocks {
		isEmpty := jsonedit.TextAt(b, "type") == "text" && jsonedit.TextAt(b, "text") == ""
		if !isEmpty {
			content = append(content, b)
		}
	}
	return message(content)
}

func (anthropic) readEvents(events []event) [][]byte {
	var done [][]byte
	open := make(map[int]*block)
	for _, e := range events {
		index := jsonedit.NumberAt(e.data, "index")
		switch jsonedit.TextAt(e.data, "type") {
		case "content_block_start":
			open[index] = newBlock(jsonedit.Get(e.data, "content_block"))
		case "content_block_delta":
			if b := open[index]; b != nil {
				b.addAnthropicDelta(jsonedit.Get(e.data, "delta"))
			}
		case "content_block_stop":
			if b := open[index]; b != nil {
				done = append(done, b.anthropicBlock())
			}
		}
	}
	return anthropicMessage(done)
}

func (b *block) addAnthropicDelta(delta []byte) {
	switch jsonedit.TextAt(delta, "type") {
	case "text_delta":
		b.appendText("text", jsonedit.TextAt(delta, "text"))
	case "thinking_delta":
		b.appendText("thinking", jsonedit.TextAt(delta, "thinking"))
	case "signature_delta":
		b.appendText("signature", jsonedit.TextAt(delta, "signature"))
	case "input_json_delta":
		b.appendText("input", jsonedit.TextAt(delta, "partial_json"))
	case "compaction_delta":
		b.appendText("content", jsonedit.TextAt(delta, "content"))
	case "citations_delta":
		b.citations = append(b.citations, jsonedit.Get(delta, "citation"))
	}
}

func (b *block) anthropicBlock() []byte {
	out := b.start
	for _, member := range []string{"text", "thinking", "signature", "content"} {
		out = b.put(out, member)
	}
	if input := b.texts["input"]; isObject(input) {
		out = jsonedit.Put(out, input, "input")
	}
	if b.citations != nil {
		out = jsonedit.Put(out, jsonedit.List(b.citations...), "citations")
	}
	return out
}
