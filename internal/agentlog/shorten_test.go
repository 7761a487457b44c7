package agentlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/summary"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A cut is a way to shorten a session in tests.
type cut struct {
	name   string
	policy func(limit int) *pare.Policy
}

var cuts = []cut{
	{"trim", func(limit int) *pare.Policy {
		return &pare.Policy{Window: &pare.Window{Tokens: limit, AllowTiny: true}}
	}},
	{"prune", func(int) *pare.Policy {
		p, err := pare.Compile(rules.Standard()...)
		if err != nil {
			panic(err)
		}
		return &pare.Policy{Rules: p}
	}},
	{"compact", func(int) *pare.Policy {
		return &pare.Policy{Compact: &pare.Compactor{Summarize: summary.Extract(summary.ExtractOptions{}), MinKeep: 3}}
	}},
}

// shortens checks the promises for a shortened session. It reports whether anything was written or
// shortening was not possible, and the violated promises. Shorten itself reverts a result that
// differs from the plan.
func shortens(client, name string, raw []byte, c cut) (wrote, gaveUp bool, faults []string) {
	l, err := Read(name, raw, Options{})
	if err != nil || len(l.Sent()) == 0 {
		return false, false, nil
	}
	bad := func(format string, args ...any) { faults = append(faults, c.name+": "+fmt.Sprintf(format, args...)) }
	fixed, err := l.Fix(Options{})
	if err != nil {
		return false, false, nil
	}
	limit := 0
	var want *wire.Request
	plan := func(t *Thread, s Size) (*pare.Plan, error) {
		if limit == 0 {
			limit = max(t.Request.Tokens(tokens.For(t.Request.Model()))*2/3, 60)
		}
		p, err := c.policy(limit).Plan(context.Background(), t.Request)
		if err == nil && want == nil {
			want = p.Result()
		}
		return p, err
	}
	short, err := l.Shorten(Options{}, plan)
	var small *pare.WindowTooSmall
	var failed *pare.CompactionError
	switch {
	case errors.As(err, &small), errors.As(err, &failed):
		return false, false, nil
	case errors.Is(err, ErrShorten):
		return false, true, nil
	case err != nil:
		bad("%v", err)
		return false, false, faults
	}
	if bytes.Equal(short.Raw, fixed.Raw) {
		return false, false, faults
	}
	if f := l.Format; (f == ClaudeCode || f == Codex || f == Pi || f == GeminiCLI && l.lists == nil) && !bytes.HasPrefix(short.Raw, bytes.TrimRight(fixed.Raw, "\r\n")) {
		bad("lines that were there have changed")
	}
	after, err := Read(name, short.Raw, Options{})
	if err != nil {
		bad("%v", err)
		return true, false, faults
	}
	had := refusals(fixed.Remaining)
	for _, f := range after.Check(wire.CheckOptions{}) {
		if f.Effect == Refused && had == 0 {
			bad("%s in line %d: %s", f.Rule, f.Line, f.Message)
		}
	}
	sent := after.Sent()[0]
	if n := sent.Stored().Tokens(tokens.For(sent.Request.Model())); c.name == "trim" && n > limit {
		bad("%d tokens are sent, and the limit is %d", n, limit)
	}
	const asked = "user text  " + promptText + "\n"
	if got, planned := strings.TrimSuffix(saidIn(sent.Request), asked), strings.TrimSuffix(saidIn(want), asked); got != planned {
		bad("what is sent is not what was planned:\n%s\nplanned:\n%s", got, planned)
	}
	if client != "" {
		if left := unpaired(goesOn(client, string(short.Raw)).pairs); left != "" && had == 0 {
			bad("the agent sends half a pair: %s", left)
		}
	}
	again, err := after.Shorten(Options{}, plan)
	if errors.As(err, &failed) {
		return true, false, faults
	}
	if err != nil || !bytes.Equal(again.Raw, short.Raw) {
		bad("a second run changes it: %v", err)
	}
	return true, false, faults
}

func refusals(all []Finding) (n int) {
	for _, f := range all {
		if f.Effect == Refused {
			n++
		}
	}
	return n
}

// saidIn returns the blocks of a request, one per line.
func saidIn(r *wire.Request) string {
	var b strings.Builder
	tr := r.Transcript()
	for id := range tr.Blocks() {
		blk := tr.Blocks()[id]
		fmt.Fprintf(&b, "%s %s %s %s\n", tr.Messages()[blk.Message].Role, blk.Kind, blk.CallID, r.Text(transcript.BlockID(id)))
	}
	return b.String()
}

