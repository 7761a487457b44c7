package paretest

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/internal/jsontree"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// A Mock is a fake provider for tests. It answers on the paths of the providers, wherever those
// stand, in each API's shape: whole, or streamed when asked. A history that the provider
// would refuse gets the provider's status, body and sentence, and one that is too long
// its overflow error. The same request always gets the same answer; a request that continues
// what a server remembers is believed. Message threads of Anthropic are held, and their rules
// enforced.
//
// The zero value is ready. Many goroutines may use it; its fields must not change while
// they do.
type Mock struct {
	// Strict refuses whatever is not valid everywhere.
	Strict bool
	// MaxTokens is the window of every model; zero is no limit. What is sent is
	// counted as package tokens estimates it.
	MaxTokens int
	// RequireKey refuses requests without the headers that the provider wants: a key,
	// and anthropic-version. Any key will do.
	RequireKey bool
	// Record gets every request as a line of JSON, in the order of arrival; nil is
	// none. Nothing else writes to it at the same time.
	Record io.Writer
	// Reply says what the model answers to a request that was accepted; nil lets it
	// say how many messages it was sent.
	Reply func(*wire.Request) Reply
	// Unpack undoes the content coding of a body; what comes of it has at most so many
	// bytes. Nil: gzip is known. The one of package proxy knows more.
	Unpack func(coding string, packed []byte, most int64) ([]byte, error)

	mu      sync.Mutex // of Record
	threads threadStore
}

// A Reply is what the model of a [Mock] answers. It is a value. Many goroutines may read
// it.
type Reply struct {
	// Thinking is what it thinks before it speaks, where the API shows that; "" thinks
	// something if the request asks for thinking.
	Thinking string
	Text     string
	Calls    []ToolCall
	// Status, if it is not zero, makes the answer an error of the provider with this
	// status that says Text.
	Status int
}

// A ToolCall is a call that the model of a [Mock] makes. It is a value. Many goroutines
// may read it.
type ToolCall struct {
	ID        string // "" makes one as the provider would
	Tool      string
	Arguments string // a JSON object; "" is {}
}

// maxBody bounds what a Mock reads of a request.
const maxBody = 256 << 20

func (m *Mock) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		(&visit{m: m, w: w, r: r, route: routeOf(r)}).refuse(tooLarge)
		return
	}
	if m.Record != nil {
		m.mu.Lock()
		_, err := m.Record.Write(recordLine(r, raw))
		m.mu.Unlock()
		if err != nil {
			http.Error(w, "record: "+err.Error(), http.StatusInternalServerError)
			return
		}
	}
	body, err := m.unpacked(r, raw)
	v := &visit{m: m, w: w, r: r, body: body, route: routeOf(r)}
	switch {
	case err != nil:
		v.refuse(v.api.badJSON)
	case v.act == nil:
		v.refuse(v.api.notFound)
	case m.RequireKey && !v.keyed():
		v.refuse(v.api.noKey)
	case m.RequireKey && v.api.version != "" && v.model == "" && r.Header.Get(v.api.version) == "":
		v.refuse(refusal{message: strings.ToLower(v.api.version) + ": header is required"})
	default:
		v.act(v)
	}
}

// unpacked undoes the coding of a body. One that is not known is left as it is, and is no JSON.
func (m *Mock) unpacked(r *http.Request, raw []byte) ([]byte, error) {
	coding := r.Header.Get("Content-Encoding")
	if m.Unpack != nil {
		return m.Unpack(coding, raw, maxBody)
	}
	if coding != "gzip" {
		return raw, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(z, maxBody))
}

// A visit is one request and its answer.
type visit struct {
	m *Mock
	w http.ResponseWriter
	r *http.Request
	route
	body []byte
}

// A route is what the path of a request asks for.
type route struct {
	api     *api
	act     func(*visit) // nil: there is nothing
	dialect wire.Dialect
	model   string // that the path names, or ""
	stream  bool   // the path asks for a stream
}

// routeOf finds out what a request asks for: by how its path ends, and where that is
// not enough by the headers that it carries.
func routeOf(r *http.Request) route {
	path := strings.TrimRight(r.URL.EscapedPath(), "/")
	if r.Method == http.MethodPost {
		act := (*visit).converse
		for _, end := range []string{"/count_tokens", ":countTokens", "/input_tokens"} {
			if rest, ok := strings.CutSuffix(path, end); ok {
				act = (*visit).count
				if end == ":countTokens" {
					rest += ":generateContent"
				}
				path = rest
			}
		}
		if d, model := wire.ParseURL(path); d != wire.Auto {
			rt := route{api: apiOf(d, path), act: act, dialect: d, model: model}
			rt.stream = strings.HasSuffix(path, ":streamGenerateContent") || strings.HasSuffix(path, ":streamRawPredict") ||
				strings.HasSuffix(path, "-stream") // converse-stream, invoke-with-response-stream
			return rt
		}
	}
	rt := route{api: apiByHeaders(r, path)}
	switch {
	case path == "" && (r.Method == http.MethodHead || r.Method == http.MethodGet):
		rt.act = func(v *visit) { v.w.WriteHeader(http.StatusOK) }
	case r.Method == http.MethodGet && (strings.HasSuffix(path, "/models") || strings.Contains(path, "/models/")):
		rt.act = (*visit).models
		_, rt.model, _ = strings.Cut(path, "/models/")
	}
	return rt
}

