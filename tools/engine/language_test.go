package engine

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// TestSummariesOfEveryScriptFit: a model that answers with one long paragraph, in any script, is
// shortened instead of refused, round after round, and all summaries together keep to MaxTokens.
func TestSummariesOfEveryScriptFit(t *testing.T) {
	const maxTokens = 800
	rounds := min(trial.Size(200), 200)
	for _, language := range trial.Languages() {
		for _, d := range []wire.Dialect{wire.Anthropic, wire.OpenAIChat} {
			round := 0
			c := pare.Compactor{MinKeep: 2, MaxTokens: maxTokens, Summarize: func(context.Context, pare.Removed) (pare.Summary, error) {
				return pare.Summary{Text: trial.Paragraph(language, round, 6000)}, nil
			}}
			counter := tokens.For("gpt-4o")
			c.Options.Counter = counter
			body := []byte(`{"model":"m","max_tokens":9,"messages":[` + factTurn(d, 0) + `]}`)
			for round = range rounds {
				body = append(bytes.TrimSuffix(body, []byte("]}")), ","+factTurn(d, round)+","+factTurn(d, round)+"]}"...)
				r, err := wire.Parse(body, wire.Options{Dialect: d})
				if err != nil {
					t.Fatal(err)
				}
				plan, err := planner.Compact(context.Background(), &c, r)
				if err != nil {
					t.Fatalf("%s, %s, round %d: %v", d, language, round, err)
				}
				raw := plan.Result().Raw()
				if !utf8.Valid(raw) || len(plan.Remaining()) > 0 {
					t.Fatalf("%s, %s, round %d: left %v, %.300s", d, language, round, plan.Remaining(), raw)
				}
				kept := summaries(t, d, raw)
				if n := counter.Count([]byte(strings.Join(kept, "\n"))); n == 0 || n > maxTokens {
					t.Fatalf("%s, %s, round %d: the summaries have %d tokens: %q", d, language, round, n, kept)
				}
				for _, text := range kept {
					if strings.Contains(text, wording.SummaryEnd) || strings.ContainsRune(text, utf8.RuneError) {
						t.Fatalf("%s, %s, round %d: %q", d, language, round, text)
					}
				}
				body = bytes.Clone(raw)
			}
		}
	}
}
