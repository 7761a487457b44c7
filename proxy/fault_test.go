package proxy_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/pare-llm/pare/proxy"
)

// settled waits until no more goroutines run than before; the time limit of the test is
// the only one.
func settled(t testing.TB, before int) {
	t.Helper()
	for runtime.NumGoroutine() > before {
		if t.Context().Err() != nil {
			t.Fatal("goroutines are left")
		}
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		runtime.Gosched()
	}
}

// TestStreamPassesAsItComes lets the upstream write each piece only when the client has
// read the one before.
func TestStreamPassesAsItComes(t *testing.T) {
	before := runtime.NumGoroutine()
	for name, length := range map[string]bool{"chunked": false, "of known length": true} {
		t.Run(name, func(t *testing.T) {
			read := make(chan bool)
			u := newUpstream(t, func(w http.ResponseWriter, r *http.Request, body []byte, n int) {
				w.Header().Set("Content-Type", "text/event-stream")
				if length {
					w.Header().Set("Content-Length", "30")
				}
				for range 3 {
					io.WriteString(w, "data: 1234")
					http.NewResponseController(w).Flush()
					<-read
				}
			})
			s := front(t, u)
			resp, err := http.Post(s.URL+"/v1/messages", "application/json", strings.NewReader(clean))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			for range 3 {
				piece := make([]byte, 10)
				if _, err := io.ReadFull(resp.Body, piece); err != nil || string(piece) != "data: 1234" {
					t.Fatal(string(piece), err)
				}
				read <- true
			}
			if rest, err := io.ReadAll(resp.Body); len(rest) > 0 || err != nil {
				t.Fatal(string(rest), err)
			}
		})
	}
	settled(t, before)
}

func TestTrailersAndEarlyHints(t *testing.T) {
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request, body []byte, n int) {
		w.Header().Set("Trailer", "X-Sum")
		io.WriteString(w, "body")
		w.Header().Set("X-Sum", "42")
	})
	s := front(t, u)
	resp, body := post(t, s.URL+"/v1/messages", clean)
	if body != "body" || resp.Trailer.Get("X-Sum") != "42" {
		t.Error(body, resp.Trailer)
	}
}

// TestUpstreamResets wants the client to see that the reply is not whole.
func TestUpstreamResets(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("reset", func(t *testing.T) {
		u := newUpstream(t, func(w http.ResponseWriter, r *http.Request, body []byte, n int) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "data: half")
			http.NewResponseController(w).Flush()
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				panic(err)
			}
			c.(*net.TCPConn).SetLinger(0)
			c.Close()
		})
		records := make(chan *proxy.Record, 1)
		s := front(t, u, func(c *proxy.Config) { c.Record = func(r *proxy.Record) { records <- r } })
		resp, err := http.Post(s.URL+"/v1/messages", "application/json", strings.NewReader(clean))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if text, err := io.ReadAll(resp.Body); err == nil {
			t.Errorf("%q is passed off as whole", text)
		}
		if r := <-records; r.Error == "" || r.Status != 200 {
			t.Errorf("%+v", r)
		}
	})
	settled(t, before)
}

// TestUpstreamTalksGarbage wants an answer in the vendor's shape.
func TestUpstreamTalksGarbage(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			http.ReadRequest(bufio.NewReader(c))
			io.WriteString(c, "SSH-2.0-OpenSSH\r\n\r\n")
			c.Close()
		}
	}()
	for path, want := range map[string]string{
		"/v1/messages": `{"error":{"message":"Pare reached the upstream anthropic at `, "/v1/chat/completions": `{"error":{"code":null,"message":"Pare reached`,
		"/v1beta/models/g:generateContent": `{"error":{"code":502,"message":"Pare`, "/model/m/converse": `{"message":"Pare`,
	} {
		s := front(t, &upstream{Server: &httptest.Server{URL: "http://" + l.Addr().String()}})
		resp, body := post(t, s.URL+path, `{"messages":[{"role":"user","content":[{"text":"x"}]}]}`)
		if resp.StatusCode != 502 || !strings.HasPrefix(body, want) {
			t.Error(path, resp.Status, body)
		}
		if kind := resp.Header.Get("X-Amzn-Errortype"); (kind == "ServiceUnavailableException") != strings.HasSuffix(path, "/converse") {
			t.Errorf("%s: SDKs of AWS are told %q", path, kind)
		}
		// Clients of an upstream of your own speak as the path says.
		shape := want[:strings.Index(want, "Pare")]
		if resp, body := post(t, s.URL+"/u/nobody"+path, `{}`); resp.StatusCode != 404 || !strings.HasPrefix(strings.Replace(body, ":404,", ":502,", 1), shape) {
			t.Error(path, resp.Status, body)
		}
	}
}

