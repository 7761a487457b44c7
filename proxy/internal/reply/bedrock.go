package reply

import "github.com/pare-llm/pare/internal/jsonedit"

// bedrock is the Converse API of AWS.
type bedrock struct{}

func (bedrock) readWhole(reply []byte) [][]byte {
	return bedrockMessage(jsonedit.Elements(reply, "output", "message", "content"))
}

// bedrockMessage returns a message with blocks, without empty texts.
func bedrockMessage(blocks [][]byte) [][]byte {
	var content [][]byte
	for _, b := range blocks {
		isEmpty := jsonedit.Get(b, "text") != nil && jsonedit.TextAt(b, "text") == ""
		if !isEmpty {
			content = append(content, b)
		}
	}
	return message(content)
}

func (bedrock) readEvents(events []event) [][]byte {
	var done [][]byte
	open := make(map[int]*block)
	for _, e := range events {
		index := jsonedit.NumberAt(e.data, "contentBlockIndex")
		switch e.name {
		case "contentBlockStart":
			open[index] = newBlock(jsonedit.Get(e.data, "start"))
		case "contentBlockDelta":
			if open[index] == nil { // texts have no start event
				open[index] = newBlock([]byte("{}"))
			}
			open[index].addBedrockDelta(jsonedit.Get(e.data, "delta"))
		case "contentBlockStop":
			if b := open[index]; b != nil {
				done = append(done, b.bedrockBlock())
			}
		}
	}
	return bedrockMessage(done)
}

func (b *block) addBedrockDelta(delta []byte) {
	if jsonedit.Get(delta, "text") != nil {
		b.appendText("text", jsonedit.TextAt(delta, "text"))
	}
	if jsonedit.Get(delta, "toolUse", "input") != nil {
		b.appendText("input", jsonedit.TextAt(delta, "toolUse", "input"))
	}
	for _, member := range []string{"text", "signature"} {
		if jsonedit.Get(delta, "reasoningContent", member) != nil {
			b.appendText("reasoning "+member, jsonedit.TextAt(delta, "reasoningContent", member))
		}
	}
	if redacted := jsonedit.Get(delta, "reasoningContent", "redactedContent"); redacted != nil {
		b.start = jsonedit.New("reasoningContent", jsonedit.New("redactedContent", redacted))
	}
}

func (b *block) bedrockBlock() []byte {
	if toolUse := jsonedit.Get(b.start, "toolUse"); toolUse != nil {
		input := b.texts["input"]
		if !isObject(input) {
			input = []byte("{}")
		}
		return jsonedit.Put(b.start, jsonedit.Put(toolUse, input, "input"), "toolUse")
	}
	if reasoning, ok := b.texts["reasoning text"]; ok {
		text := jsonedit.New("text", string(reasoning))
		if signature, ok := b.texts["reasoning signature"]; ok {
			text = jsonedit.Put(text, jsonedit.Quote(string(signature)), "signature")
		}
		return jsonedit.New("reasoningContent", jsonedit.New("reasoningText", text))
	}
	if text, ok := b.texts["text"]; ok {
		return jsonedit.New("text", string(text))
	}
	return b.start
}
