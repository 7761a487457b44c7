package pare_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/benchdata"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// fickle is a rule that changes its mind about some blocks as a history grows: about block b at
// every request whose number of messages has a remainder that b decides. It may go on.
func fickle(name string, seed uint64, goesOn bool, kinds int) pare.Rule {
	say := func(b *pare.Ballot, t *transcript.Transcript, id, messages int) {
		about := rand.New(rand.NewPCG(seed, uint64(id)))
		turn := (messages + about.IntN(20)) / 20 // when it changes its mind
		rng := rand.New(rand.NewPCG(uint64(turn), about.Uint64()))
		switch rng.IntN(8) {
		case 0:
			b.Protect(t.AtomOf(transcript.BlockID(id)), "block %d, turn %d", id, turn)
		case 1, 2, 3:
			b.Edit(transcript.BlockID(id), strings.Repeat("x", rng.IntN(9)), "block %d, turn %d", id, turn)
		case 4:
			if kinds > 2 {
				b.Drop(t.AtomOf(transcript.BlockID(id)), "block %d, turn %d", id, turn)
			}
		}
	}
	return pare.Rule{Name: name, Doc: name, Prepare: func(r *wire.Request) (pare.Process, error) {
		return func(b *pare.Ballot) {
			t := r.Transcript()
			was, ok := b.Since()
			if !ok || !goesOn {
				for id := range t.Blocks() {
					say(b, t, id, len(t.Messages()))
				}
				return
			}
			b.GoOn()
			// What it says of an atom as a whole goes with any of its blocks.
			for _, atom := range t.Atoms() {
				same := true
				for _, id := range atom.Blocks {
					n := rand.New(rand.NewPCG(seed, uint64(id))).IntN(20)
					same = same && int(id) < was.Blocks && (was.Messages+n)/20 == (len(t.Messages())+n)/20
				}
				for _, id := range atom.Blocks {
					if !same {
						b.Withdraw(id)
						say(b, t, int(id), len(t.Messages()))
					}
				}
			}
		}, nil
	}}
}

// TestGoOn: whether rules go on from what they said of the request before or not, all of
// them or some, what is decided, and why, is what a plan without a past decides.
func TestGoOn(t *testing.T) {
	edited := 0
	for _, shape := range benchdata.Shapes {
		whole, err := wire.Parse(benchdata.Dense(shape, 60_000), wire.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(4) {
			begins, err := whole.Beginnings(wire.Options{Structural: true})
			if err != nil {
				t.Fatal(err)
			}
			kinds := 2 + int(seed%2) // with drops every second time
			rules := compile(t, fickle("a", seed, true, kinds), fickle("b", seed+100, false, 2), fickle("c", seed+200, true, 2))
			past := &pare.Past{Lend: true}
			rng := rand.New(rand.NewPCG(seed, 3))
			for n := 1; n <= len(whole.Transcript().Messages()); n += 1 + rng.IntN(3) {
				q, err := begins.At(n)
				if err != nil {
					t.Fatal(err)
				}
				fresh, err := wire.Parse(append([]byte{}, q.Raw()...), wire.Options{Dialect: whole.Dialect, Structural: true})
				if err != nil {
					t.Fatal(err)
				}
				got, want := wholePlan(t, rules, q, pare.Options{Past: past}), wholePlan(t, rules, fresh, pare.Options{})
				if got != want {
					t.Fatalf("%s, seed %d, %d messages:\n%s\nwithout a past:\n%s", shape, seed, n, got, want)
				}
				edited += strings.Count(got, `"action":"edit"`)
			}
		}
	}
	if edited < 1000 {
		t.Errorf("only %d edits", edited)
	}
}

// wholePlan is everything that there is to know of a plan.
func wholePlan(t *testing.T, rules *pare.Pipeline, r *wire.Request, o pare.Options) string {
	t.Helper()
	plan, err := rules.Plan(r, o)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s %+v %s", text, plan.Decisions(), plan.Result().Raw())
}