// TestStatusThatIsNone: a reply that no server can write is answered for, whichever way a request
// goes. The standard library reads such a status, and panics when it is to write it.
func TestStatusThatIsNone(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		io.WriteString(c, "HTTP/1.1 099 Odd\r\nContent-Length: 2\r\n\r\n{}")
		c.Close()
	}))
	defer up.Close()
	s := front(t, &upstream{Server: up})
	for name, body := range map[string]io.Reader{"plain": strings.NewReader(clean), "in chunks": io.MultiReader(strings.NewReader(clean)), "none": http.NoBody} {
		resp, err := http.Post(s.URL+"/v1/messages", "application/json", body)
		if err != nil {
			t.Fatal(name, err)
		}
		said, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusBadGateway || !strings.Contains(string(said), "status of its reply is 99") {
			t.Error(name, resp.Status, string(said))
		}
	}
}

// TestReachedOrNot: an upstream that ends a connection without a word is not one that nobody
// reaches, whichever way a request goes.
func TestReachedOrNot(t *testing.T) {
	u := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	ask := func(want string) {
		t.Helper()
		s := front(t, &upstream{Server: u})
		for name, body := range map[string]io.Reader{"plain": strings.NewReader(clean), "in chunks": io.MultiReader(strings.NewReader(clean)), "none": http.NoBody} {
			resp, err := http.Post(s.URL+"/v1/messages", "application/json", body)
			if err != nil {
				t.Fatal(err)
			}
			got, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != http.StatusBadGateway || !strings.Contains(string(got), want) {
				t.Errorf("%s: %s %s", name, resp.Status, got)
			}
		}
	}
	ask("Pare reached the upstream anthropic at " + u.URL + ", which gave no reply: ")
	u.Close()
	ask("Pare cannot reach the upstream anthropic at " + u.URL + ": ")
}

// TestGarbageIsNotQuoted: what an upstream sends instead of HTTP may be words of a conversation,
// or a key: neither the answer nor the record quotes it.
func TestGarbageIsNotQuoted(t *testing.T) {
	for _, garbage := range []string{
		"SECRET\r\n\r\n", "HTTP/SECRET 200 OK\r\n\r\n", "HTTP/1.1 SECRET\r\n\r\n", "HTTP/1.1 200 OK\r\nSECRET\r\n\r\n",
		"HTTP/1.1 200 OK\r\n SECRET: \"a\\\"b\"\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: SECRET\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: SECRET\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1SECRET\r\nContent-Length: 2SECRET\r\n\r\n", "\"SECRET \\\" SECRET\r\n\r\n",
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
				http.ReadRequest(bufio.NewReader(c))
				io.WriteString(c, garbage)
				c.Close()
			}
		}()
		records := make(chan *proxy.Record, 1)
		s := front(t, &upstream{Server: &httptest.Server{URL: "http://" + l.Addr().String()}}, func(c *proxy.Config) { c.Record = func(r *proxy.Record) { records <- r } })
		resp, body := post(t, s.URL+"/v1/messages", `{"messages":[{"role":"user","content":[{"text":"x"}]}]}`)
		if rec := <-records; resp.StatusCode != 502 || rec.Error == "" || strings.Contains(body+rec.Error, "SECRET") {
			t.Errorf("%q: %s %s, record %q", garbage, resp.Status, body, rec.Error)
		}
		l.Close()
	}
}

// TestClientGoes wants the upstream to hear of it, in every phase.
func TestClientGoes(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, phase := range []string{"before the reply", "in the middle of it"} {
		t.Run(phase, func(t *testing.T) {
			arrived, gone := make(chan bool), make(chan bool)
			u := newUpstream(t, func(w http.ResponseWriter, r *http.Request, body []byte, n int) {
				if phase != "before the reply" {
					w.Header().Set("Content-Type", "text/event-stream")
					io.WriteString(w, "data: 1\n\n")
					http.NewResponseController(w).Flush()
				}
				close(arrived)
				<-r.Context().Done()
				close(gone)
			})
			records := make(chan *proxy.Record, 1)
			s := front(t, u, func(c *proxy.Config) { c.Record = func(r *proxy.Record) { records <- r } })
			ctx, cancel := context.WithCancel(t.Context())
			go func() { <-arrived; cancel() }()
			req, _ := http.NewRequestWithContext(ctx, "POST", s.URL+"/v1/messages", strings.NewReader(clean))
			resp, err := http.DefaultTransport.RoundTrip(req)
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			<-gone
			<-records
		})
	}
	settled(t, before)
}

// TestUpstreamAnswersEarly has an upstream that refuses before it has read a body that is
// too large to be looked at. The client must get the answer all the same.
func TestUpstreamAnswersEarly(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.NewResponseController(w).EnableFullDuplex()
		w.WriteHeader(401)
		io.WriteString(w, "no key")
		http.NewResponseController(w).Flush()
		io.Copy(io.Discard, r.Body)
	}))
	defer up.Close()
	s := front(t, &upstream{Server: up}, func(c *proxy.Config) { c.MaxBody = 1000 })
	body, feed := io.Pipe()
	req, _ := http.NewRequest("POST", s.URL+"/v1/messages", body)
	go io.WriteString(feed, strings.Repeat("x", 4000))
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	text := make([]byte, 6)
	if _, err := io.ReadFull(resp.Body, text); err != nil || resp.StatusCode != 401 || string(text) != "no key" || resp.Header.Get("Pare-Skipped") != "too-large" {
		t.Error(resp.Status, string(text), err, resp.Header)
	}
	feed.Close()
	resp.Body.Close()
}

