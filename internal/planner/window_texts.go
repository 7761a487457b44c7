package planner

import (
	"fmt"

	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/excerpt"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// replacementTexts are the texts of blocks at the levels between full and gone.
type replacementTexts struct {
	r            *wire.Request
	hasHandles   bool                          // placeholders name archive items
	edits        map[transcript.BlockID]string // the texts of rules
	decoded      map[transcript.BlockID]string // full texts of results
	shortened    map[transcript.BlockID]shortenedText
	placeholders []string // by block
}

// A shortenedText is the text of a block at the level that was asked for last.
type shortenedText struct {
	level level
	text  string
}

func newReplacementTexts(r *wire.Request, hasHandles bool) *replacementTexts {
	return &replacementTexts{
		r:            r,
		hasHandles:   hasHandles,
		decoded:      make(map[transcript.BlockID]string),
		shortened:    make(map[transcript.BlockID]shortenedText),
		placeholders: make([]string, len(r.Transcript().Blocks())),
	}
}

// text returns the text of a block at a level.
func (x *replacementTexts) text(b transcript.BlockID, v level) string {
	switch v {
	case levelEdited:
		return x.edits[b]
	case levelCleared:
		if x.placeholders[b] == "" {
			x.placeholders[b] = x.placeholder(b)
		}
		return x.placeholders[b]
	}
	if s, found := x.shortened[b]; found && s.level == v {
		return s.text
	}
	text := x.shorten(b, v.maxBytes())
	x.shortened[b] = shortenedText{v, text}
	return text
}

// placeholder returns the placeholder of a result.
func (x *replacementTexts) placeholder(b transcript.BlockID) string {
	t := x.r.Transcript()
	block := t.Block(b)
	tool := block.Tool
	if exchange := t.ExchangeOf(b); tool == "" && exchange != transcript.NoExchange {
		tool = t.Exchanges()[exchange].Tool
	}
	text := make([]byte, 0, 192)
	text = append(append(text, wording.Mark+"result of "...), excerpt.Brief(tool, 64)...)
	text = jsonspan.AppendInt(append(text, " ("...), block.Body.Len())
	text = append(text, " bytes)"...)
	if block.CallID != "" {
		text = append(append(text, ", call "...), excerpt.Brief(block.CallID, 64)...)
	}
	text = append(text, " cleared to fit the window"...)
	if x.hasHandles {
		text = append(append(text, "; "...), wording.Recall(archive.ID(t.Bytes(block.Span)))...)
	}
	return string(append(text, ']'))
}

// shorten returns the text of a call or result with at most maxBytes bytes.
func (x *replacementTexts) shorten(b transcript.BlockID, maxBytes int) string {
	t := x.r.Transcript()
	block := t.Block(b)
	if block.Kind == transcript.Call {
		return shortenArguments(wire.Arguments(t, b), maxBytes, block.CallID)
	}
	text, found := x.decoded[b]
	if !found {
		text = x.r.Text(b)
		x.decoded[b] = text
	}
	return shortenText(text, maxBytes, block.CallID)
}

// shortenText returns the first half of maxBytes and the last quarter of maxBytes of a longer text.
func shortenText(text string, maxBytes int, callID string) string {
	head, tail := maxBytes/2, maxBytes/4
	if len(text) <= maxBytes || head+tail >= len(text) {
		return text
	}
	return excerpt.Excerpt{Head: head, Tail: tail, By: "the window", Call: callID}.Of(text)
}

// shortenArguments shortens the long members of a call's arguments. Short members stay, because
// they tell the model what it did.
func shortenArguments(arguments []byte, maxBytes int, callID string) string {
	if len(arguments) == 0 || arguments[0] != '{' {
		return shortenText(string(arguments), maxBytes, callID)
	}
	out := []byte{'{'}
	for i, member := range jsonspan.Members(arguments, jsonspan.Span{End: len(arguments)}) {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, '"')
		out = append(out, arguments[member.Key.Start:member.Key.End]...)
		out = append(out, '"', ':')
		value := arguments[member.Value.Start:member.Value.End]
		switch {
		case len(value) <= maxBytes/2:
			out = append(out, value...)
		case value[0] == '"':
			text := string(jsonspan.Decode(nil, value[1:len(value)-1]))
			out = jsonspan.AppendQuote(out, shortenText(text, maxBytes/2, callID))
		default:
			marker := fmt.Sprintf("%s%d bytes left out here by the window%s]", wording.Mark, len(value), excerpt.OfCall(callID))
			out = jsonspan.AppendQuote(out, marker)
		}
	}
	return string(append(out, '}'))
}

// A mediaDetector is a counter that notices media.
type mediaDetector struct{ found bool }

func (d *mediaDetector) Count([]byte) int      { return 0 }
func (d *mediaDetector) CountJSON([]byte) int  { return 0 }
func (d *mediaDetector) Overhead(int, int) int { return 0 }
func (d *mediaDetector) Media(string, []byte, bool) int {
	d.found = true
	return 0
}

// hasMedia reports whether a block contains anything other than text.
func hasMedia(r *wire.Request, b transcript.BlockID) bool {
	var d mediaDetector
	dialect.BlockTokens(r, &d, b)
	return d.found
}
