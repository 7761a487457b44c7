package proxy

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// stubbing is a policy that does something whenever it repairs a call.
func stubbing(do func()) *pare.Policy {
	return &pare.Policy{Repair: wire.Repair{Stub: func(transcript.Exchange) string { do(); return "late" }}}
}

// largeBroken is a broken history of so many bytes.
func largeBroken(size int) string {
	return strings.Replace(unanswered, "hi", strings.Repeat("x", size), 1)
}

// TestPlansFinishOnABusyMachine: a plan that takes many times what it takes on an idle machine is
// waited for, longer for a larger body, and not for ever.
func TestPlansFinishOnABusyMachine(t *testing.T) {
	for _, tt := range []struct {
		size int
		took time.Duration
		skip string
	}{
		{100 << 10, 4 * time.Second, ""}, {1 << 20, 5500 * time.Millisecond, ""}, {10 << 20, 14 * time.Second, ""},
		// Others have the processor: five times as long by the clock, and none of it used.
		{100 << 10, 25 * time.Second, ""}, {1 << 20, 30 * time.Second, ""},
		{100 << 10, time.Minute, skipTime}, {1 << 20, time.Minute, skipTime},
	} {
		if !hasProcessTime && tt.took > 14*time.Second && tt.skip == "" {
			continue // the clock on the wall decides there
		}
		synctest.Test(t, func(t *testing.T) {
			sent := 0
			tr := &Transport{Policy: stubbing(func() { time.Sleep(tt.took) }), budget: newMemoryBudget(1<<30, 0)}
			tr.Base = base(func(_ *http.Request, body []byte) *http.Response { sent = len(body); return answer(200, "{}") })
			body := largeBroken(tt.size)
			resp, err := tr.RoundTrip(request(body))
			if err != nil {
				t.Fatal(err)
			}
			drain(t, resp)
			if got := resp.Header.Get("Pare-Skipped"); got != string(tt.skip) || (sent == len(body)) != (tt.skip != "") {
				t.Errorf("%d bytes, %v: skipped is %q, %d bytes were sent", tt.size, tt.took, got, sent)
			}
			time.Sleep(2 * time.Minute) // what was given up has ended
			if used := tr.budget.now().used; used != 0 {
				t.Error(used, "bytes are held")
			}
		})
	}
}

// TestPlansShareTheMemoryBudget: however many bodies are planned for at once, what they claim
// stays within the bound, but for one of them; and all are repaired.
func TestPlansShareTheMemoryBudget(t *testing.T) {
	body := largeBroken(1 << 20)
	l := newMemoryBudget(4*planMemory([]byte(body)), 0)
	var mu sync.Mutex
	most := int64(0)
	tr := &Transport{PlanTime: -1, budget: l, client: "one", Policy: stubbing(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		mu.Lock()
		defer mu.Unlock()
		most = max(most, l.used)
	})}
	tr.Base = base(func(_ *http.Request, body []byte) *http.Response { return answer(200, "{}") })
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			resp, err := tr.RoundTrip(request(body))
			if err != nil {
				t.Error(err)
				return
			}
			drain(t, resp)
			if resp.Header.Get("Pare-Skipped") != "" || resp.Header.Get("Pare-Changes") == "0" {
				t.Error(resp.Header)
			}
		})
	}
	all.Wait()
	if most == 0 || most > l.limit+planMemory([]byte(body))+4<<20 || l.used != 0 {
		t.Errorf("%d of %d were claimed, %d are", most, l.limit, l.used)
	}
}

// TestDenseBodiesClaimMoreMemory are given up, and go on as they came.
func TestDenseBodiesClaimMoreMemory(t *testing.T) {
	body := `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"a"}` + strings.Repeat(",{}", 600_000) + "]}"
	sent := 0
	tr := &Transport{PlanTime: -1, budget: newMemoryBudget(1<<30, 0)}
	tr.Base = base(func(_ *http.Request, body []byte) *http.Response { sent = len(body); return answer(200, "{}") })
	resp, err := tr.RoundTrip(request(body))
	if err != nil {
		t.Fatal(err)
	}
	drain(t, resp)
	if resp.Header.Get("Pare-Skipped") != string(skipTooLarge) || sent != len(body) {
		t.Error(resp.Header, sent)
	}
}
