package serve

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pare-llm/pare/proxy"
)

// TestHands: requests that come one after the other have one processor, and all there are as
// soon as two are under way at once.
func TestHands(t *testing.T) {
	var given []bool
	h := &hands{give: func(all bool) { given = append(given, all) }}
	want := func(when string, all ...bool) {
		t.Helper()
		if !slices.Equal(given, all) {
			t.Fatalf("%s: %v, want %v", when, given, all)
		}
		given = nil
	}
	h.begin(1)
	h.look()
	want("one", false)
	h.end(1)
	h.begin(1)
	h.look()
	want("one after the other")
	h.under.Add(1) // as begin does, which says so in a goroutine of its own
	h.met.Store(true)
	h.all()
	want("two", true)
	h.begin(1)
	h.all()
	h.look()
	want("three")
	h.end(1)
	h.look()
	want("two that go on")
	h.end(1)
	h.begin(1)
	h.end(1)
	h.look()
	want("two that met")
	h.look()
	want("one again", false)
	h.end(1)
	h.look()
	want("none")
	h.under.Add(2)
	h.met.Store(true)
	h.all()
	h.look()
	h.look()
	want("a heavy one", true)
	h = new(hands)
	h.begin(1)
	h.look()
	h.begin(1)
	h.look()
	if h.one.Load() {
		t.Error("nobody has asked for it")
	}
}

// TestWeight: what may take long counts for two.
func TestWeight(t *testing.T) {
	for _, c := range []struct {
		path, coding string
		length       int
		want         int32
	}{
		{"/v1/messages", "", 1000, 1},
		{"/v1/models", "", 0, 1},
		{"/v1/messages", "", lightBody, 1},
		{"/v1/messages", "", lightBody + 1, 2},
		{"/v1/messages", "", -1, 2},
		{"/v1/messages", "zstd", 1000, 2},
		{"/pare/v1/sessions/s/compact", "", 0, 2},
	} {
		r := httptest.NewRequest("POST", c.path, nil)
		r.ContentLength = int64(c.length)
		if c.coding != "" {
			r.Header.Set("Content-Encoding", c.coding)
		}
		if got := weight(r); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// TestTwoRequestsMeet: that is what happens in a server, whatever comes between.
func TestTwoRequestsMeet(t *testing.T) {
	came, goOn := make(chan struct{}), make(chan struct{})
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		came <- struct{}{}
		<-goOn
	}))
	defer up.Close()
	at, err := url.Parse(up.URL)
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{Upstreams: map[string]proxy.Upstream{"openai": {URL: at, Private: true}}})
	given := make(chan bool, 100)
	s.conns.hands.give = func(all bool) { given <- all }
	srv := httptest.NewServer(s)
	defer srv.Close()
	var asked sync.WaitGroup
	ask := func() {
		asked.Go(func() {
			resp, err := http.Post(srv.URL+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`))
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
		})
		<-came
	}
	for range 3 {
		ask()
		s.conns.tick()
		if all := <-given; all {
			t.Error("one request has all processors")
		}
		ask()
		if all := <-given; !all {
			t.Error("two requests have one processor")
		}
		s.conns.tick()
		goOn <- struct{}{}
		goOn <- struct{}{}
		asked.Wait()
		for s.conns.hands.under.Load() > 0 { // the client has its reply before the server is done
			runtime.Gosched()
		}
		s.conns.hands.met.Store(false)
	}
	if len(given) > 0 {
		t.Error("given once more")
	}
}
