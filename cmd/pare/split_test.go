package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestSplitFindsTheLastCut(t *testing.T) {
	for name, z := range zoo(t) {
		found, report, _ := program(strings.NewReader(z.body()), "check", "--json", "--as", z.Dialect)
		if found > statusFindings {
			continue
		}
		messages := *decode(t, report).Messages
		for _, keep := range []int{0, 1, 3, 12} {
			status, out, errs := program(strings.NewReader(z.body()), "split", "--json", "--as", z.Dialect, fmt.Sprintf("--min-keep=%d", keep))
			var d divisionJSON
			if err := json.Unmarshal([]byte(out), &d); err != nil || status != statusClean || errs != "" {
				t.Fatalf("%s: status %d, %v: %s%s", name, status, err, out, errs)
			}
			want := 0
			for _, c := range d.Cuts {
				if messages-c >= keep {
					want = max(want, c)
				}
			}
			if d.Cut != want || d.Head != d.Cut || d.Head+d.Tail != messages || !slices.IsSorted(d.Cuts) || !slices.IsSorted(d.Inside) {
				t.Errorf("%s: of %d messages, keep %d, want cut %d: %s", name, messages, keep, want, out)
			}
		}
	}
}
