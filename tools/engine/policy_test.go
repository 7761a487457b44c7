package engine

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/summary"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// reads is a history of n reads of the same file, each with a result of so many bytes.
func reads(t *testing.T, n, size int) *wire.Request {
	t.Helper()
	var s strings.Builder
	s.WriteString(`user "read a.go again and again"`)
	for i := range n {
		id := string(rune('a'+i%26)) + strings.Repeat("x", i/26)
		s.WriteString(` | call ` + id + ` Read a.go | result ` + id + ` "` + strings.Repeat("line of a.go ", size/13) + `" | say "read." | user "again"`)
	}
	r, err := wire.Parse(histories.MustParse(s.String()).Render(wire.Anthropic, histories.RenderOptions{}), wire.Options{Model: "claude-sonnet-4-5"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func planned(t *testing.T, p *pare.Policy, r *wire.Request) *pare.Plan {
	t.Helper()
	plan, err := p.Plan(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	if left := plan.Result().Check(p.Check); len(left) > 0 {
		t.Fatalf("a refused result: %v", left[0])
	}
	return plan
}

func same(t *testing.T, what string, got, want *pare.Plan) {
	t.Helper()
	if !bytes.Equal(got.Result().Raw(), want.Result().Raw()) {
		t.Errorf("%s: the policy gives\n%.400s\nand the call\n%.400s", what, got.Result().Raw(), want.Result().Raw())
	}
}

// TestPolicyIsTheCalls checks that a policy has the results of the separate calls.
func TestPolicyIsTheCalls(t *testing.T) {
	standard, err := pare.Compile(rules.Standard()...)
	if err != nil {
		t.Fatal(err)
	}
	half, err := pare.Parse([]byte(broken))
	if err != nil {
		t.Fatal(err)
	}
	repaired, _ := planner.Repair(context.Background(), half, pare.Options{})
	same(t, "zero", planned(t, &pare.Policy{}, half), repaired)

	r := reads(t, 20, 2000)
	o := pare.Options{Counter: tokens.For(r.Model())}
	pruned, _ := planner.Prune(context.Background(), standard, r, o)
	same(t, "rules", planned(t, &pare.Policy{Rules: standard}, r), pruned)

	w := pare.Window{Tokens: 3000}
	trimmed, err := planner.Trim(context.Background(), r, w, o)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "window", planned(t, &pare.Policy{Window: &w}, r), trimmed)

	w.Rules = standard
	ruled, err := planner.Trim(context.Background(), r, w, o)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "rules and window", planned(t, &pare.Policy{Rules: standard, Window: &pare.Window{Tokens: 3000}}, r), ruled)

	c := &pare.Compactor{Summarize: summary.Extract(summary.ExtractOptions{}), Options: pare.CompactOptions{Options: o}}
	compacted, err := planner.Compact(context.Background(), c, r)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "compact", planned(t, &pare.Policy{Compact: c}, r), compacted)

	fitted, err := planner.TrimWithSummaries(context.Background(), c, r, pare.Window{Tokens: 5000, MinKeep: 4}, c.Options.Options)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "fit", planned(t, &pare.Policy{Compact: c, Window: &pare.Window{Tokens: 5000, MinKeep: 4}}, r), fitted)
}

// Off is the identity, on broken histories too.
func TestPolicyOff(t *testing.T) {
	r, err := pare.Parse([]byte(broken))
	if err != nil {
		t.Fatal(err)
	}
	p := &pare.Policy{Off: true, Window: &pare.Window{Messages: 1}}
	plan, err := p.Plan(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	out, err := plan.Apply()
	if err != nil || !plan.Empty() || &out[0] != &r.Raw()[0] {
		t.Errorf("err %v, empty %v: the input itself must come back", err, plan.Empty())
	}
}

// A window can be the model's own, less the reply, with a mark that is a share of it.
func TestPolicyModelWindow(t *testing.T) {
	body := []byte(`{"model":"claude-sonnet-4-5","max_tokens":50000,"messages":[{"role":"user","content":"hello"}]}`)
	r, err := pare.Parse(body)
	if err != nil {
		t.Fatal(err)
	}
	m, _ := tokens.Lookup("claude-sonnet-4-5")
	if got, want := r.MaxOutputTokens(), 50000; got != want {
		t.Fatalf("the reply may have %d tokens, want %d", got, want)
	}
	own := &pare.Policy{Window: &pare.Window{ModelTokens: true, LowPercent: 50, ModelCache: true}}
	if plan := planned(t, own, r); !plan.Empty() {
		t.Error("a short history does not fit the window of its model")
	}
	// What is just above the room does not fit, and the limit is the one that was derived.
	huge, _ := pare.Parse([]byte(`{"model":"claude-sonnet-4-5","max_tokens":50000,"messages":[{"role":"user","content":"` + strings.Repeat("word ", 200_000) + `"}]}`))
	_, err = own.Plan(context.Background(), huge)
	var small *pare.WindowTooSmall
	if !errors.As(err, &small) || small.Limit != m.Input(50000) {
		t.Errorf("err %v, want a window too small of %d", err, m.Input(50000))
	}
	unknown, _ := pare.Parse([]byte(`{"model":"nobody-knows-1","messages":[{"role":"user","content":"hello"}]}`))
	var who *pare.UnknownModelError
	if _, err := own.Plan(context.Background(), unknown); !errors.As(err, &who) || who.Model != "nobody-knows-1" {
		t.Errorf("err %v, want an unknown model", err)
	}
	named := *own
	named.Model = "claude-sonnet-4-5"
	if _, err := named.Plan(context.Background(), unknown); err != nil {
		t.Errorf("the policy names the model: %v", err)
	}
	if _, _, err := pare.Fit(context.Background(), unknown.Raw(), 0); !errors.As(err, &who) {
		t.Errorf("fit: err %v, want an unknown model", err)
	}
}

// A shelf keeps items in memory.
type shelf struct {
	mu    sync.Mutex
	items map[string][]byte
	fail  error
}

func (s *shelf) Put(_ context.Context, items ...archive.Item) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return s.fail
	}
	for _, i := range items {
		s.items[i.ID] = i.Raw
	}
	return nil
}

