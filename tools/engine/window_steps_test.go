package engine

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// steep is a history on which every rung has something to do.
func steep() string {
	var b strings.Builder
	for i := range 8 {
		size := 700
		if i%3 == 1 {
			size = 30_000
		}
		fmt.Fprintf(&b, `user "question %d" | say "I look." | call c%d Write {"path":"f%d","content":"%s"} | result c%d "out%d %s" | say "answer %d" | `,
			i, i, i, strings.Repeat("arg ", 10+i%4/3*6000), i, i, strings.Repeat("lorem ", size/6), i)
	}
	return b.String() + `user "the last question" | call z Read big | result z "newest ` + strings.Repeat("ipsum ", 8000) + `"`
}

// ladder has the rungs from gentle to harsh.
var ladder = []string{"rules", "clear-results", "shorten", "drop-exchanges", "drop-turns", "squeeze"}

// gentler reports whether a step comes before another one.
func gentler(rung, than string) bool { return slices.Index(ladder, rung) < slices.Index(ladder, than) }

// TestWindowStepsInOrder checks that steps are taken in order and only as far as needed, that the
// plan reports them, and that every receipt names its step and an existing path.
func TestWindowStepsInOrder(t *testing.T) {
	everywhere(t, steep(), func(t *testing.T, d wire.Dialect, body []byte) {
		r := reading(t, d, body)
		total := size("tokens", r)
		paths := make(map[string]bool)
		for b := range r.Transcript().Blocks() {
			paths[r.Path(transcript.BlockID(b))] = true
		}
		var seen []string
		changed := 0
		stride := total / min(300, max(60, trial.Size(120)))
		for l := total - 1; l > 0; l -= max(1, stride) {
			plan, small := fitted(t, fmt.Sprintf("tokens %d", l), d, body, pare.Window{Tokens: l, Recent: 4})
			if small != nil {
				break
			}
			top := plan.WindowSteps()[len(plan.WindowSteps())-1].Name
			if top == "drop-exchanges" {
				stride = total / min(2000, max(400, trial.Size(800))) // the turns themselves are short
			}
			if len(seen) == 0 && (top != "clear-results" || plan.WindowSteps()[0].Changes != 1) {
				t.Errorf("a token too many: %+v, want one result cleared", plan.WindowSteps())
			}
			if n := len(seen); n == 0 || seen[n-1] != top {
				if n > 0 && gentler(top, seen[n-1]) {
					t.Fatalf("tokens %d: rung %s, a larger window needed %s", l, top, seen[n-1])
				}
				seen = append(seen, top)
			}
			checkReceipts(t, plan, paths)
			sum := 0
			for _, c := range plan.WindowSteps() {
				sum += c.Changes
			}
			if sum < changed {
				t.Fatalf("tokens %d: %d changes, a larger window needed %d", l, sum, changed)
			}
			changed = sum
			us := utterances(t, d, plan.Result().Raw())
			switch {
			case gentler(top, "drop-exchanges"):
				if len(heard(us, "call")) != 9 || !holds(heard(us, "user"), "question 1") {
					t.Fatalf("tokens %d: something is dropped on rung %s", l, top)
				}
			case gentler(top, "drop-turns"):
				if !holds(heard(us, "user"), "question 1") || !holds(heard(us, "assistant"), "answer 1") {
					t.Fatalf("tokens %d: a turn is dropped on rung %s", l, top)
				}
			case gentler(top, "squeeze"):
				if got := answerTo(us, "big"); len(got) != 1 || len(got[0]) < 1024 {
					t.Fatalf("tokens %d: what is pinned is squeezed on rung %s: %.100q", l, top, got)
				}
			}
		}
		if want := ladder[1:]; !slices.Equal(seen, want) {
			t.Errorf("rungs %v, want %v", seen, want)
		}
	})
}

// checkReceipts checks that the changes of a plan agree with its steps, and that they name blocks
// of the input.
func checkReceipts(t *testing.T, plan *pare.Plan, paths map[string]bool) {
	t.Helper()
	by := make(map[string]int)
	for _, c := range plan.Changes() {
		by[c.Rule]++
		if c.Action != "insert" && !paths[c.Path] && !strings.Contains(c.Path, ".") {
			t.Fatalf("a receipt for %q, which is nowhere: %+v", c.Path, c)
		}
		for _, rung := range plan.WindowSteps() {
			if c.Rule == rung.Name && (!paths[c.Path] || c.Reason == "" || c.Tokens >= 0 || c.Bytes >= 0) {
				t.Fatalf("receipt %+v", c)
			}
		}
	}
	for _, c := range plan.WindowSteps() {
		if by[c.Name] != c.Changes {
			t.Fatalf("rung %s: %d changes, %d receipts\n%s", c.Name, c.Changes, by[c.Name], plan)
		}
	}
}

