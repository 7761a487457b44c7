package summary

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/pare-llm/pare"
)

// escapes are the sequences that steer a terminal.
var escapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("\x1b\\[[0-?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|\x1b.?|\u009b[0-?]*[ -/]*[@-~]?")
})

// plain returns a text that is safe to show: valid UTF-8, without control characters
// other than line ends and without characters that change the direction of the text.
func plain(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if strings.ContainsAny(s, "\x1b\u009b") {
		s = escapes().ReplaceAllString(s, "")
	}
	return defuse(strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r >= ' ' && r < 0x7f:
			return r
		case r == '\u2028' || r == '\u2029' || r == '\u0085':
			return '\n'
		case r == '\t':
			return ' '
		case r == '\u200c' || r == '\u200d': // join emoji and letters
			return r
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, s))
}

// defuse makes what looks like a mark of ours look like none.
func defuse(s string) string { return strings.ReplaceAll(s, pare.Mark, "("+pare.Mark[1:]) }

// line returns the text as one plain line of at most so many bytes.
func line(s string, most int) string {
	if len(s) > 16*most+1024 { // more than that is not read
		s = s[:16*most+1024]
	}
	return shorten(defuse(strings.Join(strings.Fields(plain(s)), " ")), most)
}

// shorten cuts a text to at most so many bytes, between characters.
func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	most -= len("…")
	if most <= 0 {
		return ""
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return strings.TrimRight(s[:most], " ") + "…"
}

// ends returns the first and the last line of a text that say something.
func ends(s string) (first, last string) {
	for l := range strings.Lines(s) {
		if l = strings.TrimSpace(l); l != "" {
			first = l
			break
		}
	}
	for s = strings.TrimSpace(s); s != ""; {
		i := strings.LastIndexByte(s, '\n')
		if last = strings.TrimSpace(s[i+1:]); last != "" || i < 0 {
			break
		}
		s = s[:i]
	}
	return first, last
}

// headAndTail keeps the beginning and the end of a text of several lines, at most so
// many bytes with the note between them.
func headAndTail(s string, most int) string {
	if len(s) <= most {
		return s
	}
	const note = "\n[…]\n"
	room := most - len(note)
	if room < 2 {
		return shorten(s, most)
	}
	head, tail := room*2/3, room/3
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	from := len(s) - tail
	for from < len(s) && !utf8.RuneStart(s[from]) {
		from++
	}
	return s[:head] + note + s[from:]
}

// sentences splits a text into lines and those into sentences. What stands between
// fences is no prose and left out.
func sentences(text string) []string {
	var all []string
	fenced := false
	for l := range strings.Lines(text) {
		l = strings.TrimSpace(l)
		if strings.HasPrefix(l, "```") {
			fenced = !fenced
			continue
		}
		if fenced || l == "" {
			continue
		}
		from := 0
		for i := 0; i+1 < len(l); i++ {
			if strings.IndexByte(".!?", l[i]) >= 0 && l[i+1] == ' ' {
				all = append(all, strings.TrimSpace(l[from:i+1]))
				from = i + 1
			}
		}
		if rest := strings.TrimSpace(l[from:]); rest != "" {
			all = append(all, rest)
		}
	}
	return all
}

// paragraph returns the first paragraph of a text.
func paragraph(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n\n")
	return first
}
