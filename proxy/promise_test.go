package proxy_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/wire"
)

// TestHopByHopOfPlainRequests: the short way of requests that need no care drops what is meant
// for the next machine only, both ways.
func TestHopByHopOfPlainRequests(t *testing.T) {
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request, body []byte, n int) {
		w.Header().Set("Connection", "X-Hop")
		w.Header().Set("X-Hop", "1")
		w.Header().Set("Keep-Alive", "timeout=5")
		w.Header().Set("X-Stays", "1")
		io.WriteString(w, `{"ok":true}`)
	})
	s := front(t, u)
	raw(t, s.Listener.Addr().String(), fmt.Sprintf("POST /v1/messages HTTP/1.1\r\nHost: x\r\nConnection: close\r\nKeep-Alive: 5\r\nProxy-Connection: close\r\nProxy-Authorization: secret\r\nX-Stays: 1\r\nContent-Length: %d\r\n\r\n%s", len(clean), clean))
	got := u.last(t).header
	for _, name := range []string{"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authorization"} {
		if v := got.Values(name); len(v) > 0 {
			t.Errorf("%s is sent on: %q", name, v)
		}
	}
	if got.Get("X-Stays") != "1" {
		t.Errorf("%v", got)
	}
	resp, _ := post(t, s.URL+"/v1/messages", clean)
	for _, name := range []string{"X-Hop", "Keep-Alive"} {
		if v := resp.Header.Values(name); len(v) > 0 {
			t.Errorf("%s comes back: %q", name, v)
		}
	}
	if resp.Header.Get("X-Stays") != "1" {
		t.Errorf("%v", resp.Header)
	}
}

// TestPublicAddresses: what the name of a vendor may stand for.
func TestPublicAddresses(t *testing.T) {
	for address, want := range map[string]bool{
		"160.79.104.10": true, "2607:6bc0::10": true, "127.0.0.1": false, "::1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false,
		"169.254.169.254": false, "fe80::1": false, "fd00::1": false, "0.0.0.0": false, "224.0.0.1": false, "::ffff:127.0.0.1": false,
		"::ffff:10.0.0.1": false, "100.64.0.1": false, "100.127.255.255": false, "100.128.0.1": true, "198.18.0.1": false, "255.255.255.255": false,
	} {
		if proxy.Public(netip.MustParseAddr(address)) != want {
			t.Errorf("%s: %v", address, !want)
		}
	}
}

// TestPanicInTheProxyItself: what no policy catches is caught here, and the request is planned
// for without it. This one is a single message, which cannot be cut.
func TestPanicInTheProxyItself(t *testing.T) {
	u := newUpstream(t, nil)
	s := front(t, u, func(c *proxy.Config) {
		c.Policy = proxy.Default()
		c.Policy.Counter = func(string) (wire.Counter, error) { panic("a bug") }
	})
	large := strings.Replace(clean, `h\u0069`, strings.Repeat("word ", 200_000), 1)
	resp, _ := post(t, s.URL+"/v1/messages", large)
	if string(u.last(t).body) != large || resp.Header.Get("Pare-Skipped") != "window-too-small" || resp.Header.Get("Pare-Faults") != "counter" {
		t.Errorf("%s %v", resp.Status, resp.Header)
	}
}

// TestHealingLeavesRoomForTheReply: a provider that adds the reply to the request is sent what
// leaves room for both.
func TestHealingLeavesRoomForTheReply(t *testing.T) {
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request, body []byte, n int) {
		if n == 1 {
			w.WriteHeader(400)
			io.WriteString(w, `{"type":"error","error":{"type":"invalid_request_error","message":"input length and `+"`max_tokens`"+` exceed context limit: 9000 + 6000 > 10000, decrease input length or `+"`max_tokens`"+` and try again"}}`)
			return
		}
		io.WriteString(w, `{"ok":true}`)
	})
	s := front(t, u, func(c *proxy.Config) {
		c.Policy = &pare.Policy{Window: &pare.Window{ModelTokens: true, LowPercent: 95}}
	})
	body := long(60)
	resp, _ := post(t, s.URL+"/v1/messages", body)
	all := u.all()
	if resp.StatusCode != 200 || len(all) != 2 || resp.Header.Get("Pare-Healed") != "overflow" {
		t.Fatalf("%s, %d requests, %v", resp.Status, len(all), resp.Header)
	}
	// 4,000 of 9,000 are left for the history.
	if share := float64(len(all[1].body)) / float64(len(body)); share > 0.5 {
		t.Errorf("%.2f of it is sent again", share)
	}
}

