package engine

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/internal/planner"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// historyCount returns how many random histories to try: a million in a soak, and a thousand in a
// short run: tests take as little as a five-hundredth of them.
func historyCount(t testing.TB) int {
	t.Helper()
	switch {
	case trial.Soak(), testing.Short(), trial.Race:
		return trial.Histories(10_000)
	}
	return trial.Histories(2_000)
}

// mayStay are the faults that no repair tries: see the wire package's tests.
var mayStay = []string{"compaction-misplaced", "duplicate-compaction", "state-conflict", "body-too-large", "too-many-messages"}

// hostile votes at random, edits at random and contradicts itself.
func hostile(name string, seed uint64) pare.Rule {
	return pare.Rule{
		Name: name, Doc: "votes at random",
		Prepare: func(r *wire.Request) (pare.Process, error) {
			t := r.Transcript()
			return func(b *pare.Ballot) {
				rnd := rand.New(rand.NewPCG(seed, uint64(len(t.Blocks()))))
				for range len(t.Atoms()) {
					a := transcript.AtomID(rnd.IntN(len(t.Atoms())+2) - 1)
					switch rnd.IntN(8) {
					case 0, 1:
						b.Drop(a, "at random")
					case 2:
						b.Protect(a, "at random")
					case 3:
						b.Edit(transcript.BlockID(rnd.IntN(len(t.Blocks())+2)-1), strings.Repeat("x", rnd.IntN(5)), "at random")
					case 4:
						b.Needs(a, transcript.AtomID(rnd.IntN(len(t.Atoms()))))
					case 5:
						b.Together(a, transcript.AtomID(rnd.IntN(len(t.Atoms()))))
					case 6:
						b.Drop(a, "and")
						b.Protect(a, "its contrary")
					}
				}
			}, nil
		},
	}
}

// A history is one random conversation as a body.
func history(seed uint64) (wire.Dialect, []byte, []string) {
	rnd := rand.New(rand.NewPCG(seed, 7))
	s := histories.Random(seed, histories.GenOptions{})
	var did []string
	for range rnd.IntN(4) {
		var what []string
		s, what = histories.Break(rnd, s)
		did = append(did, what...)
	}
	d := wire.Dialects()[rnd.IntN(5)]
	return d, s.Render(d, histories.RenderOptions{}), did
}

// seeded is a random history, and its name.
func seeded(t *testing.T, seed uint64) (name string, r *wire.Request) {
	t.Helper()
	d, body, did := history(seed)
	name = fmt.Sprintf("seed %d, %s, %v", seed, d, did)
	r, err := wire.Parse(body, wire.Options{Dialect: d})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return name, r
}

// TestRelations: on random histories, whole and broken, in every dialect: what
// comes out is clean, what was protected and what users said is there, nothing
// outside of the plan changed, a second run changes nothing, and the order in which
// rules are given does not matter.
func TestRelations(t *testing.T) {
	n := historyCount(t)
	broken, changed := 0, 0
	for i := range n {
		seed := uint64(i)
		name, r := seeded(t, seed)
		if len(r.Check(wire.CheckOptions{})) > 0 {
			broken++
		}
		p := compile(t, hostile("a", seed), hostile("b", seed+1), lastMessages(3))
		plan, err := planner.Prune(context.Background(), p, r, pare.Options{})
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, r.Raw())
		}
		if !plan.Empty() {
			changed++
		}
		relations(t, name, r, plan)
		twice(t, name, plan)
		if i%4 == 0 {
			q := compile(t, lastMessages(3), hostile("b", seed+1), hostile("a", seed))
			other, err := planner.Prune(context.Background(), q, r, pare.Options{})
			if err != nil || !bytes.Equal(other.Result().Raw(), plan.Result().Raw()) {
				t.Errorf("%s: rules in another order give other bytes (%v)", name, err)
			}
		}
		if t.Failed() {
			t.Fatalf("%s\n%s\nplan:\n%s", name, r.Raw(), plan)
		}
	}
	t.Logf("%d histories, %d broken, %d changed", n, broken, changed)
}

