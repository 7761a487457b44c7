package proxy

import (
	"crypto/rand"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/pare-llm/pare/internal/fullness"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// A Record is one request as it happened. It holds no key and no text of the conversation.
// Whoever gets one may keep it; nobody changes it any more. Many goroutines may read it.
type Record struct {
	ID       string    `json:"id"`
	Time     time.Time `json:"time"`
	Upstream string    `json:"upstream,omitempty"`
	// Scope is whose request it is; see [WithScope].
	Scope    string `json:"scope,omitempty"`
	Method   string `json:"method"`
	Path     string `json:"path"`
	Dialect  string `json:"dialect,omitempty"`
	Profile  string `json:"profile,omitempty"`
	Model    string `json:"model,omitempty"`
	Messages int    `json:"messages,omitempty"`
	// Requests is how many requests a batch holds; zero: it is none.
	Requests int `json:"requests,omitempty"`
	// Status is that of the reply; zero: there was none.
	Status int `json:"status,omitempty"`
	// BytesIn came from the client, BytesOut went to the upstream, Reply came back.
	BytesIn  int64 `json:"bytes_in"`
	BytesOut int64 `json:"bytes_out"`
	Reply    int64 `json:"reply_bytes"`
	// Tokens of the request before and after, as far as they had to be counted.
	TokensIn  int `json:"tokens_in,omitempty"`
	TokensOut int `json:"tokens_out,omitempty"`
	// Fullness is how full the request makes the window of its model, by what the provider has
	// counted of the ones before it, and what is left of that; nil: it is not known.
	Fullness *fullness.Outlook `json:"fullness,omitempty"`
	// Changes are the receipts of what was done.
	Changes []wire.Change `json:"changes,omitempty"`
	Rules   []string      `json:"rules,omitempty"`
	// Usage is what the provider says that it has counted; zero: it does not say.
	Usage tokens.Usage `json:"usage,omitzero"`
	// Cached says that the provider has read a part of this conversation from a cache, by this
	// reply or an earlier one.
	Cached bool `json:"cached,omitempty"`
	// Over says that the request could not have been sent as it came: it was larger than the
	// window of its model, or than the provider has said that it takes.
	Over bool `json:"over,omitempty"`
	// Lost says that the provider has left something of the request out, by its own answer.
	Lost bool `json:"lost,omitempty"`
	// Stream says that the reply came as a stream of events.
	Stream bool `json:"stream,omitempty"`
	// Conversation tells the requests of one conversation from those of others; "": it is not known.
	// Agent is the program that sent it, as it calls itself. Both are for pages, and not written.
	Conversation string `json:"-"`
	Agent        string `json:"-"`
	// Trace is the header traceparent of a client that traces its requests.
	Trace string `json:"trace,omitempty"`
	// Saved is how many tokens the changes took out.
	Saved int `json:"saved_tokens,omitempty"`
	// Rewritten is how many tokens behind a cut that is new the provider's cache has to take
	// again, estimated.
	Rewritten int `json:"rewritten_tokens,omitempty"`
	// Thrift says whether results may be left out because that is free, as they arrive or while the
	// cache is cold: "cut"; "control", for one conversation in ten, which is left as it is; "stopped",
	// because too much was fetched again; "", where the policy leaves nothing out, or the conversation
	// has not begun. Cut is of how many more results something is left out now, Fetched how many calls
	// that came with this request ask for one of them again.
	Thrift  string `json:"thrift,omitempty"`
	Cut     int    `json:"cut,omitempty"`
	Fetched int    `json:"fetched,omitempty"`
	// Healed is the rule, or "overflow", whose refusal was healed by sending once more.
	Healed string `json:"healed,omitempty"`
	// Known are the rules, or "overflow", that were healed in an earlier request of the same
	// conversation, and that this one was planned with from the start.
	Known []string `json:"known,omitempty"`
	// Tried is what healing was tried for, in vain.
	Tried string `json:"tried,omitempty"`
	// Faults are what failed and was done without: "rule NAME", "counter", "callback Begun".
	Faults  []string `json:"faults,omitempty"`
	Skipped string   `json:"skipped,omitempty"`
	// Detail says more about Skipped, or which requests of a batch went on as they came; it
	// may name a place in the request, never its text.
	Detail string `json:"detail,omitempty"`
	// Error is why there was no reply, or only the beginning of one.
	Error string `json:"error,omitempty"`
	// Planned is how long Pare took, Waited how long the first byte of the reply, Took all
	// of it.
	Planned time.Duration `json:"planned_ns"`
	Waited  time.Duration `json:"waited_ns"`
	Took    time.Duration `json:"took_ns"`
}

// Why a request went on as it came, as [Record.Skipped] has it.
const (
	skipOff         = "off"              // the policy says so
	skipTooLarge    = "too-large"        // it is larger than what is looked at
	skipCoding      = "content-coding"   // packed in a way that is not known
	skipInvalid     = "invalid-json"     // it is no JSON
	skipUnknown     = "unknown-shape"    // it holds no history
	skipForeign     = "foreign-shape"    // it holds a history in a foreign format
	skipState       = "server-state"     // it goes on from a history that the server holds
	skipRefused     = "still-refused"    // it cannot be repaired in full
	skipTooSmall    = "window-too-small" // what must stay does not fit
	skipTime        = "time"             // planning took too long
	skipPanic       = "panic"            // planning failed badly
	skipError       = "error"            // planning failed
	skipSigned      = "signed"           // a change would break its signature
	skipUnsupported = "unsupported"      // it has a body that is not looked at
	skipStopped     = "stopped"          // its conversation is above a limit, and it was not sent
)

// newID is the name of a record: a hundred random bits.
func newID() string {
	const letters = "abcdefghijklmnopqrstuvwxyz234567"
	var id [20]byte
	rand.Read(id[:])
	for i, b := range id {
		id[i] = letters[b%32]
	}
	return string(id[:])
}

// fill takes over what was planned.
func (r *Record) setResult(o *planResult) {
	r.Skipped, r.Detail, r.Changes = o.skipReason, o.detail, o.changes
	r.TokensIn, r.TokensOut, r.Requests = o.tokens[0], o.tokens[1], o.batchSize
	r.Model, r.Profile, r.Messages = o.glance.Profile.Model, o.glance.Profile.Name, o.glance.Messages
	r.truncate()
	r.Conversation = o.conversationKey
	r.Rules, r.Known, r.Over = wirex.RulesOf(o.changes), o.learned.Rules, o.wasTooLarge
	r.Thrift = o.trimGroup
	if o.tokens[1] > 0 {
		r.Saved = max(o.tokens[0]-o.tokens[1], 0)
	}
}

// first is the first value of a header whose name is written as [http.Header] does. Its Get
// would look at every letter of it.
func firstValue(h http.Header, name string) string {
	if all := h[name]; len(all) > 0 {
		return all[0]
	}
	return ""
}

// ours are the headers of a reply that say what was done to the request. Those of another Pare
// behind this one are about what it was sent.
var replyHeaders = []string{"Pare-Rules", "Pare-Receipt", "Pare-Saved-Tokens", "Pare-Window", "Pare-Healed", "Pare-Faults", "Pare-Skipped"}

// header writes what a reply says about the request.
func (r *Record) writeHeaders(h http.Header) {
	for _, name := range replyHeaders {
		delete(h, name)
	}
	h["Pare-Changes"] = []string{strconv.Itoa(len(r.Changes))}
	if len(r.Changes) > 0 {
		h.Set("Pare-Rules", strings.Join(r.Rules, ","))
		h.Set("Pare-Receipt", r.ID)
	}
	if r.Saved > 0 {
		h.Set("Pare-Saved-Tokens", strconv.Itoa(r.Saved))
	}
	if full := r.Fullness.Header(); full != "" {
		h.Set("Pare-Window", full)
	}
	if r.Healed != "" {
		h.Set("Pare-Healed", r.Healed)
	}
	if len(r.Faults) > 0 {
		h.Set("Pare-Faults", strings.Join(r.Faults, ", "))
	}
	if r.Skipped != "" {
		h.Set("Pare-Skipped", string(r.Skipped))
	}
}

// withoutWords modifies changes so that they hold no words of a conversation: records are kept and logged.
func withoutWords(all []wire.Change) []wire.Change {
	for i := range all {
		all[i].Removed = ""
	}
	return all
}
