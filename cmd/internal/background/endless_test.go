package background

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pare-llm/pare"
	trials "github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/store"
	"github.com/pare-llm/pare/summary"
	"github.com/pare-llm/pare/tokens"
)

// TestEndlessSessionKeepsEveryFact: a session that grows for ever is compacted at each look, hundreds of times. Its summary stays
// within its bound, nothing ever fails, and every fact is in the window or one recall away.
func TestEndlessSessionKeepsEveryFact(t *testing.T) {
	rounds := 20
	switch {
	case trials.Soak():
		rounds = 200
	case testing.Short():
		rounds = 6
	}
	ctx, key := context.Background(), store.ID("a")
	st, err := store.Open(ctx, filepath.Join(t.TempDir(), "pare.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if _, err := st.Create(ctx, key, store.Create{Dialect: "anthropic", Model: "claude-sonnet-4-5"}); err != nil {
		t.Fatal(err)
	}
	const most = 800
	var log strings.Builder
	w := &compactor{store: st, trials: make(map[store.Key]attempt), options: Options{
		Above: 2000, Every: time.Hour, Workers: 1, Log: slog.New(slog.NewTextHandler(&log, nil)),
		Compactor: &pare.Compactor{MinKeep: 4, MaxTokens: most, Summarize: summary.Extract(summary.ExtractOptions{}), Memory: st.Memory()},
	}}
	turns := 0
	for round := range rounds {
		var list []store.Entry
		for range 25 {
			for _, m := range []string{
				fmt.Sprintf(`{"role":"user","content":"Please note that %s"}`, trials.Fact(turns)),
				fmt.Sprintf(`{"role":"assistant","content":"We decided to keep %s the tests need it. %s"}`, trials.Decision(turns), strings.Repeat("More words about it. ", 12)),
			} {
				list = append(list, store.Message("", []byte(m)))
			}
			turns++
		}
		if _, err := st.Append(ctx, key, store.Anywhere, list...); err != nil {
			t.Fatal(err)
		}
		w.compactDue(ctx)
		if again, err := st.NeedCompaction(ctx, w.options.Above, 0, time.Now(), 1); err != nil || len(again) > 0 || log.Len() > 0 {
			t.Fatalf("round %d: %v, still to be compacted: %v: %s", round, err, again, log.String())
		}
		if round%10 == 9 || round == rounds-1 {
			inReach(t, st, key, turns, most)
		}
	}
}

// inReach wants every fact of so many turns in the window of a session or one recall away.
func inReach(t *testing.T, st *store.Store, key store.Key, turns, most int) {
	t.Helper()
	page, err := st.Window(t.Context(), key, store.WindowOptions{Policy: &pare.Policy{}})
	if err != nil {
		t.Fatal(err)
	}
	body := string(page.Body)
	_, said, _ := strings.Cut(body, "Please note that") // the task stands in front
	if n := tokens.For("claude-sonnet-4-5").Count([]byte(body)); n > most+3000 {
		t.Fatalf("%d turns: the window has %d tokens\n%.2000s", turns, n, said)
	}
	all := body
	for _, m := range regexp.MustCompile(`(?:archived as|pare recall) (pare-[0-9a-z]+)`).FindAllStringSubmatch(body, -1) {
		raw, err := st.Recall(t.Context(), key.Scope, m[1])
		if err != nil {
			t.Fatal(err)
		}
		all += string(raw)
	}
	if i := trials.FirstMissingTurn(all, turns); i < turns {
		t.Fatalf("%d turns: that of %d is out of reach\n%.2000s", turns, i, body)
	}
}
