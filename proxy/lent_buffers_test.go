package proxy_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pare-llm/pare/proxy"
)

// lettered is a history of one letter, so that every piece of it says where it comes from.
func lettered(letter, size int) string {
	return fmt.Sprintf(`{"model":"some-model","max_tokens":9,"messages":[{"role":"user","content":"%s"}]}`, strings.Repeat(string(rune('a'+letter%26)), size))
}

// sizes of bodies: written with the head, lent, and larger than what a connection takes at once.
var lentSizes = []int{500, 100 << 10, 900 << 10, 3 << 20}

// lending puts a proxy in front of an upstream, and makes bodies of all sizes to send there.
func lending(t *testing.T, serve http.HandlerFunc) (at string, bodies []string) {
	t.Helper()
	u := &upstream{Server: httptest.NewServer(serve)}
	t.Cleanup(u.Close)
	for i := range 8 {
		bodies = append(bodies, lettered(i, lentSizes[i%len(lentSizes)]))
	}
	return front(t, u).URL + "/v1/messages", bodies
}

func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Write(body)
}

// TestBuffersAreLentUntilTheyAreRead has an upstream that replies first and then takes its
// time to read.
func TestBuffersAreLentUntilTheyAreRead(t *testing.T) {
	heard := make(chan bool)
	at, bodies := lending(t, func(w http.ResponseWriter, r *http.Request) {
		out := http.NewResponseController(w)
		out.EnableFullDuplex()
		io.WriteString(w, "reply,")
		out.Flush()
		<-heard
		echo(w, r)
	})
	for i, body := range bodies {
		resp, err := http.Post(at, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		first := make([]byte, len("reply,"))
		io.ReadFull(resp.Body, first)
		heard <- true
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(got) != body {
			t.Errorf("request %d: %d bytes came back, not %d of the same: %v", i, len(got), len(body), err)
		}
	}
}

// TestBuffersAreLentToRetries has an upstream that drops connections which it has kept, in the
// middle of a body, so that the transport sends it once more.
func TestBuffersAreLentToRetries(t *testing.T) {
	var dropped atomic.Int32
	served := make(map[string]int) // by connection
	var mu sync.Mutex
	at, bodies := lending(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		served[r.RemoteAddr]++
		n := served[r.RemoteAddr]
		mu.Unlock()
		if n > 1 {
			dropped.Add(1)
			io.ReadFull(r.Body, make([]byte, min(r.ContentLength/2, 300<<10)))
			c, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				c.Close()
			}
			return
		}
		echo(w, r)
	})
	again := 0
	for i, body := range bodies {
		before := dropped.Load()
		resp, got := post(t, at, body, "Idempotency-Key", "k")
		switch lost := dropped.Load() > before; {
		case lost && resp.StatusCode == http.StatusBadGateway:
			// The transport repeats what fails when it reads. If it sees the end of the connection
			// when it writes, which is for the system to say, it does not.
		case resp.StatusCode != http.StatusOK || got != body:
			t.Errorf("request %d: %s, %d bytes of %d", i, resp.Status, len(got), len(body))
		case lost:
			again++
		}
	}
	if again == 0 {
		t.Error("no request was sent twice")
	}
}

// TestBuffersOfClientsThatWent has clients that go away while their bodies are sent on. What
// the upstream has read of them by then is theirs.
func TestBuffersOfClientsThatWent(t *testing.T) {
	went := make(chan bool)
	begun := make(chan bool)
	u := &upstream{Server: httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Goes") != "" {
			begun <- true
			<-went
		}
		body, _ := io.ReadAll(r.Body)
		if bytes.IndexByte(body, '!') >= 0 {
			t.Error("the upstream was sent what is in no request")
		}
		w.Write(body)
	}))}
	t.Cleanup(u.Close)
	ended := make(chan *proxy.Record, 10)
	s := front(t, u, func(c *proxy.Config) { c.Record = func(r *proxy.Record) { ended <- r } })
	for i := range 4 {
		ctx, cancel := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, "POST", s.URL+"/v1/messages", strings.NewReader(lettered(i, 8<<20)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Goes", "yes")
		go func() { <-begun; cancel() }()
		if resp, err := http.DefaultTransport.RoundTrip(req); err == nil {
			resp.Body.Close()
			t.Error("a request that was given up was answered")
		}
		<-ended // now its buffer is given back, if it is too early
		went <- true
		body := lettered(i+10, 900<<10)
		if _, got := post(t, s.URL+"/v1/messages", body); got != body {
			t.Errorf("%d bytes came back, not %d of the same", len(got), len(body))
		}
		<-ended
	}
}

// TestBuffersAreLentToHeals has an upstream that refuses a history before it has read it, so
// that a second one is sent, and then the first answer comes back.
func TestBuffersAreLentToHeals(t *testing.T) {
	whole := long(400)
	for name, helps := range map[string]bool{"helps": true, "does not": false} {
		t.Run(name, func(t *testing.T) {
			var first, second atomic.Int32
			u := newUpstream(t, func(w http.ResponseWriter, r *http.Request, body []byte, n int) {
				switch {
				case bytes.IndexByte(body, '!') >= 0:
					t.Error("the upstream was sent what is not in any request")
				case string(body) == whole:
					first.Add(1)
				default:
					second.Add(1)
					if helps {
						io.WriteString(w, "good")
						return
					}
				}
				w.WriteHeader(http.StatusBadRequest)
				io.WriteString(w, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 420000 tokens > 200000 maximum"}}`)
			})
			s := front(t, u)
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() {
					resp, got := post(t, s.URL+"/u/mine/v1/messages", whole)
					if helps != (resp.StatusCode == http.StatusOK && got == "good") || strings.Contains(got, "!") {
						t.Error(resp.Status, got)
					}
				})
			}
			wg.Wait()
			if first.Load()+second.Load() == 0 || second.Load() == 0 {
				t.Error("nothing was sent twice", first.Load(), second.Load())
			}
		})
	}
}
