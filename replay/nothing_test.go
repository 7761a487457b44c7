package replay_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/benchdata"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/replay"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/wire"
)

// fromNothing is a policy that reads, plans and writes every request as if it were the first.
func fromNothing(name string, make func(replay.Setting) pare.Policy) replay.Policy {
	return replay.Policy{Name: name, Prepare: func(s replay.Setting) (replay.Send, error) {
		p := make(s)
		p.Model, p.Uncounted = s.Model, true
		p.Counter = func(string) (wire.Counter, error) { return s.Counter, nil }
		return func(r *wire.Request) (*wire.Request, error) {
			o := wire.Options{Dialect: r.Dialect, Profile: r.Profile.Name, Model: r.Model()}
			q, err := wire.Parse(slices.Clone(r.Raw()), o)
			if err != nil {
				return nil, err
			}
			plan, err := p.Plan(context.Background(), q)
			if err != nil {
				return nil, err
			}
			if plan.Empty() {
				return r, nil
			}
			return wire.Parse(plan.Result().Raw(), o)
		}, nil
	}}
}

// TestFromNothing: a replay, which goes on from what it knows of the request before, comes to the
// same figures as one that knows nothing of it.
func TestFromNothing(t *testing.T) {
	standard, err := pare.Compile(rules.Standard()...)
	if err != nil {
		t.Fatal(err)
	}
	window := func(w pare.Window, low, cache bool, p *pare.Pipeline) func(replay.Setting) pare.Policy {
		return func(s replay.Setting) pare.Policy {
			if w.Tokens = s.Tokens; low {
				w.Low = s.Low
			}
			if cache {
				w.Cache = s.Cache
			}
			return pare.Policy{Window: &w, Rules: p}
		}
	}
	afresh := []replay.Policy{
		fromNothing("trim", window(pare.Window{}, false, false, nil)), fromNothing("trim:low", window(pare.Window{}, true, false, nil)),
		fromNothing("trim:cache", window(pare.Window{}, true, true, nil)), fromNothing("trim:cache,recent=2,rules", window(pare.Window{Recent: 2}, true, true, standard)),
		fromNothing("trim:rules", window(pare.Window{}, false, false, standard)), fromNothing("prune", func(replay.Setting) pare.Policy { return pare.Policy{Rules: standard} }),
	}
	var policies []replay.Policy
	for _, p := range afresh {
		own, err := replay.ParsePolicy(p.Name, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		policies = append(policies, own)
	}
	changed := 0
	same := func(name string, r *wire.Request, limit replay.Amount) {
		res := mustReplay(t, r, replay.Options{Limit: limit, Policies: policies})
		want := mustReplay(t, r, replay.Options{Limit: limit, Policies: afresh})
		for i := range res.Runs {
			changed += res.Runs[i].Changed
			res.Runs[i].Policy = want.Runs[i].Policy // names are written in one way only
			if a, b := mustJSON(t, res.Runs[i]), mustJSON(t, want.Runs[i]); !bytes.Equal(a, b) {
				t.Fatalf("%s, limit %v, %s:\n%s\nfrom nothing:\n%s", name, limit, want.Runs[i].Policy, a, b)
			}
		}
	}
	randoms(t, uint64(max(6, trial.Size(40))), func(name string, r *wire.Request) {
		for _, percent := range []int{60, 25} {
			same(name, r, replay.Amount{Percent: percent})
		}
	})
	for _, kind := range []benchdata.Shape{benchdata.Messages, benchdata.Chat, benchdata.Responses} {
		same("dense", mustParse(t, string(benchdata.Dense(kind, 120_000)), wire.Options{}), replay.Amount{Percent: 20})
	}
	if changed < 100 {
		t.Errorf("only %d requests were changed", changed)
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
