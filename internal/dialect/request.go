package dialect

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// Options says how to read a request. The zero value detects everything and checks the
// JSON fully. It is a value that many goroutines may use.
type Options struct {
	Dialect Dialect // Auto: detect from the content
	Profile string  // "": derive from the model, else the dialect's own vendor
	Model   string  // used where the body names none, as on Gemini and Bedrock
	// Structural skips the checks inside strings (escapes, control characters,
	// UTF-8, surrogates); for a proxy that passes on what it does not understand.
	Structural bool
	// Conditions are what is known of the request beside its body.
	Conditions Conditions
}

// A Request is one parsed request body or bare list of messages. It is never changed;
// many goroutines may read it.
type Request struct {
	Dialect Dialect
	Profile Profile

	g     *grammar
	t     *transcript.Transcript
	raw   []byte
	list  transcript.Span // of the list of messages, brackets included
	bare  bool            // the document is the list
	head  head
	where []place  // by block
	extra []facts  // by message
	frame []frame  // by message
	o     Options  // what it was parsed with
	steps []*trail // back to the request it was made from, if it was
	notes []note
	flaws []jsonspan.Flaw
	// unlisted is how many flaws there are behind those.
	unlisted int

	listNotes int              // how many notes are about what stands in front of the list
	ties      []transcript.Tie // between blocks of one message, or of neighbours
}

// Raw returns the bytes of the request.
func (r *Request) Raw() []byte { return r.raw }

// A SyntaxError says where the bytes stop being JSON, and why. Many goroutines may read
// it.
type SyntaxError = jsonspan.SyntaxError

// ErrNotRequest is wrapped by the error for JSON that holds no history.
var ErrNotRequest = errors.New("not a request: expected an object with messages, input or contents, or a list of messages")

// A noList is the error for JSON that holds no history of a dialect. It wraps ErrNotRequest.
type noList Dialect

func (e noList) Error() string {
	d := Dialect(e)
	return fmt.Sprintf("not a request of %s: expected an object with %s, or a list", d, d.List())
}

func (e noList) Unwrap() error { return ErrNotRequest }

// Parse reads one request body. Its error is a *SyntaxError for bytes that are
// not JSON and wraps ErrNotRequest for JSON that holds no history; everything
// else is left to Check. The request keeps raw and must be the only one to hold
// it: raw must not change afterwards.
func Parse(raw []byte, o Options) (*Request, error) {
	p := new(parser)
	profile, err := p.read(raw, &o)
	if err != nil {
		return nil, err
	}
	r := p.request(profile)
	if o.Dialect == Auto { // the detected dialect may turn out to be wrong
		if err := r.foreign(); err != nil {
			return nil, err
		}
	}
	r.o = o
	r.o.Dialect = r.Dialect
	return r, nil
}

// read reads a body up to its profile.
func (p *parser) read(raw []byte, o *Options) (Profile, error) {
	d, hasty := o.Dialect, false
	if d == Auto {
		var err error
		if d, err = p.detect(raw, true); err != nil {
			return Profile{}, err
		}
		hasty = p.led && !p.firm
	}
	mode := jsonspan.Strict
	if o.Structural {
		mode = jsonspan.Structural
	}
	p.reset(raw, d, mode)
	if err := p.document(); err != nil {
		return Profile{}, err
	}
	if hasty && !p.bare && p.contradicted() {
		again, err := p.detect(raw, false)
		if err != nil {
			return Profile{}, err
		}
		d = again
		p.reset(raw, d, mode)
		if err := p.document(); err != nil {
			return Profile{}, err
		}
	}
	if p.head.model == "" {
		p.head.model = o.Model
	}
	return ResolveProfile(d, o.Profile, strings.Clone(p.head.model))
}

// Transcript returns the index over the request.
func (r *Request) Transcript() *transcript.Transcript { return r.t }

// Model returns the model the request names, or "".
func (r *Request) Model() string { return r.head.model }

// Path returns the path of a block in the form that findings use.
func (r *Request) Path(b transcript.BlockID) string {
	w := r.where[b]
	return r.pathOf(origin{r.t.Blocks()[b].Message, w.in, int(w.index)})
}

// MessagePath returns the path of a message.
func (r *Request) MessagePath(i int) string {
	var short [64]byte
	return string(r.appendMessagePath(short[:0], i))
}

func (r *Request) appendMessagePath(to []byte, i int) []byte {
	to = append(to, r.g.list...)
	if k := r.head.listKind; k != jsonspan.Array && k != jsonspan.Invalid { // it stands in the place of the list
		return to
	}
	return jsonspan.AppendInt(append(to, '.'), i)
}

