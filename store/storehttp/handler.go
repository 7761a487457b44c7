package storehttp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/store"
)

// Options configures a handler.
type Options struct {
	// Tokens maps bearer tokens to the scopes that they open. If Tokens and Scope are nil, clients
	// on the same machine have the scope "", and others are refused.
	Tokens map[string]string
	// Scope replaces Tokens. It returns the scope of a request, and false if the request is not
	// authorized.
	Scope func(*http.Request) (scope string, ok bool)
	// Policy is used for windows without limits of their own. Nil: see [store.WindowOptions].
	Policy *pare.Policy
	// Compactor writes summaries. Nil archives the compacted messages without a summary.
	Compactor *pare.Compactor
	// CompactAbove is the number of tokens after its last summary above which a session is
	// compacted in the background, for the fullness of sessions. Zero disables it.
	CompactAbove int64
	// MaxBody limits request bodies, in bytes. Zero means 64 MB.
	MaxBody int64
	// Log gets errors that are not the client's fault, without telling the client. Nil drops them.
	Log *slog.Logger
}

// OpenAPI describes the handler. It is served at /pare/v1/openapi.json.
//
//go:embed openapi.json
var OpenAPI []byte

// RetryAfter is the number of seconds after which clients should repeat a request that failed with
// [store.ErrUnavailable]: a restarted database is back after a few seconds.
const RetryAfter = "5"

// A route is a method and path of the handler. OpenAPI describes the same routes.
type route struct {
	method, path string
	serve        func(*api, *call) error
	parameters   []string // parameters of the URL
}

const sessionsPath = "/pare/v1/sessions"

var routes = []route{
	{"POST", sessionsPath, (*api).create, nil},
	{"GET", sessionsPath, (*api).list, []string{"limit", "before"}},
	{"GET", sessionsPath + "/{id}", (*api).get, []string{"path"}},
	{"PATCH", sessionsPath + "/{id}", (*api).update, []string{"path"}},
	{"DELETE", sessionsPath + "/{id}", (*api).remove, []string{"path"}},
	{"GET", sessionsPath + "/{id}/paths", (*api).paths, nil},
	{"POST", sessionsPath + "/{id}/entries", (*api).append, []string{"path"}},
	{"GET", sessionsPath + "/{id}/entries", (*api).page, []string{"path", "after", "before", "last", "limit"}},
	{"POST", sessionsPath + "/{id}/window", (*api).window, []string{"path"}},
	{"POST", sessionsPath + "/{id}/compact", (*api).compact, []string{"path"}},
	{"POST", sessionsPath + "/{id}/swap", (*api).swap, []string{"path"}},
	{"POST", sessionsPath + "/{id}/revert", (*api).revert, []string{"path"}},
	{"POST", sessionsPath + "/{id}/undo", (*api).undo, []string{"path"}},
	{"POST", sessionsPath + "/{id}/fork", (*api).fork, []string{"path"}},
	{"POST", sessionsPath + "/{id}/merge", (*api).merge, []string{"path"}},
	{"GET", sessionsPath + "/{id}/search", (*api).search, []string{"path", "q", "limit"}},
	{"GET", sessionsPath + "/{id}/events", (*api).events, []string{"path", "from"}},
	{"GET", "/pare/v1/search", (*api).search, []string{"q", "limit"}},
	{"GET", "/pare/v1/recall", (*api).about, []string{"q", "limit"}},
	{"GET", "/pare/v1/recall/{handle}", (*api).recall, nil},
}

type api struct {
	store        *store.Store
	options      Options
	loggedFaults sync.Map // rules whose failure was logged
}

