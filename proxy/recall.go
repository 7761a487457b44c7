package proxy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/proxy/internal/recall"
)

// A Recall lets models fetch what was removed from their history, with a tool that the
// client never sees: requests from which something was removed declare it, and where a
// reply calls it, the call is answered here and the model goes on. Everything is found in
// the request itself, which still has what is not sent on. The zero value is ready. Many
// goroutines may use one, as long as nobody changes its fields.
type Recall struct {
	// Store has what placeholders stand for that the client itself sends, as those in the
	// windows of a session. Nil: they are left alone.
	Store Recaller
	// Rounds is how often one reply may be interrupted. Zero: 5.
	Rounds int
	// MaxBytes is how much one reply may fetch. Zero: 128 KB.
	MaxBytes int

	hidden hiding
}

// A Recaller gives back what was removed earlier, from the sessions of one scope only; the
// error wraps [archive.ErrNotFound] if there is nothing under a handle. A store is one. Its
// method may be called by many goroutines.
type Recaller interface {
	Recall(ctx context.Context, scope, handle string) ([]byte, error)
}

// An Asker is a [Recaller] that also looks for words in all that it remembers of one scope; ""
// where there is nothing, or nothing is remembered. Its method may be called by many goroutines.
type Asker interface {
	Ask(ctx context.Context, scope, words string) (string, error)
}

const (
	recallRounds = 5
	recallBytes  = 128 << 10
	storeTime    = 5 * time.Second
)

func (r *Recall) rounds() int {
	if r.Rounds == 0 {
		return recallRounds
	}
	return r.Rounds
}

func (r *Recall) maxBytes() int {
	if r.MaxBytes == 0 {
		return recallBytes
	}
	return r.MaxBytes
}

// scopeOf is whose request it is; see [WithScope].
func scopeOf(ctx context.Context) string {
	s, _ := ctx.Value(scopeKey{}).(string)
	return s
}

// How a recall ended.
const (
	answerFound    = "found"
	answerNotFound = "not-found" // nothing was removed from this conversation under that handle
	answerFailed   = "failed"    // the store did not answer
	answerLimit    = "limit"     // the reply has fetched as much as it may
	answerRefused  = "refused"   // the provider did not take what was found
)

// A Recalled is one call of the tool for recalls. It is a value. Many goroutines may read
// it.
type Recalled struct {
	Handle string `json:"handle,omitempty"` // "": none that could be one
	Bytes  int    `json:"bytes"`            // of content that the model got
	Answer string `json:"answer"`
	// Beside says that the client's tools were called, too: the model gets the answer with
	// the client's next request.
	Beside bool `json:"beside,omitempty"`
}

// What the model is answered, in place of content.
const (
	sayNotFound = "Nothing was removed from this conversation under this handle. Take the handle from a note as it stands there, or go on without the content."
	sayFailed   = "The content cannot be fetched at the moment. Go on without it, or get it again with another tool."
	sayLimit    = "No more content can be fetched in this reply. Go on with what you have."
	sayRefused  = "The content is too large for the room that is left. Go on without it, or get a part of it with another tool."
)

// fetch answers a call. Left is how many bytes it may have.
func (x *exchange) fetch(c recall.Call, left int) (string, Recalled) {
	rec := Recalled{}
	if recall.IsHandle(c.Handle) {
		rec.Handle = c.Handle
	}
	text, ok := x.o.offer.source.Find(c.Handle)
	var err error
	if !ok {
		text, err = x.stored(c.Handle)
	}
	switch {
	case errors.Is(err, archive.ErrNotFound):
		rec.Answer = answerNotFound
		return sayNotFound, rec
	case err != nil:
		x.t.log().Warn("recall failed", "id", x.rec.ID, "error", err)
		rec.Answer = answerFailed
		return sayFailed, rec
	case left <= 0:
		rec.Answer = answerLimit
		return sayLimit, rec
	}
	from, to := excerpt(text, c.Offset, left)
	part := text[from:to]
	rec.Answer, rec.Bytes = answerFound, len(part)
	if to < len(text) {
		part += fmt.Sprintf("\n[pare: these are bytes %d to %d of %d; give offset %d for more]", from, to, len(text), to)
	}
	return part, rec
}

