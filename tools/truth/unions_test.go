package truth

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/wire"
)

// TestMixedHistoriesHaveEveryBlockType: the histories that the relations run on have every type of block that
// the official libraries know.
func TestMixedHistoriesHaveEveryBlockType(t *testing.T) {
	data, err := os.ReadFile("../../internal/dialect/testdata/unions.json")
	if err != nil {
		t.Fatal(err)
	}
	type union struct {
		Dialect, Place, From string
		Types                []string
	}
	var list struct{ Unions []union }
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	list.Unions = slices.DeleteFunc(list.Unions, func(u union) bool { return u.Place == "request" }) // members next to the history
	// Where a block is known by a member and not by its type, that member is looked for.
	byType, byMember := regexp.MustCompile(`"type":"(\w+)"`), regexp.MustCompile(`[{,]"(\w+)":`)
	for _, d := range wire.Dialects() {
		types := byType
		if d == wire.Gemini || d == wire.Bedrock {
			types = byMember
		}
		seen := map[string]bool{}
		missing := func() bool {
			return slices.ContainsFunc(list.Unions, func(u union) bool {
				return u.Dialect == d.String() && slices.ContainsFunc(u.Types, func(typ string) bool { return !seen[typ] })
			})
		}
		for seed := uint64(0); seed < 1000 && (seed%50 > 0 || missing()); seed++ {
			body, _ := histories.Mixed(seed, d, histories.MixOptions{})
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
