package proxy_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/proxy"
)

// dialogue is what a client hears, to the end of the connection.
func dialogue(t *testing.T, address, text string) string {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, text)
	all, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}

// TestNoTypeIsMadeUp for a reply that names none, on either way.
func TestNoTypeIsMadeUp(t *testing.T) {
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request, body []byte, n int) {
		w.Header()["Content-Type"] = nil
		io.WriteString(w, "<html>")
	})
	s := front(t, u)
	for _, path := range []string{"/v1/messages", "/u/mine/files"} {
		if resp, body := post(t, s.URL+path, clean); body != "<html>" || resp.Header["Content-Type"] != nil {
			t.Error(path, body, resp.Header)
		}
		// A server guesses when the head goes out with the body, which is a matter of luck where
		// the proxy of the standard library flushes. It is told not to by a header without values.
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, path, strings.NewReader(clean))
		s.Config.Handler.ServeHTTP(w, r)
		if values, told := w.Header()["Content-Type"]; !told || values != nil {
			t.Errorf("%s: the server may guess: %v", path, w.Header())
		}
	}
}

// TestHintsOfOldClients: HTTP/1.0 has no 1xx.
func TestHintsOfOldClients(t *testing.T) {
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request, body []byte, n int) {
		w.Header().Set("Link", "</x>")
		w.WriteHeader(http.StatusEarlyHints)
		io.WriteString(w, "reply")
	})
	s := front(t, u)
	for _, path := range []string{"/v1/messages", "/u/mine/files"} {
		for version, want := range map[string]int{"1.0": 0, "1.1": 1} {
			got := dialogue(t, s.Listener.Addr().String(), fmt.Sprintf("POST %s HTTP/%s\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", path, version, len(clean), clean))
			if strings.Count(got, " 103 ") != want || strings.Count(got, " 200 ") != 1 || !strings.HasSuffix(got, "reply") {
				t.Errorf("%s, HTTP/%s: %q", path, version, got)
			}
		}
	}
}

// TestNoTunnelForHTTP2: an upstream that would go on in HTTP/2 could be asked for anything
// through it.
func TestNoTunnelForHTTP2(t *testing.T) {
	u := newUpstream(t, nil)
	s := front(t, u)
	got := dialogue(t, s.Listener.Addr().String(), fmt.Sprintf("POST /v1/messages HTTP/1.1\r\nHost: x\r\nConnection: close, Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\nContent-Length: %d\r\n\r\n%s", len(clean), clean))
	if h := u.last(t).header; !strings.Contains(got, " 200 ") || h["Upgrade"] != nil || h["Http2-Settings"] != nil || h["Connection"] != nil {
		t.Error(got, h)
	}
}

// TestAsterisk is no path of any upstream.
func TestAsterisk(t *testing.T) {
	u := newUpstream(t, nil)
	s := front(t, u)
	got := dialogue(t, s.Listener.Addr().String(), "POST * HTTP/1.1\r\nHost: x\r\nX-Api-Key: k\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}")
	if !strings.Contains(got, " 404 ") || len(u.all()) > 0 {
		t.Error(got)
	}
}

// TestCodingsInTwoHeaders are two codings.
func TestCodingsInTwoHeaders(t *testing.T) {
	u := newUpstream(t, nil)
	s := front(t, u)
	req, err := http.NewRequest("POST", s.URL+"/v1/messages", strings.NewReader(string(pack(t, "gzip", []byte(errorReader)))))
	if err != nil {
		t.Fatal(err)
	}
	req.Header["Content-Encoding"] = []string{"gzip", "br"}
	if resp, _ := trial.RoundTrip(t, req); resp.Header.Get("Pare-Skipped") != "content-coding" {
		t.Error(resp.Header)
	}
}

// pieces counts what is written to connections.
type pieces struct {
	net.Listener
	n *atomic.Int32
}

type piece struct {
	net.Conn
	n *atomic.Int32
}

func (p pieces) Accept() (net.Conn, error) {
	c, err := p.Listener.Accept()
	return piece{c, p.n}, err
}

func (p piece) Write(b []byte) (int, error) {
	p.n.Add(1)
	return p.Conn.Write(b)
}

// TestShortRepliesAreOnePiece: the head of a reply that fits a buffer waits for its body, and
// any other does not wait.
func TestShortRepliesAreOnePiece(t *testing.T) {
	head := make(chan bool)
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request, body []byte, n int) {
		if r.Header.Get("Accept") != "" {
			w.Header().Set("Content-Type", "text/event-stream")
			http.NewResponseController(w).Flush()
			<-head
		}
		io.WriteString(w, "reply")
	})
	up, err := proxy.ParseUpstream("anthropic=" + u.URL)
	if err != nil {
		t.Fatal(err)
	}
	h := proxy.New(proxy.Config{Upstreams: map[string]proxy.Upstream{"anthropic": up}})
	s := httptest.NewUnstartedServer(h)
	var written atomic.Int32
	s.Listener = pieces{s.Listener, &written}
	s.Start()
	t.Cleanup(func() { s.Close(); h.CloseIdle() })
	if resp, body := post(t, s.URL+"/v1/messages", clean); body != "reply" || resp.ContentLength != 5 || written.Load() != 1 {
		t.Error(body, resp.ContentLength, written.Load())
	}
	req, err := http.NewRequest("POST", s.URL+"/v1/messages", strings.NewReader(clean))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := http.DefaultTransport.RoundTrip(req) // hangs if the head waits
	if err != nil {
		t.Fatal(err)
	}
	close(head)
	if text, err := io.ReadAll(resp.Body); string(text) != "reply" || err != nil {
		t.Error(string(text), err)
	}
	resp.Body.Close()
}

// TestKeptConnectionIsClosed just when a request is sent over it: nobody knows whether the
// upstream has taken it, so it is not sent twice.
func TestKeptConnectionIsClosed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var taken atomic.Int32
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			in := bufio.NewReader(c)
			for i := range 2 { // the second is taken, and not answered
				r, err := http.ReadRequest(in)
				if err != nil {
					break
				}
				io.Copy(io.Discard, r.Body)
				taken.Add(1)
				if i == 0 {
					io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
				}
			}
			c.Close()
		}
	})
	s := front(t, &upstream{Server: &httptest.Server{URL: "http://" + l.Addr().String()}})
	for _, body := range []string{clean, strings.Replace(clean, "hi", strings.Repeat("x", 100_000), 1)} {
		taken.Store(0)
		if resp, got := post(t, s.URL+"/v1/messages", body); got != "ok" {
			t.Fatal(resp.Status, got)
		}
		if resp, got := post(t, s.URL+"/v1/messages", body); resp.StatusCode != http.StatusBadGateway || taken.Load() != 2 {
			t.Error(resp.Status, got, taken.Load())
		}
	}
	l.Close()
	all.Wait()
}
