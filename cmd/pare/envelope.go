package main

import (
	"net/url"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
)

// A body is a request as it was found inside of what was read: the whole of it, or
// the body of a recorded exchange.
type body struct {
	raw     []byte
	at      int    // where it begins
	pointer string // what leads to it, as a JSON pointer; "" is the whole
	model   string // the model that the URL of the exchange names, or ""
}

// unwrap takes the request out of its envelope: an object without a history of its
// own, one of whose members has one.
func unwrap(raw []byte) body {
	b := body{raw: raw}
	// An envelope may lie in another: {"request": {"url": …, "body": {…}}}.
	for range 3 {
		m := membersOf(b.raw)
		if name := modelIn(m.url); name != "" {
			b.model = name
		}
		inner, found := m.inner(b.raw)
		if !found {
			break
		}
		b.raw, b.at, b.pointer = b.raw[inner.span.Start:inner.span.End], b.at+inner.span.Start, b.pointer+"/"+inner.key
	}
	return b
}

// members is what the top level of an object says about it.
type members struct {
	history bool // it has messages, input or contents
	kept    bool // somebody keeps records in such objects: it has a type or a session
	url     string
	objects []member // those that may hold the request
}

type member struct {
	key  string
	span jsonspan.Span
}

// membersOf reads the members of an object up to its history. Anything else, and
// what is no JSON, has none.
func membersOf(raw []byte) members {
	var s jsonspan.Scanner
	s.Reset(raw, jsonspan.Structural)
	var m members
	if s.Peek() != jsonspan.Object || !s.Enter() {
		return m
	}
	for {
		span, ok := s.Key()
		if !ok {
			break
		}
		key := string(raw[span.Start:span.End])
		switch kind := s.Peek(); {
		case (key == "messages" || key == "input" || key == "contents") && kind != jsonspan.Object:
			m.history = true
			return m
		case (key == "body" || key == "request") && kind == jsonspan.Object:
			m.objects = append(m.objects, member{key, s.Skip()})
		case (key == "url" || key == "uri") && kind == jsonspan.String:
			m.url = text(raw, s.Str())
		case key == "type" || key == "sessionId" || key == "projectHash" || key == "lastUpdated":
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

func text(raw []byte, s jsonspan.Span) string {
	return string(jsonspan.Decode(nil, raw[s.Start:s.End]))
}

// inner returns the member that holds the request, or an envelope that does.
func (m *members) inner(raw []byte) (member, bool) {
	if m.history {
		return member{}, false
	}
	for _, o := range m.objects {
		in := membersOf(raw[o.span.Start:o.span.End])
		if in.history || len(in.objects) > 0 {
			return o, true
		}
	}
	return member{}, false
}

// modelIn returns the model that a request's URL names, as on Gemini
// (/models/NAME:generateContent) and Bedrock (/model/NAME/converse).
func modelIn(address string) string {
	path, _, _ := strings.Cut(address, "?")
	name := ""
	if _, rest, ok := strings.Cut(path, "/models/"); ok {
		name, _, _ = strings.Cut(rest, ":")
	} else if _, rest, ok := strings.Cut(path, "/model/"); ok {
		name = rest
	}
	name, _, _ = strings.Cut(name, "/")
	if plain, err := url.PathUnescape(name); err == nil {
		return plain
	}
	return name
}
