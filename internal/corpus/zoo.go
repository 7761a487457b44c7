package corpus

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// An Incident is a case of the zoo, which is part of the project: something that really
// happened, reduced to the smallest request that shows it.
type Incident struct {
	ID, Dialect, Cause, Status, Error string
	Request                           json.RawMessage
	RequestRaw                        string `json:"request_raw"`
	Expect                            struct {
		Violations []struct{ Rule, Path string }
		Static     bool
	}
}

// Body is the request.
func (z *Incident) Body() []byte {
	if z.RequestRaw != "" {
		return []byte(z.RequestRaw)
	}
	return z.Request
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
