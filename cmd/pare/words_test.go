package main

import (
	"slices"
	"strings"
	"testing"
)

func TestModelInURL(t *testing.T) {
	for address, want := range map[string]string{
		"https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:generateContent":                              "gemini-2.5-pro",
		"https://aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/google/models/gemini-3-pro:streamRaw?alt=sse": "gemini-3-pro",
		"https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse":       "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
		"https://bedrock-runtime.us-east-1.amazonaws.com/model/amazon.nova-pro-v1:0/converse-stream":                          "amazon.nova-pro-v1:0",
		"https://api.anthropic.com/v1/messages": "",
		"/models/%zz:x":                         "%zz",
		"":                                      "",
	} {
		if got := modelIn(address); got != want {
			t.Errorf("modelIn(%q) = %q, want %q", address, got, want)
		}
	}
}

func TestPlainCannotControlTheTerminal(t *testing.T) {
	got := plain("a\x1b[31mb\u202ec\td\x00\xff")
	if strings.ContainsAny(got, "\x1b\u202e\t\x00") || !strings.HasPrefix(got, "a·[31mb·c d·") {
		t.Errorf("%q", got)
	}
}

func TestClipAndWrap(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{{"hello", 5, "hello"}, {"hello", 4, "hel…"}, {"日本語です", 5, "日本…"}, {"日本語", 6, "日本語"}, {"a b c", 3, "a…"}} {
		if got := clip(c.in, c.n); got != c.want || columns(got) > c.n {
			t.Errorf("clip(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
	got := wrap("one two three averylongword x\ny", 9)
	if want := []string{"one two", "three", "averylongword", "x", "y"}; !slices.Equal(got, want) {
		t.Errorf("wrap: %q", got)
	}
}

func TestPipelineKeepsOrderAndStops(t *testing.T) {
	produced := 0
	produce := func(emit func(int) bool) {
		for produced < 1000 && emit(produced) {
			produced++
		}
	}
	var got []int
	pipeline(4, 4, produce, func(n int) int { return n * n }, func(n int) bool {
		got = append(got, n)
		return len(got) < 100
	})
	if len(got) != 100 || produced == 1000 {
		t.Fatalf("consumed %d of %d produced", len(got), produced)
	}
	for i, n := range got {
		if n != i*i {
			t.Fatalf("got[%d] = %d", i, n)
		}
	}
}
