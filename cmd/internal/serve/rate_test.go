package serve

import (
	"testing"
	"time"
)

// TestRateOfKeptRequests: a thousand requests at once can all be looked at; of those that go on coming
// faster than a hundred in a second, a hundred can.
func TestRateOfKeptRequests(t *testing.T) {
	var r rateLimit
	now, kept := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), 0
	several := func(n int, apart time.Duration) int {
		before := kept
		for range n {
			if now = now.Add(apart); r.allow(now) {
				kept++
			}
		}
		return kept - before
	}
	for _, c := range []struct {
		n     int
		apart time.Duration
		want  int
	}{{1500, 0, 1000}, {5000, time.Millisecond, 500}, {50, 20 * time.Millisecond, 50}, {1, time.Hour, 1}, {1500, 0, 999}} {
		if got := several(c.n, c.apart); got < c.want-1 || got > c.want+1 {
			t.Errorf("of %d requests, %v apart, %d are kept, want %d", c.n, c.apart, got, c.want)
		}
	}
	w, body := newWatches(), []byte("{}")
	w.holdBody("a", body)
	body[0] = '!' // it was lent
	if c, ok := w.everything.kept.find("a"); !ok || string(c.body) != "{}" {
		t.Errorf("%v %q", ok, c.body)
	}
}
