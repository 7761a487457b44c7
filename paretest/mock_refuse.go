package paretest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/jsontree"
	"github.com/pare-llm/pare/wire"
)

// An api is how one provider speaks: what it says to whom it refuses, and how it writes
// an answer.
type api struct {
	dialect string // the name of the one it speaks
	within  string // what its paths have in them, where several speak one
	callID  string // how the ids of calls begin
	counted string // the member that says how many tokens there are
	version string // a header that requests whose path names no model must have
	knows   []string
	// thinking is where a request says whether the model is to think and show it.
	thinking string
	// required is a member that a request for a reply must have beside its history and its model.
	required string
	// remembers are the members by which a request continues what a server remembers.
	remembers []string

	whole      func(*answer) *jsontree.Node
	stream     func(*answer)
	shape      func(*visit, refusal) *jsontree.Node // the body of an error
	aModel     func(id string) *jsontree.Node
	listModels func(ids []string) *jsontree.Node

	// What it says before it looks at the history. The status is 400 if there is none.
	badJSON, noModel, noHistory, noKey, notFound refusal

	// overflow is its answer to a history of n tokens that may have most.
	overflow func(p wire.Profile, n, most int) refusal
}

// apis are all of them; of those that speak one dialect the more special first.
var apis = []*api{&invokeAPI, &anthropicAPI, &chatAPI, &responsesAPI, &geminiAPI, &interactionsAPI, &converseAPI}

// A refusal is what a provider answers to a request that it does not take.
type refusal struct {
	status  int    // 0 is 400
	message string // the sentence
	param   string // what it is about, where the provider says so
	code    string // the provider's own, "" if it has none
	vendor  string // whose shape the body has, where several use one path
}

// refuse answers with a refusal.
func (v *visit) refuse(f refusal) {
	if f.status == 0 {
		f.status = http.StatusBadRequest
	}
	id := v.requestID()
	switch v.api {
	case &anthropicAPI:
		v.w.Header().Set("Request-Id", "req_"+id)
	case &converseAPI, &invokeAPI:
		v.w.Header().Set("X-Amzn-Requestid", id)
		v.w.Header().Set("X-Amzn-Errortype", awsError(f.status))
	default:
		v.w.Header().Set("X-Request-Id", "req_"+id)
	}
	v.send(f.status, "application/json", v.api.shape(v, f))
}

// requestID is a function of the request.
func (v *visit) requestID() string {
	sum := sha256.Sum256(append([]byte(v.r.Method+" "+v.r.URL.Path+"\n"), v.body...))
	return hex.EncodeToString(sum[:12])
}

// keyed reports whether the request carries a key, of whichever kind.
func (v *visit) keyed() bool {
	for _, name := range []string{"Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key"} {
		if v.r.Header.Get(name) != "" {
			return true
		}
	}
	return v.r.URL.Query().Get("key") != ""
}

// read reads the request and judges it. The refusal is nil if the provider would take it.
func (v *visit) read() (*wire.Request, *jsontree.Node, *refusal) {
	tree, err := jsontree.Parse(v.body)
	if err != nil {
		return nil, nil, &v.api.badJSON
	}
	whole, bad := v.threaded(tree)
	if bad != nil {
		return nil, nil, bad
	}
	body := v.body
	if whole != tree {
		tree, body = whole, whole.Write(nil, jsontree.Spelling{}, 0)
	}
	req, err := wire.Parse(body, wire.Options{Dialect: v.dialect, Model: v.model, Conditions: dialect.ReadConditions(v.r.URL.Path, v.r.Header)})
	if errors.Is(err, wire.ErrNotRequest) {
		if req = v.continues(tree); req == nil {
			return nil, nil, &v.api.noHistory
		}
	} else if err != nil {
		return nil, nil, &v.api.badJSON
	}
	if v.model == "" && req.Model() == "" {
		return nil, nil, &v.api.noModel
	}
	found := req.Check(wire.CheckOptions{})
	if len(found) == 0 && v.m.Strict {
		found = ownFirst(req.Profile, req.Dialect, req.Check(wire.CheckOptions{Strict: true}))
	}
	if slices.ContainsFunc(found, func(f wire.Finding) bool { return f.Rule == "body-too-large" }) {
		return nil, nil, &tooLarge // which is found out before anybody reads it
	}
	if len(found) > 0 {
		f := v.sentence(req, found)
		return nil, nil, &f
	}
	return req, tree, nil
}

// tooLarge is the answer to a body that has more bytes than the provider takes.
var tooLarge = refusal{status: http.StatusRequestEntityTooLarge, message: "Request exceeds the maximum size"}

