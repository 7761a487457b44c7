package proxy_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pare-llm/pare/proxy"
)

// raw talks to the proxy byte for byte, and returns the statuses of all answers until the
// connection is closed.
func raw(t *testing.T, address, text string) (statuses []int) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	go io.WriteString(c, text)
	in := bufio.NewReader(c)
	for {
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			return statuses
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		statuses = append(statuses, resp.StatusCode)
	}
}

// TestSmuggling has the shapes by which two servers can be made to disagree on where a
// request ends. Whatever the answer, nothing behind it may reach the upstream.
func TestSmuggling(t *testing.T) {
	const smuggled = "POST /v1/messages/batches/smuggled HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
	for name, head := range map[string]string{
		"length and chunked":         "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"a\":\r\n0\r\n\r\n",
		"chunked and length":         "Transfer-Encoding: chunked\r\nContent-Length: 400\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"two lengths":                "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
		"two codings":                "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
		"coding with a trick":        "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
		"coding behind a space":      "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
		"chunk that is not a number": "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
		"chunk with a sign":          "Transfer-Encoding: chunked\r\n\r\n+2\r\n{}\r\n0\r\n\r\n",
		"chunk longer than it says":  "Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n",
		"huge chunk":                 "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n{}\r\n0\r\n\r\n",
		"bare line feeds in a chunk": "Transfer-Encoding: chunked\r\n\r\n2;a=\n\r\n{}\r\n0\r\n\r\n",
		"negative length":            "Content-Length: -1\r\n\r\n{}",
		"length with a sign":         "Content-Length: +2\r\n\r\n{}",
	} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(t, nil)
			s := front(t, u)
			raw(t, s.Listener.Addr().String(), "POST /v1/messages HTTP/1.1\r\nHost: x\r\n"+head+smuggled)
			for _, got := range u.all() {
				if strings.Contains(got.uri, "smuggled") {
					t.Error("a request was smuggled")
				}
				if len(got.header["Content-Length"]) > 0 && got.coding != nil {
					t.Errorf("the upstream got both: %v", got.header)
				}
			}
		})
	}
}

// TestTheRestOfABodyIsNoRequest has an upstream that answers before it has read a body. What
// the client sends of it afterwards belongs to nobody: it must not be taken for a request.
func TestTheRestOfABodyIsNoRequest(t *testing.T) {
	const smuggled = "POST /v1/messages/batches/smuggled HTTP/1.1\r\nHost: x\r\nx-api-key: k\r\nanthropic-version: 1\r\nContent-Length: 0\r\n\r\n"
	for name, head := range map[string]string{
		"no history":        "POST /v1/messages/batches/x/cancel HTTP/1.1\r\nContent-Length: 4000000\r\n",
		"too large a one":   "POST /v1/messages HTTP/1.1\r\nContent-Length: 4000000\r\n",
		"nobody's":          "POST /v2/unknown HTTP/1.1\r\nContent-Length: 4000000\r\n",
		"asked for by 100":  "POST /v1/messages/batches/x/cancel HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 4000000\r\n",
		"of unknown length": "POST /v1/messages/batches/x/cancel HTTP/1.1\r\nTransfer-Encoding: chunked\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			var seen sync.Map
			up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				seen.Store(r.URL.Path, true)
				w.Header().Set("Connection", "close")
				w.WriteHeader(http.StatusRequestEntityTooLarge)
			}))
			defer up.Close()
			s := front(t, &upstream{Server: up}, func(c *proxy.Config) { c.MaxBody = 1000 })
			c, err := net.Dial("tcp", s.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			io.WriteString(c, head+"Host: x\r\n\r\n")
			if !strings.Contains(head, "Expect") {
				io.WriteString(c, "7d0\r\n"+strings.Repeat("x", 2000)+"\r\n") // a chunk, if it is chunked
			}
			in := bufio.NewReader(c)
			for status := 100; status == 100; {
				resp, err := http.ReadResponse(in, nil)
				if err != nil {
					t.Fatal(err)
				}
				status = resp.StatusCode
				io.Copy(io.Discard, resp.Body)
			}
			io.WriteString(c, smuggled)
			if resp, err := http.ReadResponse(in, nil); err == nil {
				t.Error("the rest of the body was answered:", resp.Status)
			}
			if _, ok := seen.Load("/v1/messages/batches/smuggled"); ok {
				t.Error("a request was smuggled")
			}
		})
	}
}