// Handler serves the sessions of a store under /pare/v1/.
func Handler(st *store.Store, o Options) http.Handler {
	if o.MaxBody == 0 {
		o.MaxBody = 64 << 20
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	a := &api{store: st, options: o}
	mux := http.NewServeMux()
	allow := make(map[string][]string)
	for _, r := range routes {
		allow[r.path] = append(allow[r.path], r.method)
		mux.HandleFunc(r.method+" "+r.path, func(w http.ResponseWriter, q *http.Request) { a.serve(w, q, r) })
	}
	const openapi = "/pare/v1/openapi.json"
	allow[openapi] = []string{http.MethodGet}
	mux.HandleFunc("GET "+openapi, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write(OpenAPI)
	})
	// Wrong methods and paths get errors in the same form as others.
	for path, methods := range allow {
		mux.HandleFunc(path, func(w http.ResponseWriter, q *http.Request) {
			w.Header().Set("Allow", strings.Join(methods, ", "))
			writeError(w, http.StatusMethodNotAllowed, problem{Type: "method_not_allowed", Message: fmt.Sprintf("%s takes %s, not %s", q.URL.Path, strings.Join(methods, ", "), q.Method)})
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, q *http.Request) {
		writeError(w, http.StatusNotFound, problem{Type: "not_found", Message: "there is no " + q.Method + " " + q.URL.Path})
	})
	return mux
}

// serve answers one request.
func (a *api) serve(w http.ResponseWriter, q *http.Request, r route) {
	scope, ok := a.scope(q)
	if !ok {
		w.Header().Set("WWW-Authenticate", "Bearer")
		writeError(w, http.StatusUnauthorized, problem{Type: "unauthorized", Message: "a token is missing or unknown: send Authorization: Bearer …"})
		return
	}
	q.Body = http.MaxBytesReader(w, q.Body, a.options.MaxBody)
	c := &call{response: w, request: q, log: a.options.Log}
	err := c.parseParameters(r.parameters)
	if err == nil {
		c.key = store.Key{Scope: scope, ID: q.PathValue("id"), Path: c.parameter("path")}
		err = r.serve(a, c)
	}
	if err != nil {
		c.fail(err)
	}
}

// scope returns the scope of a request. It compares all tokens in constant time, so that the
// duration does not reveal how close a guess was.
func (a *api) scope(q *http.Request) (scope string, ok bool) {
	switch {
	case a.options.Scope != nil:
		return a.options.Scope(q)
	case a.options.Tokens == nil:
		return "", IsLocal(q)
	}
	given, _ := strings.CutPrefix(q.Header.Get("Authorization"), "Bearer ")
	sum := sha256.Sum256([]byte(given))
	for token, of := range a.options.Tokens {
		want := sha256.Sum256([]byte(token))
		if subtle.ConstantTimeCompare(sum[:], want[:]) == 1 {
			scope, ok = of, true
		}
	}
	return scope, ok
}

// IsLocal reports whether a request comes from this machine.
func IsLocal(q *http.Request) bool {
	host, _, err := net.SplitHostPort(q.RemoteAddr)
	if err != nil {
		return q.RemoteAddr == "" || q.RemoteAddr == "@" // a socket in the file system
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// A call is one request and its response.
type call struct {
	response http.ResponseWriter
	request  *http.Request
	key      store.Key
	query    url.Values // its parameters
	log      *slog.Logger
}

// parseParameters parses the parameters of the URL. Unknown ones are errors, because a misspelled limit
// would be ignored.
func (c *call) parseParameters(takes []string) (err error) {
	if c.query, err = url.ParseQuery(c.request.URL.RawQuery); err != nil {
		return fmt.Errorf("%w: its parameters: %w", errBody, err)
	}
	for _, name := range slices.Sorted(maps.Keys(c.query)) {
		switch {
		case !slices.Contains(takes, name):
			return fmt.Errorf("%w: there is no parameter %q", errBody, name)
		case len(c.query[name]) > 1:
			return fmt.Errorf("%w: %s is given %d times", errBody, name, len(c.query[name]))
		}
	}
	return nil
}

// parameter returns a parameter of the URL, or "".
func (c *call) parameter(name string) string { return c.query.Get(name) }

// boolParameter parses a boolean parameter.
func (c *call) boolParameter(name string) (bool, error) {
	switch text := c.parameter(name); {
	case !c.query.Has(name), text == "false", text == "0":
		return false, nil
	case text == "true", text == "1":
		return true, nil
	default:
		return false, fmt.Errorf("%w: %s is %q: true or false is expected", errBody, name, text)
	}
}

// errBody is wrapped by errors about the request body and parameters.
var errBody = errors.New("the request cannot be read")

// errCoding reports a compressed body.
var errCoding = errors.New("the body is packed: send it as it is, without a Content-Encoding")

// read decodes the body. Unknown members are errors, and an empty body has the defaults.
func (c *call) read(into any) error {
	if coding := strings.Join(c.request.Header["Content-Encoding"], ","); coding != "" && !strings.EqualFold(coding, "identity") {
		return errCoding
	}
	d := json.NewDecoder(c.request.Body)
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil {
		if _, more := d.Token(); more != io.EOF { // it would be ignored
			var large *http.MaxBytesError
			if errors.As(more, &large) {
				return more
			}
			return fmt.Errorf("%w: there is more behind its end", errBody)
		}
	}
	var large *http.MaxBytesError
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil || errors.As(err, &large):
		return err
	case errors.As(err, &kind) && kind.Field == "": // the message would name a Go type
		return fmt.Errorf("%w: it is JSON of another kind (%s), an object is expected", errBody, kind.Value)
	case errors.As(err, &kind):
		return fmt.Errorf("%w: %s cannot be of this kind (%s)", errBody, kind.Field, kind.Value)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: it ends in the middle of the JSON", errBody)
	}
	return fmt.Errorf("%w: %s", errBody, strings.TrimPrefix(err.Error(), "json: "))
}

func encode(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

func (c *call) write(status int, v any) error { return c.writeRaw(status, encode(v)) }

func (c *call) writeRaw(status int, raw []byte) error {
	c.response.Header().Set("Content-Type", "application/json")
	c.response.WriteHeader(status)
	_, err := c.response.Write(append(raw, '\n'))
	return err
}

// intParameter parses a numeric parameter.
func (c *call) intParameter(name string) (int, error) {
	if !c.query.Has(name) {
		return 0, nil
	}
	text := c.parameter(name)
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("%w: %s is %q: a number is expected", errBody, name, text)
	}
	return int(n), nil
}

// A problem is the response to a request that failed.
type problem struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Head    *int64 `json:"head,omitempty"`    // conflict
	Entry   string `json:"entry,omitempty"`   // duplicate
	Minimum int    `json:"minimum,omitempty"` // window_too_small

	missed []store.Entry // conflict
}

func writeError(w http.ResponseWriter, status int, p problem) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	raw := encode(p)
	if len(p.missed) > 0 {
		raw = withEntries(raw, "missed", p.missed)
	}
	w.Write(slices.Concat([]byte(`{"error":`), raw, []byte("}\n")))
}