// keptCalls lists which of the calls c0, c1, … are left, by their paths.
func keptCalls(t *testing.T, d wire.Dialect, plan *pare.Plan, n int) (kept []int) {
	t.Helper()
	calls := heard(utterances(t, d, plan.Result().Raw()), "call")
	for i := range n {
		if holds(calls, fmt.Sprintf(`file%d"`, i)) {
			kept = append(kept, i)
		}
	}
	return kept
}

// TestMinKeep: the last messages stay byte for byte, whatever the limit.
func TestMinKeep(t *testing.T) {
	everywhere(t, steep(), func(t *testing.T, d wire.Dialect, body []byte) {
		r := reading(t, d, body)
		msgs := r.Transcript().Messages()
		total := size("tokens", r)
		for _, keep := range []int{1, 2, 3, 5, 9} {
			fits := 0
			for l := total; l > 0; l -= max(1, total/12) {
				plan, small := fitted(t, fmt.Sprintf("keep %d, tokens %d", keep, l), d, body, pare.Window{Tokens: l, MinKeep: keep})
				if small != nil {
					break
				}
				fits++
				raw := plan.Result().Raw()
				for _, m := range msgs[len(msgs)-keep:] {
					for b := m.First; b < m.End; b++ {
						if !bytes.Contains(raw, r.Transcript().Bytes(r.Transcript().Block(b).Span)) {
							t.Fatalf("keep %d, tokens %d: %s is lost or changed", keep, l, r.Path(b))
						}
					}
				}
			}
			if fits < 2 {
				t.Errorf("keep %d: nothing tried", keep)
			}
		}
		plan, small := fitted(t, "messages", d, body, pare.Window{Messages: len(msgs) - 4, MinKeep: 5})
		if small != nil {
			t.Fatal(small)
		}
		out := plan.Result().Transcript()
		for i := 1; i <= 4; i++ { // the fifth may have got a neighbour
			a, b := msgs[len(msgs)-i], out.Messages()[len(out.Messages())-i]
			if !bytes.Equal(r.Transcript().Bytes(a.Span), out.Bytes(b.Span)) {
				t.Errorf("message %d from the end is changed", i)
			}
		}
	})
}

// TestSeveralLimits: limits that are given together hold together; raising the one that
// is too small to its minimum gets there in the end.
func TestSeveralLimits(t *testing.T) {
	for seed := range uint64(historyCount(t) / 200) {
		rnd := rand.New(rand.NewPCG(seed, 5))
		d := wire.Dialects()[rnd.IntN(5)]
		body := histories.Random(seed, histories.GenOptions{Turns: 1 + rnd.IntN(8), Steps: 8}).Render(d, histories.RenderOptions{})
		some := func(u string) int {
			if rnd.IntN(3) == 0 {
				return 0
			}
			return 1 + rnd.IntN(sizeOf(t, d, u, body)+1)
		}
		w := pare.Window{Tokens: 1 + rnd.IntN(sizeOf(t, d, "tokens", body)), Messages: some("messages"), Exchanges: some("exchanges"), Turns: some("turns")}
		name := fmt.Sprintf("seed %d, %s, %d tokens, %d messages, %d exchanges, %d turns", seed, d, w.Tokens, w.Messages, w.Exchanges, w.Turns)
		raised := 0
		for {
			_, small := fitted(t, name, d, body, w)
			if small == nil {
				break
			}
			if raised++; raised > 8 {
				t.Fatalf("%s: still too small: %v", name, small)
			}
			limit := map[string]*int{"tokens": &w.Tokens, "messages": &w.Messages, "exchanges": &w.Exchanges, "turns": &w.Turns}[small.Unit]
			if small.Minimum <= *limit || small.Limit != *limit {
				t.Fatalf("%s: %+v", name, small)
			}
			*limit = small.Minimum - 1
			if _, again := fitted(t, name, d, body, w); *limit > 0 && (again == nil || again.Unit != small.Unit || again.Minimum != small.Minimum) {
				t.Fatalf("%s: %+v, and with one less than the minimum %+v", name, small, again)
			}
			*limit = small.Minimum
		}
	}
}

