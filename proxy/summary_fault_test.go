package proxy_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/tokens"
)

// growingChat returns the body of request n of a conversation that gets longer by one turn each time.
func growingChat(n int, language string) []byte {
	var b bytes.Buffer
	b.WriteString(`{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[`)
	for i := range n + 1 {
		if i > 0 {
			fmt.Fprintf(&b, `,{"role":"assistant","content":%q},`, trial.Paragraph("English", i, 500))
		}
		fmt.Fprintf(&b, `{"role":"user","content":%q}`, trial.Paragraph(language, i, 500))
	}
	b.WriteString("]}")
	return b.Bytes()
}

// summarizing is a proxy that fits requests into 3,000 tokens with summaries by a model.
func summarizing(later bool, s pare.Summarizer, change ...func(*proxy.Config)) func(*proxy.Config) {
	return func(c *proxy.Config) {
		c.Policy = &pare.Policy{Window: &pare.Window{Tokens: 3000, Low: 1800}, SummarizeLater: later, Compact: &pare.Compactor{MaxTokens: 800, Summarize: s}}
		c.Policy.Compact.Options.Counter = tokens.For("claude-sonnet-4-5")
		for _, f := range change {
			f(c)
		}
	}
}

// TestProxySummarizesInEveryScript: a model that writes one long paragraph, in any script, gives every request that
// drops something a summary, and each request fits its window.
func TestProxySummarizesInEveryScript(t *testing.T) {
	counter := tokens.For("claude-sonnet-4-5")
	requests := max(40, min(trial.Size(40), 200))
	for _, language := range trial.Languages() {
		var calls atomic.Int32
		u := newUpstream(t, nil)
		srv := front(t, u, summarizing(false, func(context.Context, pare.Removed) (pare.Summary, error) {
			calls.Add(1)
			return pare.Summary{Text: trial.Paragraph(language, 1, 6000)}, nil
		}))
		summarized := 0
		for n := range requests {
			resp, err := http.Post(srv.URL+"/v1/messages", "application/json", bytes.NewReader(growingChat(n, language)))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			body := string(u.last(t).body)
			if faults := resp.Header.Get("Pare-Faults"); faults != "" {
				t.Fatalf("%s, request %d: faults %s", language, n, faults)
			}
			if size := counter.Count([]byte(body)); size > 3500 || !utf8.ValidString(body) {
				t.Fatalf("%s, request %d: %d tokens were sent", language, n, size)
			}
			if strings.Contains(body, wording.SummaryBegin) {
				summarized++
			}
		}
		if summarized < requests/2 || int(calls.Load()) > requests {
			t.Errorf("%s: %d of %d requests have a summary, the model was asked %d times", language, summarized, requests, calls.Load())
		}
	}
}

// TestProxyNamesFailingSummarizer: a summarizer that fails is asked five times and left out, and header, record and
// log name it. Every request is fitted all the same.
func TestProxyNamesFailingSummarizer(t *testing.T) {
	for _, later := range []bool{false, true} {
		var calls atomic.Int32
		var mu sync.Mutex
		var records []*proxy.Record
		var log bytes.Buffer
		u := newUpstream(t, nil)
		srv := front(t, u, summarizing(later, func(context.Context, pare.Removed) (pare.Summary, error) {
			calls.Add(1)
			return pare.Summary{}, errors.New("the model is down")
		}, func(c *proxy.Config) {
			c.Log = slog.New(slog.NewTextHandler(&log, nil))
			c.Record = func(r *proxy.Record) {
				mu.Lock()
				defer mu.Unlock()
				records = append(records, r)
			}
		}))
		named := 0
		for n := range 60 {
			resp, err := http.Post(srv.URL+"/v1/messages", "application/json", bytes.NewReader(growingChat(n, "English")))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.Header.Get("Pare-Faults") == "summarizer" {
				named++
			}
		}
		srv.Close()
		mu.Lock()
		inRecords := 0
		for _, r := range records {
			if len(r.Faults) == 1 && r.Faults[0] == "summarizer" {
				inRecords++
			}
		}
		mu.Unlock()
		if named < 20 || inRecords != named || strings.Count(log.String(), "summarizer failed") != 1 {
			t.Errorf("later %v: %d headers and %d records name the summarizer; the log: %s", later, named, inRecords, log.String())
		}
		if n := calls.Load(); n > 5 {
			t.Errorf("later %v: the summarizer was called %d times", later, n)
		}
	}
}