// TestRefusalThatBreaksOff: a refusal of which the end is missing is not passed off as whole.
func TestRefusalThatBreaksOff(t *testing.T) {
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request, body []byte, n int) {
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		rw.WriteString("HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n{\"error\":{\"mess\r\n")
		rw.Flush()
		c.Close()
	})
	s := front(t, u)
	resp, err := http.Post(s.URL+"/v1/messages", "application/json", strings.NewReader(errorReader))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err == nil || resp.StatusCode != 400 {
		t.Errorf("%s: %q is passed off as whole", resp.Status, text)
	}
}

// TestTooLargeIsCounted: what is too large to be looked at is in the sums as what it was, with
// and without a length in front, and shows when it begins.
func TestTooLargeIsCounted(t *testing.T) {
	u := newUpstream(t, nil)
	records, begun := make(chan *proxy.Record, 1), make(chan *proxy.Record, 1)
	s := front(t, u, func(c *proxy.Config) {
		c.MaxBody = 1000
		c.Begun = func(r *proxy.Record) { begun <- r }
		c.Record = func(r *proxy.Record) { records <- r }
	})
	body := `{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"` + strings.Repeat("x", 2000) + `"}]}`
	for name, src := range map[string]io.Reader{"length": strings.NewReader(body), "none": struct{ io.Reader }{strings.NewReader(body)}} {
		resp, err := http.Post(s.URL+"/v1/messages", "application/json", src)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if r := <-begun; r.Skipped != "too-large" || r.BytesIn < 0 {
			t.Errorf("%s: begins with %+v", name, r)
		}
		if r := <-records; r.BytesIn != int64(len(body)) || r.BytesOut != int64(len(body)) {
			t.Errorf("%s: %d bytes in, %d out, not %d", name, r.BytesIn, r.BytesOut, len(body))
		}
		if string(u.last(t).body) != body {
			t.Errorf("%s: other bytes", name)
		}
	}
}

// TestHeadersOfAnotherPare: what a reply says about a request is what was done here. An
// upstream that is a Pare itself speaks of another request, and of receipts that are not here.
func TestHeadersOfAnotherPare(t *testing.T) {
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request, body []byte, n int) {
		for _, name := range []string{"Pare-Changes", "Pare-Rules", "Pare-Receipt", "Pare-Saved-Tokens", "Pare-Healed", "Pare-Skipped"} {
			w.Header().Set(name, "7")
		}
		io.WriteString(w, `{"ok":true}`)
	})
	resp, _ := post(t, front(t, u).URL+"/v1/messages", clean)
	for name, v := range resp.Header {
		if strings.HasPrefix(name, "Pare-") && (name != "Pare-Changes" || v[0] != "0") {
			t.Errorf("%s: %s", name, v)
		}
	}
}

// TestLastBytesOfABrokenReply: what an upstream sent before it broke off is passed on, the last
// bytes included, and the client sees that it is not all, on the short way and on the other.
func TestLastBytesOfABrokenReply(t *testing.T) {
	for _, said := range []string{
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n9\r\ndata: 2",
		"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ndata: 1\n\ndata: 2",
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				if q, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
					io.Copy(io.Discard, q.Body)
				}
				io.WriteString(c, said)
				c.Close()
			}
		}()
		s := front(t, &upstream{Server: &httptest.Server{URL: "http://" + l.Addr().String()}})
		for name, body := range map[string]io.Reader{"plain": strings.NewReader(clean), "without a length": struct{ io.Reader }{strings.NewReader(clean)}} {
			resp, err := http.Post(s.URL+"/v1/messages", "application/json", body)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if string(got) != "data: 1\n\ndata: 2" || err == nil {
				t.Errorf("%s: %q: %q, %v", name, said, got, err)
			}
		}
		l.Close()
	}
}
