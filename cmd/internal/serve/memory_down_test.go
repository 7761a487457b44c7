package serve

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/store"
)

// stuck is a store that answers nobody until it is let go, and then fails.
type stuck struct{ free chan struct{} }

func (s stuck) Remember(context.Context, ...store.RecordedExchange) error {
	<-s.free
	return errors.New("down")
}

func (s stuck) Forget(context.Context, time.Time, int64) (int, error) {
	<-s.free
	return 0, errors.New("down")
}

// A store that does not answer, and then fails, costs no request anything: what waits is bounded,
// and every request that is not remembered is counted.
func TestRememberWithoutAStore(t *testing.T) {
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, `{}`)
	}))
	defer up.Close()
	u, err := url.Parse(up.URL)
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{PlanTime: -1, Upstreams: map[string]proxy.Upstream{"anthropic": {URL: u, Private: true}}})
	down := stuck{make(chan struct{})}
	s.memory = newConversationWriter(down, s.watches)
	s.memory.configure(true, nil)
	proxyx.SetPassed(s.proxy, s.memory.add, s.memory.hasRoom)
	ended, done := make(chan struct{}), make(chan struct{})
	go func() { s.memory.run(ended); close(done) }()

	// Large ones, so that the bytes that may wait are used up before the places.
	body := `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"` + strings.Repeat("word ", 200_000) + `"}]}`
	const n = 80
	for range n {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "http://localhost/v1/messages", strings.NewReader(body)))
		if w.Code != http.StatusOK {
			t.Fatal(w.Code, w.Body)
		}
	}
	if held := s.memory.pendingBytes.Load(); held > maxPendingBytes {
		t.Errorf("%d bytes wait", held)
	}
	if s.Watch().Totals().Unremembered == 0 {
		t.Error("nothing is counted as dropped while the store is stuck")
	}
	close(down.free)
	close(ended)
	<-done
	if total := s.Watch().Totals(); total.Unremembered != n || total.Remembered != 0 || s.memory.pendingBytes.Load() != 0 {
		t.Errorf("%d dropped, %d kept, %d bytes wait", total.Unremembered, total.Remembered, s.memory.pendingBytes.Load())
	}
}
