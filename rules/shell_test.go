package rules

import "testing"

func TestShowsFile(t *testing.T) {
	for target, want := range map[string]bool{
		`"cat a.go"`: true, `"sed -n '1,40p' a.go | head"`: true, `"cd x && nl -ba a.go"`: true, `["bash","-lc","git diff a.go"]`: true,
		`"for f in *; do cat $f; done"`: true, `"LC_ALL=C /usr/bin/head -5 a"`: true, `"rg -n frob src"`: true, `["cat","a.go"]`: true, `"ls\ncat a"`: true,
		`"go test ./... | tail -50"`: false, `"make test 2>&1 | grep FAIL"`: false, `"git log --stat"`: false, `"catalog"`: false, `""`: false, `"`: false, `[1]`: false, ``: false, `";;&&|"`: false,
	} {
		if got := showsFile([]byte(target)); got != want {
			t.Errorf("%s: %v", target, got)
		}
	}
}