// TestPolicyArchive checks that a policy archives removed content before it returns, and that
// placeholders name it.
func TestPolicyArchive(t *testing.T) {
	r := reads(t, 20, 2000)
	extract := &pare.Compactor{Summarize: summary.Extract(summary.ExtractOptions{})}
	standard, err := pare.Compile(rules.Standard()...)
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]*pare.Policy{
		"rules":             {Rules: standard},
		"window":            {Window: &pare.Window{Tokens: 14_000}},
		"compact":           {Compact: extract},
		"rules and compact": {Rules: standard, Compact: extract},
		"offload":           {Compact: &pare.Compactor{}},
	} {
		s := &shelf{items: map[string][]byte{}}
		p.Archive = s
		plan := planned(t, p, r)
		items := plan.Archive()
		if len(items) == 0 {
			t.Errorf("%s: nothing is taken out", name)
		}
		named := 0
		for _, i := range items {
			if !i.Genuine() || !bytes.Equal(s.items[i.ID], i.Raw) {
				t.Errorf("%s: %s is not kept", name, i.ID)
			}
			if bytes.Contains(plan.Result().Raw(), []byte("pare recall "+i.ID)) {
				named++
			}
		}
		if name == "window" && named == 0 {
			t.Error("no placeholder names what is kept")
		}
		s.fail = errors.New("disk full")
		if _, err := p.Plan(context.Background(), r); !errors.Is(err, s.fail) {
			t.Errorf("%s: err %v, want that of the archive", name, err)
		}
	}
}

// TestPolicyRulesThenCompact checks a policy with rules and a compaction: the rules come first,
// receipts describe both, and all paths are those of the input.
func TestPolicyRulesThenCompact(t *testing.T) {
	r := reads(t, 20, 2000)
	standard, err := pare.Compile(rules.Standard()...)
	if err != nil {
		t.Fatal(err)
	}
	plan := planned(t, &pare.Policy{Rules: standard, Compact: &pare.Compactor{Summarize: summary.Extract(summary.ExtractOptions{})}}, r)
	by := map[string]int{}
	for _, c := range plan.Changes() {
		by[c.Rule]++
		if c.Path == "" && c.Action != "insert" {
			t.Errorf("%s by %s has no path", c.Action, c.Rule)
		}
	}
	if by["deduplication"] == 0 || by["compaction"] == 0 {
		t.Errorf("changes by rule: %v, want deduplication and compaction", by)
	}
}

// A history that a compactor leaves alone is repaired all the same.
func TestPolicyRepairsWhatIsNotCompacted(t *testing.T) {
	r, err := pare.Parse([]byte(broken))
	if err != nil {
		t.Fatal(err)
	}
	var events []string
	p := &pare.Policy{Compact: &pare.Compactor{}, Sink: func(e pare.Event) { events = append(events, string(e.Type)) }}
	plan := planned(t, p, r)
	if plan.Empty() || events[len(events)-1] != "compaction_skipped" {
		t.Errorf("empty %v, events %v: want a repair and compaction_skipped", plan.Empty(), events)
	}
}

// Many goroutines share a policy.
func TestPolicyShared(t *testing.T) {
	r := reads(t, 12, 1500)
	p := &pare.Policy{
		Window: &pare.Window{Tokens: 4500, MinKeep: 2}, Compact: &pare.Compactor{Summarize: summary.Extract(summary.ExtractOptions{})},
		Archive: &shelf{items: map[string][]byte{}},
	}
	want := planned(t, p, r).Result().Raw()
	var wg sync.WaitGroup
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			plan, err := p.Plan(context.Background(), r)
			if err != nil || !bytes.Equal(plan.Result().Raw(), want) {
				t.Errorf("err %v, or another result", err)
			}
		}()
	}
	wg.Wait()
}

// A counter of one's own takes the estimator's place, and its error is the policy's.
func TestPolicyCounter(t *testing.T) {
	r := reads(t, 4, 300)
	wrong := errors.New("no vocabulary")
	asked := ""
	p := &pare.Policy{Model: "gpt-5", Counter: func(model string) (wire.Counter, error) { asked = model; return nil, wrong }}
	if _, err := p.Plan(context.Background(), r); !errors.Is(err, wrong) || asked != "gpt-5" {
		t.Errorf("err %v, asked for %q", err, asked)
	}
}

func TestFixAndFit(t *testing.T) {
	body, plan, err := pare.Fix([]byte(broken))
	if err != nil || plan.Empty() || len(plan.Changes()) != 1 || !bytes.Contains(body, []byte("tool_result")) {
		t.Errorf("fix: %v, %s", err, body)
	}
	again, plan, err := pare.Fix(body)
	if err != nil || !plan.Empty() || &again[0] != &body[0] {
		t.Errorf("fix again: %v: what is whole must come back itself", err)
	}
	r := reads(t, 20, 2000)
	small, _, err := pare.Fit(context.Background(), r.Raw(), 3000)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := pare.Parse(small); got.Tokens(tokens.For(got.Model())) > 3000 {
		t.Errorf("fit: %d tokens", got.Tokens(tokens.For(got.Model())))
	}
	if _, _, err := pare.Fix([]byte("{")); err == nil {
		t.Error("fix takes half an object")
	}
}
