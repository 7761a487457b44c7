package unions

import (
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
)

var update = flag.Bool("update", false, "take the newest libraries and write the list that package wire is tested with")

const stored = "../../internal/dialect/testdata/unions.json"

// TestListMatchesLibraries checks that the list matches the libraries in its versions. A soak reads
// the newest versions, so that new types are known before they are used.
func TestListMatchesLibraries(t *testing.T) {
	if testing.Short() {
		t.Skip("asks for the sources of five modules")
	}
	var list List
	data, err := os.ReadFile(stored)
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err != nil && !*update {
		t.Fatal(err)
	}
	if *update || trial.Soak() {
		newest := read(t, nil)
		if *update {
			out, err := json.MarshalIndent(newest, "", "  ")
			if err == nil {
				err = os.WriteFile(stored, append(out, '\n'), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
			return
		}
		for i, u := range newest.Unions {
			for _, typ := range u.Types {
				if i >= len(list.Unions) || !slices.Contains(list.Unions[i].Types, typ) {
					t.Errorf("%s has a new type in %s: %q; run go test ./tools/unions -update", u.Dialect, u.From, typ)
				}
			}
		}
		return
	}
	if got := read(t, list.Modules); !reflect.DeepEqual(*got, list) {
		t.Errorf("%s is not what the libraries say; run go test ./tools/unions -update", stored)
	}
}

func read(t *testing.T, versions map[string]string) *List {
	t.Helper()
	list, err := Read(versions)
	if err != nil {
		t.Skipf("the libraries cannot be had: %v", err)
	}
	return list
}