// TestChunkedCleanBody keeps working, and gets a length.
func TestChunkedCleanBody(t *testing.T) {
	u := newUpstream(t, nil)
	s := front(t, u)
	text := fmt.Sprintf("POST /v1/messages HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(clean), clean)
	if got := raw(t, s.Listener.Addr().String(), text); len(got) != 1 || got[0] != 200 || string(u.last(t).body) != clean {
		t.Error(got, u.last(t))
	}
}

// TestHeadersCannotBeInjected by what a request says: names of models and tools, ids.
func TestHeadersCannotBeInjected(t *testing.T) {
	u := newUpstream(t, nil)
	s := front(t, u)
	body := strings.NewReplacer("claude-sonnet-4-5", `x\r\nEvil: 1`, "toolu_1", `t\r\nEvil: 2`).Replace(errorReader)
	resp, _ := post(t, s.URL+"/v1/messages", body)
	if resp.Header.Get("Evil") != "" || u.last(t).header.Get("Evil") != "" {
		t.Error(resp.Header)
	}
	for name, text := range map[string]string{
		"value": "GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a\rEvil: 1\r\n\r\n",
		"path":  "GET /u/mine/a%0d%0aEvil:%201 HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		before := len(u.all())
		raw(t, s.Listener.Addr().String(), text[:len(text)-2]+"Connection: close\r\n\r\n")
		for _, got := range u.all()[before:] {
			if got.header.Get("Evil") != "" {
				t.Errorf("%s: %v", name, got.header)
			}
		}
	}
}

// TestHopByHop headers are not sent on, and nor is what Connection names.
func TestHopByHop(t *testing.T) {
	u := newUpstream(t, nil)
	s := front(t, u)
	raw(t, s.Listener.Addr().String(), fmt.Sprintf("POST /v1/messages HTTP/1.1\r\nHost: x\r\nConnection: close, X-Mine\r\nX-Mine: 1\r\nKeep-Alive: 5\r\nProxy-Authorization: secret\r\nTE: gzip\r\nContent-Length: %d\r\n\r\n%s", len(clean), clean))
	for _, name := range []string{"Connection", "X-Mine", "Keep-Alive", "Proxy-Authorization", "Te"} {
		if v := u.last(t).header.Values(name); len(v) > 0 {
			t.Errorf("%s: %q", name, v)
		}
	}
}

// TestBombs are small, and would be large if they were believed.
func TestBombs(t *testing.T) {
	u := newUpstream(t, nil)
	s := front(t, u, func(c *proxy.Config) { c.MaxBody = 1 << 20 })
	zeros := []byte(`{"messages":[{"role":"user","content":"` + strings.Repeat("0", 8<<20) + `"}]}`)
	for _, coding := range []string{"gzip", "zstd", "deflate", rawDeflate, "br"} {
		packed := pack(t, coding, zeros)
		coding, _, _ := strings.Cut(coding, ",")
		resp, _ := post(t, s.URL+"/v1/messages", string(packed), "Content-Encoding", coding)
		if resp.Header.Get("Pare-Skipped") != "too-large" || !bytes.Equal(u.last(t).body, packed) {
			t.Error(coding, resp.Header)
		}
	}
	for _, coding := range []string{"br", "gzip, gzip", "deflate", "br, gzip", "compress"} {
		resp, _ := post(t, s.URL+"/v1/messages", "x", "Content-Encoding", coding)
		if resp.Header.Get("Pare-Skipped") != "content-coding" || string(u.last(t).body) != "x" || u.last(t).header.Get("Content-Encoding") != coding {
			t.Error(coding, resp.Header)
		}
	}
	for _, coding := range []string{"deflate", rawDeflate, "br"} { // what is behind the end, or missing at it
		whole := string(pack(t, coding, []byte(errorReader)))
		coding, _, _ := strings.Cut(coding, ",")
		for _, body := range []string{whole + "x", whole[:len(whole)-5], whole[:1]} {
			resp, _ := post(t, s.URL+"/v1/messages", body, "Content-Encoding", coding)
			if resp.Header.Get("Pare-Skipped") != "content-coding" || string(u.last(t).body) != body {
				t.Error(coding, len(body), resp.Header)
			}
		}
	}
	deep := `{"messages":` + strings.Repeat("[", 400_000) + strings.Repeat("]", 400_000) + `}`
	if resp, _ := post(t, s.URL+"/v1/messages", deep); string(u.last(t).body) != deep || resp.Header.Get("Pare-Changes") != "0" {
		t.Error(resp.Header)
	}
}

// TestBombAsAnswer: an error that unpacks to a lot goes back as it is.
func TestBombAsAnswer(t *testing.T) {
	packed := pack(t, "gzip", bytes.Repeat([]byte("prompt is too long "), 1<<20))
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request, body []byte, n int) {
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(400)
		w.Write(packed)
	})
	s := front(t, u)
	resp, body := post(t, s.URL+"/v1/messages", long(10), "Accept-Encoding", "gzip")
	if resp.StatusCode != 400 || body != string(packed) || len(u.all()) != 1 {
		t.Error(resp.Status, len(body), len(u.all()))
	}
}

