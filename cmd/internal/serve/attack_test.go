package serve_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pare-llm/pare/cmd/internal/serve"
)

// TestReboundNameReachesNoUpstream: an upstream on this machine that looks at the Host itself hears its
// own name from Pare, so Pare looks: a name that was pointed here (DNS rebinding) reaches no upstream.
func TestReboundNameReachesNoUpstream(t *testing.T) {
	var reached atomic.Int64
	o := to(t, func(w http.ResponseWriter, r *http.Request) { reached.Add(1); ok(w, r) })
	o.Hosts = []string{"proxy.lan"}
	at, _, _ := start(t, o)
	_, port, _ := strings.Cut(strings.TrimPrefix(at, "http://"), ":")
	for _, host := range []string{"evil.example", "evil.example:" + port, "localhost.evil.example", "127.0.0.1.nip.io:" + port, "localhost.", "10.0.0.1"} {
		for _, method := range []string{"GET", "POST", "DELETE"} {
			for _, path := range []string{"/u/anthropic/api/tags", "/v1/messages"} {
				resp, _ := send(t, method, at+path, `{}`, "Host", host)
				if resp.StatusCode != http.StatusForbidden || reached.Load() != 0 {
					t.Errorf("%s %s with Host %s: %d, and the upstream was reached %d times", method, path, host, resp.StatusCode, reached.Swap(0))
				}
			}
		}
	}
	for _, host := range []string{"localhost:" + port, "[::1]:" + port, "proxy.lan"} {
		if resp, _ := send(t, "GET", at+"/u/anthropic/api/tags", "", "Host", host); resp.StatusCode != http.StatusOK {
			t.Errorf("Host %s: %d", host, resp.StatusCode)
		}
	}
	// A token says more than a name: no page has one.
	const token = "alice:0123456789abcdef"
	o.Tokens = []string{token}
	at, _, _ = start(t, o)
	if resp, _ := send(t, "GET", at+"/u/anthropic/api/tags", "", "Host", "proxy.example", "Pare-Token", token); resp.StatusCode != http.StatusOK {
		t.Errorf("with a token: %d", resp.StatusCode)
	}
}

// TestSlowBodiesOfLocalCallsEnd: a body for Pare's own calls that stops is given up like one that
// would go on.
func TestSlowBodiesOfLocalCallsEnd(t *testing.T) {
	at, _, _ := start(t, serve.Options{BodyTime: 200 * time.Millisecond})
	for _, path := range []string{"check", "fix", "prune", "trim", "count", "pairs"} {
		c, err := net.Dial("tcp", strings.TrimPrefix(at, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "POST /pare/v1/%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{", path)
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		if said, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusRequestTimeout || strings.Contains(string(said), "127.0.0.1") {
			t.Errorf("%s: %d %s", path, resp.StatusCode, said)
		}
	}
}

// TestStreamEndsWithItsToken: whoever listens with a token that is taken away hears no more, and
// others go on.
func TestStreamEndsWithItsToken(t *testing.T) {
	const lost, kept, admin = "alice:0123456789abcdef", "bob:0123456789abcdefg", "*:0123456789abcdefgh"
	o := to(t, ok)
	o.Tokens = []string{lost, kept, admin}
	at, s, _ := start(t, o)
	for _, path := range []string{"/pare/v1/events", "/pare/traffic/events"} {
		for _, token := range []string{lost, admin} {
			s.SetTokens(o.Tokens)
			req, err := http.NewRequest("GET", at+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Pare-Token", token)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			first := make([]byte, 1)
			if _, err := io.ReadFull(resp.Body, first); err != nil {
				t.Fatal(err)
			}
			s.SetTokens([]string{kept})
			if _, err := io.Copy(io.Discard, resp.Body); err != nil { // it ends, or the test does not
				t.Error(path, err)
			}
			resp.Body.Close()
		}
	}
}

// TestReceiptsTruncateLongIDs: ids are as long as a client likes, and a thousand receipts stay small.
func TestReceiptsTruncateLongIDs(t *testing.T) {
	at, _, _ := start(t, to(t, ok))
	resp, _ := send(t, "POST", at+"/v1/messages", strings.ReplaceAll(broken, "toolu_1", strings.Repeat("i", 1<<20)))
	if resp.Header.Get("Pare-Changes") != "1" {
		t.Fatal(resp.Header)
	}
	if _, said := send(t, "GET", at+"/pare/v1/receipts/"+resp.Header.Get("Pare-Receipt"), ""); len(said) > 300<<10 {
		t.Errorf("the receipt has %d bytes", len(said))
	}
	send(t, "POST", at+"/v1/messages", strings.ReplaceAll(broken, "claude-sonnet-4-5", strings.Repeat("m", 1<<20)))
	if _, said := send(t, "GET", at+"/pare/v1/requests", ""); len(said) > 300<<10 {
		t.Errorf("the list of two requests has %d bytes", len(said))
	}
}
