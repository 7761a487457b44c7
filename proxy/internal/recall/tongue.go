package recall

import (
	"encoding/json"

	"github.com/pare-llm/pare/wire"
)

// Tool is the name of the tool.
const Tool = "pare_recall"

const (
	about = "Fetches content that was removed from this conversation to save room. A note in brackets that begins with \"[pare: \" stands where something was cleared or shortened, " +
		"and names it, as \"archived as pare-…\" or as \"call …\": give that name as the handle. Older parts may be gone without a note: give \"list\" as the handle to see what was removed, with handles. " +
		"Where earlier conversations are remembered, \"about \" and a few words as the handle looks for these words there. " +
		"Call this only if you need the content to go on."
	schema = `{"type":"object","properties":{` +
		`"handle":{"type":"string","description":"pare-…, the id of a call, list, or about and some words."},` +
		`"offset":{"type":"integer","description":"The byte to begin at, to go on with content that is too long for one result."}},"required":["handle"]}`
)

// A Tongue is how a dialect speaks of tools. Many goroutines may use one.
type Tongue interface {
	// Offer declares the tool in the body of a request; false if the request cannot have it.
	Offer(body []byte) ([]byte, bool)
	// Hear reads a whole reply; nil if it is none.
	Hear(reply []byte) *Turn
	// Reply writes the reply that the client sees: the last one, with what was said before it
	// and without calls of the tool.
	Reply(last []byte, before []*Turn, now *Turn) []byte
	// Result writes the result of a call as an element of the list that results stand in.
	Result(c Call, text string) []byte
	// Stream begins a reply that comes piece by piece.
	Stream() Filter

	// list is the member that holds the history.
	list() string
	// wrapped says that AWS does not know the API, and wraps its events.
	wrapped() bool
	// asked writes the messages that carry results.
	asked(results [][]byte) [][]byte
}

// A Turn is what the model said in one round.
type Turn struct {
	// Said is its part of the history: elements of the list of messages.
	Said [][]byte
	// Shown is what of it the client sees, in pieces of the dialect's own.
	Shown [][]byte
	// Calls are those of the tool, Others those of the client's tools.
	Calls  []Call
	Others []Other
	// Ready says that the model waits for results; otherwise it was cut off, or has ended.
	Ready bool
	// Output is how many tokens it took, by the provider's count.
	Output int
}

// Alone reports whether the model waits for this tool and for no other.
func (t *Turn) Alone() bool { return t.Ready && len(t.Calls) > 0 && len(t.Others) == 0 }

// Message is its part of the history; nil: it said nothing.
func (t *Turn) Message() [][]byte {
	if t == nil || len(t.Shown)+len(t.Calls)+len(t.Others) == 0 {
		return nil
	}
	return t.Said
}

// A Call is one call of the tool.
type Call struct {
	ID     string
	Handle string
	Offset int
	// Raw is the call as an element of the list that calls stand in.
	Raw []byte
	// Behind is how many calls of the client's tools stand in front of it.
	Behind int
}

// An Other is a call of one of the client's tools.
type Other struct {
	ID, Tool  string
	Arguments []byte // JSON
}

// For returns the tongue of a dialect; nil if the tool cannot be offered there.
func For(d wire.Dialect) Tongue { return tongues[d] }

var tongues = map[wire.Dialect]Tongue{
	wire.Anthropic:          anthropic{},
	wire.OpenAIChat:         chat{},
	wire.OpenAIResponses:    responses{},
	wire.Gemini:             gemini{},
	wire.GeminiInteractions: interactions{},
	wire.Bedrock:            bedrock{},
}

// Weight is how many tokens the declaration of the tool takes.
func Weight(t Tongue, c wire.Counter) int {
	body := object(t.list(), []byte("[]"))
	with, _ := t.Offer(body)
	return c.CountJSON(with) - c.CountJSON(body)
}

// Ask appends a turn and the results of its calls to the body of a request.
func Ask(t Tongue, body []byte, turn *Turn, results []string) []byte {
	var all [][]byte
	for i, c := range turn.Calls {
		all = append(all, t.Result(c, results[i]))
	}
	return appendTo(body, t.list(), append(turn.Said[:len(turn.Said):len(turn.Said)], t.asked(all)...)...)
}

// newCall reads the arguments of a call.
func newCall(id string, arguments, raw []byte, others int) Call {
	c := Call{ID: id, Raw: raw, Behind: others}
	var a struct {
		Handle string `json:"handle"`
		Offset any    `json:"offset"`
	}
	if json.Unmarshal(arguments, &a) == nil {
		c.Handle = a.Handle
		if n, ok := a.Offset.(float64); ok && n > 0 && n < 1<<40 {
			c.Offset = int(n)
		}
	}
	return c
}
