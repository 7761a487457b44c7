package proxy_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pare-llm/pare/proxy"
)

// TestNoPlaceIsNoReply: a client that stops sending while its request waits for a place may still
// read. It sees that there is no reply, not an empty one with status 200.
func TestNoPlaceIsNoReply(t *testing.T) {
	busy, done := make(chan struct{}, 1), make(chan struct{})
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		busy <- struct{}{}
		<-done
	}))
	defer upstream.Close()
	up, err := proxy.ParseUpstream("anthropic=" + upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(proxy.New(proxy.Config{Upstreams: map[string]proxy.Upstream{"anthropic": up}, Flights: 1}))
	defer front.Close()
	defer close(done)
	const body = `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`
	ask := func(request string) *net.TCPConn {
		c, err := net.Dial("tcp", strings.TrimPrefix(front.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(c, request)
		return c.(*net.TCPConn)
	}
	first := ask(fmt.Sprintf("POST /v1/messages HTTP/1.1\r\nHost: pare\r\nAnthropic-Version: 2023-06-01\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
	defer first.Close()
	<-busy // it has the only place
	second := ask("GET /u/anthropic/v1/models HTTP/1.1\r\nHost: pare\r\nAnthropic-Version: 2023-06-01\r\n\r\n")
	defer second.Close()
	if err := second.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if reply, err := io.ReadAll(second); err != nil || len(reply) > 0 {
		t.Errorf("the proxy answers %q, %v", reply, err)
	}
}