// excerpt is the part of a text that begins at an offset, between characters.
func excerpt(text string, offset, most int) (from, to int) {
	from = min(offset, len(text))
	for from > 0 && from < len(text) && !utf8.RuneStart(text[from]) {
		from--
	}
	to = min(from+most, len(text))
	for to > from && to < len(text) && !utf8.RuneStart(text[to]) {
		to--
	}
	return from, to
}

// stored asks the store, for a handle that stands in the conversation: one that was only
// heard of elsewhere names nothing here.
func (x *exchange) stored(handle string) (string, error) {
	s := x.t.Recall.Store
	if words, asks := strings.CutPrefix(handle, "about "); asks {
		return x.remembered(s, words)
	}
	if s == nil || !recall.IsHandle(handle) || !bytes.Contains(x.plain, []byte(handle)) {
		return "", archive.ErrNotFound
	}
	ctx, cancel := context.WithTimeout(x.in.Context(), storeTime)
	defer cancel()
	var raw []byte
	var err error
	if !x.call("callback Recall.Store", func() { raw, err = s.Recall(ctx, scopeOf(ctx), handle) }) {
		err = errors.New("it panicked")
	}
	return string(raw), err
}

// remembered looks for words in what the sender's scope has said before.
func (x *exchange) remembered(s Recaller, words string) (text string, err error) {
	asker, ok := s.(Asker)
	if !ok {
		return "", archive.ErrNotFound
	}
	ctx, cancel := context.WithTimeout(x.in.Context(), storeTime)
	defer cancel()
	if !x.call("callback Recall.Store", func() { text, err = asker.Ask(ctx, scopeOf(ctx), words) }) {
		err = errors.New("it panicked")
	}
	if err == nil && text == "" {
		err = archive.ErrNotFound
	}
	return text, err
}

// An owner is whose hidden calls are put back: a digest of the scope, the upstream and the
// key that a request carries.
type owner [sha256.Size]byte

func (x *exchange) owner() owner {
	h := sha256.New()
	for _, s := range []string{scopeOf(x.in.Context()), x.t.upstream, credential(x.in)} {
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	return owner(h.Sum(nil))
}

// credential is the key that a request carries. Of one that is signed it is the name of the key:
// each signature is another one.
func credential(r *http.Request) string {
	if s, ok := signatureOf(r.Header); ok {
		return s.key
	}
	all := ""
	for _, name := range []string{"Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key"} {
		all += r.Header.Get(name) + "\n"
	}
	return all + r.URL.Query().Get("key")
}

// hiding remembers the calls of the tool that stood beside calls of the client's, until
// there is no more room. What is forgotten was never there: the history is valid without
// it, and the model can ask again.
type hiding struct {
	mu    sync.Mutex
	by    map[owner]map[string]*recall.Hidden
	order []hidden // oldest first
	size  int
}

type hidden struct {
	owner owner
	key   string
	size  int
}

// hiddenBytes is the room for hidden calls and their results.
const hiddenBytes = 32 << 20

// put remembers calls by the first of those that they stood beside.
func (h *hiding) put(o owner, calls *recall.Hidden) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := calls.Others[0].Key()
	if h.by[o][key] != nil {
		return // the same request, sent twice
	}
	if h.by == nil {
		h.by = make(map[owner]map[string]*recall.Hidden)
	}
	if h.by[o] == nil {
		h.by[o] = make(map[string]*recall.Hidden)
	}
	h.by[o][key] = calls
	h.order = append(h.order, hidden{o, key, calls.Size() + len(key)})
	h.size += h.order[len(h.order)-1].size
	for h.size > hiddenBytes && len(h.order) > 1 {
		old := h.order[0]
		h.order, h.size = h.order[1:], h.size-old.size
		if delete(h.by[old.owner], old.key); len(h.by[old.owner]) == 0 {
			delete(h.by, old.owner)
		}
	}
}

// of returns what is known of an owner; nil: nothing.
func (h *hiding) of(o owner) func(key string) *recall.Hidden {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.by[o]) == 0 {
		return nil
	}
	return func(key string) *recall.Hidden {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.by[o][key]
	}
}
