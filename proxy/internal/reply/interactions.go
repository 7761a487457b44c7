package reply

import "github.com/pare-llm/pare/internal/jsonedit"

// interactions is the Interactions API of Gemini.
type interactions struct{}

func (interactions) readWhole(reply []byte) [][]byte { return jsonedit.Elements(reply, "steps") }

func (interactions) readEvents(events []event) [][]byte {
	var steps [][]byte
	open := make(map[int]*block)
	for _, e := range events {
		index := jsonedit.NumberAt(e.data, "index")
		switch jsonedit.TextAt(e.data, "event_type") {
		case "step.start":
			open[index] = newBlock(jsonedit.Get(e.data, "step"))
		case "step.delta":
			if b := open[index]; b != nil {
				b.addStepDelta(jsonedit.Get(e.data, "delta"))
			}
		case "step.stop":
			if b := open[index]; b != nil {
				steps = append(steps, b.step())
			}
		}
	}
	return steps
}

func (b *block) addStepDelta(delta []byte) {
	switch jsonedit.TextAt(delta, "type") {
	case "text":
		b.appendText("text", jsonedit.TextAt(delta, "text"))
	case "text_annotation_delta":
		b.citations = append(b.citations, jsonedit.Elements(delta, "annotations")...)
	case "arguments_delta":
		b.appendText("arguments", jsonedit.TextAt(delta, "arguments"))
	case "thought_signature":
		b.appendText("signature", jsonedit.TextAt(delta, "signature"))
	case "thought_summary":
		b.appendElement("summary", jsonedit.Get(delta, "content"))
	case "image", "audio", "video", "document":
		b.finishText()
		b.appendElement("content", delta)
	default: // calls and results of the provider's own tools arrive in one piece
		for name, value := range jsonedit.All(delta) {
			if name != "type" {
				b.start = jsonedit.Put(b.start, value, name)
			}
		}
	}
}

// finishText appends the text so far, with its annotations, to the content.
func (b *block) finishText() {
	text, ok := b.texts["text"]
	if !ok {
		return
	}
	part := jsonedit.New("type", "text", "text", string(text))
	if b.citations != nil {
		part = jsonedit.Put(part, jsonedit.List(b.citations...), "annotations")
	}
	b.appendElement("content", part)
	delete(b.texts, "text")
	b.citations = nil
}

func (b *block) step() []byte {
	b.finishText()
	out := b.start
	for _, member := range []string{"content", "summary"} {
		if elements := b.lists[member]; elements != nil {
			elements = append(jsonedit.Elements(out, member), elements...)
			out = jsonedit.Put(out, jsonedit.List(elements...), member)
		}
	}
	out = b.put(out, "signature")
	if arguments := b.texts["arguments"]; isObject(arguments) {
		out = jsonedit.Put(out, arguments, "arguments")
	}
	return out
}
