package store_test

import (
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/store"
)

// TestQuotedMarkersAreNoSummary checks that a user message that quotes summary markers stays the
// task through several compactions.
func TestQuotedMarkersAreNoSummary(t *testing.T) {
	for _, quote := range []string{
		"what does " + wording.SummaryBegin + " mean?",
		wording.SummaryBegin + " is what it says",
		"it said:\n" + wording.SummaryBegin + "\nthey met\n" + wording.SummaryEnd + "\nwhy?",
		"> " + wording.SummaryBegin + "\n> they met\n> " + wording.SummaryEnd,
		wording.SummaryEnd + " " + wording.SummaryBegin,
	} {
		for _, model := range []string{"claude-sonnet-4-5", "mistral-large-latest"} {
			st := open(t, t.TempDir()+"/pare.db")
			key := store.ID("s")
			create := anthropic
			task, rest := user("THE TASK: "+quote), "anthropic"
			if model != "claude-sonnet-4-5" {
				create = store.Create{Dialect: "openai-chat", Model: model}
				rest = "openai-chat"
			}
			if strings.HasPrefix(quote, wording.SummaryBegin+" ") {
				task = user(quote + ": THE TASK")
			}
			if _, err := st.Create(ctx, key, create); err != nil {
				t.Fatal(err)
			}
			put(t, st, key, task)
			say := func() {
				for i := range 12 {
					if rest == "anthropic" {
						turn(t, st, key, i)
						continue
					}
					put(t, st, key, []byte(`{"role":"assistant","content":"answer"}`), user("and on "+strings.Repeat("and so on ", 40)))
				}
			}
			for _, words := range []string{"first words", "second words"} {
				say()
				compaction := compact(t, st, key, words)
				if len(compaction.Prefix) != 2 || string(compaction.Prefix[0]) != string(task) {
					t.Errorf("%q, %s: the task is gone: %s", quote, model, compaction.Prefix)
				}
				if !strings.Contains(compaction.Summary, words) || strings.Contains(compaction.Summary, "mean?") || strings.Contains(compaction.Summary, "why?") {
					t.Errorf("%q, %s: the summary is %q", quote, model, compaction.Summary)
				}
			}
			if body := window(t, st, key, store.WindowOptions{Policy: &pare.Policy{}}); !strings.Contains(body, "THE TASK") || !strings.Contains(body, "first words") || !strings.Contains(body, "second words") {
				t.Errorf("%q, %s: %.600s", quote, model, body)
			}
		}
	}
}
