package ladder

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// Words are what blocks say at a level between all and nothing.
type words struct {
	r     *wire.Request
	name  func([]byte) string           // of what is archived; nil: it is not
	edits map[transcript.BlockID]string // what the rules put in the place of blocks
	said  map[transcript.BlockID]string // texts that had to be decoded
	short map[transcript.BlockID]shortened
	gone  []string        // by block: the placeholders that were asked for
	room  strings.Builder // where placeholders lie, many in one piece
}

// A shortened is what a block says that was shortened to a level.
type shortened struct {
	to   level
	text string
}

// keep remembers what a block says that was shortened last.
func (w *words) put(b transcript.BlockID, s shortened) {
	if w.short == nil {
		w.short = make(map[transcript.BlockID]shortened)
	}
	w.short[b] = s
}

func (w *words) text(b transcript.BlockID, v level) string {
	switch v {
	case byRules:
		return w.edits[b]
	case isCleared:
		return w.cleared(b)
	}
	s, ok := w.short[b]
	if !ok || s.to != v {
		s = shortened{v, w.shortened(b, v.size())}
		w.put(b, s)
	}
	return s.text
}

// cleared is the placeholder of a result.
func (w *words) cleared(b transcript.BlockID) string {
	t := w.r.Transcript()
	if w.gone == nil {
		w.gone = make([]string, len(t.Blocks()))
	}
	if w.gone[b] == "" {
		w.gone[b] = w.placeholder(t, b)
	}
	return w.gone[b]
}

func (w *words) placeholder(t *transcript.Transcript, b transcript.BlockID) string {
	blk := &t.Blocks()[b]
	tool := blk.Tool
	if x := t.ExchangeOf(b); tool == "" && x != transcript.NoExchange {
		tool = t.Exchanges()[x].Tool
	}
	var short [192]byte
	text := short[:0]
	text = append(append(text, wording.Mark+"result of "...), Brief(tool, 64)...)
	text = jsonspan.AppendInt(append(text, " ("...), blk.Body.Len())
	text = append(text, " bytes)"...)
	if blk.CallID != "" {
		text = append(append(text, ", call "...), Brief(blk.CallID, 64)...)
	}
	text = append(text, " cleared to fit the window"...)
	if w.name != nil {
		text = append(append(text, "; "...), wording.Recall(w.name(t.Bytes(blk.Span)))...)
	}
	text = append(text, ']')
	if w.room.Cap()-w.room.Len() < len(text) {
		w.room.Reset()
		w.room.Grow(max(4<<10, len(text)))
	}
	from := w.room.Len()
	w.room.Write(text)
	return w.room.String()[from:]
}

// shortened is what a block says when less than size bytes of it are to be left.
func (w *words) shortened(b transcript.BlockID, size int) string {
	t := w.r.Transcript()
	blk := t.Block(b)
	if blk.Kind == transcript.Call {
		return shortenArguments(wire.Arguments(t, b), size, blk.CallID)
	}
	text, ok := w.said[b]
	if !ok {
		if w.said == nil {
			w.said = make(map[transcript.BlockID]string)
		}
		text = w.r.Text(b)
		w.said[b] = text
	}
	return shortenText(text, size, blk.CallID)
}

func ofCall(id string) string {
	if id == "" {
		return ""
	}
	return ", call " + Brief(id, 64)
}

// Brief cuts a name to at most n bytes, between characters, in one line.
func Brief(s string, n int) string {
	if len(s) > n {
		n -= len("…")
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n] + "…"
	}
	for i := range len(s) {
		if c := s[i]; c <= ' ' && (c == ' ' || c == '\n' || c == '\r' || c == '\t') {
			return strings.Join(strings.Fields(s), " ")
		}
	}
	return s
}

// shortenText leaves half of size from the beginning of a text and a quarter from its
// end.
func shortenText(text string, size int, id string) string {
	head, tail := size/2, size/4
	if len(text) <= size || head+tail >= len(text) {
		return text
	}
	return Gist{Head: head, Tail: tail, By: "the window", Call: id}.Of(text)
}

// shortenArguments shortens the long members of arguments; short ones tell the model
// what it did, and stay.
func shortenArguments(args []byte, size int, id string) string {
	if len(args) == 0 || args[0] != '{' {
		return shortenText(string(args), size, id)
	}
	out := []byte{'{'}
	for i, m := range jsonspan.Members(args, jsonspan.Span{End: len(args)}) {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(append(out, '"'), args[m.Key.Start:m.Key.End]...), '"'), ':')
		v := args[m.Value.Start:m.Value.End]
		switch {
		case len(v) <= size/2:
			out = append(out, v...)
		case v[0] == '"':
			out = jsonspan.AppendQuote(out, shortenText(string(jsonspan.Decode(nil, v[1:len(v)-1])), size/2, id))
		default:
			out = jsonspan.AppendQuote(out, fmt.Sprintf("%s%d bytes left out here by the window%s]", wording.Mark, len(v), ofCall(id)))
		}
	}
	return string(append(out, '}'))
}

// A spy notices media.
type spy struct{ media bool }

func (s *spy) Count([]byte) int               { return 0 }
func (s *spy) CountJSON([]byte) int           { return 0 }
func (s *spy) Overhead(int, int) int          { return 0 }
func (s *spy) Media(string, []byte, bool) int { s.media = true; return 0 }

// hasMedia reports whether a block shows anything that is no text.
func hasMedia(r *wire.Request, b transcript.BlockID) bool {
	var s spy
	wirex.BlockTokens(r, &s, b)
	return s.media
}
