package rules

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// mark is how everything begins that a rule put in the place of something.
const mark = "[pare: "

// defaultMinBytes is longer than any placeholder.
const defaultMinBytes = 512

// slack is what the dialect may have to write around a placeholder.
const slack = 48

// cleared are the beginnings of what others put in the place of a result: there
// is nothing behind them, so they prove nothing.
var cleared = []string{mark, "[Old tool result content cleared]", "[Tool result cleared", "[[NOTE] "}

// isCleared reports whether a result's content has been taken away before. The case
// does not matter.
func isCleared(text string) bool {
	for _, c := range cleared {
		if len(text) >= len(c) && strings.EqualFold(text[:len(c)], c) {
			return true
		}
	}
	return false
}

// pointsBack reports whether a result says that an earlier one still holds, as
// tools do that remember what they have shown.
func pointsBack(text string) bool {
	if len(text) > 600 {
		return false
	}
	text = strings.ToLower(text)
	return strings.Contains(text, "unchanged") || strings.Contains(text, "not changed") || strings.Contains(text, "already read") || strings.Contains(text, "previously read")
}

// isNote reports whether arguments are what an edit makes of them.
func isNote(args []byte) bool {
	i := space(args, 0)
	if !bytes.HasPrefix(args[i:], []byte("{")) {
		return bytes.HasPrefix(args, []byte(mark))
	}
	n, note := 0, false
	members(args, func(key string, v []byte) {
		n++
		note = key == "note" && bytes.Contains(v, []byte(mark))
	})
	return note && n == 1
}

// A victim is an exchange that a rule found useless.
type victim struct {
	exchange int
	use      use
	why      string // completes: cleared by rule: …
	keepSaid bool   // leave the result alone
	keepArgs bool   // leave the arguments alone
	drop     bool
}

// ballots votes on victims.
type ballots struct {
	*sight
	rule     string
	minBytes int
	tied     []bool // by atom; made when something is to be dropped
}

func (s *sight) ballots(rule string, minBytes int) *ballots {
	if minBytes == 0 {
		minBytes = defaultMinBytes
	}
	return &ballots{sight: s, rule: rule, minBytes: minBytes}
}

func (v *ballots) vote(b *pare.Ballot, all []victim) {
	for i := range all {
		v.one(b, &all[i])
	}
}

func (v *ballots) one(b *pare.Ballot, w *victim) {
	x := &v.t.Exchanges()[w.exchange]
	said := v.r.Text(x.Results[0])
	if v.t.Block(x.Results[0]).Body == v.t.Block(x.Results[0]).Span {
		said = ""
	}
	if personSpeaks(said) {
		return
	}
	if w.drop && v.alone(x) {
		b.Drop(v.t.AtomOf(x.Call), "%s", w.why)
		return
	}
	if !w.keepSaid && !isCleared(said) && v.r.Editable(x.Results[0]) {
		size := len(said)
		// Pictures and the like are no text but take their place.
		if body := v.t.Block(x.Results[0]).Body.Len(); body > 4*size+1024 {
			size = body
		}
		if text := v.placeholder("result", x, w, size); v.pays(text, size) {
			b.Edit(x.Results[0], text, "%s", w.why)
		}
	}
	if !w.keepArgs && v.r.Editable(x.Call) {
		args := canonicalArgs(v.t, x.Call)
		if text := v.placeholder("arguments", x, w, len(args)); !w.use.note && v.pays(text, len(args)) {
			b.Edit(x.Call, text, "%s", w.why)
		}
	}
}

// pays reports whether a text is worth putting in the place of size bytes.
func (v *ballots) pays(text string, size int) bool {
	return size >= v.minBytes && jsonLen(text)+slack < size
}

// placeholder says what was here, why it is gone and how to get it back.
func (v *ballots) placeholder(what string, x *transcript.Exchange, w *victim, size int) string {
	name := short(x.Tool, 64)
	if w.use.file != "" {
		name += " " + short(w.use.file, 120)
	}
	again := ""
	if what == "result" && (w.use.kind == Read || w.use.kind == Search) {
		again = " Call the tool again if it is needed."
	}
	return fmt.Sprintf("%s%s of %s (%d bytes)%s cleared by %s: %s.%s]", mark, what, name, size, callName(", call ", x.CallID), v.rule, w.why, again)
}

// callName names a call where it has an id.
func callName(before, id string) string {
	if id == "" {
		return ""
	}
	return before + short(id, 64)
}

// later names the exchange that made another one useless.
func (s *sight) later(i int) string {
	if id := s.t.Exchanges()[i].CallID; id != "" {
		return "call " + short(id, 64)
	}
	return "a later call"
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
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, s)
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

// said returns what the result of an exchange says.
func (s *sight) said(i int) string {
	b := s.t.Exchanges()[i].Results[0]
	if blk := s.t.Block(b); blk.Body == blk.Span {
		return ""
	}
	return wire.Text(s.t, b)
}
