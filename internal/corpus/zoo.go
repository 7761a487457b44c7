package corpus

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// An Incident is a case of the zoo, which is part of the project: something that really
// happened, reduced to the smallest request that shows it.
type Incident struct {
	ID, Dialect, Model, Cause, Status, Error string
	Request                                  json.RawMessage
	RequestRaw                               string `json:"request_raw"`
	Expect                                   struct {
		Violations []struct{ Rule, Path string }
		Static     bool
		Notes      string `json:"repair_notes"`
	}
}

// Body is the request.
func (z *Incident) Body() []byte {
	if z.RequestRaw != "" {
		return []byte(z.RequestRaw)
	}
	return z.Request
}

// A Fixture demonstrates a rule of the catalog: Bad breaks it, Good is its repaired form, and
// Accept looks wrong to a naive validator but is legal.
type Fixture struct {
	Rule              string
	Bad, Good, Accept json.RawMessage
	Note              string
}

// Fixtures reads all of them.
func Fixtures(t testing.TB) []Fixture {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(module(t), "testdata/fixtures.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var all []Fixture
	for line := range bytes.Lines(data) {
		var f Fixture
		decode(t, line, &f)
		all = append(all, f)
	}
	return all
}

// Zoo reads all incidents.
func Zoo(t testing.TB) []Incident {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(module(t), "testdata/zoo/*.json"))
	if err != nil || len(files) < 150 {
		t.Fatalf("%d cases in the zoo: %v", len(files), err)
	}
	all := make([]Incident, len(files))
	for i, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		decode(t, data, &all[i])
	}
	return all
}