func TestExpectContinue(t *testing.T) {
	u := newUpstream(t, nil)
	s := front(t, u)
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "POST /v1/messages HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", len(clean))
	in := bufio.NewReader(c)
	if line, err := in.ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 100 ") {
		t.Fatal(line, err)
	}
	in.ReadString('\n')
	io.WriteString(c, clean)
	resp, err := http.ReadResponse(in, nil)
	if err != nil || resp.StatusCode != 200 || string(u.last(t).body) != clean {
		t.Fatal(resp, err)
	}
}

// TestWebSocketIsTunnelled switches protocols and talks both ways.
func TestWebSocketIsTunnelled(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("tunnel", func(t *testing.T) {
		up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c, in, err := http.NewResponseController(w).Hijack()
			if err != nil {
				panic(err)
			}
			defer c.Close()
			fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", r.Header.Get("Upgrade"))
			for {
				line, err := in.ReadString('\n')
				if err != nil {
					return
				}
				io.WriteString(c, "echo "+line)
			}
		}))
		defer up.Close()
		s := front(t, &upstream{Server: up})
		c, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		io.WriteString(c, "GET /v1/responses HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		in := bufio.NewReader(c)
		resp, err := http.ReadResponse(in, nil)
		if err != nil || resp.StatusCode != 101 || resp.Header.Get("Upgrade") != "websocket" {
			t.Fatal(resp, err)
		}
		for range 3 {
			io.WriteString(c, "frame\n")
			if line, err := in.ReadString('\n'); err != nil || line != "echo frame\n" {
				t.Fatal(line, err)
			}
		}
	})
	settled(t, before)
}

func TestHTTP2Upstream(t *testing.T) {
	var proto string
	up := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proto = r.Proto
		body, _ := io.ReadAll(r.Body)
		w.Write(body)
	}))
	up.EnableHTTP2 = true
	up.StartTLS()
	defer up.Close()
	s := front(t, &upstream{Server: up}, func(c *proxy.Config) { c.Base = up.Client().Transport })
	if resp, body := post(t, s.URL+"/v1/messages", clean); body != clean || resp.Header.Get("Pare-Changes") != "0" || proto != "HTTP/2.0" {
		t.Error(proto, body, resp.Header)
	}
}

// TestBackPressure has room for one body. The second request waits, unread, until the
// first one's is not needed any more.
func TestBackPressure(t *testing.T) {
	arrived, answer := make(chan bool, 2), make(chan bool)
	u := newUpstream(t, func(w http.ResponseWriter, r *http.Request, body []byte, n int) {
		arrived <- true
		<-answer
	})
	s := front(t, u, func(c *proxy.Config) { c.Memory = 100 << 10 })
	large := strings.Replace(clean, `h\u0069`, strings.Repeat("x", 200<<10), 1)
	if len(large) < 200<<10 {
		t.Fatal("it is not large")
	}
	done := make(chan int, 2)
	send := func() {
		resp, err := http.Post(s.URL+"/v1/messages", "application/json", strings.NewReader(large))
		if err != nil {
			t.Error(err)
			done <- 0
			return
		}
		resp.Body.Close()
		done <- resp.StatusCode
	}
	go send()
	<-arrived
	go send()
	for range 1000 { // the second may come as far as it can
		runtime.Gosched()
	}
	if n := len(u.all()); n != 1 {
		t.Errorf("%d requests arrived", n)
	}
	answer <- true
	<-arrived
	answer <- true
	if a, b := <-done, <-done; a != 200 || b != 200 {
		t.Error(a, b)
	}
}

// TestPlanningThatFails: a policy whose words for a stub panic repairs with Pare's own; one
// that takes too long costs nobody a request.
func TestPlanningThatFails(t *testing.T) {
	u := newUpstream(t, nil)
	s := front(t, u, func(c *proxy.Config) { c.Policy = panicking() })
	resp, _ := post(t, s.URL+"/v1/messages", errorReader)
	if string(u.last(t).body) == errorReader || resp.Header.Get("Pare-Skipped") != "" || resp.Header.Get("Pare-Faults") != "stub" {
		t.Error(resp.Header)
	}
	hang := make(chan bool)
	s = front(t, u, func(c *proxy.Config) { c.Policy, c.PlanTime = hanging(hang), 1 })
	large := strings.Replace(errorReader, `"hi"`, `"`+strings.Repeat("x", 100_000)+`"`, 1)
	resp, _ = post(t, s.URL+"/v1/messages", large)
	if string(u.last(t).body) != large || resp.Header.Get("Pare-Skipped") != "time" {
		t.Error(resp.Header)
	}
	close(hang)
}