// nothingToCompact are the reasons for which a compaction does nothing.
var nothingToCompact = []string{"larger", "no-cut", "nothing-to-compact"}

// fail writes the response for an error. Errors of the database are logged and not shown.
func (c *call) fail(err error) {
	var (
		conflict  *store.ConflictError
		duplicate *store.DuplicateError
		entry     *store.EntryError
		small     *pare.WindowTooSmall
		refused   *pare.RefusedError
		failed    *pare.CompactionError
		large     *http.MaxBytesError
	)
	status, p := http.StatusInternalServerError, problem{Type: "internal", Message: "the store failed; see its log"}
	switch {
	case errors.As(err, &conflict):
		status, p = http.StatusConflict, problem{Type: "conflict", Message: err.Error(), Head: &conflict.Head}
		p.missed = conflict.Missed
	case errors.As(err, &duplicate):
		status, p = http.StatusConflict, problem{Type: "duplicate", Message: err.Error(), Entry: duplicate.ID}
	case errors.As(err, &entry):
		status, p = http.StatusUnprocessableEntity, problem{Type: "bad_entry", Message: err.Error(), Entry: entry.ID}
	case errors.As(err, &small):
		status, p = http.StatusUnprocessableEntity, problem{Type: "window_too_small", Message: err.Error(), Minimum: small.Minimum}
	case errors.As(err, &refused):
		status, p = http.StatusUnprocessableEntity, problem{Type: "still_refused", Message: err.Error()}
	case errors.As(err, &failed) && slices.Contains(nothingToCompact, failed.Reason):
		status, p = http.StatusUnprocessableEntity, problem{Type: "nothing_to_compact", Message: err.Error()}
	case errors.As(err, &failed):
		status, p = http.StatusBadGateway, problem{Type: "compaction_failed", Message: err.Error()}
	case errors.As(err, &large):
		status, p = http.StatusRequestEntityTooLarge, problem{Type: "too_large", Message: fmt.Sprintf("the body is larger than %d bytes", large.Limit)}
	case errors.Is(err, errCoding):
		c.response.Header().Set("Accept-Encoding", "identity")
		status, p = http.StatusUnsupportedMediaType, problem{Type: "unsupported", Message: err.Error()}
	case errors.Is(err, errBody), errors.Is(err, store.ErrUsage):
		status, p = http.StatusBadRequest, problem{Type: "bad_request", Message: err.Error()}
	case errors.Is(err, store.ErrBusy), errors.Is(err, store.ErrStale):
		status, p = http.StatusConflict, problem{Type: "busy", Message: err.Error()}
	case errors.Is(err, store.ErrExists):
		status, p = http.StatusConflict, problem{Type: "exists", Message: err.Error()}
	case errors.Is(err, store.ErrDeleted):
		status, p = http.StatusGone, problem{Type: "deleted", Message: err.Error()}
	case errors.Is(err, store.ErrNotFound), errors.Is(err, archive.ErrNotFound), errors.Is(err, store.ErrNoCursor):
		status, p = http.StatusNotFound, problem{Type: "not_found", Message: err.Error()}
	case errors.Is(err, store.ErrFull):
		status, p = http.StatusInsufficientStorage, problem{Type: "full", Message: store.ErrFull.Error() + ": nothing was written; make room, then send it again"}
		c.log.Error("the store failed", "session", c.key.String(), "call", c.request.Pattern, "error", err)
	case errors.Is(err, store.ErrUnavailable):
		c.response.Header().Set("Retry-After", RetryAfter)
		status, p = http.StatusServiceUnavailable, problem{Type: "unavailable", Message: store.ErrUnavailable.Error() + ": send the request again, with the same ids; the store goes on as soon as the database is back"}
		c.log.Error("the store failed", "session", c.key.String(), "call", c.request.Pattern, "error", err)
	case errors.Is(err, store.ErrExpired):
		status, p = http.StatusGone, problem{Type: "let_go", Message: err.Error()}
	case errors.Is(err, store.ErrNothingToUndo):
		status, p = http.StatusConflict, problem{Type: "nothing_to_undo", Message: err.Error()}
	case errors.Is(err, context.Canceled):
		return
	default:
		c.log.Error("the store failed", "session", c.key.String(), "call", c.request.Pattern, "error", err)
	}
	writeError(c.response, status, p)
}