// head is what stands beside the list of messages.
type head struct {
	model      string
	tools      map[string]bool // declared tools by name
	deferred   map[string]bool // those of them that are not loaded at once
	blocking   map[string]bool // Gemini's functions that are answered by one response
	toolsGiven bool
	thinking   string // thinking.type of Anthropic and its imitators
	binding    bool   // thinking.block_binding is set
	effort     string // reasoning.effort
	mostOutput int    // tokens that the reply may have; 0: it does not say
	storeFalse bool
	delta      string // the member that names the conversation on the server which the request continues; "": it is no delta
	// startsThread: the server is asked to hold the conversation from here on.
	startsThread bool
	remote       bool // so does all of it, if the list is not there
	betas        []string
	betasGiven   bool
	container    bool
	compaction   bool // the compaction parameter is set
	// contextEdits: context_management is set; thresholdEdit: with compaction in it.
	contextEdits, thresholdEdit bool
	cacheMarks                  int  // outside of the messages
	shortMark                   bool // one of them lives five minutes only
	autoCache                   bool // top-level cache_control
	autoTTL                     string
	listKind                    jsonspan.Kind
	said                        []utterance
}

// A place says where in its message a block stands.
type place struct {
	in    container
	index int32
}

type container uint8

const (
	inMessage  container = iota // the message is the block
	inContent                   // content[index]
	inString                    // content is a string
	inParts                     // parts[index]
	inCalls                     // tool_calls[index]
	inFunction                  // function_call, the old form
	inMember                    // a member beside content: sideMembers[index]
)

// member is the name of the list.
func (c container) member() string {
	switch c {
	case inParts:
		return "parts"
	case inCalls:
		return "tool_calls"
	}
	return "content"
}

// appendTo appends the path of a block to that of its message.
func (p place) appendTo(message []byte) []byte {
	switch p.in {
	case inMessage:
		return message
	case inString:
		return append(message, ".content"...)
	case inFunction, inMember:
		return append(append(message, '.'), p.member()...)
	}
	message = append(append(append(message, '.'), p.in.member()...), '.')
	return jsonspan.AppendInt(message, int(p.index))
}

// A frame is where the lists of a message lie, brackets or quotes included; an
// empty span means that there is none.
type frame struct{ content, calls transcript.Span }

// facts are what rules about roles and turns need to know of a message.
type facts uint16

const (
	hasResults   facts = 1 << iota // it holds results
	hasOthers                      // it holds something that is not a result
	hasCalls                       // it holds client calls
	emptyList                      // its content is an empty list or string
	nullContent                    // its content is null or missing
	blankText                      // its content is white space only
	wantsPrefix                    // prefix: true
	hasReasoning                   // carries reasoning_content or reasoning
	stringBody                     // its content is a string
	badRole                        // its role is none that the dialect knows
	loosePart                      // a part of what the user says, by itself in the list
	saysBeside                     // a refusal or a recording stands beside its content
	besideCalls                    // its content is a string that says something, and calls stand beside it
	attaches                       // it is the user's and holds attachments, and neither results nor words of a person
	shown                          // and a person attached them, as far as its blocks tell
	holdsOnly                      // it has no members but those that hold its blocks; not all that have none are known
)

// A note is something the parser noticed; the table decides who minds.
type note struct {
	fault   fault
	message int32
	block   int32  // -1: the message or the request
	sub     string // path behind the block's or message's own
	arg     string // what the provider's sentence names
}

// member returns the name of the member that a block is the value of.
func (p place) member() string {
	if p.in == inFunction {
		return "function_call"
	}
	return sideMembers[p.index].name
}

func (r *Request) pathOf(o origin) string {
	var short [128]byte
	return string(r.appendPath(short[:0], o))
}

func (r *Request) appendPath(to []byte, o origin) []byte {
	return place{o.in, int32(o.index)}.appendTo(r.appendMessagePath(to, o.message))
}

// An origin is where an element stood in the request. Message -1 means that it is new; the
// index then tells new things of one round apart.
type origin struct {
	message int
	in      container
	index   int
}

// A trail leads from a changed request back to the one before.
type trail struct {
	messages []origin
	inner    map[listKey][]origin // by new message; absent lists kept their order
	joined   map[origin][]origin  // by place in the one before: what else is there now
	edits    []jsonspan.Edit      // what was done to the bytes
}

// A listKey names a list inside a message.
type listKey struct {
	message int
	in      container
}
