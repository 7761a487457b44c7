package engine

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pare-llm/pare/internal/benchdata"
	"github.com/pare-llm/pare/internal/jsonspan"
)

// sameAsJSONText compares the scanner with jsontext, which refuses duplicate keys and lone
// surrogates as well.
func sameAsJSONText(t *testing.T, data []byte) {
	t.Helper()
	err := jsonspan.Valid(data)
	if want := jsontext.Value(data).IsValid(); (err == nil) != want {
		t.Errorf("Valid(%q): %v, jsontext: %v", data, err, want)
	}
}

// TestAgainstJSONText compares on short documents, all their truncations, and the incidents.
func TestAgainstJSONText(t *testing.T) {
	for _, d := range benchdata.Documents {
		for n := range len(d) + 1 {
			sameAsJSONText(t, []byte(d[:n]))
		}
	}
	files, err := filepath.Glob("../../testdata/zoo/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(err, len(files))
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		sameAsJSONText(t, data)
	}
}

func FuzzAgainstJSONText(f *testing.F) {
	for _, d := range benchdata.Documents {
		f.Add([]byte(d))
	}
	f.Fuzz(sameAsJSONText)
}
