package picture

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/internal/agentlog"
)

// TestDoctorListsNewestFirst: of many broken sessions the one that died last is shown, wherever
// its path sorts (B10).
func TestDoctorListsNewestFirst(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	agent := agentlog.Agents()[0]
	var all []*agentlog.Diagnosis
	for i := range 130 {
		d := &agentlog.Diagnosis{Outlook: agentlog.Unusable, Faults: []agentlog.Fault{{Rule: "orphan-call", Line: 1, Message: "x"}}}
		d.Agent, d.Path, d.Modified = &agent, fmt.Sprintf("/s/%03d.jsonl", i), now.Add(time.Duration(i-130)*time.Hour)
		all = append(all, d)
	}
	v := &Doctor{Style: Style{Width: 80, Paint: screen.Palette(false)}, Now: now}
	got := string(v.Render(all))
	if !strings.Contains(got, "/s/129.jsonl") || strings.Contains(got, "/s/000.jsonl") || strings.Index(got, "/s/129.jsonl") > strings.Index(got, "/s/128.jsonl") {
		t.Errorf("the newest is not first:\n%s", got[:min(len(got), 600)])
	}
	if all[0].Path != "/s/000.jsonl" {
		t.Error("the caller's list is sorted, too")
	}
}