// TestShortenRandom shortens random sessions of all agents, intact and damaged, in every way. The
// agent sends the planned result, which fits and has no fault; existing lines are unchanged; and a
// second run changes nothing.
func TestShortenRandom(t *testing.T) {
	for _, client := range slices.Sorted(maps.Keys(generators)) {
		t.Run(client, func(t *testing.T) {
			wrote := map[string]int{}
			for n := range trial.Histories(50) {
				seed := trial.FirstSeed() + uint64(n)
				r := rand.New(rand.NewPCG(29, seed))
				s := &sessionGenerator{r: r}
				generators[client].write(s)
				raw := joinLines(s.lines)
				damaged := r.IntN(3) == 0
				if damaged {
					raw = corruptions[r.IntN(len(corruptions))].hit(r, raw, raw)
				}
				for _, c := range cuts {
					did, gaveUp, faults := shortens(client, generators[client].file, []byte(raw), c)
					if did {
						wrote[c.name]++
					}
					if gaveUp && !damaged {
						t.Errorf("seed %d: %s: nothing is wrong with it, and it cannot be made shorter", seed, c.name)
					}
					if len(faults) > 0 {
						t.Fatalf("seed %d: %s\n%.400s", seed, strings.Join(faults, "\n"), raw)
					}
				}
			}
			if wrote["trim"] == 0 || wrote["compact"] == 0 {
				t.Errorf("too little was shortened: %v", wrote)
			}
		})
	}
}

// TestShortenCorpus shortens the sessions of the corpus.
func TestShortenCorpus(t *testing.T) {
	wrote := map[string]int{}
	for _, s := range samples(t, "claude_code", "codex_rollout", "pi_session", "gemini_cli", "cline") {
		if testing.Short() && len(s.raw) > 1<<20 {
			continue
		}
		for _, c := range cuts {
			did, _, faults := shortens("", s.name, s.raw, c)
			if did {
				wrote[strings.Split(s.name, "/")[0]+" "+c.name]++
			}
			if len(faults) > 0 {
				t.Errorf("%s: %.3000s", s.name, strings.Join(faults, "\n"))
			}
		}
	}
	t.Log(wrote)
}

// TestRescueGemini checks that a full session of Gemini CLI is shortened to less than half, because
// Gemini CLI compacts a session that is more than half full.
func TestRescueGemini(t *testing.T) {
	var b strings.Builder
	b.WriteString(headed()[GeminiCLI].lines[0])
	for i := range 40 {
		fmt.Fprintf(&b, `{"id":"u%d","timestamp":"2026-01-01T00:00:00.000Z","type":"user","content":"prompt %d %s"}`+"\n", i, i, strings.Repeat("several words of a log. ", 1000))
		fmt.Fprintf(&b, `{"id":"g%d","timestamp":"2026-01-01T00:00:00.000Z","type":"gemini","content":"answer","model":"gemma-3-27b-it"}`+"\n", i)
	}
	l := mustRead(t, headed()[GeminiCLI].name, []byte(b.String()))
	limit, over := l.Size(l.Sent()[0]).Limits()
	short, err := l.Shorten(Options{}, Rescue)
	if err != nil || !over {
		t.Fatal(over, err)
	}
	after := mustRead(t, headed()[GeminiCLI].name, short.Raw)
	if s := after.Size(after.Sent()[0]); s.Tokens > limit*2/5 || s.Tokens < limit/5 {
		t.Errorf("%d of %d tokens", s.Tokens, limit)
	}
}

// TestRescue checks that a full session is shortened to half of the available room, that its old
// lines stay, and that their recorded counts no longer apply.
func TestRescue(t *testing.T) {
	f := new(ccFile).user("Add a discount code to the checkout")
	for i := range 60 {
		id := fmt.Sprintf("toolu_%d", i)
		f.call(id, "Bash").result(id, strings.Repeat(fmt.Sprintf("line %d of the log of the tests\n", i), 300)).assistant(fmt.Sprintf("Part %d is done.", i), 20_000+3_000*i, 9).user(fmt.Sprintf("Now part %d", i+1))
	}
	f.user("And this log: " + strings.Repeat("error in the file. ", 9000))
	l := mustRead(t, "s.jsonl", []byte(f.String()))
	if !Broken(l.Check(wire.CheckOptions{})) {
		t.Fatal("it is not full")
	}
	room, _ := l.Size(l.Sent()[0]).Limits()
	short, err := l.Shorten(Options{}, Rescue)
	if err != nil || len(short.Remaining) > 0 {
		t.Fatal(err, short)
	}
	if !bytes.HasPrefix(short.Raw, l.Raw()) {
		t.Error("what was there has changed")
	}
	after := mustRead(t, "s.jsonl", short.Raw)
	s := after.Size(after.Sent()[0])
	if _, over := s.Limits(); over || s.Over() || s.Recorded > 0 || s.Tokens > room/2 {
		t.Errorf("%+v, the room was %d", s, room)
	}
	said := saidIn(after.Sent()[0].Request)
	for _, want := range []string{"Add a discount code", "And this log"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not sent", want)
		}
	}
	if again, err := after.Shorten(Options{}, Rescue); err != nil || !bytes.Equal(again.Raw, short.Raw) {
		t.Error("a second run changes it", err)
	}
	if fixed, err := after.Fix(Options{}); err != nil || len(fixed.Changes) > 0 {
		t.Error("there is something to repair", err, fixed)
	}
}