// apiOf returns the API of a dialect on a path.
func apiOf(d wire.Dialect, path string) *api {
	for _, a := range apis {
		if a.dialect == d.String() && strings.Contains(path, a.within) {
			return a
		}
	}
	panic("no API for " + d.String())
}

// apiByHeaders returns the API whose headers or prefix a request carries.
func apiByHeaders(r *http.Request, path string) *api {
	switch {
	case r.Header.Get("Anthropic-Version") != "" || r.Header.Get("X-Api-Key") != "" || strings.Contains(path, "/messages"):
		return &anthropicAPI
	case r.Header.Get("X-Goog-Api-Key") != "" || strings.Contains(path, "/v1beta/") || r.URL.Query().Has("key"):
		return &geminiAPI
	case strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-") || strings.HasPrefix(path, "/model/"):
		return &converseAPI
	}
	return &chatAPI
}

// converse answers a request for the model's next turn.
func (v *visit) converse() {
	req, tree, bad := v.read()
	if need := v.api.required; bad == nil && need != "" && tree.Get(need) == nil {
		bad = &refusal{message: need + ": Field required"}
	}
	if bad != nil {
		v.refuse(*bad)
		return
	}
	estimator := tokens.For(req.Model())
	a := answer{visit: v, model: strings.TrimPrefix(req.Model(), "azure/"), tree: tree, input: req.Tokens(estimator), sum: sha256.Sum256(v.body)}
	if most := v.m.MaxTokens; most > 0 && a.input > most {
		v.refuse(v.api.overflow(req.Profile, a.input, most))
		return
	}
	a.Reply = Reply{Text: "I have read " + plural(len(req.Transcript().Messages()), "message") + "."}
	if v.m.Reply != nil {
		a.Reply = v.m.Reply(req)
	}
	if a.Status != 0 {
		v.refuse(refusal{status: a.Status, message: a.Text})
		return
	}
	if thinking := tree.At(v.api.thinking); a.Thinking == "" && v.api.thinking != "" && thinking != nil && string(thinking.Raw) != `"disabled"` {
		a.Thinking = "What is asked for is clear."
	}
	a.name()
	a.output = estimator.Count([]byte(a.Text))
	for _, c := range a.Calls {
		a.output += estimator.Count([]byte(c.Tool + c.Arguments))
	}
	a.hold()
	if v.stream || isTrue(tree.Get("stream")) {
		v.api.stream(&a)
		return
	}
	v.send(http.StatusOK, "application/json", v.api.whole(&a))
}

// count answers how many tokens a request has.
func (v *visit) count() {
	req, _, bad := v.read()
	if bad != nil {
		v.refuse(*bad)
		return
	}
	v.send(http.StatusOK, "application/json", jsontree.Object(v.api.counted, figure(req.Tokens(tokens.For(req.Model())))))
}

// models answers which models there are: whichever is asked for.
func (v *visit) models() {
	if v.model != "" {
		v.send(http.StatusOK, "application/json", v.api.aModel(v.model))
		return
	}
	v.send(http.StatusOK, "application/json", v.api.listModels(v.api.knows))
}

// send sends a JSON value.
func (v *visit) send(status int, kind string, n *jsontree.Node) {
	v.w.Header().Set("Content-Type", kind)
	v.w.WriteHeader(status)
	v.w.Write(append(n.Write(nil, jsontree.Spelling{}, 0), '\n'))
}

// An answer is what an accepted request gets.
type answer struct {
	*visit
	Reply
	model         string
	tree          *jsontree.Node // of the request
	input, output int            // tokens
	sum           [sha256.Size]byte
}

// name gives the calls that have no id one as the provider would make, and arguments to
// those that have none.
func (a *answer) name() {
	calls := make([]ToolCall, len(a.Calls))
	for i, c := range a.Calls {
		if c.ID == "" {
			c.ID = a.api.callID + a.id(22, byte(i+1))
		}
		if c.Arguments == "" {
			c.Arguments = "{}"
		}
		calls[i] = c
	}
	a.Calls = calls
}

// id is the tail of an id of n characters: a function of the request and of which of its
// ids it is.
func (a *answer) id(n int, which byte) string {
	sum := sha256.Sum256(append(a.sum[:], which))
	return hex.EncodeToString(sum[:])[:n]
}

// signature looks like n signed bytes, and is the same for the same text.
func signature(of string, n int) string {
	out := make([]byte, n)
	rand.NewChaCha8(sha256.Sum256([]byte(of))).Read(out)
	return base64.StdEncoding.EncodeToString(out)
}

// pieces are the parts in which a text is streamed: one to five words each, so that a
// long one does not take long.
func (a *answer) pieces() []string {
	words := strings.SplitAfter(a.Text, " ")
	step := 1 + min(4, len(words)/64)
	if len(words) > 4096 {
		step = len(words) / 512
	}
	var all []string
	for len(words) > 0 {
		n := min(step, len(words))
		all = append(all, strings.Join(words[:n], ""))
		words = words[n:]
	}
	return all
}

// halves are the two parts in which arguments are streamed.
func halves(s string) [2]string { return [2]string{s[:len(s)/2], s[len(s)/2:]} }

func isTrue(n *jsontree.Node) bool {
	return n != nil && n.Kind == jsonspan.Bool && string(n.Raw) == "true"
}
