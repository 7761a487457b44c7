package replay_test

import (
	"strings"
	"testing"

	"github.com/pare-llm/pare/cmd/internal/replay"
	"github.com/pare-llm/pare/tokens"
)

// TestVerdict: the first sentence has the sums of the table, says that they are estimates where no bill
// is recorded, and the calls that would miss most follow, the dearest first.
func TestVerdict(t *testing.T) {
	r, rec := billed(t, 40, 30_000, 900)
	policies := []replay.Policy{replay.Everything(), replay.Sliding(3)}
	guess := mustReplay(t, r, replay.Options{Policies: policies})
	paid := mustReplay(t, r, replay.Options{Policies: policies, Recording: rec})
	guess.Source, paid.Source = "a.json", "b.jsonl part 2"
	for _, x := range []struct {
		r    *replay.Result
		want []string
	}{
		{guess, []string{"1 session would cost about " + replay.Dollars(guess.Runs[0].Money), "No bill is recorded"}},
		{paid, []string{"1 session cost " + replay.Dollars(paid.Runs[0].Money), "The bill is recorded for 40 of 40 requests."}},
	} {
		got := replay.Judge([]*replay.Result{x.r}, "sliding:messages=3").Text()
		for _, want := range append(x.want, "With sliding:messages=3 "+replay.Dollars(x.r.Runs[1].Money)) {
			if !strings.Contains(got, want) {
				t.Errorf("%q is not in %s", want, got)
			}
		}
	}
	if v := replay.Judge([]*replay.Result{paid}, "no such policy"); v.Text() != "" {
		t.Error(v)
	}
}

// TestWaysOfOthers: what other agents do keeps every request valid, the oracle misses
// nothing, and a summary is paid.
func TestWaysOfOthers(t *testing.T) {
	var all []replay.Policy
	for _, name := range []string{"everything", "opencode", "cline", "compact", "keep", "mask", "oracle"} {
		p, err := replay.ParsePolicy(name, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	r, _ := billed(t, 40, 30_000, 900)
	res := mustReplay(t, r, replay.Options{Policies: all, Limit: replay.Amount{Percent: 50}})
	price, _ := tokens.PriceOf(r.Model())
	for _, run := range res.Runs {
		if run.Refused != res.Runs[0].Refused {
			t.Errorf("%s: %v", run.Policy, run.Reasons)
		}
		if small := run.Policy == "cline" || run.Policy == "compact"; small && (run.Sent > 3*res.Runs[0].Sent/4 || run.Changed == 0) {
			t.Errorf("%s sends %d of %d tokens", run.Policy, run.Sent, res.Runs[0].Sent)
		}
		paid := 0.0
		for _, s := range run.Steps {
			paid += price.Cost(tokens.CacheOf(r.Model()), tokens.Usage{Input: s.Input, Read: s.Read, Written: s.Written, Output: s.Output})
		}
		if asked := run.Money > 1.0001*paid; asked != (run.Policy == "compact") {
			t.Errorf("%s: %.4f, its requests alone %.4f", run.Policy, run.Money, paid)
		}
		if run.Policy == "oracle" && run.Missed > 0 {
			t.Errorf("the oracle misses %d", run.Missed)
		}
	}
}
