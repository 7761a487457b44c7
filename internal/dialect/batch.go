package dialect

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
)

// A batch is how a provider takes many requests in one: how the path ends, which members lead
// to the list of them, and which member of an element the request is. Where a member has two
// spellings, both are named, with a bar between them.
type batch struct {
	end, request string
	list         []string
}

// BatchURL returns the dialect of the requests in a batch that is sent to an address, and the
// model that it names, or Auto and "".
func BatchURL(address string) (Dialect, string) {
	path, _, _ := strings.Cut(address, "#")
	path, _, _ = strings.Cut(path, "?")
	path = plainVerb(strings.TrimRight(path, "/"))
	for _, d := range Dialects() {
		if end := grammars[d].batch.end; end != "" && strings.HasSuffix(path, end) {
			return d, modelIn(path)
		}
	}
	return Auto, ""
}

// batch lists the requests of a batch in the order in which they stand there. An element
// without one is left out; what is no batch of the dialect has none. The error is a
// *[SyntaxError].
func (d Dialect) batch(raw []byte) ([]Envelope, error) {
	b := grammars[d].batch
	at, err := document(raw)
	if err != nil || b.end == "" {
		return nil, err
	}
	pointer := ""
	for _, names := range b.list {
		var name string
		if at, name = eitherMember(raw, at, names); name == "" {
			return nil, nil
		}
		pointer += "/" + name
	}
	if raw[at.Start] != '[' {
		return nil, nil
	}
	var all []Envelope
	for i, e := range jsonspan.Elements(raw, at) {
		if in, name := eitherMember(raw, e, b.request); name != "" && raw[in.Start] == '{' {
			all = append(all, Envelope{Body: raw[in.Start:in.End], At: in.Start, Pointer: pointer + "/" + strconv.Itoa(i) + "/" + name, Dialect: d})
		}
	}
	return all, nil
}

// DetectInvokeModel returns the dialect in which a body speaks to a model of Bedrock's InvokeModel, or
// Auto: those of Claude name the version of their API.
func DetectInvokeModel(raw []byte) Dialect {
	at, err := document(raw)
	if err != nil || raw[at.Start] != '{' {
		return Auto
	}
	if m, ok := jsonspan.Find(raw, at, "anthropic_version"); ok && raw[m.Value.Start] == '"' {
		return Anthropic
	}
	return Auto
}

// UnwrapInvokeModel takes the body of an InvokeModel out of a request that asks Bedrock how many
// tokens it has: there it stands in base64, and nowhere else. Its dialect is Auto if that is
// not known.
func UnwrapInvokeModel(raw []byte) (e Envelope, ok bool) {
	at, err := document(raw)
	if err != nil {
		return e, false
	}
	for _, name := range [...]string{"input", "invokeModel", "body"} {
		if at, name = eitherMember(raw, at, name); name == "" {
			return e, false
		}
	}
	if raw[at.Start] != '"' {
		return e, false
	}
	body, err := base64.StdEncoding.DecodeString(string(jsonspan.Decode(nil, raw[at.Start+1:at.End-1])))
	if err != nil {
		return e, false
	}
	return Envelope{Body: body, At: at.Start, Pointer: "/input/invokeModel/body", Dialect: DetectInvokeModel(body), packed: at.Len()}, true
}

// Holding is what the request was found in, with another one in its place.
func (e Envelope) Holding(raw, body []byte) []byte {
	if e.packed == 0 {
		return slices.Concat(raw[:e.At], body, raw[e.At+len(e.Body):])
	}
	return slices.Concat(raw[:e.At], jsonspan.AppendQuote(nil, base64.StdEncoding.EncodeToString(body)), raw[e.At+e.packed:])
}

// document is where the only value of a text stands, or a *[SyntaxError].
func document(raw []byte) (jsonspan.Span, error) {
	s := jsonspan.Borrow(raw, jsonspan.Strict) // for a provider all of it is JSON, or nothing
	defer s.Return()
	s.Peek()
	at := s.Skip()
	s.End()
	return at, s.Err()
}

// eitherMember is a member of an object that has one of the names, and which; "": none, or it
// is no object.
func eitherMember(raw []byte, at jsonspan.Span, names string) (jsonspan.Span, string) {
	if raw[at.Start] != '{' {
		return at, ""
	}
	for name := range strings.SplitSeq(names, "|") {
		if m, ok := jsonspan.Find(raw, at, name); ok {
			return m.Value, name
		}
	}
	return at, ""
}
