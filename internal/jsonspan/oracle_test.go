package jsonspan

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// documents seeds the table test and the fuzzers: each is there for a rule of
// RFC 8259 or for a habit of the scanner (words of eight bytes, short strings).
var documents = []string{
	`null`, `true`, `false`, `0`, `-0`, `1.5e+3`, `""`, `{}`, `[]`, ` [ 1 , { "a" : [ ] } ] `,
	`{"a":1,"b":[true,false,null],"c":{"d":"e"}}`,
	`"\u0041\ud83d\ude00\"\\\/\b\f\n\r\t"`, "\"h\u00e9llo \u4e16\u754c \U0001F600\"",
	`"exactly8"`, `"0123456789abcdef0123456789abcdef"`, `"0123456789abcde\"f"`, `"\\\\\\\\\\\\\\\\\""`,
	``, ` `, `{`, `[`, `"`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `[1,`, `[1,]`, `{"a":1,}`, `[1 2]`, `{"a" 1}`, `{a:1}`, `{"a":1 "b":2}`,
	`tru`, `trux`, `nul`, `+1`, `01`, `1.`, `1e`, `1e+`, `-`, `.5`, `NaN`, `1 2`, `[]]`, `{}}`, `]`, `}`, `,`, `:`,
	`"\q"`, `"\u12"`, `"\u12g4"`, `"\`, `"\ud83d"`, `"\ud83d\u0041"`, `"\ude00"`, `"\ud83d\ud83d\ude00"`,
	"\"\x01\"", "\"a\nb\"", "\"\xff\"", "\"0123456789\xc3\"", "\"\xed\xa0\x80\"", "\xef\xbb\xbf{}", "\"\x7f\"",
	`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"x":{"a":1,"a":2}}`, `[{"k":1},{"k":1}]`,
	`{"a":0,"b":0,"c":0,"d":0,"e":0,"f":0,"g":0,"h":0,"i":0,"j":0,"k":0,"l":0,"m":0,"a":0}`,
}

func scan(data []byte, mode Mode) (*Scanner, error) {
	s := new(Scanner)
	s.Reset(data, mode)
	s.Skip()
	s.End()
	return s, s.Err()
}

// agree compares the scanner with two independent implementations.
func agree(t *testing.T, data []byte) {
	t.Helper()
	s, err := scan(data, Strict)
	lenient := json.Valid(data) && utf8.Valid(data) // encoding/json replaces bad UTF-8
	if (err == nil) != lenient {
		t.Errorf("strict scan of %q: %v, json.Valid and utf8.Valid: %v", data, err, lenient)
	}
	if _, serr := scan(data, Structural); json.Valid(data) && serr != nil {
		t.Errorf("structural scan of %q: %v, json.Valid accepts", data, serr)
	} else if err == nil && serr != nil {
		t.Errorf("structural scan of %q refuses what strict accepts: %v", data, serr)
	}
	want := jsontext.Value(data).IsValid() // refuses duplicate keys and lone surrogates
	if got := Valid(data) == nil; got != want {
		t.Errorf("Valid(%q) = %v, jsontext: %v; flaws %v", data, got, want, s.Flaws())
	}
	if e, ok := err.(*SyntaxError); ok && (e.Offset < 0 || e.Offset > len(data)) {
		t.Errorf("error offset %d outside of %d bytes", e.Offset, len(data))
	}
}

func TestAgainstOracles(t *testing.T) {
	for _, d := range documents {
		agree(t, []byte(d))
		for n := range len(d) { // every truncation
			agree(t, []byte(d[:n]))
		}
	}
}

// TestJSONFiles runs the oracles over the project's own fixtures.
func TestJSONFiles(t *testing.T) {
	files, err := filepath.Glob("../../testdata/zoo/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		agree(t, data)
	}
}

func FuzzScan(f *testing.F) {
	for _, d := range documents {
		f.Add([]byte(d))
	}
	f.Fuzz(agree)
}
