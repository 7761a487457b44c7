package engine

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/wire"
)

// untouchable fails the test if something of a delta is archived.
type untouchable struct{ *testing.T }

func (u untouchable) Put(_ context.Context, items ...archive.Item) error {
	u.Errorf("%d items of a delta are archived", len(items))
	return nil
}

// TestDeltaPassesEveryPolicyUnchanged checks that the request stays unchanged in every dialect, and
// that no summarizer is called.
func TestDeltaPassesEveryPolicyUnchanged(t *testing.T) {
	standard, err := pare.Compile(rules.Standard()...)
	if err != nil {
		t.Fatal(err)
	}
	asked := func(context.Context, pare.Removed) (pare.Summary, error) {
		t.Error("a summary of a delta is asked for")
		return pare.Summary{Text: "x"}, nil
	}
	compactor := &pare.Compactor{Summarize: asked}
	policies := map[string]*pare.Policy{
		"repair":             {},
		"strict, drop":       {Check: wire.CheckOptions{Strict: true}, Repair: wire.Repair{OrphanCall: wire.RemedyDrop, OrphanResult: wire.RemedyDrop}},
		"rules":              {Rules: standard},
		"tokens":             {Window: &pare.Window{Tokens: 40}},
		"messages":           {Rules: standard, Window: &pare.Window{Messages: 2}},
		"window of no model": {Window: &pare.Window{ModelTokens: true}, Model: "unheard-of"},
		"compaction":         {Compact: compactor},
		"window, compaction": {Window: &pare.Window{Tokens: 40}, Compact: compactor},
	}
	script := histories.MustParse(`user "read a.go" | call a read a.go | result a "` + strings.Repeat("words ", 300) + `" | call b read a.go | user "again" | say "yes" | user "and?"`)
	for _, d := range wire.Dialects() {
		body := bytes.Replace(script.Render(d, histories.RenderOptions{}), []byte("{"), []byte(`{"conversation_ref":"c-17",`), 1)
		for name, p := range policies {
			r, err := wire.Parse(body, wire.Options{Dialect: d})
			if err != nil {
				t.Fatal(err)
			}
			own := *p
			own.Archive = untouchable{t}
			plan, err := own.Plan(t.Context(), r)
			if err != nil {
				t.Errorf("%s, %s: %v", d, name, err)
				continue
			}
			out, err := plan.Apply()
			if err != nil || !plan.Empty() || len(plan.Changes()) > 0 || &out[0] != &body[0] || len(out) != len(body) {
				t.Errorf("%s, %s: %v %v", d, name, plan, err)
			}
		}
		r, err := wire.Parse(body, wire.Options{Dialect: d})
		if err != nil {
			t.Fatal(err)
		}
		if out, removed, _, err := pare.DropOrphans(r); err != nil || len(removed) > 0 || !bytes.Equal(out, body) {
			t.Errorf("%s: DropOrphans removes %v: %v", d, removed, err)
		}
	}
}

func TestDeltaFits(t *testing.T) {
	body := []byte(`{"model":"claude-opus-5-5","max_tokens":9,"thread":{"type":"continue","previous_message_id":"msg_1"},"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"42"}]}]}`)
	for name, do := range map[string]func([]byte) ([]byte, *pare.Plan, error){
		"Fix": pare.Fix,
		"Fit": func(b []byte) ([]byte, *pare.Plan, error) { return pare.Fit(t.Context(), b, 10) },
	} {
		out, plan, err := do(body)
		if err != nil || !bytes.Equal(out, body) || !plan.Empty() {
			t.Errorf("%s: %s %v", name, out, err)
		}
	}
}