// TestRulesStep checks that rules vote only if a request does not fit, and before all other steps.
func TestRulesStep(t *testing.T) {
	everywhere(t, loop(10, 1200), func(t *testing.T, d wire.Dialect, body []byte) {
		asked := 0
		rules := compile(t, voting("third", func(b *pare.Ballot, r *wire.Request) {
			asked++
			for id, blk := range r.Transcript().Blocks() {
				if blk.Kind == transcript.Call && strings.Contains(string(wire.Arguments(r.Transcript(), transcript.BlockID(id))), `file3"`) {
					b.Drop(r.Transcript().AtomOf(transcript.BlockID(id)), "the third is moot")
				}
			}
		}))
		total := sizeOf(t, d, "tokens", body)
		plan, small := fitted(t, "fits", d, body, pare.Window{Tokens: total, Rules: rules})
		if small != nil || !plan.Empty() || asked > 0 {
			t.Errorf("all fits: asked %d times, %v, %s", asked, small, plan)
		}
		plan, small = fitted(t, "a little", d, body, pare.Window{Tokens: total - 1, Rules: rules})
		if small != nil || asked == 0 {
			t.Fatalf("asked %d times, %v", asked, small)
		}
		if len(plan.WindowSteps()) != 1 || plan.WindowSteps()[0] != (pare.WindowStep{Name: "rules", Changes: 2}) {
			t.Errorf("rungs %+v, want the rules only, which drop a call and its result", plan.WindowSteps())
		}
		if got := keptCalls(t, d, plan, 10); slices.Contains(got, 3) || len(got) != 9 {
			t.Errorf("kept %v", got)
		}
		if !slices.ContainsFunc(plan.Changes(), func(c wire.Change) bool { return c.Rule == "third" && c.Reason == "the third is moot" }) {
			t.Errorf("no receipt in the rule's words:\n%s", plan)
		}
		plan, small = fitted(t, "more", d, body, pare.Window{Tokens: total / 2, Rules: rules})
		if small != nil || len(plan.WindowSteps()) < 2 || plan.WindowSteps()[0].Name != "rules" {
			t.Errorf("%v, rungs %+v, want the rules first", small, plan.WindowSteps())
		}
	})
}

// TestProtectIsPin checks that content that a rule protects stays unchanged at every limit that
// works.
func TestProtectIsPin(t *testing.T) {
	everywhere(t, loop(10, 1200), func(t *testing.T, d wire.Dialect, body []byte) {
		rules := compile(t, voting("second", func(b *pare.Ballot, r *wire.Request) {
			x := r.Transcript().Exchanges()[2]
			b.Protect(r.Transcript().AtomOf(x.Call), "the plan of the work")
		}))
		r := reading(t, d, body)
		x := r.Transcript().Exchanges()[2]
		least := 0
		for l := size("tokens", r); l > 0; l -= 25 {
			plan, small := fitted(t, fmt.Sprintf("tokens %d", l), d, body, pare.Window{Tokens: l, Rules: rules})
			if small != nil {
				least = small.Minimum
				break
			}
			for _, b := range append([]transcript.BlockID{x.Call}, x.Results...) {
				if !bytes.Contains(plan.Result().Raw(), r.Transcript().Bytes(r.Transcript().Block(b).Span)) {
					t.Fatalf("tokens %d: protected, but lost or changed: %s", l, r.Path(b))
				}
			}
		}
		_, small := fitted(t, "without", d, body, pare.Window{Tokens: 1})
		if small == nil || least < small.Minimum+300 {
			t.Errorf("the least window is %d with a result of 300 tokens protected, and %+v without", least, small)
		}
		for _, w := range []pare.Window{{Messages: 5}, {Exchanges: 2}} {
			w.Rules = rules
			plan, small := fitted(t, "other units", d, body, w)
			if small != nil {
				t.Fatal(small)
			}
			if got := keptCalls(t, d, plan, 10); !slices.Equal(got, []int{2, 9}) {
				t.Errorf("%+v: kept %v, want the protected and the newest", w, got)
			}
		}
	})
}

// TestTogetherInWindow checks that atoms that a rule ties together are kept or dropped together in
// every step.
func TestTogetherInWindow(t *testing.T) {
	everywhere(t, chain(9), func(t *testing.T, d wire.Dialect, body []byte) {
		rules := compile(t, voting("tied", func(b *pare.Ballot, r *wire.Request) {
			x := r.Transcript().Exchanges()
			b.Together(r.Transcript().AtomOf(x[1].Call), r.Transcript().AtomOf(x[6].Call))
		}))
		for l := 1; l < 9; l++ {
			plan, small := fitted(t, fmt.Sprintf("exchanges %d", l), d, body, pare.Window{Exchanges: l, Rules: rules})
			if small != nil {
				continue
			}
			if got := keptCalls(t, d, plan, 9); slices.Contains(got, 1) != slices.Contains(got, 6) {
				t.Errorf("exchanges %d: kept %v: 1 and 6 are tied", l, got)
			}
		}
	})
}