func compile(t testing.TB, rules ...pare.Rule) *pare.Pipeline {
	t.Helper()
	p, err := pare.Compile(rules...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// lastMessages protects the last n messages.
func lastMessages(n int) pare.Rule {
	return pare.Rule{
		Name: "last", Doc: "protect the last messages",
		Prepare: func(r *wire.Request) (pare.Process, error) {
			return func(b *pare.Ballot) {
				t := r.Transcript()
				for id, blk := range t.Blocks() {
					if blk.Message >= len(t.Messages())-n {
						b.Protect(t.AtomOf(transcript.BlockID(id)), "one of the last messages")
					}
				}
			}, nil
		},
	}
}

// relations checks one plan.
func relations(t *testing.T, name string, in *wire.Request, plan *pare.Plan) {
	t.Helper()
	out := plan.Result()
	for _, f := range out.Check(wire.CheckOptions{}) {
		if !slices.Contains(mayStay, f.Rule) && len(in.Transcript().Messages()) > 0 {
			t.Errorf("%s: the result is refused: %s at %s", name, f.Rule, f.Path)
		}
	}
	raw := out.Raw()
	repaired := planner.RepairedRequest(plan).Transcript()
	for _, dec := range plan.Decisions() {
		if !dec.Protected {
			continue
		}
		for _, b := range repaired.Atoms()[dec.Atom].Blocks {
			blk := repaired.Block(b)
			if blk.Kind == transcript.Thinking || len(bytes.TrimSpace(repaired.Bytes(blk.Body))) == 0 {
				continue // thinking may have to go with what it was bound to
			}
			if !bytes.Contains(raw, repaired.Bytes(blk.Body)) {
				t.Errorf("%s: protected block %s is lost or changed", name, planner.RepairedRequest(plan).Path(b))
			}
		}
	}
	for _, dec := range plan.Decisions() {
		if dec.Action != wire.ActionKeep {
			continue
		}
		for _, b := range repaired.Atoms()[dec.Atom].Blocks {
			if blk := repaired.Block(b); blk.Kind == transcript.Text && repaired.Messages()[blk.Message].Role == transcript.User && !bytes.Contains(raw, repaired.Bytes(blk.Body)) {
				t.Errorf("%s: the user's text %s is lost", name, planner.RepairedRequest(plan).Path(b))
			}
		}
	}
	kept(t, name, in, plan)
	if plan.Empty() && &raw[0] != &in.Raw()[0] {
		t.Errorf("%s: nothing to do, but another buffer", name)
	}
}

// kept checks that a repair keeps the words of users and real results, except for duplicates.
func kept(t *testing.T, name string, in *wire.Request, plan *pare.Plan) {
	t.Helper()
	var all strings.Builder
	after := planner.RepairedRequest(plan).Transcript()
	for b := range after.Blocks() {
		all.WriteString(planner.RepairedRequest(plan).Text(transcript.BlockID(b)))
		all.WriteByte('\n')
	}
	said := all.String()
	before := in.Transcript()
	twins := make(map[string]bool)
	for _, c := range plan.Changes() {
		if c.Action == "drop" && (c.Rule == "duplicate-result" || c.Rule == "duplicate-call-id") {
			twins[c.Path] = true
		}
	}
	for b, blk := range before.Blocks() {
		text := strings.TrimSpace(in.Text(transcript.BlockID(b)))
		role := before.Messages()[blk.Message].Role
		switch {
		case text == "" || twins[in.Path(transcript.BlockID(b))]:
		case blk.Kind == transcript.Text && role == transcript.User && !strings.Contains(said, text):
			t.Errorf("%s: repair lost what the user said at %s: %q", name, in.Path(transcript.BlockID(b)), text)
		case blk.Kind == transcript.Result && !dialect.IsSynthetic(text) && !strings.Contains(said, text):
			t.Errorf("%s: repair lost the result at %s: %q", name, in.Path(transcript.BlockID(b)), text)
		}
	}
}

// twice checks that repairing the result changes nothing.
func twice(t *testing.T, name string, plan *pare.Plan) {
	t.Helper()
	again, err := planner.Repair(context.Background(), plan.Result(), pare.Options{})
	if err != nil {
		t.Errorf("%s: %v", name, err)
	} else if !again.Empty() {
		t.Errorf("%s: a second repair changes the result:\n%s", name, again)
	}
}
