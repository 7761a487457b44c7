package config

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

func mustPolicy(t *testing.T, file string) *pare.Policy {
	t.Helper()
	c := mustParse(t, "pare.toml", file)
	checkGood(t, c)
	p, err := c.Policy(func(name string) string { return "the value of " + name })
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	return p
}

// TestPolicy wants everything that a file says in the policy.
func TestPolicy(t *testing.T) {
	p := mustPolicy(t, "")
	if p.Off || p.Window != nil || p.Compact != nil || p.Archived || len(p.Rules.Rules()) != 4 || p.Check != (wire.CheckOptions{}) || p.Repair.Open || p.Repair.Stub != nil {
		t.Errorf("no file is %+v", p)
	}
	if p := mustPolicy(t, "enabled = false"); !p.Off {
		t.Error("the master switch is off, and the policy is not")
	}
	p = mustPolicy(t, "enabled = true\n[repair]\norphan_call = 'drop'\norphan_result = 'drop'\nkeep_open = true\nstub = 'no {tool} {id}'\n[check]\nstrict = true\nadvice = true")
	if p.Off || p.Repair.OrphanCall != wire.RemedyDrop || p.Repair.OrphanResult != wire.RemedyDrop || !p.Repair.Open || !p.Check.Strict || !p.Check.Advice {
		t.Errorf("%+v", p)
	}
	if got := p.Repair.Stub(transcript.Exchange{Tool: "Bash", CallID: "c1"}); got != "no Bash c1" {
		t.Errorf("stub %q", got)
	}
}

// TestWindow wants every key of a window where it belongs.
func TestWindow(t *testing.T) {
	for file, want := range map[string]pare.Window{
		"":                                       {ModelTokens: true},
		"tokens = 'model'":                       {ModelTokens: true},
		"tokens = 'model'\nmessages = 3":         {ModelTokens: true, Messages: 3},
		"tokens = 5_000\nmin_keep = 4":           {Tokens: 5000, MinKeep: 4},
		"messages = 3\nexchanges = 2\nturns = 1": {Messages: 3, Exchanges: 2, Turns: 1},
		"tokens = 5000\nlow = 100\ncache = true": {Tokens: 5000, Low: 100, ModelCache: true},
		"low = '40%'":                            {ModelTokens: true, LowPercent: 40},
		"cache = true":                           {ModelTokens: true, LowPercent: 50, ModelCache: true},
		"order = 'middle'\nunpin = ['task', 'system']":      {ModelTokens: true, MiddleOut: true, Unpin: pare.PinTask | pare.PinSystem},
		"unpin = ['newest']\nrecent = 3\nallow_tiny = true": {ModelTokens: true, Unpin: pare.PinNewest, Recent: 3, AllowTiny: true},
	} {
		got := *mustPolicy(t, "[window]\n"+file).Window
		if got.Priority = nil; !sameWindow(got, want) {
			t.Errorf("%s: %+v, want %+v", file, got, want)
		}
	}
}

func sameWindow(a, b pare.Window) bool {
	return a.Tokens == b.Tokens && a.Messages == b.Messages && a.Exchanges == b.Exchanges && a.Turns == b.Turns && a.ModelTokens == b.ModelTokens &&
		a.MinKeep == b.MinKeep && a.Unpin == b.Unpin && a.MiddleOut == b.MiddleOut && a.Recent == b.Recent && a.Low == b.Low && a.LowPercent == b.LowPercent &&
		a.ModelCache == b.ModelCache && a.AllowTiny == b.AllowTiny
}

