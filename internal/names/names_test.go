package names_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/names"
)

func all(text string) (found []string) {
	names.Each(text, func(name string) { found = append(found, name) })
	return found
}

func TestEach(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "",
		"Nothing here is a name, is it?":        "",
		"see internal/names/hash_table.go:1042": "hash_table 1042",
		"parseHTTPBody(x) got 7 of 12":          "parseHTTPBody",
		"--dry-run __init__ a_b -- ___":         "dry-run",
		"commit 6b6383c, eslint.config":         "6b6383c",
		"x\xff\xfefooBar\x00":                   "fooBar",
		"twice fooBar twice fooBar":             "fooBar fooBar",
		strings.Repeat("aB", 40):                "",
	} {
		if got := strings.Join(all(text), " "); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestPieces: whatever stands around a text that ends no name changes nothing about it.
func TestPieces(t *testing.T) {
	a, b := "read fooBar from x_1", "then 5000 times"
	if got := all(a + "\n" + b); !slices.Equal(got, append(all(a), all(b)...)) {
		t.Error(got)
	}
}

func TestHash(t *testing.T) {
	if names.Hash("") == names.Hash("a") || names.Hash("ab") == names.Hash("ba") || names.Hash("ab") != names.Hash("a"+"b") {
		t.Error("texts are mixed up")
	}
}
