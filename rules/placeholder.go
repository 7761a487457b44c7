package rules

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// mark is how everything begins that a rule put in the place of something.
const mark = pare.Mark

// defaultMinBytes is longer than any placeholder.
const defaultMinBytes = 512

// slack is what the dialect may have to write around a placeholder.
const slack = 48

// shortResult is longer than any result that points at another one.
const shortResult = 2000

// pointsBack reports whether a result says, at its beginning, that an earlier one
// still holds, as tools do that remember what they have shown.
func pointsBack(head []byte) bool {
	for _, words := range []string{"unchanged", "not changed", "already read", "previously read"} {
		if bytes.Contains(head, []byte(words)) {
			return true
		}
	}
	return false
}

// isNote reports whether arguments are what an edit makes of them: a note, or some
// member's place taken by one.
func isNote(args []byte) bool {
	if bytes.HasPrefix(args, []byte(mark)) {
		return true
	}
	if !bytes.Contains(args, []byte(mark)) {
		return false
	}
	for m := scan(args); m.next(); {
		if len(m.value) > 1 && bytes.HasPrefix(m.value[1:], []byte(mark)) {
			return true
		}
	}
	return false
}

// shortArgument is how long a member of cleared arguments may be and still stay:
// paths and flags tell the model what it did.
const shortArgument = 200

