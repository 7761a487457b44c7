package rules

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/transcript"
)

// placeholderMark begins every text that a rule inserts.
const placeholderMark = pare.Mark

// defaultMinBytes is longer than any placeholder.
const defaultMinBytes = 512

// placeholderSlack bounds the JSON syntax that a dialect adds around a placeholder.
const placeholderSlack = 48

// shortResult is longer than any result that only refers to an earlier one.
const shortResult = 2000

// refersToEarlier reports whether a result states at its beginning that an earlier one still holds.
// Some tools remember what they have shown.
func refersToEarlier(head []byte) bool {
	for _, words := range []string{"unchanged", "not changed", "already read", "previously read"} {
		if bytes.Contains(head, []byte(words)) {
			return true
		}
	}
	return false
}

// isClearedArguments reports whether arguments are a note, or contain a member that a note
// replaced.
func isClearedArguments(args []byte) bool {
	if bytes.HasPrefix(args, []byte(placeholderMark)) {
		return true
	}
	if !bytes.Contains(args, []byte(placeholderMark)) {
		return false
	}
	for m := scanMembers(args); m.next(); {
		if len(m.value) > 1 && bytes.HasPrefix(m.value[1:], []byte(placeholderMark)) {
			return true
		}
	}
	return false
}

// shortArgument is the length up to which a member of cleared arguments stays: paths and flags tell
// the model what it did.
const shortArgument = 200

// clearedArguments replaces the long members of arguments by a placeholder. Arguments that are not
// an object become the placeholder.
func clearedArguments(args []byte, placeholder string) string {
	out := []byte{'{'}
	done := false
	for m := scanMembers(args); m.next(); {
		value := m.value
		if len(value) > shortArgument {
			text := placeholderMark + "cleared]"
			if !done {
				text, done = placeholder, true
			}
			value, _ = json.Marshal(text)
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		key, _ := json.Marshal(string(m.key))
		out = append(append(append(out, key...), ':'), value...)
	}
	if !done {
		return placeholder
	}
	return string(append(out, '}'))
}

// uselessExchange is an exchange that a rule votes to clear or drop.
type uselessExchange struct {
	exchange      int
	subject       subject
	reason        string // completes "cleared by RULE: "
	keepResult    bool
	keepArguments bool
	drop          bool
	names         string // those that no newer message contains; may be empty
}

// voter votes on useless exchanges.
type voter struct {
	*historyView
	rule      string
	minBytes  int
	tiedAtoms []bool // by atom; nil until an exchange is to be dropped
}

func (s *historyView) newVoter(rule string, minBytes int) *voter {
	return &voter{historyView: s, rule: rule, minBytes: minBytesOrDefault(minBytes)}
}

func minBytesOrDefault(minBytes int) int {
	if minBytes == 0 {
		return defaultMinBytes
	}
	return minBytes
}

// vote votes to drop or clear one exchange.
func (v *voter) vote(b *pare.Ballot, w *uselessExchange) {
	x := &v.t.Exchanges()[w.exchange]
	said := v.measureResult(x.Results[0])
	if said.personSpeaks {
		return
	}
	if w.drop && v.canBeDropped(x) {
		b.Drop(v.t.AtomOf(x.Call), "%s", w.reason)
		return
	}
	if !w.keepResult && !said.isCleared && dialect.Editable(v.r, x.Results[0]) {
		v.clearBlock(b, x.Results[0], x, w, said)
	}
	// Short arguments need not be decoded.
	if !w.keepArguments && v.t.Block(x.Call).Body.Len() >= v.minBytes && dialect.Editable(v.r, x.Call) {
		v.clearBlock(b, x.Call, x, w, said)
	}
}

// clearBlock replaces a result or arguments by a placeholder if that makes the request shorter.
func (v *voter) clearBlock(b *pare.Ballot, id transcript.BlockID, x *transcript.Exchange, w *uselessExchange, said resultFacts) {
	what, size := "result", said.size
	if id == x.Call {
		what, size = "arguments", argumentsSize(v.arguments(id))
	}
	if size < v.minBytes {
		return
	}
	text := v.placeholder(what, x, w, size, b.Handle(id))
	if id == x.Call {
		text = clearedArguments(v.arguments(id), text)
	}
	const most = 6 // bytes of one byte of text in a JSON string
	if most*len(text)+placeholderSlack < size || jsonLength(text)+placeholderSlack < size {
		b.Edit(id, text, "%s", w.reason)
	}
}

// placeholder states which content was here, why it was cleared and how to get it back.
func (v *voter) placeholder(what string, x *transcript.Exchange, w *uselessExchange, size int, handle string) string {
	var digits [20]byte
	parts := [...]string{
		placeholderMark, what, " of ", shortenText(x.Tool, 64), " ", shortenText(w.subject.file, 120), " (", string(strconv.AppendInt(digits[:0], int64(size), 10)), " bytes)", ", call ", shortenText(x.CallID, 64),
		" cleared by ", v.rule, ": ", w.reason, archiveNote(handle), ".", w.listNames(), " Call the tool again if it is needed.", "]",
	}
	if w.subject.file == "" {
		parts[4] = ""
	}
	if x.CallID == "" {
		parts[9] = ""
	}
	if what != "result" || w.subject.kind != kindRead && w.subject.kind != kindSearch {
		parts[18] = ""
	}
	return v.arena.join(parts[:])
}

// archiveNote names the archived original, if there is one.
func archiveNote(handle string) string {
	if handle == "" {
		return ""
	}
	return "; " + wording.Recall(handle)
}

// listNames lists the names that were in a result.
func (w *uselessExchange) listNames() string {
	if w.names == "" {
		return ""
	}
	return " It named: " + w.names + "."
}

// withLaterCall returns a reason that names the exchange that made another one useless.
func (s *historyView) withLaterCall(text string, i int, behind string) string {
	if id := s.t.Exchanges()[i].CallID; id != "" {
		return s.arena.join([]string{text, "call ", shortenText(id, 64), behind})
	}
	return s.arena.join([]string{text, "a later call", behind})
}

// stringArena builds many short strings in few allocations.
type stringArena struct {
	strings.Builder
	total int // bytes
}

func (t *stringArena) join(parts []string) string {
	const piece = 16 << 10
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	if t.Cap()-t.Len() < n {
		t.Builder = strings.Builder{} // earlier strings keep the old buffer
		t.Grow(max(n, min(piece, 4*t.total)))
	}
	from := t.Len()
	for _, p := range parts {
		t.WriteString(p)
	}
	t.total += n
	return t.String()[from:]
}

// shortenText truncates s to n bytes between characters, and replaces line breaks and tabs.
func shortenText(s string, n int) string {
	if len(s) > n {
		n -= len("…")
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n] + "…"
	}
	if strings.ContainsAny(s, "\n\r\t") {
		s = strings.NewReplacer("\n", " ", "\r", " ", "\t", " ").Replace(s)
	}
	return s
}

