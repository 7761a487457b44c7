package main

import (
	"slices"
	"testing"
)

// TestLengthened checks that the chosen texts are made longer everywhere, and that calls and
// other texts stay.
func TestLengthened(t *testing.T) {
	results := []string{"output 2 of the program", "contents alpha", "contents beta"}
	for was, want := range map[string]string{
		`{"content":"output 2 of the program\n"}`:                       `{"content":"output 2 of the program +\n"}`,
		`{"command":"echo output 2 of the program"}`:                    `{"command":"echo output 2 of the program"}`,
		`"{\"cmd\":\"echo output 2 of the program\"}","contents alpha"`: `"{\"cmd\":\"echo output 2 of the program\"}","contents alpha +"`,
		`reply 2: done, contents beta`:                                  `reply 2: done, contents beta +`,
		`output 3 of the program`:                                       `output 3 of the program`,
	} {
		if got := string(lengthened([]byte(was), " +", results)); got != want {
			t.Errorf("%s: %s, want %s", was, got, want)
		}
	}
}

// TestFilled checks that results are made longer, or replies for clients that shorten results,
// but never the last text.
func TestFilled(t *testing.T) {
	sound := &resumption{marks: []string{"prompt 1: run", "echo output 1 of the program", "output 1 of the program", "reply 1: done", "a.txt", "contents alpha", "reply 2: done"}}
	for name, test := range map[string]struct {
		c    *client
		fill filling
		want []string
	}{
		"results":                  {gemini(), results, []string{"output 1 of the program", "contents alpha"}},
		"one result":               {gemini(), oneResult, []string{"output 1 of the program"}},
		"replies":                  {gemini(), replies, []string{"reply 1: done"}},
		"results that are clipped": {codex(), results, []string{"reply 1: done"}},
		"one that is clipped":      {codex(), oneResult, []string{"output 1 of the program"}},
	} {
		if got := test.c.filled(kind{fill: test.fill}, sound); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}