// clearedArguments replaces the long members of arguments by a placeholder and keeps
// the short ones. Arguments that are no object become the placeholder.
func clearedArguments(args []byte, placeholder string) string {
	out := []byte{'{'}
	done := false
	for m := scan(args); m.next(); {
		value := m.value
		if len(value) > shortArgument {
			text := mark + "cleared]"
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

// A victim is an exchange that a rule found useless.
type victim struct {
	exchange int
	about    about
	why      string // completes: cleared by rule: …
	keepSaid bool   // leave the result alone
	keepArgs bool   // leave the arguments alone
	drop     bool
	names    string // that were in the result and nothing newer has; "": none
}

// ballots votes on victims.
type ballots struct {
	*sight
	rule     string
	minBytes int
	tied     []bool // by atom; made when something is to be dropped
}

func (s *sight) ballots(rule string, minBytes int) *ballots {
	return &ballots{sight: s, rule: rule, minBytes: minOf(minBytes)}
}

func minOf(minBytes int) int {
	if minBytes == 0 {
		return defaultMinBytes
	}
	return minBytes
}

// one votes on a victim.
func (v *ballots) one(b *pare.Ballot, w *victim) {
	x := &v.t.Exchanges()[w.exchange]
	said := v.measure(x.Results[0])
	if said.person {
		return
	}
	if w.drop && v.alone(x) {
		b.Drop(v.t.AtomOf(x.Call), "%s", w.why)
		return
	}
	if !w.keepSaid && !said.cleared && wirex.Editable(v.r, x.Results[0]) {
		v.clear(b, x.Results[0], x, w, said)
	}
	// Arguments that are short as they are written need not be read.
	if !w.keepArgs && v.t.Block(x.Call).Body.Len() >= v.minBytes && wirex.Editable(v.r, x.Call) {
		v.clear(b, x.Call, x, w, said)
	}
}

// clear puts a placeholder in the place of a result, or of arguments, if that pays.
func (v *ballots) clear(b *pare.Ballot, id transcript.BlockID, x *transcript.Exchange, w *victim, said speech) {
	what, size := "result", said.size
	if id == x.Call {
		what, size = "arguments", argsSize(v.arguments(id))
	}
	if size < v.minBytes {
		return
	}
	text := v.placeholder(what, x, w, size, b.Handle(id))
	if id == x.Call {
		text = clearedArguments(v.arguments(id), text)
	}
	const most = 6 // bytes that one takes in a string
	if most*len(text)+slack < size || jsonLen(text)+slack < size {
		b.Edit(id, text, "%s", w.why)
	}
}

// placeholder says what was here, why it is gone and how to get it back.
func (v *ballots) placeholder(what string, x *transcript.Exchange, w *victim, size int, handle string) string {
	var digits [20]byte
	parts := [...]string{
		mark, what, " of ", short(x.Tool, 64), " ", short(w.about.file, 120), " (", string(strconv.AppendInt(digits[:0], int64(size), 10)), " bytes)", ", call ", short(x.CallID, 64),
		" cleared by ", v.rule, ": ", w.why, archivedAs(handle), ".", w.listed(), " Call the tool again if it is needed.", "]",
	}
	if w.about.file == "" {
		parts[4] = ""
	}
	if x.CallID == "" {
		parts[9] = ""
	}
	if what != "result" || w.about.kind != kindRead && w.about.kind != kindSearch {
		parts[18] = ""
	}
	return v.texts.join(parts[:])
}

// archivedAs says where the whole is; "": nowhere.
func archivedAs(handle string) string {
	if handle == "" {
		return ""
	}
	return "; archived as " + handle
}

// listed are the names that were in a result.
func (w *victim) listed() string {
	if w.names == "" {
		return ""
	}
	return " It named: " + w.names + "."
}

// later names the exchange that made another one useless, behind a text.
func (s *sight) later(text string, i int, behind string) string {
	if id := s.t.Exchanges()[i].CallID; id != "" {
		return s.texts.join([]string{text, "call ", short(id, 64), behind})
	}
	return s.texts.join([]string{text, "a later call", behind})
}

// texts are many short ones, side by side in few pieces of memory.
type texts struct {
	strings.Builder
	made int // bytes
}

func (t *texts) join(parts []string) string {
	const piece = 16 << 10
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	if t.Cap()-t.Len() < n {
		t.Builder = strings.Builder{} // those that were made keep the old one
		t.Grow(max(n, min(piece, 4*t.made)))
	}
	from := t.Len()
	for _, p := range parts {
		t.WriteString(p)
	}
	t.made += n
	return t.String()[from:]
}

// short cuts a text to at most n bytes, between characters, in one line.
func short(s string, n int) string {
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

// alone reports whether an exchange can be dropped without taking anything along
// but the reasoning that led to it. Where the calls of a step hang together, as on
// Gemini, none of them is alone: if one went because the others do, it would depend
// on rules that do not know of each other.
func (v *ballots) alone(x *transcript.Exchange) bool {
	if v.tied == nil {
		v.tied = v.tiedAtoms()
	}
	a := v.t.AtomOf(x.Call)
	if v.tied[a] {
		return false
	}
	for _, b := range v.t.Atoms()[a].Blocks {
		if b != x.Call && b != x.Results[0] && v.t.Block(b).Kind != transcript.Thinking {
			return false
		}
	}
	return true
}

// tiedAtoms finds the atoms that need each other, reasoning aside.
func (v *ballots) tiedAtoms() []bool {
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

// A speech is what there is to know about a result before it is touched.
type speech struct {
	size            int // of its text; of all, if most of it is none
	cleared, person bool
}

// measure looks at a result without decoding it, where that can be helped.
func (s *sight) measure(result transcript.BlockID) speech {
	b := s.t.Block(result)
	if b.Body == b.Span {
		return speech{}
	}
	raw := s.t.Bytes(b.Body)
	inner, plain := raw, quoted(s.t, b.Body)
	if !plain {
		inner = onlyText(raw)
	}
	size, odd := jsonspan.DecodedLen(inner)
	if inner != nil && !odd {
		return speech{size, wirex.IsCleared(inner), wirex.PersonSpeaks(inner)}
	}
	if plain {
		s.text = jsonspan.Decode(s.text[:0], raw)
	} else {
		s.text = append(s.text[:0], s.r.Text(result)...)
	}
	m := speech{len(s.text), wirex.IsCleared(s.text), wirex.PersonSpeaks(s.text)}
	// Pictures and the like are no text but take their place.
	if len(raw) > 4*m.size+1024 {
		m.size = len(raw)
	}
	return m
}

// onlyText returns the raw inside of the string that a list of one text or a
// response with nothing but an output consists of, or nil.
func onlyText(raw []byte) []byte {
	v := bytes.TrimSpace(raw)
	if len(v) > 0 && v[0] == '[' {
		end := skipValue(v, space(v, 1))
		if rest := space(v, end); rest >= len(v) || v[rest] != ']' {
			return nil
		}
		v = v[space(v, 1):end]
	}
	var text []byte
	for m := scan(v); m.next(); {
		switch {
		case m.is(besideText):
		case text == nil && m.is([]string{"text", "output", "content", "result"}) && len(m.value) >= 2 && m.value[0] == '"':
			text = m.value[1 : len(m.value)-1]
		default:
			return nil
		}
	}
	return text
}

// besideText is what may stand beside a text.
var besideText = []string{"type", "cache_control", "annotations"}
