package config

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
)

const badFile = "testdata/bad.txt"

// A badCase is a file and the errors that it must give.
type badCase struct{ name, input, want string }

// readBad reads cases: a line "=== file name: what is wrong", the content, a line
// "----", the errors.
func readBad(t testing.TB) []badCase {
	t.Helper()
	data, err := os.ReadFile(badFile)
	if err != nil {
		t.Fatal(err)
	}
	var all []badCase
	for part := range strings.SplitSeq("\n"+string(data), "\n=== ") {
		head, rest, _ := strings.Cut(part, "\n")
		input, want, ok := strings.Cut("\n"+rest+"\n", "\n----\n")
		if !ok {
			continue
		}
		all = append(all, badCase{head, strings.TrimPrefix(input, "\n") + "\n", strings.TrimRight(want, "\n")})
	}
	return all
}

// TestBad wants each bad file refused with exactly the errors of testdata/bad.txt;
// -update rewrites them.
func TestBad(t *testing.T) {
	var out bytes.Buffer
	cases := readBad(t)
	if len(cases) < 130 {
		t.Errorf("only %d cases", len(cases))
	}
	for _, c := range cases {
		file, _, _ := strings.Cut(c.name, ":")
		got, err := Parse(file, []byte(c.input))
		if err == nil || got != nil {
			t.Errorf("%s: taken", c.name)
			continue
		}
		var all Errors
		var one *Error
		if !errors.As(err, &all) || !errors.As(err, &one) {
			t.Errorf("%s: an error of another type: %T", c.name, err)
		}
		for _, e := range all {
			if e.Line < 1 || e.Column < 1 || e.Message == "" {
				t.Errorf("%s: no place or no message: %#v", c.name, e)
			}
		}
		if !*update && err.Error() != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, err, c.want)
		}
		out.WriteString("=== " + c.name + "\n" + c.input + "----\n" + err.Error() + "\n\n")
	}
	if *update {
		if err := os.WriteFile(badFile, bytes.TrimSuffix(out.Bytes(), []byte("\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
