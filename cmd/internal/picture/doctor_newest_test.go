package picture

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/internal/agentlog"
)

func TestDoctorListsNewestFirst(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	agent := agentlog.Agents()[0]
	var all []*agentlog.Diagnosis
	for i := range 130 {
		d := &agentlog.Diagnosis{Expectation: agentlog.Expectation{Outlook: agentlog.Unusable}, Faults: []agentlog.Fault{{Rule: "orphan-call", Line: 1, Message: "x"}}}
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

func TestDoctorTableIsShort(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	agents := agentlog.Agents()
	gemini := agents[slices.IndexFunc(agents, func(a agentlog.Agent) bool { return a.Format == agentlog.GeminiCLI })]
	home := func(broken bool, project func(i int) string) []*agentlog.Diagnosis {
		var all []*agentlog.Diagnosis
		for i := range 33 {
			d := &agentlog.Diagnosis{Project: project(i), Modified: now.Add(-time.Duration(i) * time.Hour)}
			d.Agent, d.Path = &gemini, fmt.Sprintf("/g/%02d/chats/session.jsonl", i)
			all = append(all, d)
		}
		if last := all[32]; broken {
			last.Outlook, last.Faults = agentlog.Unusable, []agentlog.Fault{{Rule: "orphan-result", Line: 1, Message: "x", Effect: agentlog.Refused}}
		}
		return all
	}
	each := func(i int) string { return fmt.Sprintf("/home/dev/p%02d", i) }
	one := func(int) string { return "/home/dev/shop" }
	for name, test := range map[string]struct {
		all   []*agentlog.Diagnosis
		lines int
		want  string
	}{
		"33 folders":          {home(true, each), 9, "and 29 projects without a broken session; --all shows them"},
		"33 folders, no harm": {home(false, each), 22, "and 13 projects without a broken session; --all shows them"},
		"one folder":          {home(true, one), 5, "gemini-cli  /home/dev/shop        33       1"},
		"one folder, no harm": {home(false, one), 2, "gemini-cli  /home/dev/shop        33       0"},
	} {
		v := &Doctor{Style: Style{Width: 80, Paint: screen.Palette(false)}, Now: now}
		got := string(v.Render(test.all))
		front, _, _ := strings.Cut(got, "✗")
		if !strings.Contains(got, test.want) || strings.Count(front, "\n") != test.lines {
			t.Errorf("%s: %d lines in front:\n%s", name, strings.Count(front, "\n"), got)
		}
	}
}
