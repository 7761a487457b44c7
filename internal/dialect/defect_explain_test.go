package dialect

import (
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/corpus"
)

const notRepaired = "not repaired, reported"

// TestDefectT12Explain: what explain says of a repair is what fix does. A row that nothing
// repairs says so; one that says nothing of the sort is repaired, as its fixture shows.
func TestDefectT12Explain(t *testing.T) {
	bad := make(map[string]corpus.Fixture)
	for _, f := range corpus.Fixtures(t) {
		if f.Bad != nil {
			bad[f.Rule] = f
		}
	}
	for _, r := range Rules() {
		if r.on == unseen {
			continue
		}
		if repairFuncs[r.on] == nil {
			if !strings.HasPrefix(r.Repair, notRepaired) {
				t.Errorf("%s: nothing repairs it, and explain says %q", r.ID, r.Repair)
			}
			continue
		}
		if strings.HasPrefix(r.Repair, notRepaired) {
			t.Errorf("%s: it is repaired, and explain says %q", r.ID, r.Repair)
		}
		f, ok := bad[r.ID]
		if !ok {
			continue
		}
		for _, left := range repaired(t, f.Bad, optionsOf(t, f, f.Bad), Repair{}).Left {
			if left.Source == r.ID && !strings.Contains(r.Repair, notRepaired) {
				t.Errorf("%s: %s stays, and explain says %q", r.ID, left.Path, r.Repair)
			}
		}
	}
	for _, r := range Find("unknown-role") {
		if !strings.Contains(r.Repair, notRepaired) {
			t.Errorf("%s: not every role can be mapped, and explain says %q", r.ID, r.Repair)
		}
	}
}
