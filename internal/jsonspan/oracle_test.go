package jsonspan

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/pare-llm/pare/internal/benchdata"
)

// documents seeds the table test and the fuzzers.
var documents = benchdata.Documents

func scan(data []byte, mode Mode) (*Scanner, error) {
	s := new(Scanner)
	s.Reset(data, mode)
	s.Skip()
	s.End()
	return s, s.Err()
}

// agree compares the scanner with an independent implementation; tools/engine has another one.
func agree(t *testing.T, data []byte) {
	t.Helper()
	_, err := scan(data, Strict)
	lenient := json.Valid(data) && utf8.Valid(data) // encoding/json replaces bad UTF-8
	if (err == nil) != lenient {
		t.Errorf("strict scan of %q: %v, json.Valid and utf8.Valid: %v", data, err, lenient)
	}
	if _, serr := scan(data, Structural); json.Valid(data) && serr != nil {
		t.Errorf("structural scan of %q: %v, json.Valid accepts", data, serr)
	} else if err == nil && serr != nil {
		t.Errorf("structural scan of %q refuses what strict accepts: %v", data, serr)
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
