package store_test

import (
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/store"
)

// TestSessionsCompactInEveryScript checks compactions with a model that writes one long paragraph
// in any script.
func TestSessionsCompactInEveryScript(t *testing.T) {
	const maxTokens = 800
	rounds := min(trial.Size(20), 200)
	both(t, func(t *testing.T, st *store.Store) {
		for _, language := range trial.Languages() {
			key := create(t, st, language)
			round := 0
			c := &pare.Compactor{MinKeep: 2, MaxTokens: maxTokens, Summarize: func(context.Context, pare.Removed) (pare.Summary, error) {
				return pare.Summary{Text: trial.Paragraph(language, round, 6000)}, nil
			}}
			for round = range rounds {
				for range 3 {
					put(t, st, key, user(trial.Paragraph(language, round, 600)), assistant(trial.Paragraph("English", round, 600)))
				}
				compaction, err := st.Compact(ctx, key, c)
				if err != nil || compaction == nil {
					t.Fatalf("%s, round %d: %v, %v", language, round, compaction, err)
				}
				if !utf8.ValidString(compaction.Summary) || strings.ContainsRune(compaction.Summary, utf8.RuneError) || len(compaction.Summary) > 6*maxTokens {
					t.Fatalf("%s, round %d: the summary has %d bytes: %q", language, round, len(compaction.Summary), compaction.Summary)
				}
			}
			w, err := st.Window(ctx, key, store.WindowOptions{})
			if err != nil {
				t.Fatal(err)
			}
			clean(t, w.Body)
		}
	})
}
