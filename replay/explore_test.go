package replay_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/replay"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

func TestExplore(t *testing.T) {
	if os.Getenv("EXPLORE") == "" {
		t.Skip()
	}
	all := corpus(t)
	by := map[string][]*replay.Result{}
	var groups []string
	limit, _ := replay.ParseAmount(os.Getenv("LIMIT"))
	var policies []replay.Policy
	for _, p := range strings.Fields(os.Getenv("POLICIES")) {
		var n, recent int
		if k, _ := fmt.Sscanf(p, "x%d,%d", &n, &recent); k == 2 {
			policies = append(policies, cautious(n, recent))
			continue
		}
		pol, err := replay.ParsePolicy(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		policies = append(policies, pol)
	}
	for _, h := range all {
		if strings.HasPrefix(h.group, "recorded") || !strings.Contains(h.group, os.Getenv("GROUP")) {
			continue
		}
		start := time.Now()
		res, err := replay.Replay(h.r, replay.Options{Limit: limit, Policies: policies})
		if err != nil {
			t.Errorf("%s %s: %v", h.group, h.name, err)
			continue
		}
		if d := time.Since(start); d > 20*time.Second {
			fmt.Println("slow", h.name, d, len(h.r.Raw()), res.Requests)
		}
		if by[h.group] == nil {
			groups = append(groups, h.group)
		}
		by[h.group] = append(by[h.group], res)
	}
	for _, g := range groups {
		s := replay.Sum(g, by[g])
		fmt.Printf("\n%s: %d histories, %d requests, %d tokens, repeats %d, edits %d, priced %d\n", g, s.Histories, s.Requests, s.Tokens, s.Repeats, s.Edits, s.Priced)
		for _, r := range s.Runs {
			fmt.Printf("  %-22s sent %10d cached %.1f%% money %9.4f (%.0f%%) weight %.0f%% changed %d untouched %d unfit %d rewrites %d again %d unseen %d refused %d %v\n", r.Policy, r.Sent, 100*float64(r.Read)/float64(r.Sent), r.Money, 100*r.Money/s.Runs[0].Money, 100*r.Weight/s.Runs[0].Weight, r.Changed, r.Untouched, r.Unfit, r.Rewrites, r.Again, r.Unseen, r.Refused, r.Reasons)
		}
	}
}

type strict struct {
	c tokens.Cache
	n int
}

func (s strict) PaysAfter(removed, kept int) int { return s.n * s.c.PaysAfter(removed, kept) }

func cautious(n, recent int) replay.Policy {
	return replay.Policy{Name: fmt.Sprintf("trim x%d recent=%d", n, recent), Prepare: func(s replay.Setting) (replay.Send, error) {
		return func(r *wire.Request) (*wire.Request, error) {
			plan, err := pare.Trim(r, pare.Window{Tokens: s.Tokens, Low: s.Low, Recent: recent, Cache: strict{s.Cache, n}}, pare.Options{Counter: s.Counter})
			if err != nil {
				return nil, err
			}
			return plan.Result(), nil
		}, nil
	}}
}
