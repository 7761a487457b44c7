//go:build unix

package serve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/pare-llm/pare/cmd/internal/serve"
	"github.com/pare-llm/pare/internal/pgtest"
	"github.com/pare-llm/pare/store/storehttp"
)

// The health check says whether the store answers, and says ok again when it does.
func TestHealthOfTheStore(t *testing.T) {
	dsn, server := pgtest.Durable(t), pgtest.DurableServer(t)
	st, err := serve.OpenStore(context.Background(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	o := to(t, func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("{}")) })
	o.Store, o.Version = st, "v1"
	at, _, _ := start(t, o)
	health := func(want string) {
		t.Helper()
		for { // what was so a moment ago may be said
			resp, body := send(t, "GET", at+"/pare/healthz", "")
			if resp.StatusCode != 200 {
				t.Fatalf("status %d: requests pass without the store", resp.StatusCode)
			}
			var said map[string]string
			if err := json.Unmarshal([]byte(body), &said); err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(said) == want {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	status := func(path string, want int) {
		t.Helper()
		resp, body := send(t, "GET", at+path, "")
		if resp.StatusCode != want {
			t.Errorf("%s: status %d, want %d: %s", path, resp.StatusCode, want, body)
		}
		if after := resp.Header.Get("Retry-After"); want == 503 && after != storehttp.RetryAfter {
			t.Errorf("%s: Retry-After is %q, want %q", path, after, storehttp.RetryAfter)
		}
	}
	health("map[status:ok store:ok version:v1]")
	if err := server.Halt(); err != nil {
		t.Fatal(err)
	}
	health("map[status:degraded store:unavailable version:v1]")
	status("/pare/v1/sessions", 503)
	status("/pare/v1/receipts/x", 503)
	if resp, _ := send(t, "POST", at+"/v1/messages", broken, "anthropic-version", "2023-06-01"); resp.StatusCode != 200 {
		t.Errorf("a request does not pass without the store: status %d", resp.StatusCode)
	}
	if err := server.Run(); err != nil {
		t.Fatal(err)
	}
	health("map[status:ok store:ok version:v1]")
	status("/pare/v1/sessions", 200)
	status("/pare/v1/receipts/x", 404)
}
