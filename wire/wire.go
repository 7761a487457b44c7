// Package wire reads, checks and names the requests of six provider APIs.
//
// [Parse] turns a request body, or a bare list of messages, into a [Request] and detects its
// [Dialect]. Its Check method lists the rules of the provider that the request breaks. A [Repair]
// says how to treat calls and results without a partner; package pare repairs requests with it. A
// [Change] describes one repair. All values may be used by several goroutines at a time.
package wire

import (
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/transcript"
)

// A Dialect is the wire format of an API.
type Dialect = dialect.Dialect

// The dialects. Auto detects the dialect from the body.
const (
	Auto               = dialect.Auto
	Anthropic          = dialect.Anthropic
	OpenAIChat         = dialect.OpenAIChat
	OpenAIResponses    = dialect.OpenAIResponses
	Gemini             = dialect.Gemini
	Bedrock            = dialect.Bedrock
	GeminiInteractions = dialect.GeminiInteractions
)

// An Action is the kind of a change.
type Action = dialect.Action

// The actions.
const (
	ActionKeep    = dialect.ActionKeep
	ActionArchive = dialect.ActionArchive
	ActionDrop    = dialect.ActionDrop
	ActionEdit    = dialect.ActionEdit
	ActionInsert  = dialect.ActionInsert
	ActionMerge   = dialect.ActionMerge
	ActionMove    = dialect.ActionMove
	ActionRename  = dialect.ActionRename
)

// A Remedy is the treatment of a call or result without a partner.
type Remedy = dialect.Remedy

// The remedies.
const (
	RemedyKeep = dialect.RemedyKeep
	RemedyDrop = dialect.RemedyDrop
)

type (
	// A Request is a parsed request body or list of messages. It is immutable.
	Request = dialect.Request
	// Options are the settings of Parse. The zero value detects everything and checks all JSON.
	Options = dialect.Options
	// Conditions are facts about a request that its body does not contain.
	Conditions = dialect.Conditions
	// A Profile is a vendor and a model, whose rules a check applies.
	Profile = dialect.Profile
	// CheckOptions select the findings that a check reports.
	CheckOptions = dialect.CheckOptions
	// A Finding is a rule that a request breaks, and the place where it does.
	Finding = dialect.Finding
	// A Rule is one structural rule of a provider.
	Rule = dialect.Rule
	// Repair holds the choices that a repair leaves to the caller. The zero value is right.
	Repair = dialect.Repair
	// A Change is one change that a repair or a plan made to a request.
	Change = dialect.Change
	// An Edit replaces a range of bytes.
	Edit = dialect.Edit
	// A BlockEdit replaces the text of a block.
	BlockEdit = dialect.BlockEdit
	// An Insertion is a new message.
	Insertion = dialect.Insertion
	// A Counter counts tokens.
	Counter = dialect.Counter
	// A Detection is the dialect of a body and the evidence for it.
	Detection = dialect.Detection
	// An Envelope is a request inside another document, such as a line of a batch.
	Envelope = dialect.Envelope
	// A SyntaxError is the place where a body stops being JSON, and the reason.
	SyntaxError = dialect.SyntaxError
	// A ForeignError is returned for a body that mixes dialects.
	ForeignError = dialect.ForeignError
)

// ErrNotRequest is wrapped by errors for JSON that contains no history.
var ErrNotRequest = dialect.ErrNotRequest

// Parse reads a request body or a list of messages. The error is a *SyntaxError if raw is not JSON,
// and wraps ErrNotRequest if it contains no history. The request references raw, which must not
// change afterwards.
func Parse(raw []byte, o Options) (*Request, error) { return dialect.Parse(raw, o) }

// Detect returns the dialect of a body and the evidence for it.
func Detect(raw []byte) (Detection, error) { return dialect.Detect(raw) }

// Dialects returns all dialects except Auto.
func Dialects() []Dialect { return dialect.Dialects() }

// ParseDialect returns the dialect with a name, such as "anthropic".
func ParseDialect(name string) (Dialect, error) { return dialect.ParseDialect(name) }

// ParseURL returns the dialect and the model that the address of an endpoint implies.
func ParseURL(address string) (Dialect, string) { return dialect.ParseURL(address) }

// Unwrap returns the request inside an envelope, such as a line of a batch file.
func Unwrap(raw []byte) Envelope { return dialect.Unwrap(raw) }

// Profiles returns the names of the profiles of a dialect.
func Profiles(d Dialect) []string { return dialect.Profiles(d) }

// ResolveProfile returns the profile with a name or, if name is empty, that of the model.
func ResolveProfile(d Dialect, name, model string) (Profile, error) {
	return dialect.ResolveProfile(d, name, model)
}

// Rules returns the structural rules of all providers.
func Rules() []Rule { return dialect.Rules() }

// Arguments returns the arguments of a call as a JSON object, or nil if it has none.
func Arguments(t *transcript.Transcript, call transcript.BlockID) []byte {
	return dialect.Arguments(t, call)
}

// Argument returns one argument of a call as text. It returns false if there is none of that name.
func Argument(t *transcript.Transcript, call transcript.BlockID, name string) (string, bool) {
	return dialect.Argument(t, call, name)
}