// TestWindowRuns wants a window of the file to be met, in the order that it says.
func TestWindowRuns(t *testing.T) {
	const script = `user "go" | call a Grep {"pattern":"x"} | result a "first" | call b Read b.go | result b "second" | call c Grep {"pattern":"y"} | result c "third" | say "done" | user "and now?"`
	for file, want := range map[string]string{
		"exchanges = 1": "third",
		"exchanges = 1\norder = 'priority'\npriority = [{ tool = 'READ', rank = 5 }]": "second",
		"exchanges = 2\norder = 'priority'\npriority = [{ tool = 'g*', rank = 1 }]":   "first third",
	} {
		p := mustPolicy(t, "[window]\n"+file)
		for _, d := range wire.Dialects() {
			plan, err := p.Plan(context.Background(), parse(t, histories.MustParse(script).Render(d, histories.RenderOptions{})))
			if err != nil {
				t.Fatalf("%s: %s: %v", d, file, err)
			}
			var left []string
			for _, word := range []string{"first", "second", "third"} {
				if strings.Contains(string(plan.Result().Raw()), word) {
					left = append(left, word)
				}
			}
			if got := strings.Join(left, " "); got != want {
				t.Errorf("%s: %s leaves %s, want %s", d, file, got, want)
			}
		}
	}
	// The model's own window.
	r := parse(t, []byte(`{"model":"nobody-knows-1","messages":[{"role":"user","content":"hi"}]}`))
	var unknown *pare.UnknownModelError
	if _, err := mustPolicy(t, "[window]").Plan(context.Background(), r); !errors.As(err, &unknown) {
		t.Errorf("got %v", err)
	}
}

// TestRecentInAWindow wants the default of recency to give way to a window, which
// has its own idea of what is recent, and what the file says to hold.
func TestRecentInAWindow(t *testing.T) {
	for file, want := range map[string]bool{"": false, "keep_recent = 3": true, "[rules.recency]\nturns = 2": true, "[rules.recency]": true, "[rules.oversized]": false} {
		has := func(p *pare.Policy) bool {
			for _, r := range p.Rules.Rules() {
				if r.Name == "recency" {
					return true
				}
			}
			return false
		}
		if !has(mustPolicy(t, file)) {
			t.Errorf("%q: recency does not run without a window", file)
		}
		if got := has(mustPolicy(t, file+"\n[window]\nmessages = 9")); got != want {
			t.Errorf("%q: recency runs in a window: %t, want %t", file, got, want)
		}
	}
}

// TestCompaction wants every key of a compaction where it belongs.
func TestCompaction(t *testing.T) {
	c := mustPolicy(t, "[compact]").Compact
	if c.Summarize == nil || c.MinKeep != 0 || c.Above != 0 || c.MaxTokens != 0 || c.Timeout != 0 {
		t.Errorf("the default is %+v", c)
	}
	c = mustPolicy(t, "[compact]\nmin_keep = 3\ninside = true\nabove = 100\nmax_summary = 50\ntimeout = '1m30s'\nfold_task = true\nconserve = 0.5").Compact
	if c.MinKeep != 3 || !c.Inside || c.Above != 100 || c.MaxTokens != 50 || c.Timeout != 90*time.Second || !c.Options.FoldTask || c.Options.MinConserved != 0.5 {
		t.Errorf("%+v", c)
	}
	p := mustPolicy(t, "[compact]\nby = 'archive'\n[archive]\nfile = 'gone.jsonl'")
	if p.Compact.Summarize != nil || !p.Archived {
		t.Errorf("%+v", p)
	}
	const asked = "[compact]\nendpoint = 'http://localhost:1'\nmodel = 'm'\napi = 'anthropic'\nkey_env = 'KEY'"
	if c := mustPolicy(t, asked).Compact; c.Summarize == nil {
		t.Error("nobody is asked")
	}
	var all Errors
	_, err := mustParse(t, "pare.toml", asked).Policy(nil)
	if !errors.As(err, &all) || len(all) != 1 || all[0].Error() != "compact.key_env: the environment variable KEY is not set; set KEY, or remove it if the API wants no key" {
		t.Errorf("a key that is not there: %v", err)
	}
}

// TestCompactionRuns wants a summary in the place of what is in front of the cut.
func TestCompactionRuns(t *testing.T) {
	p := mustPolicy(t, "[compact]\nmin_keep = 2")
	script := `user "build the parser" | call a Read a.go | result a "` + strings.Repeat("a long result. ", 200) + `" | say "read it" | user "use tabs" | say "done" | user "and now?"`
	plan, err := p.Plan(context.Background(), parse(t, histories.MustParse(script).Render(wire.OpenAIChat, histories.RenderOptions{})))
	if err != nil {
		t.Fatal(err)
	}
	if plan.Empty() || strings.Contains(string(plan.Result().Raw()), "long result. a long result. a long") {
		t.Errorf("not compacted:\n%s", plan.Result().Raw())
	}
}

