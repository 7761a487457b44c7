package main

import "testing"

// TestLengthened: results are made longer wherever they stand, calls and what was said last are not.
func TestLengthened(t *testing.T) {
	c := &client{}
	for was, want := range map[string]string{
		`{"content":"output 2 of the program\n"}`:                       `{"content":"output 2 of the program +\n"}`,
		`{"command":"echo output 2 of the program"}`:                    `{"command":"echo output 2 of the program"}`,
		`"{\"cmd\":\"echo output 2 of the program\"}","contents alpha"`: `"{\"cmd\":\"echo output 2 of the program\"}","contents alpha +"`,
		`reply 2: done, contents beta`:                                  `reply 2: done, contents beta +`,
	} {
		if got := string(c.lengthened([]byte(was), " +", "")); got != want {
			t.Errorf("%s: %s, want %s", was, got, want)
		}
	}
	c = codex()
	if got := string(c.lengthened([]byte(`reply 1: done reply 2: done contents beta`), " +", "reply 2: done")); got != "reply 1: done + reply 2: done contents beta" {
		t.Errorf("%s", got)
	}
}
