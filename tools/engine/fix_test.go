package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/benchdata"
	"github.com/pare-llm/pare/internal/corpus"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// told contains everything that the methods of a plan return.
type told struct {
	json, text, receipt, out string
	events                   []pare.Event
	findings                 []wire.Finding
	edits                    []wire.Edit
	archived, decisions      int
	empty                    bool
	err                      string
}

func tellPlan(t *testing.T, p *pare.Plan) told {
	t.Helper()
	var receipt bytes.Buffer
	if err := p.WriteReceipt(&receipt); err != nil {
		t.Fatal(err)
	}
	j, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	s := told{
		json: string(j), text: p.String(), receipt: receipt.String(), events: p.Events(), findings: p.Remaining(), edits: p.Edits(),
		archived: len(p.Archive()), decisions: len(p.Decisions()), empty: p.Empty(),
	}
	out, err := p.Apply()
	if s.out = string(out); err != nil {
		s.err = err.Error()
	}
	return s
}

// TestFixIsTheZeroPolicy checks that Fix has the results of the zero policy, and that a later call
// does not change an earlier result.
func TestFixIsTheZeroPolicy(t *testing.T) {
	t.Parallel()
	type fixed struct {
		plan, by *pare.Plan
		want     told
	}
	var all []fixed
	clean := 0
	try := func(body []byte) {
		r, parseErr := pare.Parse(body)
		mine := bytes.Clone(body)
		out, plan, err := pare.Fix(mine)
		if parseErr != nil {
			if err == nil || err.Error() != parseErr.Error() || out != nil || plan != nil {
				t.Fatalf("error %v, want %v\n%s", err, parseErr, body)
			}
			return
		}
		p, planErr := new(pare.Policy).Plan(context.Background(), r)
		if planErr != nil {
			t.Fatal(planErr)
		}
		want := tellPlan(t, p)
		if string(out) != want.out || (err == nil) != (want.err == "") {
			t.Fatalf("came to %s, %v, want %s, %s", out, err, want.out, want.err)
		}
		if plan.Empty() && err == nil && &out[0] != &mine[0] {
			t.Fatal("nothing to do, and the bytes are not those that came in")
		}
		if got := tellPlan(t, plan); !reflect.DeepEqual(got, want) {
			t.Fatalf("the plan says\n%+v, want\n%+v\n%s", got, want, body)
		}
		if plan.Empty() {
			clean++
		}
		all = append(all, fixed{plan, p, want})
	}
	for _, z := range corpus.Zoo(t) {
		try(z.Body())
		try(z.Body()[:len(z.Body())/2])
	}
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 44))
		s := histories.Random(seed, histories.GenOptions{Turns: 2, Steps: 3})
		broken, _ := histories.Break(r, s)
		for _, d := range wire.Dialects() {
			try(s.Render(d, histories.RenderOptions{}))
			try(broken.Render(d, histories.RenderOptions{}))
		}
	}
	if clean == 0 || clean == len(all) {
		t.Fatalf("%d of %d were clean", clean, len(all))
	}
	for _, f := range all {
		if got := tellPlan(t, f.plan); !reflect.DeepEqual(got, f.want) {
			t.Fatalf("later the plan says\n%+v, want\n%+v", got, f.want)
		}
		for _, r := range [][2]*wire.Request{{f.plan.Result(), f.by.Result()}, {planner.RepairedRequest(f.plan), planner.RepairedRequest(f.by)}} {
			a, b := r[0].Transcript(), r[1].Transcript()
			same := bytes.Equal(a.Raw(), b.Raw()) && slices.Equal(a.Blocks(), b.Blocks()) && slices.Equal(a.Messages(), b.Messages()) && slices.Equal(a.Ties(), b.Ties())
			if !same || !slices.EqualFunc(a.Exchanges(), b.Exchanges(), func(x, y transcript.Exchange) bool { return reflect.DeepEqual(x, y) }) {
				t.Fatalf("the request is not what a policy comes to\n%s", b.Raw())
			}
		}
	}
}

// TestFixedBodyIsUsedAgain checks that the plan of a valid body does not need the body anymore.
func TestFixedBodyIsUsedAgain(t *testing.T) {
	body := []byte(`{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"hello"}]}`)
	_, plan, err := pare.Fix(body)
	if err != nil {
		t.Fatal(err)
	}
	clear(body)
	if got := plan.Events(); len(got) != 1 || got[0].Type != "tool_pair_validated" || got[0].Metadata.(pare.PairsChecked).TotalMessages != 1 {
		t.Errorf("events %+v", got)
	}
	j, err := json.Marshal(plan)
	if want := `{"dialect":"anthropic","profile":"anthropic","messages":[1,1],"bytes":[91,91],"changes":[],"left":[]}`; string(j) != want || err != nil {
		t.Errorf("%s, %v, want %s", j, err, want)
	}
	if !plan.Empty() || len(plan.Edits())+len(plan.Changes())+len(plan.Archive()) > 0 || plan.String() != "nothing to do\n" {
		t.Errorf("the plan does something: %s", plan)
	}
}

// TestCleanFixAllocatesNothingPerMessage: a clean body that is four times as long takes no more
// allocations, but for those by which lists grow.
func TestCleanFixAllocatesNothingPerMessage(t *testing.T) {
	allocations := func(body []byte) float64 {
		return testing.AllocsPerRun(20, func() {
			if _, _, err := pare.Fix(body); err != nil {
				t.Fatal(err)
			}
		})
	}
	for _, shape := range benchdata.Shapes {
		short, long := allocations(benchdata.Dense(shape, 113_000)), allocations(benchdata.Dense(shape, 452_000))
		if long > short+16 {
			t.Errorf("%s: %v allocations for 113 KB, %v for 452 KB", shape, short, long)
		}
	}
}