// TestStableRules checks a stable window with rules, prices and a tail that stays: until a trim,
// each request begins with the bytes of the previous one, because rules decide about earlier
// requests by their history.
func TestStableRules(t *testing.T) {
	standard := compile(t, rules.Standard()...)
	for _, d := range wire.Dialects() {
		t.Run(d.String(), func(t *testing.T) {
			n, trims, holds := max(historyCount(t)/500, 3), 0, 0
			for seed := range uint64(n) {
				s := histories.Random(seed, histories.GenOptions{Turns: 1 + int(seed%9), Steps: 10})
				for i := range s { // some results that are worth clearing
					if s[i].Op == histories.Result && (i+int(seed))%3 == 0 {
						s[i].Text += strings.Repeat(" lorem ipsum", 30+i%50)
					}
				}
				body := s.Render(d, histories.RenderOptions{})
				total := sizeOf(t, d, "tokens", body)
				w := pare.Window{Tokens: total * 3 / 5, Low: total / 3, Rules: standard, MinKeep: int(seed % 3)}
				if seed%2 == 0 {
					w.Cache = tokens.CacheOf("claude-sonnet-4-5")
				}
				a, b := stableGrowth(t, fmt.Sprintf("seed %d", seed), reading(t, d, body), w)
				trims, holds = trims+a, holds+b
			}
			if 8*trims < n || holds < trims {
				t.Errorf("%d trims and %d requests between them in %d histories", trims, holds, n)
			}
		})
	}
}

// stableGrowth sends each request that led to a history through a stable window.
func stableGrowth(t *testing.T, name string, r *wire.Request, w pare.Window) (trims, holds int) {
	t.Helper()
	var before *pare.Plan
	for i, q := range requests(t, r) {
		if fixed, err := planner.Repair(context.Background(), q, pare.Options{}); err != nil || !fixed.Empty() {
			before = nil
			continue // a cut of the test's making, not an agent's request
		}
		plan := madeToFit(t, fmt.Sprintf("%s, request %d", name, i), q, w)
		if plan == nil {
			before = nil
			continue
		}
		switch {
		case before == nil:
		case len(plan.Batches()) != len(before.Batches()):
			trims++
		default:
			holds++
			a, b := before.Result().Raw(), plan.Result().Raw()
			if n := shared(a, b); n < listEnd(before.Result())-2 { // a list of blocks may go on
				t.Fatalf("%s, request %d: the prefix changed at %d of %d without a batch\n%.300s\n%.300s", name, i, n, len(a), a[max(n-100, 0):], b[max(n-100, 0):])
			}
		}
		before = plan
	}
	return trims, holds
}

// dear are prices at which rewriting hardly ever pays.
type dear struct{}

func (dear) PaysAfter(removed, kept int) int { return 8 * kept / max(removed, 1) }

// TestStableKeepsTail checks a history whose pins change between requests. Dropping its beginning
// adds a filler that no estimate counts, so that the window has to be fitted again.
func TestStableKeepsTail(t *testing.T) {
	lorem := strings.Repeat(" lorem ipsum", 25)
	body := []byte(`{"model":"models/gemini-3-pro","contents":[` + geminiUser("why does why why in the fail file") +
		`,{"role":"model","parts":[{"functionCall":{"id":"a","name":"Bash","args":{"command":"go vet"}}}]},{"role":"user","parts":[{"functionResponse":{"id":"a","name":"Bash","response":{"output":"` + lorem + lorem + `"}}}]}` +
		`,{"role":"model","parts":[{"text":"does look"}]},` + geminiUser("at line why why why it why fail") +
		`,{"role":"model","parts":[{"text":"fail in look"},{"functionCall":{"id":"b","name":"Bash","args":{"command":"cat a.go"}}}]},{"role":"user","parts":[{"functionResponse":{"id":"b","name":"Bash","response":{"output":"ok` + lorem + `"}}}]}` +
		`,{"role":"model","parts":[{"text":"at file file does test"}]},` + geminiUser("please the fix look line in file") +
		`,{"role":"model","parts":[{"text":"the tail"}]},` + geminiUser("file why fix why it does line") + `]}`)
	r := reading(t, wire.Gemini, body)
	tried := 0
	for high := 100; high < size("tokens", r); high++ {
		w := pare.Window{Tokens: high, Low: 60, MinKeep: 4, Unpin: pare.PinTask | pare.PinNewest, Cache: dear{}}
		plan, small := fitted(t, fmt.Sprintf("high %d", high), wire.Gemini, body, w)
		if small != nil {
			continue
		}
		tried++
		us := utterances(t, wire.Gemini, plan.Result().Raw())
		stays("assistant: at file file", "user: please the fix", "assistant: the tail", "user: file why")(t, wire.Gemini, us, plan)
		if t.Failed() {
			t.Fatalf("high %d: %+v\n%s", high, plan.Batches(), plan)
		}
	}
	if tried < 20 {
		t.Errorf("only %d windows", tried)
	}
}
