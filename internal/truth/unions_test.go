package truth

import (
	"encoding/json"
	"os"
	"regexp"
	"testing"

	"github.com/pare-llm/pare/paretest"
	"github.com/pare-llm/pare/wire"
)

// TestMixedHasUnion: the histories that the relations run on have every type of step and of
// part that Google's library knows.
func TestMixedHasUnion(t *testing.T) {
	data, err := os.ReadFile("../../wire/testdata/unions.json")
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Unions []struct {
			Dialect, From string
			Types         []string
		}
	}
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	types := regexp.MustCompile(`"type":"([a-z_]+)"`)
	seen := map[string]bool{}
	for seed := range uint64(400) {
		body, _ := paretest.Mixed(seed, wire.GeminiInteractions, paretest.MixOptions{})
		for _, m := range types.FindAllSubmatch(body, -1) {
			seen[string(m[1])] = true
		}
	}
	for _, u := range list.Unions {
		for _, typ := range u.Types {
			if u.Dialect == wire.GeminiInteractions.String() && !seen[typ] {
				t.Errorf("no history has a %q of %s", typ, u.From)
			}
		}
	}
}
