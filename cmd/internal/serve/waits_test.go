package serve_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/paretest"
)

// talked is a conversation of so many turns.
func talked(name string, turns int) string {
	var list []string
	for i := range turns {
		list = append(list, fmt.Sprintf(`{"role":"user","content":"%s: item-%05d costs %d. %s"},{"role":"assistant","content":"We decided to keep part-%05d because %s"}`,
			name, i, i, strings.Repeat("a question about it ", 20), i, strings.Repeat("the tests need it ", 40)))
	}
	return `{"model":"claude-sonnet-4-5","max_tokens":1000,"messages":[` + strings.Join(list, ",") + `,{"role":"user","content":"and now?"}]}`
}

// summarizing is a model that writes summaries when it is let.
func summarizing(t *testing.T, wait func(*http.Request)) (url string, asked *atomic.Int32) {
	t.Helper()
	asked = new(atomic.Int32)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		asked.Add(1)
		wait(r)
		text, _ := json.Marshal("what the model wrote")
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":%s}}]}`, text)
	}))
	t.Cleanup(srv.Close)
	return srv.URL, asked
}

const window = "[window]\ntokens = 12000\nlow = '60%'\n"

// asksModel is a configuration in which a model writes summaries.
func asksModel(url string) string {
	return window + "[compact]\nendpoint = '" + url + "'\nmodel = 'small'\ntimeout = '1h'\nmax_summary = 1000\n"
}

// TestServerDoesNotWaitForSummaries: requests are answered while the model that writes summaries says nothing, and get its summary once
// it has.
func TestServerDoesNotWaitForSummaries(t *testing.T) {
	free := make(chan struct{})
	url, asked := summarizing(t, func(r *http.Request) {
		select {
		case <-free:
		case <-r.Context().Done():
		}
	})
	var last atomic.Pointer[string]
	m := &paretest.Mock{}
	o := to(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		text := string(body)
		last.Store(&text)
		r.Body = io.NopCloser(strings.NewReader(text))
		m.ServeHTTP(w, r)
	})
	o.Settings = settings(t, asksModel(url))
	at, _, _ := start(t, o)
	body := talked("a", 80)
	for range 20 {
		if resp, reply := send(t, "POST", at+"/v1/messages", body); resp.StatusCode != 200 || !strings.Contains(*last.Load(), "was not summarized") {
			t.Fatalf("%d %s: %s", resp.StatusCode, reply, *last.Load())
		}
	}
	for asked.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
	close(free)
	for !strings.Contains(*last.Load(), "what the model wrote") {
		time.Sleep(time.Millisecond)
		send(t, "POST", at+"/v1/messages", body)
	}
}

// TestSummariesDoNotDelayRequests: a model that takes three seconds for a summary, or never answers, costs no request anything.
// Several servers of each kind get the same requests in turns. Of a request the fastest of its kind counts: what else
// the machine does holds up one or the other, what a server waits for would hold up all.
func TestSummariesDoNotDelayRequests(t *testing.T) {
	trial.SoakOnly(t, "the clock decides")
	slow, _ := summarizing(t, func(*http.Request) { time.Sleep(3 * time.Second) })
	over := make(chan struct{})
	never, _ := summarizing(t, func(*http.Request) { <-over })
	t.Cleanup(func() { close(over) })
	kinds := []string{"none", "3 s", "never"}
	const alike, requests = 7, 1000
	var at []string // of the kinds in turns
	for range alike {
		for _, conf := range []string{window, asksModel(slow), asksModel(never)} {
			o := to(t, (&paretest.Mock{}).ServeHTTP)
			o.Settings = settings(t, conf)
			url, _, _ := start(t, o)
			at = append(at, url)
		}
	}
	all := make([][]time.Duration, len(kinds))
	for n := range requests {
		body := talked(fmt.Sprint("conversation ", n/100), 30+n%100)
		fastest := make([]time.Duration, len(kinds))
		for i := range at {
			i = (i + n) % len(at)
			began := time.Now()
			if resp, reply := send(t, "POST", at[i]+"/v1/messages", body); resp.StatusCode != 200 {
				t.Fatal(resp.StatusCode, reply)
			}
			if took, kind := time.Since(began), i%len(kinds); fastest[kind] == 0 || took < fastest[kind] {
				fastest[kind] = took
			}
		}
		for kind, took := range fastest {
			all[kind] = append(all[kind], took)
		}
	}
	for kind := range all {
		slices.Sort(all[kind])
		p50, p99 := all[kind][requests/2], all[kind][requests*99/100]
		base50, base99 := all[0][requests/2], all[0][requests*99/100]
		t.Logf("%-6s p50 %v (%.1f %%)  p99 %v (%.1f %%)", kinds[kind], p50, 100*float64(p50)/float64(base50), p99, 100*float64(p99)/float64(base99))
		if float64(p50) > 1.05*float64(base50) || float64(p99) > 1.05*float64(base99) {
			t.Errorf("%s: more than 5 %% above none", kinds[kind])
		}
	}
}