// canBeDropped reports whether an exchange can be dropped with nothing but the reasoning that led
// to it. Where the calls of a step depend on each other, as on Gemini, the answer is no: otherwise
// the drop would depend on votes of other rules.
func (v *voter) canBeDropped(x *transcript.Exchange) bool {
	if v.tiedAtoms == nil {
		v.tiedAtoms = v.findTiedAtoms()
	}
	a := v.t.AtomOf(x.Call)
	if v.tiedAtoms[a] {
		return false
	}
	for _, b := range v.t.Atoms()[a].Blocks {
		if b != x.Call && b != x.Results[0] && v.t.Block(b).Kind != transcript.Thinking {
			return false
		}
	}
	return true
}

// findTiedAtoms returns, by atom, whether it needs another atom, or another one needs it, apart
// from reasoning.
func (v *voter) findTiedAtoms() []bool {
	atoms := v.t.Atoms()
	tied := make([]bool, len(atoms))
	reasoning := make([]bool, len(atoms))
	for i, a := range atoms {
		reasoning[i] = !slices.ContainsFunc(a.Blocks, func(b transcript.BlockID) bool { return v.t.Block(b).Kind != transcript.Thinking })
	}
	for i, a := range atoms {
		for _, n := range a.Needs {
			if !reasoning[i] && !reasoning[n] {
				tied[i], tied[n] = true, true
			}
		}
	}
	return tied
}

// resultFacts describes a result before any change.
type resultFacts struct {
	size                    int // of its text, or of all its bytes if most of them are not text
	isCleared, personSpeaks bool
}

// measureResult measures a result without decoding it if possible.
func (s *historyView) measureResult(result transcript.BlockID) resultFacts {
	b := s.t.Block(result)
	if b.Body == b.Span {
		return resultFacts{}
	}
	raw := s.t.Bytes(b.Body)
	inner, plain := raw, isQuoted(s.t, b.Body)
	if !plain {
		inner = onlyText(raw)
	}
	size, odd := jsonspan.DecodedLen(inner)
	if inner != nil && !odd {
		return resultFacts{size, dialect.IsCleared(inner), dialect.PersonSpeaks(inner)}
	}
	if plain {
		s.textBuffer = jsonspan.Decode(s.textBuffer[:0], raw)
	} else {
		s.textBuffer = append(s.textBuffer[:0], s.r.Text(result)...)
	}
	m := resultFacts{len(s.textBuffer), dialect.IsCleared(s.textBuffer), dialect.PersonSpeaks(s.textBuffer)}
	// Pictures are not text but take space.
	if len(raw) > 4*m.size+1024 {
		m.size = len(raw)
	}
	return m
}

// onlyText returns the raw content of the only string in a list of one text or in a response, or
// nil.
func onlyText(raw []byte) []byte {
	v := bytes.TrimSpace(raw)
	if len(v) > 0 && v[0] == '[' {
		end := skipValue(v, skipSpace(v, 1))
		if rest := skipSpace(v, end); rest >= len(v) || v[rest] != ']' {
			return nil
		}
		v = v[skipSpace(v, 1):end]
	}
	var text []byte
	for m := scanMembers(v); m.next(); {
		switch {
		case m.isOneOf(ignoredMembers):
		case text == nil && m.isOneOf([]string{"text", "output", "content", "result"}) && len(m.value) >= 2 && m.value[0] == '"':
			text = m.value[1 : len(m.value)-1]
		default:
			return nil
		}
	}
	return text
}

// ignoredMembers may accompany a text.
var ignoredMembers = []string{"type", "cache_control", "annotations"}
