package dialect

import (
	"net/url"
	"strings"

	"github.com/pare-llm/pare/internal/jsonedit"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// An Envelope is a request as it was found inside of what was read: the whole of it,
// or the body of a recorded exchange. It is a value; any number of goroutines may read
// it.
type Envelope struct {
	Body    []byte  // the request, a part of what was read
	At      int     // where it begins there
	Pointer string  // what leads to it, as a JSON pointer; "" is the whole
	Dialect Dialect // what the URL of the exchange says, or Auto
	Model   string  // what the URL of the exchange says, or ""
	// Conditions are what the exchange says of the request beside its body.
	Conditions Conditions
	packed     int // how many bytes stand for it there, in base64; zero: it does itself
}

// Unwrap takes the request out of its envelope: an object without a history of its
// own, one of whose members has one. What is in no envelope comes back as it is.
func Unwrap(raw []byte) Envelope {
	e := Envelope{Body: raw}
	// An envelope may lie in another: {"request": {"url": …, "body": {…}}}.
	for range 3 {
		m := membersOf(e.Body)
		if takesNoHistory(m.url) {
			break
		}
		e.Conditions = ReadConditions(m.url, m.header).or(e.Conditions)
		d, model := ParseURL(m.url)
		if d != Auto {
			e.Dialect = d
		}
		if model != "" {
			e.Model = model
		}
		inner, found := m.inner(e.Body)
		if !found {
			break
		}
		e.Body, e.At, e.Pointer = e.Body[inner.span.Start:inner.span.End], e.At+inner.span.Start, e.Pointer+"/"+inner.key
	}
	return e
}

// IsRequest reports whether raw is the body of a request, or an envelope of one, and
// not somebody's record of a session. It looks at the members of the top level only.
func IsRequest(raw []byte) bool {
	m := membersOf(raw)
	_, wrapped := m.inner(raw)
	return m.history && !m.kept || wrapped
}

// IsHistoryKey reports whether a member of that name may tell that an object is a request, or
// holds one: isRequest is false for an object that has none of them.
func IsHistoryKey(name []byte) bool { return isList[string(name)] || wraps[string(name)] }

// topLevel is what the top level of an object says about it.
type topLevel struct {
	history bool // it has a list that some dialect keeps its history in
	kept    bool // somebody keeps records in such objects: it has a type or a session
	url     string
	header  map[string][]string // those of the request, by name
	objects []wrapped           // those that may hold the request
}

type wrapped struct {
	key  string
	span jsonspan.Span
}

// isList are the members that dialects keep their history in.
var isList = func() map[string]bool {
	all := make(map[string]bool)
	for _, d := range Dialects() {
		all[d.List()] = true
	}
	return all
}()

// sole are those of them in whose place their only element may stand.
var sole = func() map[string]bool {
	all := make(map[string]bool)
	for _, d := range Dialects() {
		all[d.List()] = all[d.List()] || grammars[d].objectList
	}
	return all
}()

// wraps are the members that a request lies in: of recorded exchanges, of the lines of
// batches (Anthropic's params, Bedrock's modelInput, OpenAI's body, Gemini's request), of
// Bedrock's log of invocations (input, inputBodyJson), of requests that are to be counted
// (Gemini's generateContentRequest, Bedrock's input with converse in it), and of what gateways
// and tracers write.
var wraps = map[string]bool{
	"body": true, "request": true, "params": true, "modelInput": true, "input": true, "inputBodyJson": true, "generateContentRequest": true, "converse": true,
	"request_body": true, "requestBody": true,
}

// isPart reports whether the object that comes first is something that a person says or
// shows, and not what somebody records under a name that a history has.
func isPart(raw []byte) bool {
	var p parser
	p.raw = raw
	p.Reset(raw, jsonspan.Structural)
	kind := findType(interactionsTypes, p.text(p.member("type"))).kind
	return kind == transcript.Text || kind == transcript.Media
}

// membersOf reads the members of an object up to its history. Anything else, and
// what is no JSON, has none.
func membersOf(raw []byte) topLevel {
	s := jsonspan.Borrow(raw, jsonspan.Structural)
	defer s.Return()
	var m topLevel
	if s.Peek() != jsonspan.Object || !s.Enter() {
		return m
	}
	for {
		span, ok := s.Key()
		if !ok {
			break
		}
		switch key, kind := raw[span.Start:span.End], s.Peek(); {
		case isList[string(key)] && (kind != jsonspan.Object || sole[string(key)] && isPart(raw[s.Offset():])):
			m.history = true
			return m
		case wraps[string(key)] && kind == jsonspan.Object:
			m.objects = append(m.objects, wrapped{string(key), s.Skip()})
		case (string(key) == "url" || string(key) == "uri") && kind == jsonspan.String:
			at := s.Str()
			m.url = string(jsonspan.Decode(nil, raw[at.Start:at.End]))
		case string(key) == "headers" || string(key) == "header" || string(key) == "request_headers" || string(key) == "requestHeaders":
			at := s.Skip()
			m.header = headersIn(raw[at.Start:at.End])
		case string(key) == "type" || string(key) == "sessionId" || string(key) == "projectHash" || string(key) == "lastUpdated" || string(key) == "updated_at":
			m.kept = true
			s.Skip()
		case string(key) == "info" && kind == jsonspan.Object: // of a session that opencode exports
			m.kept = true
			s.Skip()
		default:
			s.Skip()
		}
	}
	if s.Failed() {
		m.objects = nil // let the parser find the fault in the whole
	}
	return m
}

// headersIn reads headers as recorders write them: an object of texts or lists, or a list of objects
// with name and value. Anything else has none.
func headersIn(raw []byte) map[string][]string {
	if len(raw) == 0 || raw[0] != '{' && raw[0] != '[' {
		return nil
	}
	header := make(map[string][]string)
	whole := jsonspan.Span{End: len(raw)}
	if raw[0] == '[' {
		for _, e := range jsonspan.Elements(raw, whole) {
			o := jsonedit.At(raw, e)
			if raw[e.Start] == '{' && o.Has("name") {
				header[o.Text("name")] = append(header[o.Text("name")], o.Text("value"))
			}
		}
		return header
	}
	for _, m := range jsonspan.Members(raw, whole) {
		name := string(jsonspan.Decode(nil, raw[m.Key.Start:m.Key.End]))
		values := []jsonspan.Span{m.Value}
		if raw[m.Value.Start] == '[' {
			values = jsonspan.Elements(raw, m.Value)
		}
		for _, v := range values {
			header[name] = append(header[name], jsonedit.Text(raw, v))
		}
	}
	return header
}

// inner returns the member that holds the request, or an envelope that does.
func (m *topLevel) inner(raw []byte) (wrapped, bool) {
	if m.history {
		return wrapped{}, false
	}
	for _, o := range m.objects {
		in := membersOf(raw[o.span.Start:o.span.End])
		if in.history || len(in.objects) > 0 {
			return o, true
		}
	}
	return wrapped{}, false
}

// An endpoint is how the path of requests in a dialect ends, and what it must have or
// must not have further in front, if the end alone does not tell.
type endpoint struct{ end, within, without string }

func (e endpoint) matches(path string) bool {
	return strings.HasSuffix(path, e.end) && strings.Contains(path, e.within) && (e.without == "" || !strings.Contains(path, e.without))
}

// ParseURL returns the dialect and the model that the URL of a request names, or Auto
// and "". The path is recognised by its end, wherever it stands: behind a gateway's, a
// proxy's, Azure's or Vertex's own prefix. The model is part of it on Gemini
// (/models/NAME:generateContent), Vertex (/models/NAME:rawPredict), Bedrock
// (/model/NAME/converse) and Azure (/deployments/NAME/chat/completions); as Azure's
// deployments have names of their own, theirs begin with azure/.
func ParseURL(address string) (Dialect, string) {
	path, _, _ := strings.Cut(address, "#")
	path, _, _ = strings.Cut(path, "?")
	path = plainVerb(strings.TrimRight(path, "/"))
	for _, d := range Dialects() {
		for _, e := range grammars[d].endpoints {
			if e.matches(path) {
				return d, modelIn(path)
			}
		}
	}
	return Auto, modelIn(path)
}

// plainVerb is a path whose last part names a model and what is asked of it, with a colon
// between them also if that came escaped.
func plainVerb(path string) string {
	last := path[strings.LastIndexByte(path, '/')+1:]
	if i := strings.LastIndex(strings.ToLower(last), "%3a"); i >= 0 && !strings.Contains(last, ":") {
		return path[:len(path)-len(last)+i] + ":" + last[i+len("%3a"):]
	}
	return path
}

// noHistory is how the paths end at which providers take input that is no history.
var noHistory = []string{"/embeddings", "/moderations", "/rerank", "/classify", "/images/generations", "/images/edits", "/audio/speech", "/audio/transcriptions", ":embedContent", ":batchEmbedContents", ":predict"}

// takesNoHistory reports whether what is sent to an address is no history, whatever it looks like.
func takesNoHistory(address string) bool {
	path, _, _ := strings.Cut(address, "?")
	path = strings.TrimRight(path, "/")
	for _, end := range noHistory {
		if strings.HasSuffix(path, end) {
			return true
		}
	}
	return false
}

// modelIn returns the model that the path of a request names, or "".
func modelIn(path string) string {
	name, vendor := "", ""
	if _, rest, ok := strings.Cut(path, "/models/"); ok {
		name, _, _ = strings.Cut(rest, ":")
	} else if _, rest, ok := strings.Cut(path, "/model/"); ok {
		name = rest
	} else if _, rest, ok := strings.Cut(path, "/openai/deployments/"); ok {
		name, vendor = rest, "azure/"
	}
	name, _, _ = strings.Cut(name, "/")
	if plain, err := url.PathUnescape(name); err == nil {
		name = plain
	}
	if name == "" {
		return ""
	}
	return vendor + name
}

// MaxOutputTokens is how long the request lets the reply be, in tokens; zero: it does not say.
func (r *Request) MaxOutputTokens() int { return r.head.mostOutput }
