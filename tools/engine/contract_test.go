package engine

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// TestVotesSeenTransitively: a rule sees the votes of those it comes after, directly or
// through others, and through Before as well as After; of those that merely happen
// to be polled earlier it sees nothing.
func TestVotesSeenTransitively(t *testing.T) {
	for _, d := range wire.Dialects() {
		r := talk(t, d)
		first := atom(r.Transcript(), 0)
		saw := make(map[string]bool)
		look := func(name string, after ...string) pare.Rule {
			return voter(name, after, func(b *pare.Ballot, _ *transcript.Transcript) { saw[name] = b.Dropped(first) })
		}
		drops := voter("a-drops", nil, func(b *pare.Ballot, _ *transcript.Transcript) { b.Drop(first, "useless") })
		drops.Before = []string{"b-before"}
		decide(t, r, drops, look("b-before"), look("c-after", "b-before"), look("d-twice", "?gone", "c-after"), look("e-stranger"), look("f-of-stranger", "e-stranger"))
		want := map[string]bool{"b-before": true, "c-after": true, "d-twice": true, "e-stranger": false, "f-of-stranger": false}
		if !maps.Equal(saw, want) {
			t.Errorf("%s: %v, want %v", d, saw, want)
		}
	}
}

// TestLateVote: a ballot that was kept takes no vote, and shows none, once its Process
// has returned; the panic names the rule.
func TestLateVote(t *testing.T) {
	r := talk(t, wire.Anthropic)
	var kept *pare.Ballot
	plan := decide(t, r, voter("keeper", nil, func(b *pare.Ballot, _ *transcript.Transcript) { kept = b }))
	x, y := atom(r.Transcript(), 0), atom(r.Transcript(), 1)
	for name, vote := range map[string]func(){
		"Drop":     func() { kept.Drop(x, "late") },
		"Protect":  func() { kept.Protect(x, "late") },
		"Edit":     func() { kept.Edit(r.Transcript().Exchanges()[0].Call, "late", "late") },
		"Needs":    func() { kept.Needs(x, y) },
		"Together": func() { kept.Together(x, y) },
		"Dropped":  func() { kept.Dropped(x) },
	} {
		func() {
			defer func() {
				if said := fmt.Sprint(recover()); !strings.Contains(said, "keeper") || !strings.Contains(said, "after its Process has returned") {
					t.Errorf("%s: %s", name, said)
				}
			}()
			vote()
		}()
	}
	if !plan.Empty() {
		t.Errorf("a late vote counts:\n%s", plan)
	}
}

// TestSummaryKey checks that the key of a summary has 64 hexadecimal digits and depends only on the
// removed content, the earlier summaries and the limit.
func TestSummaryKey(t *testing.T) {
	for _, d := range wire.Dialects() {
		body := talkOf(t, d, 30).Raw()
		window := fitWindow(talkOf(t, d, 30))
		window.Tokens, window.Low = window.Tokens/2, window.Low/2
		keys := func(body []byte, longest int, text string) []string {
			t.Helper()
			r, err := wire.Parse(body, wire.Options{Dialect: d})
			if err != nil {
				t.Fatal(err)
			}
			book := &notebook{texts: map[string]string{}}
			c := pare.Compactor{Summarize: says(text), MaxTokens: longest, Memory: book}
			c.Options.Counter = quarters{}
			if _, err := planner.TrimWithSummaries(context.Background(), &c, r, window, c.Options.Options); err != nil {
				t.Fatal(err)
			}
			all := slices.Sorted(maps.Keys(book.texts))
			for _, k := range all {
				if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(k) {
					t.Errorf("%s: %q", d, k)
				}
			}
			return all
		}
		replace := func(last bool, old, new string) []byte {
			at := bytes.Index(body, []byte(old))
			if last {
				at = bytes.LastIndex(body, []byte(old))
			}
			if at < 0 || len(old) != len(new) {
				t.Fatalf("%s: no %q in %.300s", d, old, body)
			}
			return slices.Concat(body[:at], []byte(new), body[at+len(old):])
		}
		want := keys(body, 200, "gist")
		if len(want) < 2 {
			t.Fatalf("%s: %d summaries, want several batches", d, len(want))
		}
		for _, c := range []struct {
			name   string
			got    []string
			common int // keys that are the same
		}{
			{"the same", keys(bytes.Clone(body), 200, "gist"), len(want)},
			{"a word that stays", keys(replace(true, "and now?", "AND NOW?"), 200, "gist"), len(want)},
			{"another text: it is the prior one of all but the first", keys(body, 200, "tale"), 1},
			{"a longer summary", keys(body, 400, "gist"), 0},
			{"a word that leaves: it is in one batch", keys(replace(false, "f1.go", "F1.go"), 200, "gist"), len(want) - 1},
		} {
			common := 0
			for _, k := range c.got {
				if slices.Contains(want, k) {
					common++
				}
			}
			if common != c.common || len(c.got) != len(want) {
				t.Errorf("%s, %s: %d of %d keys are those of before, want %d", d, c.name, common, len(c.got), c.common)
			}
		}
	}
}
