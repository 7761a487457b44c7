package reply

import (
	"bytes"
	"encoding/json"
	"mime"

	"github.com/pare-llm/pare/internal/jsonedit"
	"github.com/pare-llm/pare/wire"
)

// A format reads the replies of one dialect.
type format interface {
	// readWhole reads a reply in one piece, which is a JSON object.
	readWhole(reply []byte) [][]byte
	// readEvents reads a reply that was streamed.
	readEvents(events []event) [][]byte
}

var formats = map[wire.Dialect]format{
	wire.Anthropic:          anthropic{},
	wire.OpenAIChat:         chat{},
	wire.OpenAIResponses:    responses{},
	wire.Gemini:             gemini{},
	wire.GeminiInteractions: interactions{},
	wire.Bedrock:            bedrock{},
}

// A Reply is the body of a complete reply, without a content coding.
type Reply struct {
	Dialect     wire.Dialect
	ContentType string
	IsStreamed  bool // the request asked for a stream
	Body        []byte
}

// Messages returns what the model said, as elements of the dialect's list of messages. It
// returns nil if the model said nothing, or if the reply cannot be read.
func Messages(r Reply) [][]byte {
	f := formats[r.Dialect]
	if f == nil {
		return nil
	}
	media, _, _ := mime.ParseMediaType(r.ContentType)
	switch {
	case media == "text/event-stream":
		return f.readEvents(sentEvents(r.Body))
	case media == "application/vnd.amazon.eventstream":
		return f.readEvents(awsEvents(r.Body))
	case media == "application/json" && r.IsStreamed:
		return f.readEvents(listedEvents(r.Body))
	case isObject(r.Body):
		return f.readWhole(r.Body)
	}
	return nil
}

// isObject reports whether b is a valid JSON object.
func isObject(b []byte) bool {
	trimmed := bytes.TrimLeft(b, " \t\r\n")
	return len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(b)
}

// isNull reports whether a value is missing or null.
func isNull(value []byte) bool { return value == nil || string(value) == "null" }

// message returns an assistant's message with a content, or nil if there is no content.
func message(content [][]byte) [][]byte {
	if len(content) == 0 {
		return nil
	}
	return [][]byte{jsonedit.New("role", "assistant", "content", jsonedit.List(content...))}
}
