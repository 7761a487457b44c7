package proxy

import (
	"crypto/rand"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/fullness"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// A Record describes one request. It contains no key and no text of the conversation. It is
// immutable.
type Record struct {
	ID       string    `json:"id"`
	Time     time.Time `json:"time"`
	Upstream string    `json:"upstream,omitempty"`
	// Scope is the scope of the sender; see [WithScope].
	Scope    string `json:"scope,omitempty"`
	Method   string `json:"method"`
	Path     string `json:"path"`
	Dialect  string `json:"dialect,omitempty"`
	Profile  string `json:"profile,omitempty"`
	Model    string `json:"model,omitempty"`
	Messages int    `json:"messages,omitempty"`
	// Requests is the number of requests in a batch. Zero means that it is not a batch.
	Requests int `json:"requests,omitempty"`
	// Status is the status of the reply. Zero means that there was none.
	Status int `json:"status,omitempty"`
	// BytesIn is the size of the body that the client sent, BytesOut of the body that was sent to
	// the upstream, Reply of the reply.
	BytesIn  int64 `json:"bytes_in"`
	BytesOut int64 `json:"bytes_out"`
	Reply    int64 `json:"reply_bytes"`
	// TokensIn and TokensOut are the sizes before and after the changes, if they were counted.
	TokensIn  int `json:"tokens_in,omitempty"`
	TokensOut int `json:"tokens_out,omitempty"`
	// Fullness is the share of the model's window that the request takes, based on the provider's
	// counts. Nil means unknown.
	Fullness *fullness.Outlook `json:"fullness,omitempty"`
	// Changes are the receipts.
	Changes []wire.Change `json:"changes,omitempty"`
	Rules   []string      `json:"rules,omitempty"`
	// Usage is the usage that the provider reports. Zero means that it reports none.
	Usage tokens.Usage `json:"usage,omitzero"`
	// Cached means that the provider has read a part of this conversation from a cache.
	Cached bool `json:"cached,omitempty"`
	// Over means that the original request exceeded the window of its model or a limit of the
	// provider.
	Over bool `json:"over,omitempty"`
	// Lost means that the provider reports that it removed content from the request.
	Lost bool `json:"lost,omitempty"`
	// Stream means that the reply is a stream of events.
	Stream bool `json:"stream,omitempty"`
	// Conversation identifies the conversation; "" if unknown. Agent is the program that sent the
	// request. Both are for pages and not part of the JSON.
	Conversation string `json:"-"`
	Agent        string `json:"-"`
	// Trace is the client's traceparent header.
	Trace string `json:"trace,omitempty"`
	// Saved is the number of tokens that the changes removed.
	Saved int `json:"saved_tokens,omitempty"`
	// Rewritten is the estimated number of tokens that the provider must write to its cache again
	// because of a new cut.
	Rewritten int `json:"rewritten_tokens,omitempty"`
	// Thrift is the group of the conversation for removals that are free, on arrival or while the
	// cache is cold: "cut"; "control" for the one in ten that stays unchanged; "stopped" if too
	// much was fetched again; "" if the policy removes nothing or the conversation has not begun.
	// Cut is the number of results that this request cuts for the first time, Fetched the number
	// of new calls that ask for a cut result again.
	Thrift  string `json:"thrift,omitempty"`
	Cut     int    `json:"cut,omitempty"`
	Fetched int    `json:"fetched,omitempty"`
	// Healed is the rule (or "overflow") of a refusal that a retry avoided.
	Healed string `json:"healed,omitempty"`
	// Known are the rules (or "overflow") that earlier requests of the conversation taught and
	// that this one was planned with.
	Known []string `json:"known,omitempty"`
	// Tried is the rule of a refusal that a retry did not avoid.
	Tried string `json:"tried,omitempty"`
	// Faults are the parts that failed and were left out, such as "rule NAME" or "counter".
	Faults []string `json:"faults,omitempty"`
	// Skipped is why the request was sent unchanged, or "".
	Skipped string `json:"skipped,omitempty"`
	// Detail explains Skipped, or lists the unchanged requests of a batch. It may name a path in
	// the request, but no text.
	Detail string `json:"detail,omitempty"`
	// Error is why there was no reply, or only a part of one.
	Error string `json:"error,omitempty"`
	// Planned is the time that Pare took, Waited the time until the first byte of the reply, Took
	// the total time.
	Planned time.Duration `json:"planned_ns"`
	Waited  time.Duration `json:"waited_ns"`
	Took    time.Duration `json:"took_ns"`
}

// Values of [Record.Skipped].
const (
	skipOff         = "off"              // the policy is off
	skipTooLarge    = "too-large"        // the body exceeds the limit
	skipCoding      = "content-coding"   // the content coding is unknown
	skipInvalid     = "invalid-json"     // the body is not JSON
	skipUnknown     = "unknown-shape"    // the body contains no history
	skipForeign     = "foreign-shape"    // the history has a foreign format
	skipState       = "server-state"     // it continues a history on the server
	skipRefused     = "still-refused"    // some findings cannot be repaired
	skipTooSmall    = "window-too-small" // the protected content does not fit
	skipTime        = "time"             // planning took too long
	skipPanic       = "panic"            // planning panicked
	skipError       = "error"            // planning failed
	skipSigned      = "signed"           // a change would break its signature
	skipUnsupported = "unsupported"      // the body is not inspected
	skipStopped     = "stopped"          // its conversation has reached a limit; it was not sent
)

// newID returns the id of a record: 100 random bits.
func newID() string {
	const letters = "abcdefghijklmnopqrstuvwxyz234567"
	var id [20]byte
	rand.Read(id[:])
	for i, b := range id {
		id[i] = letters[b%32]
	}
	return string(id[:])
}

// setResult copies the result of planning into the record.
func (r *Record) setResult(o *planResult) {
	r.Skipped, r.Detail, r.Changes = o.skipReason, o.detail, o.changes
	r.TokensIn, r.TokensOut, r.Requests = o.tokens[0], o.tokens[1], o.batchSize
	r.Model, r.Profile, r.Messages = o.glance.Profile.Model, o.glance.Profile.Name, o.glance.Messages
	r.truncate()
	r.Conversation = o.conversationKey
	r.Rules, r.Known, r.Over = dialect.RulesOf(o.changes), o.learned.Rules, o.wasTooLarge
	r.Thrift = o.trimGroup
	if o.tokens[1] > 0 {
		r.Saved = max(o.tokens[0]-o.tokens[1], 0)
	}
}

// firstValue returns the first value of a canonical header name. It avoids the canonicalization
// of http.Header.Get.
func firstValue(h http.Header, name string) string {
	if all := h[name]; len(all) > 0 {
		return all[0]
	}
	return ""
}

// replyHeaders are the headers that describe the changes. Values from another Pare behind this
// one are replaced.
var replyHeaders = []string{"Pare-Rules", "Pare-Receipt", "Pare-Saved-Tokens", "Pare-Window", "Pare-Healed", "Pare-Faults", "Pare-Skipped"}

// writeHeaders adds the headers that describe the changes to a reply.
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

// withoutWords modifies changes so that they contain no text of the conversation, because records
// are kept and logged.
func withoutWords(all []wire.Change) []wire.Change {
	for i := range all {
		all[i].Removed = ""
	}
	return all
}
