package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pare-llm/pare/cmd/internal/replay"
	"github.com/pare-llm/pare/internal/corpus"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/paretest"
	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// TestDay is a day of use: twenty agents go through recorded sessions, request by request,
// each with what its client would have sent. The stand-in refuses as the providers do,
// with the windows of the models. Nothing may be refused, and what is valid and fits must
// arrive as it was sent; what it costs, and what sending everything would have cost, is
// said.
//
// Requests follow each other without gaps, all of them or the last few of each session: a
// cut is paid once and saves at every later request, so a bill of requests far apart has
// the price of every cut and next to nothing of what it saves.
func TestDay(t *testing.T) {
	sessions := corpus.Sessions(t)
	last := 4
	if trial.Soak() {
		last = 1 << 30
		sessions = sessions[max(0, len(sessions)-200):] // those of coding agents are at the end
	} else {
		var some []corpus.Body
		for i := 0; i < len(sessions); i += 9 * trial.Stride(4) {
			some = append(some, sessions[i])
		}
		sessions = some
	}
	d := &day{t: t, last: make(map[string]sending), mocks: make(map[int]*paretest.Mock)}
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
				d.live(server.URL, fmt.Sprint("session ", i), sessions[i], last)
			}
		})
	}
	for i := range sessions {
		work <- i
	}
	close(work)
	agents.Wait()
	sums := s.Watch().Totals()
	t.Logf("%d sessions, %d requests: %d changed, %d refused, healed %v, untouched %v; %d that fit were broken, %d of them were cut", d.fits.sessions+d.large.sessions, sums.Requests, sums.Changed, d.refused, sums.Healed, sums.Skipped, d.broken, d.cut)
	t.Logf("sessions that fit: %v", &d.fits)
	t.Logf("sessions that outgrow their window: %v", &d.large)
	t.Logf("the page says $%.2f spent, $%.2f saved", sums.Dollars, sums.Spared)
	if d.refused > 0 {
		t.Errorf("%d requests were refused", d.refused)
	}
	if d.cut > 0 {
		t.Errorf("%d requests were cut although they fit", d.cut)
	}
	if sums.Requests == 0 {
		t.Error("nothing was sent")
	}
	if file := os.Getenv("PARE_DAY"); file != "" {
		// For the picture in docs: what the page shows now.
		now, err := json.Marshal(s.Watch().Traffic(0))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, now, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A day is the providers as the agents see them, and what they ask for it.
type day struct {
	t           *testing.T
	mu          sync.Mutex
	last        map[string]sending // by session
	mocks       map[int]*paretest.Mock
	refused     int
	broken, cut int // requests that fit
	fits, large account
}

// An account is what sessions cost, and what they would cost if every request went on as it
// is and no window were too small.
type account struct {
	sessions, requests int
	over               int // requests that are larger than the window
	sent, whole        bill
}

func (a *account) String() string {
	return fmt.Sprintf("%d, with %d requests, %d of them over the window: $%.2f, %.1f %% of the input from the cache, $%.2f of it for what was cut and had to be written again; everything, if no window were too small: $%.2f, %.1f %% from the cache",
		a.sessions, a.requests, a.over, a.sent.dollars, a.sent.share(), a.sent.again, a.whole.dollars, a.whole.share())
}

type bill struct {
	dollars      float64
	again        float64 // what it cost that a request did not begin as the one before
	read, others int
}

// A sending is a request as it was sent, and its tokens.
type sending struct {
	body []byte
	size int
}

func (b *bill) share() float64 { return 100 * float64(b.read) / float64(max(1, b.read+b.others)) }

// add charges for a request: what it has in common with the one before comes from a cache.
// It returns how many tokens that are.
func (b *bill) add(model string, now, before sending) (read int) {
	same := 0
	for same < min(len(now.body), len(before.body)) && now.body[same] == before.body[same] {
		same++
	}
	read = now.size * same / max(1, len(now.body))
	b.read += read
	b.others += now.size - read
	if price, known := tokens.PriceOf(model); known {
		cache := tokens.CacheOf(model)
		b.dollars += price.Cost(cache, tokens.Usage{Read: read, Written: now.size - read})
		lost := min(before.size*(len(before.body)-same)/max(1, len(before.body)), now.size-read)
		b.again += price.Cost(cache, tokens.Usage{Written: lost}) - price.Cost(cache, tokens.Usage{Read: lost})
	}
	return read
}

var paths = map[wire.Dialect]string{wire.Anthropic: "/v1/messages", wire.OpenAIChat: "/v1/chat/completions", wire.OpenAIResponses: "/v1/responses"}

// large is what precedes the name of a session that outgrows its window.
const large = "large "

// live goes through the last requests of a session.
func (d *day) live(server, name string, session corpus.Body, last int) {
	r, err := wire.Parse(session.Raw, wire.Options{Model: session.Model})
	if err != nil || paths[r.Dialect] == "" || r.Model() == "" {
		return // not what a client sends
	}
	if rest, ok := bytes.CutPrefix(session.Raw, []byte("{")); ok && r.Dialect == wire.Anthropic && r.MaxOutputTokens() == 0 { // who recorded it left that out
		if r, err = wire.Parse(slices.Concat([]byte(`{"max_tokens":8192,`), rest), wire.Options{Model: session.Model}); err != nil {
			d.t.Error(err)
			return
		}
	}
	sum, window, room := &d.fits, 1<<60, 1<<60
	if m, known := tokens.Lookup(r.Model()); known {
		window, room = m.Window, m.Input(min(r.MaxOutputTokens(), m.Output))
	}
	if r.Tokens(tokens.For(r.Model())) > room {
		sum, name = &d.large, large+name
	}
	walk := replay.NewWalk(r)
	var before sending
	for k := max(0, walk.Len()-last); k < walk.Len(); k++ {
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
		one, err := walk.Request(k)
		if err != nil {
			d.t.Error(err)
			return
		}
		now := sending{body, one.Tokens(tokens.For(one.Model()))}
		faults := len(one.Check(wire.CheckOptions{}))
		d.mu.Lock()
		if resp.StatusCode >= 400 {
			d.refused++
			d.t.Logf("%s, request %d: %s %.300s; %s", session.Name, k, resp.Status, answer, resp.Header["Pare-Skipped"])
		}
		switch {
		case now.size > window:
			sum.over++
		case now.size > room: // there is none for the reply
		case faults > 0:
			d.broken++
		case resp.Header.Get("Pare-Changes") != "0":
			d.cut++
			d.t.Logf("%s, request %d: %d tokens of %d, changed: %q", session.Name, k, now.size, room, resp.Header)
		}
		sum.requests++
		sum.whole.add(one.Model(), now, before)
		d.mu.Unlock()
		before = now
	}
	d.mu.Lock()
	sum.sessions++
	d.mu.Unlock()
}

// ServeHTTP is the provider: it has the window of the model, and a cache.
func (d *day) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	read := wire.Options{}
	read.Dialect, _ = wire.ParseURL(r.URL.Path)
	one, err := wire.Parse(body, read)
	if err != nil {
		d.t.Error(err)
		return
	}
	window := 0
	if m, known := tokens.Lookup(one.Model()); known {
		window = m.Window
	}
	now := sending{body, one.Tokens(tokens.For(one.Model()))}
	name := r.Header.Get("Session")
	sum, cached := &d.fits, 0
	if strings.HasPrefix(name, large) {
		sum = &d.large
	}
	d.mu.Lock()
	if window == 0 || now.size <= window {
		cached = sum.sent.add(one.Model(), now, d.last[name])
		d.last[name] = now
	}
	mock := d.mocks[window]
	if mock == nil {
		mock = &paretest.Mock{MaxTokens: window}
		d.mocks[window] = mock
	}
	d.mu.Unlock()
	r.Body = io.NopCloser(bytes.NewReader(body))
	answer := httptest.NewRecorder()
	mock.ServeHTTP(answer, r)
	w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
	w.WriteHeader(answer.Code)
	if _, err := w.Write(withCache(d.t, answer.Body.Bytes(), cached)); err != nil {
		d.t.Error(err)
	}
}

// withCache writes into an answer how much of its input came from the cache, in the words of
// each API.
func withCache(t *testing.T, answer []byte, cached int) []byte {
	var reply map[string]json.RawMessage
	var usage map[string]any
	if json.Unmarshal(answer, &reply) != nil || json.Unmarshal(reply["usage"], &usage) != nil {
		return answer // an error, which tells of no usage
	}
	input, _ := usage["input_tokens"].(float64)
	switch {
	case reply["choices"] != nil:
		usage["prompt_tokens_details"] = map[string]int{"cached_tokens": cached}
	case reply["output"] != nil:
		usage["input_tokens_details"] = map[string]int{"cached_tokens": cached}
	default:
		usage["input_tokens"], usage["cache_read_input_tokens"], usage["cache_creation_input_tokens"] = 0, cached, max(0, int(input)-cached)
	}
	var err error
	if reply["usage"], err = json.Marshal(usage); err != nil {
		t.Error(err)
	}
	out, err := json.Marshal(reply)
	if err != nil {
		t.Error(err)
	}
	return out
}
