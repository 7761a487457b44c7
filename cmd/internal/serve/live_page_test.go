package serve_test

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/cmd/internal/serve"
	"github.com/pare-llm/pare/internal/config"
	"github.com/pare-llm/pare/tokens"
)

// sameFile is a history in which one file is read again and again, between words of the model.
func sameFile(model string, reads, words int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"model":%q,"max_tokens":100,"messages":[{"role":"user","content":"watch the file"}`, model)
	for i := range reads {
		fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_%d","name":"Read","input":{"file_path":"a.go"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":%q}]}`, i, i, strings.Repeat("the same line again\n", words))
	}
	b.WriteString(`]}`)
	return b.String()
}

// TestDefaultRulesApplyWithoutAConfiguration: a server that nobody has configured does what one with an
// empty configuration does. Its rules vote on what is too large, and with --prune on everything.
func TestDefaultRulesApplyWithoutAConfiguration(t *testing.T) {
	empty, err := config.Parse("pare.toml", nil)
	if err != nil {
		t.Fatal(err)
	}
	set, err := serve.Load(empty, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		prune bool
		body  string
		rules bool
	}{
		{"small", false, sameFile("claude-2", 20, 60), false},
		{"small and pruned", true, sameFile("claude-2", 20, 60), true},
		{"too large", false, sameFile("claude-2", 40, 1000), true},
		{"too large and pruned", true, sameFile("claude-2", 40, 1000), true},
	} {
		var sent []string
		for _, set := range []*serve.Settings{nil, set} {
			o := to(t, func(w http.ResponseWriter, r *http.Request) {
				got, _ := io.ReadAll(r.Body)
				sent = append(sent, string(got))
			})
			o.Settings, o.Prune = set, tt.prune
			at, _, _ := start(t, o)
			resp, _ := send(t, "POST", at+"/v1/messages", tt.body)
			if voted := strings.Contains(resp.Header.Get("Pare-Rules"), "deduplication"); voted != tt.rules {
				t.Errorf("%s: %v", tt.name, resp.Header)
			}
		}
		if len(sent) != 2 || sent[0] != sent[1] || (sent[0] != tt.body) != tt.rules {
			t.Errorf("%s: %d bytes came, %d and %d were sent", tt.name, len(tt.body), len(sent[0]), len(sent[1]))
		}
	}
}

// TestSavingsFollowTheUsageOfReplies: what is left out is worth the list price where no
// reply of the conversation reports a cache, and what a cache asks for where one does, this one
// or an earlier one. What could not have been sent has saved nothing.
func TestSavingsFollowTheUsageOfReplies(t *testing.T) {
	const uncached, read = `{"usage":{"input_tokens":1000,"output_tokens":10}}`, `{"usage":{"input_tokens":100,"cache_read_input_tokens":900,"output_tokens":10}}`
	price, _ := tokens.PriceOf("claude-sonnet-4-5")
	cache := tokens.CacheOf("claude-sonnet-4-5")
	small, large := sameFile("claude-sonnet-4-5", 20, 60), sameFile("claude-sonnet-4-5", 60, 4000)
	for _, tt := range []struct {
		name, body string
		prune      bool
		replies    []string
		value      func(saved []int) float64
		fitted     int
	}{
		{"no cache", small, true, []string{uncached, uncached, uncached}, func(saved []int) float64 {
			return price.Cost(cache, tokens.Usage{Input: saved[0] + saved[1] + saved[2]})
		}, 0},
		{"a cache", small, true, []string{uncached, read, uncached}, func(saved []int) float64 {
			return price.Cost(cache, tokens.Usage{Input: saved[0], Read: saved[1] + saved[2]})
		}, 0},
		{"too long", large, false, []string{uncached, uncached, uncached}, func([]int) float64 { return 0 }, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := 0
			o := to(t, func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				io.WriteString(w, tt.replies[n])
				n++
			})
			o.Prune = tt.prune
			at, s, _ := start(t, o)
			var saved []int
			for range tt.replies {
				send(t, "POST", at+"/v1/messages", tt.body)
			}
			all := s.Watch().Last(3)
			for i := range all {
				saved = append(saved, all[len(all)-1-i].Saved)
			}
			if len(saved) != 3 || slices.Min(saved) == 0 {
				t.Fatalf("saved %v tokens", saved)
			}
			got, want := s.Watch().Traffic(0).Totals, tt.value(saved)
			if math.Abs(got.Saved-want) > 1e-9 || got.Fitted != tt.fitted || want == 0 && tt.fitted == 0 {
				t.Errorf("$%f saved, want $%f; %d fitted, want %d", got.Saved, want, got.Fitted, tt.fitted)
			}
		})
	}
}