// TestArchive wants what a policy of the file takes out to be found again, by the id that
// a placeholder names.
func TestArchive(t *testing.T) {
	name := filepath.Join(t.TempDir(), "removed.jsonl")
	c := mustParse(t, "pare.toml", "[window]\ntokens = 700\nrecent = 1\n[archive]\nfile = '"+name+"'")
	p, err := c.Policy(nil)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := archive.Open(c.Archive.File)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	p.Archive = kept
	script := `user "go" | call a Read a.go | result a "` + strings.Repeat("first. ", 1000) + `" | call b Read b.go | result b "second" | say "done" | user "and now?"`
	plan, err := p.Plan(context.Background(), parse(t, histories.MustParse(script).Render(wire.Anthropic, histories.RenderOptions{})))
	if err != nil {
		t.Fatal(err)
	}
	items := plan.Archive()
	if len(items) == 0 || !strings.Contains(string(plan.Result().Raw()), items[0].ID) {
		t.Fatalf("%d items, and none is named:\n%s", len(items), plan.Result().Raw())
	}
	if got, err := kept.Get(context.Background(), items[0].ID); err != nil || string(got.Raw) != string(items[0].Raw) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestTokenizer wants tokens counted as the file says.
func TestTokenizer(t *testing.T) {
	text := []byte("func main() { fmt.Println(\"hello, world\") }")
	counts := map[string]int{}
	for _, name := range []string{"estimate", "exact", "o200k", "cl100k"} {
		c, err := mustPolicy(t, "tokenizer = '"+name+"'").Counter("gpt-4o")
		if err != nil {
			t.Fatal(err)
		}
		counts[name] = c.Count(text)
	}
	if counts["exact"] != counts["o200k"] || counts["exact"] == 0 || counts["estimate"] == 0 {
		t.Errorf("%v", counts)
	}
	var unknown *VocabularyError
	if _, err := mustPolicy(t, "tokenizer = 'exact'").Counter("claude-opus-4-5"); !errors.As(err, &unknown) {
		t.Errorf("got %v", err)
	}
}

// TestPolicyOfGo wants a Config that was made wrong in Go to be refused, with the path
// of what is wrong.
func TestPolicyOfGo(t *testing.T) {
	for path, c := range map[string]*Config{
		"tokenizer":                     {Tokenizer: "x"},
		"window.tokens":                 {Window: &Window{Tokens: -2}},
		"window.messages":               {Window: &Window{Messages: -1}},
		"window.low":                    {Window: &Window{Low: Mark{Percent: -1}}},
		"window.order":                  {Window: &Window{Order: "x"}},
		"window.unpin.0":                {Window: &Window{Unpin: []string{"x"}}},
		"window.priority.0":             {Window: &Window{Order: "priority", Priority: []Rank{{}}}},
		"window.priority.0.tool":        {Window: &Window{Order: "priority", Priority: []Rank{{Tool: "["}}}},
		"compact.by":                    {Compact: &Compaction{By: "x"}},
		"compact.api":                   {Compact: &Compaction{Endpoint: "http://localhost", Model: "m", API: "x"}},
		"compact.min_keep":              {Compact: &Compaction{MinKeep: -1}},
		"compact.timeout":               {Compact: &Compaction{Timeout: -1}},
		"compact.conserve":              {Compact: &Compaction{Conserve: 2}},
		"archive":                       {Archive: &Archive{}},
		"constraint.0":                  {Constraints: []Constraint{{Name: "a"}}},
		"constraint.0.together.paths.0": {Constraints: []Constraint{{Name: "a", Together: Selector{Selection: rules.Selection{Paths: []string{"["}}}}}},
	} {
		p, err := c.Policy(nil)
		var all Errors
		if p != nil || !errors.As(err, &all) || all[0].Path != path {
			t.Errorf("%s: %v", path, err)
		}
	}
}
