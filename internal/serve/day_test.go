package serve

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"sync"
	"testing"

	"github.com/pare-llm/pare/internal/corpus"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/paretest"
	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/replay"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// TestDay is a day of use: twenty agents go through recorded sessions, request by request,
// each with what its client would have sent. The stand-in refuses as the providers do,
// with the windows of the models. Nothing may be refused; what it costs, and what sending
// everything would have cost, is said.
func TestDay(t *testing.T) {
	sessions := corpus.Sessions(t)
	steps := 4
	if trial.Soak() {
		steps = 40
		for len(sessions) < 200 {
			sessions = append(sessions, sessions...)
		}
		sessions = sessions[:200]
	} else {
		var some []corpus.Body
		for i := 0; i < len(sessions); i += 9 {
			some = append(some, sessions[i])
		}
		sessions = some
	}
	d := &day{t: t, last: make(map[string][]byte), mocks: make(map[int]*paretest.Mock)}
	upstream := httptest.NewServer(d)
	defer upstream.Close()
	u, err := url.Parse(upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{PlanTime: -1, Upstreams: map[string]proxy.Upstream{"anthropic": {URL: u, Private: true}, "openai": {URL: u, Private: true}}})
	server := httptest.NewServer(s)
	defer server.Close()
	work := make(chan int)
	var agents sync.WaitGroup
	for range 20 {
		agents.Go(func() {
			for i := range work {
				d.live(server.URL, fmt.Sprint("session ", i), sessions[i], steps)
			}
		})
	}
	for i := range sessions {
		work <- i
	}
	close(work)
	agents.Wait()
	sums := s.Watch().Totals()
	t.Logf("%d sessions, %d requests: %d changed, %d refused, healed %v, untouched %v", len(sessions), sums.Requests, sums.Changed, d.refused, sums.Healed, sums.Skipped)
	t.Logf("as sent: $%.2f, %.0f %% of the input from the cache; everything, as it was: $%.2f if no window were too small, %.0f %% from the cache; %d of the requests are too large", d.sent.dollars, d.sent.share(), d.whole.dollars, d.whole.share(), d.whole.refused)
	if d.refused > 0 {
		t.Errorf("%d requests were refused", d.refused)
	}
	if sums.Requests == 0 {
		t.Error("nothing was sent")
	}
	if file := os.Getenv("PARE_DAY"); file != "" {
		// For the picture in docs: the page as it is now.
		resp, err := http.Get(server.URL + "/pare/")
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, page, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A day is the providers as the agents see them, and what they ask for it.
type day struct {
	t           *testing.T
	mu          sync.Mutex
	last        map[string][]byte // by session: the request before, as it was sent
	mocks       map[int]*paretest.Mock
	refused     int
	sent, whole bill
}

type bill struct {
	dollars      float64
	read, others int
	refused      int
}

func (b *bill) share() float64 { return 100 * float64(b.read) / float64(max(1, b.read+b.others)) }

// add charges for a request: what it has in common with the one before comes from a cache.
func (b *bill) add(model string, size int, body, before []byte) {
	same := 0
	for same < min(len(body), len(before)) && body[same] == before[same] {
		same++
	}
	read := size * same / max(1, len(body))
	b.read += read
	b.others += size - read
	if price, known := tokens.PriceOf(model); known {
		b.dollars += price.Cost(tokens.CacheOf(model), tokens.Usage{Read: read, Written: size - read})
	}
}

var paths = map[wire.Dialect]string{wire.Anthropic: "/v1/messages", wire.OpenAIChat: "/v1/chat/completions", wire.OpenAIResponses: "/v1/responses"}

// live goes through a session.
func (d *day) live(server, name string, session corpus.Body, steps int) {
	r, err := wire.Parse(session.Raw, wire.Options{Model: session.Model})
	if err != nil || paths[r.Dialect] == "" || r.Model() == "" {
		return // not what a client sends
	}
	walk := replay.NewWalk(r)
	var before []byte
	for k := range walk.Len() {
		if k%max(1, walk.Len()/steps) != 0 && k != walk.Len()-1 {
			continue
		}
		body := walk.Body(k)
		req, err := http.NewRequest(http.MethodPost, server+paths[r.Dialect], bytes.NewReader(body))
		if err != nil {
			d.t.Error(err)
			return
		}
		req.Header.Set("Session", name)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			d.t.Error(err)
			return
		}
		answer, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		d.mu.Lock()
		if resp.StatusCode >= 400 {
			d.refused++
			d.t.Logf("%s, request %d: %s %.300s; %s", session.Name, k, resp.Status, answer, resp.Header["Pare-Skipped"])
		}
		if one, err := walk.Request(k); err == nil {
			size := one.Tokens(tokens.For(one.Model()))
			if m, known := tokens.Lookup(one.Model()); known && size > m.Window {
				d.whole.refused++
			}
			d.whole.add(one.Model(), size, body, before)
		}
		d.mu.Unlock()
		before = body
	}
}

// ServeHTTP is the provider: it has the window of the model.
func (d *day) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	read := wire.Options{}
	read.Dialect, _ = wire.ParseURL(r.URL.Path)
	window := 0
	one, err := wire.Parse(body, read)
	if err == nil {
		if m, known := tokens.Lookup(one.Model()); known {
			window = m.Window
		}
		size := one.Tokens(tokens.For(one.Model()))
		d.mu.Lock()
		if window == 0 || size <= window {
			d.sent.add(one.Model(), size, body, d.last[r.Header.Get("Session")])
			d.last[r.Header.Get("Session")] = body
		}
		d.mu.Unlock()
	}
	d.mu.Lock()
	mock := d.mocks[window]
	if mock == nil {
		mock = &paretest.Mock{MaxTokens: window}
		d.mocks[window] = mock
	}
	d.mu.Unlock()
	r.Body = io.NopCloser(bytes.NewReader(body))
	mock.ServeHTTP(w, r)
}
