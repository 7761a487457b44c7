package screen

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestPrintedTextIsSafe: what is printed or painted cannot control the terminal or begin a line,
// whatever type it comes in.
func TestPrintedTextIsSafe(t *testing.T) {
	const hostile = "a\x1b[31mb\u202ec\td\x00\xff\npare: forged"
	type name string
	for _, v := range []any{hostile, []byte(hostile), name(hostile), errors.New(hostile), stringer(hostile), []string{hostile}, struct{ S string }{hostile}, map[string]int{hostile: 1}, &hostileText} {
		for what, got := range map[string]Text{
			"Printf": Printf("%v", v), "%s": Printf("%s", v), "%-40s": Printf("%-40s", v), "painted": Palette(false).Bold(v), "joined": Join([]any{v, v}, ", "),
		} {
			if strings.ContainsAny(string(got), "\x1b\u202e\t\x00\n") || !utf8.ValidString(string(got)) {
				t.Errorf("%s of %T: %q", what, v, got)
			}
		}
		if got := Palette(true).Fault(v); strings.Count(string(got), "\x1b") != 2 {
			t.Errorf("painted %T: %q", v, got)
		}
		var b bytes.Buffer
		Fprintf(&b, "%s|%v", v, v)
		Fprint(&b, v, v)
		Fprintln(&b, v)
		b.Write(Appendf(nil, "%v", v))
		if got := b.String(); strings.Count(got, "\n") != 1 || strings.ContainsAny(got, "\x1b\u202e\t\x00") {
			t.Errorf("written %T: %q", v, got)
		}
	}
	if got := Printf("%5.1f|%3d|%s|%t|%v", 1.5, 7, Text("a\nb"), true, nil); got != "  1.5|  7|a\nb|true|<nil>" {
		t.Errorf("numbers and texts became %q", got)
	}
	for _, line := range Wrap(hostile, 20) {
		if strings.ContainsAny(line, "\x1b\u202e\t\x00\n") {
			t.Errorf("wrapped: %q", line)
		}
	}
}

var hostileText = "\x1b]0;x\a\n"

type stringer string

func (s stringer) String() string { return string(s) }

func TestClipAndWrap(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{{"hello", 5, "hello"}, {"hello", 4, "hel…"}, {"日本語です", 5, "日本…"}, {"日本語", 6, "日本語"}, {"a b c", 3, "a…"}, {"👍🏽👍🏽👍🏽", 5, "👍🏽👍🏽…"}, {"✅✅✅", 4, "✅…"}} {
		if got := Clip(c.in, c.n); got != c.want || Columns(got) > c.n {
			t.Errorf("clip(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
	got := Paragraphs("one two three averylongword x\ny", 9)
	if want := []string{"one two", "three", "averylongword", "x", "y"}; !slices.Equal(got, want) {
		t.Errorf("wrap: %q", got)
	}
}

// Signs that take two columns, or are made of several runes, keep tables straight.
func TestColumns(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "abc": 3, "日本": 4, "é": 1, "e\u0301": 1, "✅": 2, "❤️": 2, "👍🏽": 2, "🇩🇪": 2, "🚀x": 3, "“x”": 3, "├─●": 3, "█▌": 2, "한국": 4, "ｶ": 1,
	} {
		if got := Columns(text); got != want {
			t.Errorf("Columns(%q) = %d, want %d", text, got, want)
		}
	}
}
