package proxy

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/summary"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// TestEndlessConversationKeepsEveryFact: a client sends a history that grows to thousands of turns, and the proxy makes a
// window with summaries of each request. All are answered, windows and summaries are within their
// bounds, and each turn is there, or a summary says that it stands for it. In the end everything that
// is not sent is in the archive, under the handles that the request names.
func TestEndlessConversationKeepsEveryFact(t *testing.T) {
	rounds := 24
	switch {
	case trial.Soak():
		rounds = 200
	case testing.Short():
		rounds = 10
	}
	const window, most = 6000, 1000
	count := tokens.For("claude-sonnet-4-5")
	c := &pare.Compactor{Summarize: summary.Extract(summary.ExtractOptions{}), MaxTokens: most}
	var sent []byte
	var archived memoryArchive
	handle := regexp.MustCompile(`(?:archived as|pare recall) (pare-[0-9a-f]+)`)
	tr := &Transport{PlanTime: -1, Conversations: NewConversations(ConversationsOptions{}), Policy: &pare.Policy{Window: &pare.Window{Tokens: window, LowPercent: 60}, Compact: c, Archive: &archived},
		Base: base(func(_ *http.Request, body []byte) *http.Response {
			sent = body
			return answer(200, `{"type":"message","role":"assistant","content":[],"stop_reason":"end_turn","usage":{"input_tokens":5,"output_tokens":5}}`)
		})}
	stands := regexp.MustCompile(`\[pare: (?:level \d+: )?(\d+) turns?, \d+ blocks? of`)
	history, turns := "", 0
	ask := func() *http.Response {
		t.Helper()
		resp, err := tr.RoundTrip(request(`{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[` + history[1:] + `,{"role":"user","content":"and now?"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		drain(t, resp)
		return resp
	}
	for round := range rounds {
		for range 25 {
			history += fmt.Sprintf(`,{"role":"user","content":"Please note that %s"},{"role":"assistant","content":"We decided to keep %s %s"}`, trial.Fact(turns), trial.Decision(turns), strings.Repeat("More words about it. ", 12))
			turns++
		}
		resp := ask()
		if resp.StatusCode != 200 || resp.Header.Get("Pare-Skipped") != "" || resp.Header.Get("Pare-Faults") != "" {
			t.Fatalf("round %d: %d %v", round, resp.StatusCode, resp.Header)
		}
		r, err := wire.Parse(sent, wire.Options{})
		if err != nil {
			t.Fatal(err)
		}
		said, gone, left := "", 0, 0
		for b := range r.Transcript().Blocks() {
			text := r.Text(transcript.BlockID(b))
			if _, after, ok := strings.Cut(text, wording.SummaryBegin); ok {
				said, _, _ = strings.Cut(after, wording.SummaryEnd)
			} else if strings.HasPrefix(text, "Please note that item-") {
				left++
			}
		}
		for _, m := range stands.FindAllStringSubmatch(said, -1) {
			n, _ := strconv.Atoi(m[1])
			gone += n
		}
		if n, all := count.Count([]byte(said)), r.Tokens(count); n > most || all > window || gone+left != turns {
			t.Fatalf("round %d: %d tokens, %d of summaries; %d turns, %d are there and summaries stand for %d\n%s", round, all, n, turns, left, gone, said)
		}
	}
	all := string(sent)
	for _, m := range handle.FindAllSubmatch(sent, -1) {
		items, err := archive.Recall(t.Context(), &archived, string(m[1]))
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range items {
			all += string(item.Raw)
		}
	}
	if i := trial.FirstMissingTurn(all, turns); i < turns {
		t.Errorf("of %d turns that of %d is neither sent nor archived: %d bytes", turns, i, len(all))
	}
}

// A memoryArchive is an archive in memory.
type memoryArchive struct {
	mu    sync.Mutex
	items map[string]archive.Item
}

func (a *memoryArchive) Put(_ context.Context, items ...archive.Item) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.items == nil {
		a.items = make(map[string]archive.Item)
	}
	for _, item := range items {
		item.Raw = bytes.Clone(item.Raw)
		a.items[item.ID] = item
	}
	return nil
}

func (a *memoryArchive) Get(_ context.Context, id string) (archive.Item, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	item, ok := a.items[id]
	if !ok {
		return item, archive.ErrNotFound
	}
	return item, nil
}
