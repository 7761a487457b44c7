package ladder

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/internal/names"
	"github.com/pare-llm/pare/internal/wording"
)

// A Gist says how a text is shortened: which bytes of it stay, and what the marker says. It is a
// value.
type Gist struct {
	Most       int    // bytes of what is made
	Head, Tail int    // bytes of the beginning and of the end that stay; what is left of Most is for lines in between
	Outline    bool   // it is a file: of what lies between, declarations matter and not failures
	Names      int    // bytes for a list of names that are left out; half of the room in between, if that is less
	By         string // who shortens it
	Call       string // whose result it is; "": nobody's
	Handle     string // under which the whole is kept; "": it is not

	list string // of names
}

// Tidied is why a result is edited of which nothing is left out but where its lines stand.
const Tidied = "it says again and again where its lines stand"

// MarkerRoom is more than the marker of a gist takes, and the line breaks around it.
const MarkerRoom = 256

const (
	shortMarker = 64  // more than a marker that only counts takes
	longLine    = 300 // bytes that are kept of a line in between
)

// Of shortens a text that is longer than Most: the beginning and the end stay, as whole lines where
// there are lines, and of what lies between the lines that matter, as many as there is room for:
// first those that tell of a failure, then changed lines of a diff, or for an outline those that
// declare something. A marker stands wherever something is left out; the first one says how much
// of how much that is in all, and where the whole is. What it makes of a text follows from the text alone.
func (g Gist) Of(text string) string {
	head, from := ends(text, g.Head, g.Tail)
	room := g.Most - MarkerRoom - head - (len(text) - from)
	kept := g.pick(text[head:from], room-min(g.Names, room/2))
	left := from - head
	for _, l := range kept {
		left -= len(l.text)
		room -= len(l.text) + shortMarker
	}
	g.list = g.listed(text, head, from, kept, room)
	out := append(make([]byte, 0, g.Most), text[:head]...)
	at, first := 0, true
	gap := func(to int) {
		if at < to {
			out = onOwnLine(out)
			out = g.marker(out, to-at, left, len(text), first)
			first = false
		}
	}
	for _, l := range kept {
		gap(l.at)
		out = append(onOwnLine(out), l.text...)
		at = l.at + l.size
	}
	gap(from - head)
	if from < len(text) {
		out = onOwnLine(out)
	}
	return string(append(out, text[from:]...))
}

// onOwnLine ends the line that a text ends with.
func onOwnLine(out []byte) []byte {
	if n := len(out); n > 0 && out[n-1] != '\n' {
		return append(out, '\n')
	}
	return out
}

// marker says that something is left out: the first one all there is to know, the others how much.
func (g Gist) marker(out []byte, here, left, of int, first bool) []byte {
	out = append(out, wording.Mark...)
	if !first {
		out = jsonspan.AppendInt(out, here)
		return append(out, " more bytes left out]"...)
	}
	out = jsonspan.AppendInt(out, left)
	out = jsonspan.AppendInt(append(out, " of "...), of)
	out = append(append(append(out, " bytes left out here by "...), g.By...), ofCall(g.Call)...)
	if g.Handle != "" {
		out = append(append(out, "; "...), wording.Recall(Brief(g.Handle, 64))...)
	}
	if g.list != "" {
		out = append(append(append(out, "; it names: "...), g.list...), '.')
	}
	return append(out, ']')
}

// listed lists names that only what is left out has, the most frequent first.
func (g Gist) listed(text string, head, from int, kept []line, room int) string {
	if g.Names == 0 {
		return ""
	}
	seen, count := make(map[string]bool), make(map[string]int)
	see := func(s string) { names.Each(s, func(name string) { seen[name] = true }) }
	see(text[:head])
	see(text[from:])
	for _, l := range kept {
		see(l.text)
	}
	names.Each(text[head:from], func(name string) {
		if !seen[name] {
			count[name]++
		}
	})
	return names.Digest(names.Frequent(count), len(count), room)
}

// ends says where the beginning and the end of a text stop that stay.
func ends(text string, head, tail int) (to, from int) {
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	from = len(text) - tail
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	// Whole lines, where that costs less than half.
	if n := strings.LastIndexByte(text[:head], '\n') + 1; n > head/2 {
		head = n
	}
	if n := strings.IndexByte(text[from:], '\n') + 1; n > 0 && n < (len(text)-from)/2 {
		from += n
	}
	return head, from
}

// A line is one that stays, with its line break.
type line struct {
	at, size int
	text     string // cut if it is long
}

// pick finds the lines that matter most and have room, each with a marker in front of it, in order.
func (g Gist) pick(text string, room int) (kept []line) {
	if room <= shortMarker {
		return nil // a window leaves no room for lines in between, and shortens much
	}
	var ranks [lastRank + 1][]line
	diff := !g.Outline && (strings.Contains(text, "\n@@ ") || strings.Contains(text, "\ndiff --git "))
	at, behind := 0, false
	for l := range strings.Lines(text) {
		rank := noRank
		switch {
		case g.Outline && declares(l):
			rank = changedRank
		case !g.Outline && tellsFailure(l):
			rank = failureRank
		case behind && strings.TrimSpace(l) != "":
			rank = behindRank // where it happened, or what was expected
		case diff && (l[0] == '+' || l[0] == '-'):
			rank = changedRank
		}
		behind = rank == failureRank
		if rank != noRank {
			ranks[rank] = append(ranks[rank], line{at, len(l), clipped(l)})
		}
		at += len(l)
	}
	for _, lines := range ranks[1:] {
		for _, l := range lines {
			if need := len(l.text) + shortMarker; need <= room {
				room -= need
				kept = append(kept, l)
			}
		}
	}
	slices.SortFunc(kept, func(a, b line) int { return a.at - b.at })
	return kept
}

const (
	noRank = iota
	failureRank
	behindRank
	changedRank
	lastRank = changedRank
)

// clipped is the beginning of a long line.
func clipped(l string) string {
	if len(l) <= longLine {
		return l
	}
	n := longLine
	for !utf8.RuneStart(l[n]) {
		n--
	}
	return l[:n] + "\n"
}

// tellsFailure reports whether a line of what a program prints tells that something went wrong.
func tellsFailure(l string) bool {
	for _, sign := range []string{"✗", "✘", "✖", "❌", "not ok "} {
		if strings.Contains(l, sign) {
			return true
		}
	}
	l = strings.ToLower(l[:min(len(l), longLine)])
	for _, word := range []string{"error", "fail", "panic", "exception", "fatal", "traceback", "assert", "undefined", "unresolved", "cannot find", "not found", "denied"} {
		if strings.Contains(l, word) {
			return true
		}
	}
	return false
}

// declares reports whether a line of a file begins something: it stands at the left margin, behind
// its number if it has one, and begins with a letter.
func declares(l string) bool {
	if bare := strings.TrimLeft(l, " "); bare != "" && bare[0] >= '0' && bare[0] <= '9' {
		if digits := strings.TrimLeft(bare, "0123456789"); len(digits) > 0 {
			for _, sign := range []string{"→", "\t", ":", "|"} {
				if rest, ok := strings.CutPrefix(digits, sign); ok {
					l = rest
					break
				}
			}
		}
	}
	if len(l) < 4 || strings.HasPrefix(l, "import ") || strings.HasPrefix(l, "from ") {
		return false
	}
	c := l[0]
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '#' || c == '@'
}