// ownFirst puts in front what the vendor itself says, for some of its models refuse it,
// and then what others say about the same API.
func ownFirst(p wire.Profile, d wire.Dialect, found []wire.Finding) []wire.Finding {
	rank := func(f wire.Finding) int {
		switch provider, _, _ := strings.Cut(f.Source, "/"); provider {
		case p.Name:
			return 0
		case d.String():
			return 1
		}
		return 2
	}
	slices.SortStableFunc(found, func(a, b wire.Finding) int { return rank(a) - rank(b) })
	return found
}

// continues reads a request that has no history of its own because a server has it; nil
// if it is none.
func (v *visit) continues(tree *jsontree.Node) *wire.Request {
	for _, member := range v.api.remembers {
		if n := tree.Get(member); n != nil && string(n.Raw) != "null" {
			tree = tree.Clone()
			tree.Add(v.dialect.List(), jsontree.List())
			req, err := wire.Parse(tree.Write(nil, jsontree.Spelling{}, 0), wire.Options{Dialect: v.dialect, Model: v.model})
			if err != nil {
				return nil
			}
			return req
		}
	}
	return nil
}

// sentence is the first finding in the provider's words. What it has against the other
// calls of the same message is said in the same breath.
func (v *visit) sentence(req *wire.Request, found []wire.Finding) refusal {
	first := found[0]
	message := first.Message
	if len(first.IDs) == 1 && strings.Count(message, first.IDs[0]) == 1 {
		ids := first.IDs[0]
		for _, f := range found[1:] {
			if f.Source == first.Source && f.Index == first.Index && len(f.IDs) == 1 {
				ids += ", " + f.IDs[0]
			}
		}
		message = strings.Replace(message, first.IDs[0], ids, 1)
	}
	f := refusal{message: message, vendor: req.Profile.Name}
	provider, _, _ := strings.Cut(first.Source, "/")
	switch provider {
	case "openai-chat", "openai-responses", "gemini", "gemini-interactions":
		own := bracketed(first.Path)
		f.message = strings.ReplaceAll(message, first.Path, own)
		f.param = own
	case "bedrock":
		f.message = awsConstraint(message, first.Path)
	}
	if provider == "openai-chat" || provider == "openai-responses" {
		f.param, f.code = openAIDetails(f.message, f.param, first)
	}
	return f
}

var index = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\.(\d+)`) })

// bracketed writes a path with its numbers in brackets: messages[1].tool_calls[0].
func bracketed(path string) string { return index().ReplaceAllString(path, "[$1]") }

// awsConstraint writes the sentence of a broken constraint as Smithy does: members of
// lists count from one.
func awsConstraint(message, path string) string {
	if !strings.HasPrefix(message, "Value ") {
		return message
	}
	own := index().ReplaceAllStringFunc(path, func(s string) string {
		n, _ := strconv.Atoi(s[1:])
		return fmt.Sprintf(".%d.member", n+1)
	})
	return "1 validation error detected: " + strings.ReplaceAll(message, path, own)
}

var quotedPath = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`'((?:messages|input)(?:\[\d+\][\w.\[\]]*)?)'`)
})

// openAIDetails are the param and the code that OpenAI puts beside a sentence.
func openAIDetails(message, path string, f wire.Finding) (param, code string) {
	param = path
	switch f.Rule {
	case "orphan-call", "orphan-result", "displaced-result", "duplicate-result":
		param = "input"
		if strings.HasPrefix(f.Path, "messages") {
			param = fmt.Sprintf("messages.[%d].role", f.Index)
		}
		return param, ""
	}
	if m := quotedPath().FindStringSubmatch(message); m != nil {
		param = m[1]
	}
	for _, c := range [...][2]string{
		{"Missing required parameter", "missing_required_parameter"}, {"empty array", "empty_array"}, {"array too long", "array_above_max_length"},
		{"string too long", "string_above_max_length"}, {"does not match pattern", "invalid_value"}, {"Invalid type", "invalid_type"},
		{"Invalid value", "invalid_value"}, {"Unsupported value", "unsupported_value"},
	} {
		if strings.Contains(message, c[0]) {
			return param, c[1]
		}
	}
	return param, ""
}

// orNull is a string, or null for "".
func orNull(s string) *jsontree.Node {
	if s == "" {
		return jsontree.Literal("null")
	}
	return jsontree.Text(s)
}

func figure(n int) *jsontree.Node { return jsontree.Literal(strconv.Itoa(n)) }
