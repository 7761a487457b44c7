package serve_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestTrafficIsWhole: whoever has seen the end of a reply finds its request counted, over
// whatever connection it asks.
func TestTrafficIsWhole(t *testing.T) {
	at, _, _ := start(t, to(t, ok))
	const clean = `{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[{"role":"user","content":"hi"}]}`
	for i := range 200 {
		agent, reader := &http.Client{Transport: new(http.Transport)}, &http.Client{Transport: new(http.Transport)}
		if i%2 == 0 { // an agent whose connection ends with the reply
			agent.Transport = &http.Transport{DisableKeepAlives: true}
		}
		said := ""
		for _, call := range []func() (*http.Response, error){
			func() (*http.Response, error) {
				return agent.Post(at+"/v1/messages", "application/json", strings.NewReader(clean))
			},
			func() (*http.Response, error) { return reader.Get(at + "/pare/metrics") },
		} {
			resp, err := call()
			if err != nil {
				t.Fatal(err)
			}
			raw, err := io.ReadAll(resp.Body)
			if resp.Body.Close(); err != nil {
				t.Fatal(err)
			}
			said = string(raw)
		}
		agent.CloseIdleConnections()
		reader.CloseIdleConnections()
		if want := fmt.Sprintf("pare_requests_total %d\n", i+1); !strings.Contains(said, want) {
			t.Fatalf("%q is missing in %s", want, said)
		}
	}
}
