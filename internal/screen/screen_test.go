package screen

import (
	"slices"
	"strings"
	"testing"
)

func TestPlainCannotControlTheTerminal(t *testing.T) {
	got := Plain("a\x1b[31mb\u202ec\td\x00\xff")
	if strings.ContainsAny(got, "\x1b\u202e\t\x00") || !strings.HasPrefix(got, "a·[31mb·c d·") {
		t.Errorf("%q", got)
	}
}

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
	got := Wrap("one two three averylongword x\ny", 9)
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
