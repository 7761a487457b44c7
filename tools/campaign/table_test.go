package main

import (
	"strings"
	"testing"
)

func TestTableHasSessionsAndDamages(t *testing.T) {
	rows := []row{
		{"killed", "none", "clean 1/1", "clean 1/1"},
		{"plain", "call lost", "orphan-result 2/3", "clean 3/3"},
		{"killed", "torn", "nothing", "twice 3/3"},
		{session: "killed", damage: "call lost"},
	}
	want := "| damage | plain | killed |\n| --- | --- | --- |\n" +
		"| none |  | 1/1 → 1/1 |\n| call lost | orphan-result 2/3 → 3/3 | – |\n| torn |  | nothing → **twice 3/3** |\n"
	if got := table(rows); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := sum(rows); got != "2 of 3 sessions are sent whole and clean after the fix, 1 before it." {
		t.Error(got)
	}
	if strings.Contains(oneLine("\x1b[91m\x1b[1mError: \x1b[0mno | way\n"), "\x1b") {
		t.Error("colors are in the output")
	}
}

// TestVerdict: a request is clean only if each text is there, once, in its order, and each
// call with its own result.
func TestVerdict(t *testing.T) {
	whole := &resumption{marks: []string{"a", "b", "c"}, times: map[string]int{"a": 1, "b": 1, "c": 1}, pairs: []string{"b" + between + "c"}}
	want := newExpectation(whole, &resumption{left: []string{"c", "b", "a", "d"}})
	once := map[string]int{"a": 1, "b": 1, "c": 1}
	for verdict, r := range map[string]*resumption{
		"nothing":      {},
		"clean 3/3":    {body: []byte("{}"), marks: []string{"a", "b", "c"}, times: once, pairs: whole.pairs},
		"2/3":          {body: []byte("{}"), marks: []string{"a", "c"}, times: once},
		"parted 3/3":   {body: []byte("{}"), marks: []string{"a", "b", "c"}, times: once},
		"twice 3/3":    {body: []byte("{}"), marks: []string{"a", "b", "c"}, times: map[string]int{"a": 2}, pairs: whole.pairs},
		"disorder 3/3": {body: []byte("{}"), marks: []string{"b", "c", "a"}, times: once, pairs: whole.pairs},
	} {
		if got := r.verdict(want); got != verdict {
			t.Errorf("%s, want %s", got, verdict)
		}
	}
}
