package histories

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	got := MustParse(`system "be \"brief\"" | user "fix | it"
		think "hm" | say "I look"|call r1 Read a.go offset=3 all=true q="x y" n=1e3x
		call b1 Bash {"command":"a | b", "n": 1}
		result r1   two words | fail b1 "a\nb"
		image || orphan x9 lost
	`)
	want := Script{
		{Op: System, Text: `be "brief"`}, {Op: User, Text: "fix | it"}, {Op: Think, Text: "hm"}, {Op: Say, Text: "I look"},
		{Op: Call, ID: "r1", Tool: "Read", Args: `{"path":"a.go","offset":3,"all":true,"q":"x y","n":"1e3x"}`},
		{Op: Call, ID: "b1", Tool: "Bash", Args: `{"command":"a | b", "n": 1}`},
		{Op: Result, ID: "r1", Text: "two words"}, {Op: Fail, ID: "b1", Text: "a\nb"}, {Op: Image}, {Op: Result, ID: "x9", Text: "lost"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	again, err := Parse(got.String())
	if err != nil || !slices.Equal(again, got) {
		t.Errorf("%s reads as %+v, %v", got, again, err)
	}
}

func TestParseErrors(t *testing.T) {
	for in, want := range map[string]string{
		`user hello`:                         `script:1:6: user wants a text in double quotes`,
		`user`:                               `script:1:5: user wants a text in double quotes`,
		`user "a`:                            `script:1:8: the document ends in the middle of a string`,
		`user "a" b`:                         `script:1:10: expected | or the end of the line behind the user step`,
		`shout "a"`:                          `script:1:1: unknown step "shout"; the steps are system, user, image, think, say, call, result, fail and orphan`,
		"user \"é\"\nimage\n  result a ok":   `script:3:10: no call a before it; write orphan for a result without a call`,
		`call a f | result a x | orphan a y`: `script:1:32: there is a call a; write result`,
		`user "é" | call`:                    `script:1:16: call wants an id`,
		`call a`:                             `script:1:7: call wants a tool`,
		`call a f x y`:                       `script:1:12: a second path`,
		`call a f k=1 k=2`:                   `script:1:14: a second k`,
		`call a f {"k":}`:                    `script:1:15: `,
		`call a f {"k":1,"k":2}`:             `script:1:17: this key stands twice in its object`,
		`user "a" | system "b"`:              `script:1:12: the system prompt stands first`,
		`image "a"`:                          `script:1:7: expected | or the end of the line behind the image step`,
	} {
		_, err := Parse(in)
		var at *NotationError
		if !errors.As(err, &at) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", in, err, want)
		}
	}
}

func TestValid(t *testing.T) {
	for in, want := range map[string]string{
		`user "q"`: "",
		`system "s" | user "q" | think "t" | say "a" | call a f | call b f | result b | fail a x | user "n" | image`: "",
		`user "q" | call a f | result a x | call a f | result a y`:                                                   "",
		``:                               "nobody says anything",
		`system "s"`:                     "nobody says anything",
		`say "a"`:                        "step 1 (say): a person begins",
		`user "q" | say "a"`:             "step 2 (say): the model has the last word",
		`user "q" | call a f`:            "step 2 (call): the model has the last word",
		`user "q" | call a f | user "n"`: "step 3 (user): the calls before it are not all answered",
		`user "q" | call a f | call b f | result a x`:              "step 4 (result): a call is not answered",
		`user "q" | call a f | call b f | result a x | say "s"`:    "step 5 (say): the calls before it are not all answered",
		`user "q" | call a f | result a x | result a x`:            "step 4 (result): no open call of that id in the turn before",
		`user "q" | orphan a x`:                                    "step 2 (result): no open call of that id in the turn before",
		`user "q" | call a f | call a f | result a x | result a x`: "step 3 (call): an id twice in one turn",
		`user "q" | think "t" | user "n"`:                          "step 2 (think): thinking leads to nothing",
		`user " " `:                                                "step 1 (user): a blank text",
		`user "q" | call a f | fail a`:                             "step 3 (fail): a blank text",
		`user "q" | call functions.f:0 f | result functions.f:0 x`: "step 2 (call): an id that goes out as it stands",
	} {
		got := ""
		if err := MustParse(in).Valid(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
}