// TestOnlyUpstreamsAreReached, whatever Host, target or header say.
func TestOnlyUpstreamsAreReached(t *testing.T) {
	secret := newUpstream(t, nil)
	u := newUpstream(t, nil)
	s := front(t, u)
	at, err := url.Parse(secret.URL)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"host":      "POST /v1/messages HTTP/1.1\r\nHost: " + at.Host + "\r\n",
		"absolute":  "POST " + secret.URL + "/v1/messages HTTP/1.1\r\nHost: " + at.Host + "\r\n",
		"connect":   "CONNECT " + at.Host + " HTTP/1.1\r\nHost: " + at.Host + "\r\n",
		"forwarded": "POST /v1/messages HTTP/1.1\r\nHost: x\r\nX-Forwarded-Host: " + at.Host + "\r\nX-Original-URL: " + secret.URL + "\r\n",
		"user":      "POST /u/" + at.Host + "/v1/messages HTTP/1.1\r\nHost: x\r\n",
		"at":        "POST /u/mine@" + at.Host + "/v1/messages HTTP/1.1\r\nHost: x\r\n",
		"slashes":   "POST //" + at.Host + "/v1/messages HTTP/1.1\r\nHost: x\r\n",
		"named":     "POST /u/mine//" + at.Host + "/v1/messages HTTP/1.1\r\nHost: x\r\n",
	} {
		raw(t, s.Listener.Addr().String(), text+"Connection: close\r\nContent-Length: 2\r\n\r\n{}")
		if len(secret.all()) > 0 {
			t.Fatalf("%s: another server was reached", name)
		}
	}
	for _, got := range u.all() {
		if to, _ := url.Parse(u.URL); got.host != to.Host {
			t.Errorf("the upstream got the host %s", got.host)
		}
	}
	// A redirect goes back to the client.
	u.answer = func(w http.ResponseWriter, r *http.Request, body []byte, n int) {
		w.Header().Set("Location", secret.URL)
		w.WriteHeader(http.StatusTemporaryRedirect)
	}
	if resp, _ := post(t, s.URL+"/v1/messages", clean); resp.StatusCode != 307 || len(secret.all()) > 0 {
		t.Error(resp.Status)
	}
}

// TestNamesOfVendorsAreOnTheInternet: a vendor's name that stands for this machine is not
// believed, unless that is configured.
func TestNamesOfVendorsAreOnTheInternet(t *testing.T) {
	u := newUpstream(t, nil)
	to, err := url.Parse(strings.Replace(u.URL, "127.0.0.1", "localhost", 1))
	if err != nil {
		t.Fatal(err)
	}
	s := front(t, u, func(c *proxy.Config) { c.Upstreams["anthropic"] = proxy.Upstream{URL: to} })
	if resp, body := post(t, s.URL+"/v1/messages", clean); resp.StatusCode != 502 || !strings.Contains(body, "not on the internet") || len(u.all()) > 0 {
		t.Error(resp.Status, body)
	}
	s = front(t, u, func(c *proxy.Config) { c.Upstreams["anthropic"] = proxy.Upstream{URL: to, Private: true} })
	if resp, body := post(t, s.URL+"/v1/messages", clean); resp.StatusCode != 200 {
		t.Error(resp.Status, body)
	}
}

// TestKeysAreNotLogged, nor anything that somebody said.
func TestKeysAreNotLogged(t *testing.T) {
	const secret = "S3CRET"
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request, body []byte, n int) {
		if n%2 == 0 {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(400)
		io.WriteString(w, `{"error":{"message":"prompt is too long: `+secret+`"}}`)
	})
	var log bytes.Buffer
	records := make(chan *proxy.Record, 10)
	s := front(t, u, func(c *proxy.Config) {
		c.Log = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		c.Record = func(r *proxy.Record) { records <- r }
	})
	for _, body := range []string{
		strings.Replace(errorReader, `"hi"`, `"`+secret+`"`, 1), strings.Replace(long(5), "Begin.", secret, 1), `{"messages":[{"role":"` + secret + `"}]}`, `{"messages": ` + secret,
		`{"model":"x","messages":[{"role":"user","content":[{"type":"` + secret + `"},{"type":"` + secret + `2"}]}]}`,
	} {
		post(t, s.URL+"/v1/messages?key="+secret, body, "Authorization", "Bearer "+secret, "X-Api-Key", secret, "Cookie", secret)
		r := <-records
		if text := fmt.Sprintf("%+v", *r); strings.Contains(text, secret) {
			t.Errorf("record: %s", text)
		}
	}
	s.Close() // the log is whole now
	if strings.Contains(log.String(), secret) || log.Len() == 0 {
		t.Errorf("log: %s", log.String())
	}
}

// TestBodyThatStops does not hold its place for ever.
func TestBodyThatStops(t *testing.T) {
	u := newUpstream(t, nil)
	s := front(t, u, func(c *proxy.Config) { c.BodyTime = time.Millisecond })
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{")
	resp, err := http.ReadResponse(bufio.NewReader(c), nil) // and c stays open
	if err != nil || resp.StatusCode != 408 || len(u.all()) > 0 {
		t.Error(resp, err, len(u.all()))
	}
}
