package serve_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pare-llm/pare/cmd/internal/serve"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/store"
)

// TestRememberThroughput: a server that remembers passes at least 85 % of the requests that one
// passes that does not; they are measured in turns. Eight clients hold conversations that grow, without a
// pause.
func TestRememberThroughput(t *testing.T) {
	trial.SoakOnly(t, "the clock decides")
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, `{"type":"message","role":"assistant","content":[{"type":"text","text":"well"}],"usage":{"input_tokens":7,"output_tokens":2}}`)
	}))
	defer up.Close()
	u, err := url.Parse(up.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, long := range []int{40, 400} { // messages of about 600 bytes
		var at [2]string
		var servers [2]*serve.Server
		for i := range at {
			st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "pare.db"))
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			at[i], servers[i], _ = start(t, serve.Options{Remember: i == 1, Store: st, Upstreams: map[string]proxy.Upstream{"anthropic": {URL: u, Private: true}}})
		}
		var took [2]time.Duration
		const rounds, each = 12, 1200
		for round := range rounds {
			for i := range at {
				i = (i + round) % 2
				began := time.Now()
				var wait sync.WaitGroup
				for client := range 8 {
					wait.Go(func() {
						for n := range each / 8 {
							body := beginning(fmt.Sprintf("round %d, client %d, talk %d", round, client, n/10), long+2*(n%10)+1, 45)
							resp, err := http.Post(at[i]+"/v1/messages", "application/json", strings.NewReader(body))
							if err != nil {
								t.Error(err)
								return
							}
							io.Copy(io.Discard, resp.Body)
							resp.Body.Close()
						}
					})
				}
				wait.Wait()
				took[i] += time.Since(began)
				for servers[i].Unwritten() > 0 && t.Context().Err() == nil {
					time.Sleep(time.Millisecond)
				}
			}
		}
		_, totals := send(t, "GET", at[1]+"/pare/v1/requests?limit=0", "")
		share := float64(took[0]) / float64(took[1])
		t.Logf("%d messages: %.0f requests per second without, %.0f with: %.1f %%; %s", long, rounds*each/took[0].Seconds(), rounds*each/took[1].Seconds(), 100*share, between(totals, `"remembered":`, `"rules"`))
		if share < 0.85 {
			t.Errorf("%d messages: %.1f %% of the throughput without", long, 100*share)
		}
	}
}

// between is what stands between two words.
func between(text, from, to string) string {
	_, text, _ = strings.Cut(text, from)
	text, _, _ = strings.Cut(text, to)
	return from + text
}
