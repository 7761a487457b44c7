package excerpt

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pare-llm/pare/internal/names"
	"github.com/pare-llm/pare/internal/wording"
)

// An Excerpt controls how a text is shortened.
type Excerpt struct {
	Most       int    // the size of the result in bytes, at most
	Head, Tail int    // bytes to keep of the beginning and of the end; the rest of Most is for lines in between
	Outline    bool   // the text is a file: keep declarations and not failures
	Names      int    // bytes for a list of omitted names, at most half of the room in between
	By         string // the part of Pare that shortens the text
	Call       string // the id of the call, or ""
	Handle     string // the archive item with the full text, or ""
}

// Tidied is the reason for editing a result only to remove repeated line positions.
const Tidied = "it says again and again where its lines stand"

// MarkerRoom is more than the size of a marker with the line breaks around it.
const MarkerRoom = 256

const (
	shortMarkerRoom = 64  // more than the size of a marker with only a number
	longLine        = 300 // bytes to keep of a line in between
)

// Of returns a shortened text. It keeps the beginning and the end, as whole lines if possible, and
// the most important lines in between: lines about failures, then changed lines of a diff or, for
// an outline, declarations. A marker replaces each gap. The first one gives the size of everything
// that is left out, and the handle of the full text. The result depends only on the excerpt and the
// text.
func (e Excerpt) Of(text string) string {
	head, from := cutPoints(text, e.Head, e.Tail)
	room := e.Most - MarkerRoom - head - (len(text) - from)
	kept := e.importantLines(text[head:from], room-min(e.Names, room/2))
	omitted := from - head
	for _, l := range kept {
		omitted -= len(l.text)
		room -= len(l.text) + shortMarkerRoom
	}
	marker := e.firstMarker(omitted, len(text), e.omittedNames(text, head, from, kept, room))
	out := append(make([]byte, 0, max(e.Most, 0)), text[:head]...)
	at := 0
	addGap := func(end int) {
		if at >= end {
			return
		}
		out = endLine(out)
		if marker == "" {
			out = fmt.Appendf(out, "%s%d more bytes left out]", wording.Mark, end-at)
			return
		}
		out = append(out, marker...)
		marker = ""
	}
	for _, l := range kept {
		addGap(l.at)
		out = append(endLine(out), l.text...)
		at = l.at + l.size
	}
	addGap(from - head)
	if from < len(text) {
		out = endLine(out)
	}
	return string(append(out, text[from:]...))
}

// firstMarker returns the marker of the first gap.
func (e Excerpt) firstMarker(omitted, size int, names string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%d of %d bytes left out here by %s%s", wording.Mark, omitted, size, e.By, OfCall(e.Call))
	if e.Handle != "" {
		b.WriteString("; " + wording.Recall(Brief(e.Handle, 64)))
	}
	if names != "" {
		b.WriteString("; it names: " + names + ".")
	}
	return b.String() + "]"
}

// OfCall returns the part of a marker that names a call. It returns "" without a call.
func OfCall(id string) string {
	if id == "" {
		return ""
	}
	return ", call " + Brief(id, 64)
}

// Brief returns a name on one line, cut between characters to at most n bytes.
func Brief(s string, n int) string {
	if len(s) > n {
		n -= len("…")
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n] + "…"
	}
	if strings.ContainsAny(s, " \n\r\t") {
		return strings.Join(strings.Fields(s), " ")
	}
	return s
}

// endLine adds a line break unless a text ends with one.
func endLine(out []byte) []byte {
	if n := len(out); n > 0 && out[n-1] != '\n' {
		return append(out, '\n')
	}
	return out
}

// omittedNames lists the names that only omitted lines have, the most frequent first.
func (e Excerpt) omittedNames(text string, head, from int, kept []line, room int) string {
	if e.Names == 0 {
		return ""
	}
	isKept, count := make(map[string]bool), make(map[string]int)
	addKept := func(s string) { names.Each(s, func(name string) { isKept[name] = true }) }
	addKept(text[:head])
	addKept(text[from:])
	for _, l := range kept {
		addKept(l.text)
	}
	names.Each(text[head:from], func(name string) {
		if !isKept[name] {
			count[name]++
		}
	})
	return names.Digest(names.Frequent(count), len(count), room)
}

// cutPoints returns the end of the beginning and the start of the end of a text. They are between
// lines if that makes each part shorter by less than half.
func cutPoints(text string, head, tail int) (end, start int) {
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	start = len(text) - tail
	for start < len(text) && !utf8.RuneStart(text[start]) {
		start++
	}
	if n := strings.LastIndexByte(text[:head], '\n') + 1; n > head/2 {
		head = n
	}
	if n := strings.IndexByte(text[start:], '\n') + 1; n > 0 && n < (len(text)-start)/2 {
		start += n
	}
	return head, start
}

// A line is a line that stays, with its line break.
type line struct {
	at, size int
	text     string // cut if the line is long
}

// lineRank is the importance of a line; a lower rank is more important.
type lineRank int

const (
	unranked     lineRank = iota
	failure               // it reports a failure
	afterFailure          // it follows a failure: often a place or an expected value
	changed               // a changed line of a diff, or a declaration
	lineRanks
)

// importantLines returns the most important lines that have room, each with a marker before it, in
// order.
func (e Excerpt) importantLines(text string, room int) (kept []line) {
	if room <= shortMarkerRoom {
		return nil
	}
	var ranked [lineRanks][]line
	isDiff := !e.Outline && (strings.Contains(text, "\n@@ ") || strings.Contains(text, "\ndiff --git "))
	at, previous := 0, unranked
	for l := range strings.Lines(text) {
		rank := e.rank(l, previous, isDiff)
		if rank != unranked {
			ranked[rank] = append(ranked[rank], line{at, len(l), clip(l)})
		}
		at, previous = at+len(l), rank
	}
	for _, lines := range ranked[failure:] {
		for _, l := range lines {
			if need := len(l.text) + shortMarkerRoom; need <= room {
				room -= need
				kept = append(kept, l)
			}
		}
	}
	slices.SortFunc(kept, func(a, b line) int { return a.at - b.at })
	return kept
}

func (e Excerpt) rank(l string, previous lineRank, isDiff bool) lineRank {
	switch {
	case e.Outline && isDeclaration(l):
		return changed
	case !e.Outline && reportsFailure(l):
		return failure
	case previous == failure && strings.TrimSpace(l) != "":
		return afterFailure
	case isDiff && (l[0] == '+' || l[0] == '-'):
		return changed
	}
	return unranked
}

// clip returns a line, cut if it is long.
func clip(l string) string {
	if len(l) <= longLine {
		return l
	}
	n := longLine
	for !utf8.RuneStart(l[n]) {
		n--
	}
	return l[:n] + "\n"
}

// reportsFailure reports whether a line of a program's output reports a failure.
func reportsFailure(l string) bool {
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

// isDeclaration reports whether a line of a file looks like a declaration: it begins with a letter
// at the left margin, after its line number if it has one, and is no import.
func isDeclaration(l string) bool {
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
