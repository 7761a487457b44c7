package store_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/store"
)

// TestColdWindow checks that the window of a session that was idle for longer than the provider's
// cache lifetime drops old results for good, according to the times of entries.
func TestColdWindow(t *testing.T) {
	rule, err := rules.Hazard{}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	cold, err := pare.Compile(rule)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		base  string
		pause time.Duration
		cuts  bool
	}{
		"five minutes":           {`{}`, 6 * time.Minute, true},
		"no pause":               {`{}`, time.Minute, false},
		"a cache of an hour":     {`{"system":[{"type":"text","text":"be brief","cache_control":{"type":"ephemeral","ttl":"1h"}}]}`, 6 * time.Minute, false},
		"and it has expired too": {`{"system":[{"type":"text","text":"be brief","cache_control":{"type":"ephemeral","ttl":"1h"}}]}`, 61 * time.Minute, true},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
			st, err := store.OpenWith(ctx, filepath.Join(t.TempDir(), "a.db"), store.Options{Now: func() time.Time { return now }})
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			key := store.Key{ID: "s"}
			if _, err := st.Create(ctx, key, store.Create{Dialect: "anthropic", Model: "claude-sonnet-4-5", Base: []byte(c.base)}); err != nil {
				t.Fatal(err)
			}
			add := func(text string) {
				t.Helper()
				if _, err := st.Append(ctx, key, store.Anywhere, store.Message("", []byte(text))); err != nil {
					t.Fatal(err)
				}
			}
			add(`{"role":"user","content":"begin"}`)
			before, cut := "", false
			for i := range 40 {
				add(fmt.Sprintf(`{"role":"assistant","content":[{"type":"tool_use","id":"c%d","name":"Bash","input":{"command":"make"}}]}`, i))
				if now = now.Add(time.Minute); i == 30 {
					now = now.Add(c.pause)
				}
				add(fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c%d","content":%q}]}`, i, strings.Repeat("plain words and more of them ", 40)))
				w, err := st.Window(ctx, key, store.WindowOptions{Policy: &pare.Policy{Window: &pare.Window{ModelTokens: true, LowPercent: 50, ColdRules: cold}}})
				if err != nil {
					t.Fatal(err)
				}
				got := string(w.Body)
				if goesOn := strings.HasPrefix(got, before); goesOn == (i == 30 && c.cuts) {
					t.Fatalf("request %d goes on from the one before: %v", i+1, goesOn)
				}
				before, cut = got[:strings.LastIndex(got, "]")], strings.Contains(got, "cleared by hazard")
			}
			if cut != c.cuts {
				t.Errorf("cut %v, want %v", cut, c.cuts)
			}
		})
	}
}
