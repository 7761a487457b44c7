package serve

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pare-llm/pare/cmd/internal/ui"
	"github.com/pare-llm/pare/proxy"
)

// TestTraffic sends a broken history through the server: the live page knows of it while
// it is under way and when it has ended, with what the provider has counted, and shows its
// conversation.
func TestTraffic(t *testing.T) {
	arrived, answer := make(chan bool), make(chan bool)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		arrived <- true
		<-answer
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"type":"message","content":[],"usage":{"input_tokens":40,"cache_read_input_tokens":60,"output_tokens":7}}`)
	}))
	defer upstream.Close()
	u, err := url.Parse(upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{Upstreams: map[string]proxy.Upstream{"anthropic": {URL: u, Private: true}}})
	server := httptest.NewServer(s)
	defer server.Close()
	traffic := func(after string) (got ui.Traffic) {
		t.Helper()
		resp, err := get(s, server.URL+"/pare/traffic.json?after="+after)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	const body = `{"model":"claude-opus-4-8","max_tokens":100,"messages":[{"role":"user","content":"the secret word"},` +
		`{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Read","input":{}}]},{"role":"user","content":"go on"}]}`
	done := make(chan *http.Response)
	go func() {
		resp, err := http.Post(server.URL+"/v1/messages", "application/json", strings.NewReader(body))
		if err != nil {
			t.Error(err)
		}
		done <- resp
	}()
	<-arrived
	under := traffic("0")
	if len(under.Requests) != 1 || under.Requests[0].Done || under.Totals.Running != 1 || under.Requests[0].Changes != 1 {
		t.Errorf("a request under way: %+v", under)
	}
	answer <- true
	resp := <-done
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	over := traffic("1")
	if len(over.Requests) != 1 {
		t.Fatalf("%d requests", len(over.Requests))
	}
	r := over.Requests[0]
	if !r.Done || r.Status != 200 || r.Input != 40 || r.Cached != 60 || r.Output != 7 || r.Rules["orphan-call"] != 1 || !r.View || r.Window == 0 {
		t.Errorf("a request that ended: %+v", r)
	}
	if n := over.Totals; n.Requests != 1 || n.Running != 0 || n.Changed != 1 || n.CacheRead != 60 || n.Spent <= 0 {
		t.Errorf("sums: %+v", n)
	}
	for path, want := range map[string]string{"/pare/": "Traffic", "/pare/request/" + r.ID: "the secret word", "/pare/request/other": "not kept", "/pare/metrics": "pare_cache_read_tokens_total 60", "/pare/v1/requests": `"usage":{"input":40,"read":60,"written":0,"output":7}`} {
		resp, err := get(s, server.URL+path)
		if err != nil {
			t.Fatal(err)
		}
		page, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if !strings.Contains(string(page), want) {
			t.Errorf("%s does not say %q", path, want)
		}
	}
	// What is kept of the conversation is in memory, and not in what lists requests.
	for _, path := range []string{"/pare/v1/requests", "/pare/traffic.json"} {
		resp, err := get(s, server.URL+path)
		if err != nil {
			t.Fatal(err)
		}
		list, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if strings.Contains(string(list), "secret") {
			t.Errorf("%s tells what was said", path)
		}
	}
}

// TestStreamsEnd: a page that looks on does not keep the server from ending, however long
// requests under way may take.
func TestStreamsEnd(t *testing.T) {
	s := New(Options{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Serve(ctx, l, time.Hour, nil) }()
	for _, path := range []string{"/pare/traffic/events", "/pare/v1/events"} {
		resp, err := get(s, "http://"+l.Addr().String()+path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if _, err := io.ReadFull(resp.Body, make([]byte, 4)); err != nil { // it has begun
			t.Fatal(err)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// get asks a server without tokens for something that needs the token of its run.
func get(s *Server, url string) (*http.Response, error) {
	req, err := http.NewRequest("GET", url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set(tokenHeader, s.gate.runToken)
	return http.DefaultClient.Do(req)
}
