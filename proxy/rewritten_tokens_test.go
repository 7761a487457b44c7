package proxy

import (
	"testing"
	"time"

	"github.com/pare-llm/pare"
)

// TestRewritten: a cut is counted once, at the request at which it is made, with about what
// the provider's cache has to take again; on a cache that has expired it costs nothing.
func TestRewritten(t *testing.T) {
	for pause, costs := range map[time.Duration]bool{time.Minute: true, 6 * time.Minute: false} {
		p := &provider{refuses: func(string) string { return "" }}
		c := &clock{now: time.Unix(1_000_000, 0)}
		var last *Record
		tr := &Transport{Base: p, PlanTime: -1, Policy: &pare.Policy{Window: &pare.Window{Tokens: 30_000, LowPercent: 70}}, Conversations: c.conversations(), Record: func(r *Record) { last = r }}
		before, cuts := "", 0
		for n := 60; n < 140; n++ {
			c.now = c.now.Add(pause)
			got, _ := p.ask(t, tr, "/v1/messages", claude(n))
			again := 0
			if same := common(before, got[0]); before != "" && same < len(before)-2 {
				cuts++
				again = counts(got[0]) * (len(before) - same) / len(before)
			}
			switch {
			case again == 0 || !costs:
				if last.Rewritten != 0 {
					t.Errorf("pause %v, request %d: %d tokens are said to be written again", pause, n, last.Rewritten)
				}
			case last.Rewritten < again/2 || last.Rewritten > again*2:
				t.Errorf("pause %v, request %d: %d tokens are said to be written again, it is about %d", pause, n, last.Rewritten, again)
			}
			before = got[0]
		}
		if cuts < 2 {
			t.Errorf("pause %v: %d cuts", pause, cuts)
		}
	}
}
