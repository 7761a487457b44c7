package suggest

import (
	"slices"
	"strings"
	"testing"
)

func TestNear(t *testing.T) {
	rules := []string{"orphan-result", "orphan-call", "displaced-result", "first-role"}
	keys := []string{"keep_recent", "enabled", "after", "before"}
	for _, c := range []struct {
		word    string
		choices []string
		want    []string
	}{
		{"orphan-cal", rules, []string{"orphan-call"}},
		{"ophan-call", rules, []string{"orphan-call"}},
		{"ORPHAN", rules, []string{"orphan-call", "orphan-result"}},
		{"result", rules, []string{"displaced-result", "orphan-result"}},
		{"firstrole", rules, []string{"first-role"}},
		{"nothing", rules, nil},
		{"", rules, nil},
		{"or", rules, nil}, // half a name has three letters at least
		{"Keep-Recent", keys, []string{"keep_recent"}},
		{"keep", keys, []string{"keep_recent"}},
		{"enable", keys, []string{"enabled"}},
		{strings.Repeat("x", 1<<20), keys, nil},
		{"x", nil, nil},
	} {
		got := Near(c.word, c.choices)
		if !slices.Equal(got, c.want) {
			t.Errorf("Near(%.20q) = %q, want %q", c.word, got, c.want)
		}
		first := ""
		if len(c.want) > 0 {
			first = c.want[0]
		}
		if got := Nearest(c.word, c.choices); got != first {
			t.Errorf("Nearest(%.20q) = %q, want %q", c.word, got, first)
		}
	}
}

func TestSentence(t *testing.T) {
	choices := []string{"gemini", "gemini-interactions", "bedrock"}
	if got, want := Sentence("gemin", choices), "did you mean gemini or gemini-interactions?"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := Sentence("anthropic", choices); got != "" {
		t.Errorf("%q, want nothing", got)
	}
}

func TestEdits(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"ab", "ba", 2}} {
		if got := edits(c.a, c.b); got != c.want {
			t.Errorf("edits(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