// A textID is an id or a path. Invalid text is an error: encoding/json would replace it, so that two
// ids could become equal.
type textID string

func (n *textID) UnmarshalJSON(raw []byte) error {
	if err := jsonspan.Valid(raw); err != nil {
		return fmt.Errorf("an id or a path is no text: %w; it holds bytes that are not UTF-8 or half of a surrogate pair", err)
	}
	return json.Unmarshal(raw, (*string)(n))
}

// An entryJSON is an entry in requests and responses.
type entryJSON struct {
	ID     textID          `json:"id"`
	Kind   store.Kind      `json:"kind,omitempty"`
	Raw    json.RawMessage `json:"raw,omitempty"` // of requests; see encodeEntry
	Seq    int64           `json:"seq,omitempty"`
	At     *time.Time      `json:"at,omitempty"`
	Begins bool            `json:"begins,omitempty"`
	Gone   bool            `json:"gone,omitempty"`
	// Damaged is the reason why the bytes cannot be read. Raw is then a placeholder.
	Damaged string `json:"damaged,omitempty"`
	// Open are the calls without a result in force.
	Open []openJSON `json:"open,omitempty"`
}

type openJSON struct {
	ID   string `json:"id"`
	Tool string `json:"tool,omitempty"`
}

// encodeEntry encodes an entry with its bytes as they are, which encoding/json would reformat.
func encodeEntry(e store.Entry) []byte {
	j := entryJSON{ID: textID(e.ID), Kind: e.Kind, Seq: e.Seq, Begins: e.Begins, Gone: e.Gone, Damaged: e.Damaged}
	if !e.At.IsZero() {
		j.At = &e.At
	}
	for _, c := range e.Calls {
		if c.Open {
			j.Open = append(j.Open, openJSON{c.ID, c.Tool})
		}
	}
	raw := encode(j)
	if len(e.Raw) > 0 {
		raw = slices.Concat(raw[:len(raw)-1], []byte(`,"raw":`), e.Raw, []byte{'}'})
	}
	return raw
}

// withEntries adds a list of entries to an object.
func withEntries(object []byte, name string, entries []store.Entry) []byte {
	list := make([][]byte, len(entries))
	for i, e := range entries {
		list[i] = encodeEntry(e)
	}
	return slices.Concat(object[:len(object)-1], []byte(`,"`+name+`":[`), bytes.Join(list, []byte{','}), []byte("]}"))
}

// A headJSON is the head that the client expects.
type headJSON struct {
	Exactly  *int64 `json:"exactly,omitempty"`
	Disjoint *int64 `json:"disjoint,omitempty"`
}

func (h headJSON) head() (store.Head, error) {
	switch {
	case h.Exactly != nil && h.Disjoint != nil:
		return store.Head{}, fmt.Errorf("%w: exactly and disjoint exclude each other", errBody)
	case h.Exactly != nil:
		return store.Exactly(*h.Exactly), nil
	case h.Disjoint != nil:
		return store.Disjoint(*h.Disjoint), nil
	}
	return store.Anywhere, nil
}
