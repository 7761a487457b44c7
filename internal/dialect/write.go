package dialect

import (
	"slices"
	"strings"
	"unsafe"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// What the dialects write when something must be added. All of it is a function of
// the request, so that the same history always leads to the same bytes.

// text returns the decoded string member of the object at span, or "".
func (d *draft) text(object transcript.Span, name string) string {
	v, ok := d.member(object, name)
	if !ok || d.raw[v.Start] != '"' {
		return ""
	}
	return string(jsonspan.Decode(nil, d.raw[v.Start+1:v.End-1]))
}

// resultText returns what a result says, as text: its strings and the texts of its
// items; what is no text is named.
func (d *draft) resultText(b transcript.BlockID) string {
	return plainText(d.raw, d.t.Block(b).Body, 0)
}

// listText joins the texts of the elements of a list.
func listText(raw []byte, s transcript.Span, depth int, text func([]byte, transcript.Span, int) string) string {
	var parts []string
	for _, e := range jsonspan.Elements(raw, jsonspan.Span(s)) {
		if t := text(raw, tspan(e), depth+1); t != "" {
			parts = append(parts, t)
		}
	}
	return strings.Join(parts, "\n")
}

// plainText collects the text in a JSON value. Bodies of strings come without
// quotes, so what does not start like a value is a string's content.
func plainText(raw []byte, s transcript.Span, depth int) string {
	if s.Len() <= 0 {
		return ""
	}
	switch c := raw[s.Start]; {
	case s.Start > 0 && raw[s.Start-1] == '"' && s.End < len(raw) && raw[s.End] == '"':
		return decoded(raw[s.Start:s.End])
	case c == '"':
		return decoded(raw[s.Start+1 : s.End-1])
	case c == '[' && depth < 4:
		return listText(raw, s, depth, plainText)
	case c == '{' && depth < 4:
		if text, ok := objectText(raw, s, depth); ok {
			return text
		}
	}
	// In one spelling, so that equal results say the same.
	return string(Canonical(raw[s.Start:s.End]))
}

// decoded is what the content of a string decodes to, in the memory that it was decoded into.
func decoded(content []byte) string {
	text := jsonspan.Decode(nil, content)
	return unsafe.String(unsafe.SliceData(text), len(text))
}

// objectText returns the text of an object that is nothing but the wrapping of a
// text: an item of a list, or a result in a member of its own. One that holds more
// is its own text.
func objectText(raw []byte, s transcript.Span, depth int) (string, bool) {
	typ, inner, others := "", jsonspan.Span{}, 0
	for _, m := range jsonspan.Members(raw, jsonspan.Span(s)) {
		switch string(jsonspan.Decode(nil, raw[m.Key.Start:m.Key.End])) {
		case "type":
			typ = scalar(raw, m.Value)
		case "text", "output", "content", "error", "result":
			if inner.End > 0 {
				others++
			}
			inner = m.Value
		case "cache_control", "annotations":
		default:
			others++
		}
	}
	switch {
	case inner.End > 0 && (others == 0 || typ == "text"):
		return plainText(raw, tspan(inner), depth+1), true
	case typ != "" && depth > 0:
		return "[" + typ + "]", true
	}
	return "", false
}

// scalar returns a string as it is meant, and anything else as it is written.
func scalar(raw []byte, s jsonspan.Span) string {
	if raw[s.Start] == '"' {
		return string(jsonspan.Decode(nil, raw[s.Start+1:s.End-1]))
	}
	return string(raw[s.Start:s.End])
}

// allText is plainText that leaves nothing out: what is more than the wrapping of a text is
// written as JSON.
func allText(raw []byte, s transcript.Span, depth int) string {
	if s.Len() <= 0 {
		return ""
	}
	switch c := raw[s.Start]; {
	case s.Start > 0 && raw[s.Start-1] == '"' && s.End < len(raw) && raw[s.End] == '"', c == '"':
		return plainText(raw, s, depth)
	case c == '[' && depth < 4:
		return listText(raw, s, depth, allText)
	case c == '{' && depth < 4:
		if inner, ok := wrappedText(raw, jsonspan.Span(s)); ok {
			return allText(raw, inner, depth+1)
		}
	}
	return string(Canonical(raw[s.Start:s.End]))
}

// textTypes are what the dialects call a text.
var textTypes = []string{"text", "input_text", "output_text"}

// wrappedText returns the string of an object that holds nothing else.
func wrappedText(raw []byte, s jsonspan.Span) (transcript.Span, bool) {
	var inner jsonspan.Span
	for _, m := range jsonspan.Members(raw, s) {
		value := raw[m.Value.Start:m.Value.End]
		switch name := string(jsonspan.Decode(nil, raw[m.Key.Start:m.Key.End])); {
		case name == "type" && slices.Contains(textTypes, scalar(raw, m.Value)), name == "cache_control", saysNothing(value):
		case slices.Contains([]string{"text", "output", "content", "error", "result"}, name) && inner.End == 0 && (value[0] == '"' || value[0] == '['):
			inner = m.Value
		default:
			return transcript.Span{}, false
		}
	}
	return tspan(inner), inner.End > 0
}
