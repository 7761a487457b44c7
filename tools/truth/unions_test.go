package truth

import (
	"encoding/json"
	"os"
	"regexp"
	"testing"

	"github.com/pare-llm/pare/paretest"
	"github.com/pare-llm/pare/wire"
)

// TestMixedHasUnion: the histories that the relations run on have every type of block that
// the official libraries know.
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
	// Where a block is known by a member and not by its type, that member is looked for.
	byType, byMember := regexp.MustCompile(`"type":"(\w+)"`), regexp.MustCompile(`[{,]"(\w+)":`)
	for _, d := range wire.Dialects() {
		types := byType
		if d == wire.Gemini || d == wire.Bedrock {
			types = byMember
		}
		seen := map[string]bool{}
		for seed := range uint64(1000) {
			body, _ := paretest.Mixed(seed, d, paretest.MixOptions{})
			for _, m := range types.FindAllSubmatch(body, -1) {
				seen[string(m[1])] = true
			}
		}
		for _, u := range list.Unions {
			for _, typ := range u.Types {
				if u.Dialect == d.String() && !seen[typ] {
					t.Errorf("no history of %s has a %q of %s", d, typ, u.From)
				}
			}
		}
	}
}
