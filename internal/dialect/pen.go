package dialect

import (
	"crypto/sha256"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// A pen is how a dialect is repaired, where each has its own way; commonPen is the usual one.
// What reads and judges does not know about pens.
type pen interface {
	// resultContent writes a text as the content of a result.
	resultContent(d *draft, text string) []byte
	// stub writes a result that says text, for a call; nil if the call is of a kind
	// whose result cannot be made up honestly.
	stub(d *draft, call transcript.BlockID, text string) []byte

	// idPath, namePath, argsPath and contentPath lead from a call or result to its id,
	// the name of its tool, its arguments, its content.
	idPath(d *draft, b transcript.BlockID, call bool) []string
	namePath(d *draft, b transcript.BlockID, call bool) []string
	argsPath(d *draft, b transcript.BlockID) []string
	contentPath(d *draft, b transcript.BlockID) []string
	// ownID makes an id out of a hash where the usual form will not do.
	ownID(m *repairer, sum [sha256.Size]byte) (id string, ok bool)

	// sayResult and sayCall replace what a result says and what a call asks.
	sayResult(m *repairer, b transcript.BlockID, text string)
	sayCall(m *repairer, b transcript.BlockID, text string)

	// beside returns the media of a result that do not stand in its body.
	beside(d *draft, b transcript.BlockID) (transcript.Span, bool)
	// shown writes what an item of a result shows as a block of the user's; nil if it
	// shows nothing.
	shown(d *draft, item transcript.Span) []byte
	// resultObject is the object that the members of a result stand in, and the path to
	// it.
	resultObject(d *draft, b transcript.BlockID) (at transcript.Span, path string)
	// joined joins what results of one call say, if it can be, and setJoined makes the
	// first of them say it.
	joined(d *draft, all []transcript.BlockID) (value []byte, ok bool)
	setJoined(m *repairer, all []transcript.BlockID, joined []byte) bool
	// markWorst gives the first of several results that are joined the mark of the worst of
	// them, where the dialect has marks.
	markWorst(m *repairer, all []transcript.BlockID)
	// wrapResult makes an object of a structured result that is none.
	wrapResult(m *repairer, f *Finding)
	// retagPart repairs a part that its role may not use.
	retagPart(m *repairer, f *Finding)
	// skipSignature asks the API not to look for the lost signature of a call.
	skipSignature(m *repairer, f *Finding)
	// unsign takes the signature of thought off a block; first says that it is the first call
	// of its message.
	unsign(r *Request, b transcript.BlockID, first bool) []jsonspan.Edit
	// thinkingOff switches thinking off in the head of the request.
	thinkingOff(m *repairer, f *Finding)
}

// pens has a row for each dialect, as [grammars] has.
var pens = [dialects]pen{
	Anthropic:          anthropicPen{},
	OpenAIChat:         chatPen{},
	OpenAIResponses:    responsesPen{},
	Gemini:             geminiPen{},
	Bedrock:            bedrockPen{},
	GeminiInteractions: interactionsPen{},
}

type (
	anthropicPen    struct{ commonPen }
	chatPen         struct{ commonPen }
	responsesPen    struct{ commonPen }
	geminiPen       struct{ commonPen }
	bedrockPen      struct{ commonPen }
	interactionsPen struct{ commonPen }
)

// commonPen is how most dialects do it.
type commonPen struct{}

func (commonPen) resultContent(d *draft, text string) []byte { return d.inQuotes(text) }

func (commonPen) namePath(*draft, transcript.BlockID, bool) []string { return []string{"name"} }

func (commonPen) contentPath(*draft, transcript.BlockID) []string { return []string{"content"} }

func (commonPen) ownID(*repairer, [sha256.Size]byte) (string, bool) { return "", false }

func (commonPen) sayResult(m *repairer, b transcript.BlockID, text string) {
	m.setResult(b, m.pen.resultContent(m.draft, text))
}

func (commonPen) shown(d *draft, item transcript.Span) []byte {
	switch d.text(item, "type") {
	case "image", "document", "video", "image_url", "input_audio", "file", "input_image", "input_file":
		return d.t.Bytes(item)
	}
	return nil
}

func (commonPen) wrapResult(*repairer, *Finding) {}

func (commonPen) retagPart(m *repairer, f *Finding) { m.dropFound(f) }

func (commonPen) thinkingOff(m *repairer, f *Finding) {
	if m.setBodyMember("thinking", []byte(`{"type":"disabled"}`)) {
		m.logHead(f, ActionEdit, "thinking", 0, "thinking is switched off for this request: the thinking of the open tool loop is lost")
	}
}
