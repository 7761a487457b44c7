package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/store"
	"github.com/pare-llm/pare/summary"
	"github.com/pare-llm/pare/tokens"
)

// endless is how often a session is compacted: 200 times in a soak.
func endless() int {
	switch {
	case trial.Soak():
		return 200
	case testing.Short():
		return 12
	}
	return 20
}

// talkative is a stand-in for a model that writes more than it was asked for.
func talkative(_ context.Context, h pare.Removed) (pare.Summary, error) {
	text := ""
	for _, b := range h.Blocks {
		for _, l := range strings.Split(h.Text(b), "\n") {
			text += "- " + l + "\n"
		}
		if len(text) > 12*h.MaxTokens {
			break
		}
	}
	return pare.Summary{Text: text + "- and so on"}, nil
}

var overSummary = regexp.MustCompile(`\[pare: (?:level \d+: )?(?:(\d+) turns?, )?\d+ blocks? of \d+ bytes, here in \d+, archived as (pare-[0-9a-z]+)\]`)

// TestDefectC1Store: a session of thousands of turns is compacted hundreds of times, in both engines. At every step the
// summary is within its bound, and every fact is in the window or one recall away.
func TestDefectC1Store(t *testing.T) {
	both(t, func(t *testing.T, st *store.Store) {
		for name, s := range map[string]pare.Summarizer{"extract": summary.Extract(summary.ExtractOptions{}), "model": talkative, "archive": nil} {
			key := create(t, st, "endless-"+name)
			c := &pare.Compactor{Summarize: s, MinKeep: 8, MaxTokens: 800, Memory: storex.Memory(st)}
			turns, condensed := 0, false
			for round := range endless() {
				var list [][]byte
				for range 25 {
					id := fmt.Sprintf("toolu_%d", turns)
					list = append(list, user(fmt.Sprintf("Please note that item-%05d costs %d.", turns, 1000+turns)), call(id), result(id, strings.Repeat("lines of it ", 20)),
						assistant(fmt.Sprintf("We decided to keep part-%05d because the tests need it. %s", turns, strings.Repeat("More words. ", 10))))
					turns++
				}
				put(t, st, key, list...)
				made, err := st.Compact(ctx, key, c)
				if err != nil || made == nil {
					t.Fatalf("%s, round %d: %v, %v", name, round, made, err)
				}
				if n := tokens.For("claude-sonnet-4-5").Count([]byte(made.Summary)); n > 800 {
					t.Fatalf("%s, round %d: %d tokens\n%s", name, round, n, made.Summary)
				}
				condensed = condensed || strings.Contains(made.Summary, "[pare: level 2: ")
				if round%10 != 9 && round != endless()-1 {
					continue
				}
				w, err := st.Window(ctx, key, store.WindowOptions{Policy: &pare.Policy{}})
				if err != nil {
					t.Fatal(err)
				}
				all, gone := string(w.Body), 0
				for _, m := range overSummary.FindAllStringSubmatch(string(w.Body), -1) {
					n, _ := strconv.Atoi(m[1])
					gone += n
					raw, err := st.Recall(ctx, key.Scope, m[2])
					if err != nil || !json.Valid(raw) {
						t.Fatalf("%s, round %d: recall %s: %v", name, round, m[2], err)
					}
					all += string(raw)
				}
				for i := range turns {
					if !strings.Contains(all, fmt.Sprintf("item-%05d costs", i)) || !strings.Contains(all, fmt.Sprintf("part-%05d", i)) {
						t.Fatalf("%s, round %d: turn %d is out of reach\n%s", name, round, i, made.Summary)
					}
				}
				// All turns but the task and those at the end are named.
				if left := strings.Count(string(w.Body), "Please note that item-") - strings.Count(made.Summary, "Please note that item-"); gone+left != turns {
					t.Fatalf("%s, round %d: %d turns, %d are there and summaries stand for %d\n%s", name, round, turns, left, gone, made.Summary)
				}
			}
			if !condensed {
				t.Errorf("%s: nothing was ever condensed", name)
			}
		}
		if problems, err := st.Fsck(ctx, false); err != nil || len(problems) > 0 {
			t.Error(problems, err)
		}
	})
}
