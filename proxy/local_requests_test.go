package proxy

import (
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
)

// TestLocalCallsShareTheMemoryBudget: what is sent to Pare itself claims the memory that all requests
// share, as it comes and by what it holds, waits when there is none, and gives it back.
func TestLocalCallsShareTheMemoryBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(Config{Memory: 64 << 20})
		enter := func(body string) (io.Reader, func(), context.CancelFunc) {
			ctx, cancel := context.WithCancel(t.Context())
			on, leave, err := h.enter(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "POST", "/pare/v1/check", strings.NewReader(body)))
			if err != nil {
				t.Fatal(err)
			}
			return on.Body, leave, cancel
		}
		const mb = 1 << 20
		for body, want := range map[string]int64{strings.Repeat("x", mb): 4 * mb, strings.Repeat("x,", 1000): 8000 + 500_000, "": 0} {
			in, leave, cancel := enter(body)
			if got, err := io.ReadAll(in); err != nil || len(got) != len(body) {
				t.Fatal(len(got), err)
			}
			if h.budget.used != want {
				t.Errorf("a body of %d bytes claims %d, not %d", len(body), h.budget.used, want)
			}
			leave()
			cancel()
			if h.budget.used != 0 || h.budget.usedPlaces != 0 {
				t.Errorf("%d bytes and %d places are left behind", h.budget.used, h.budget.usedPlaces)
			}
		}
		// Ten of them hold what there is at most, and one request beyond.
		large := strings.Repeat("x", 6*mb)
		var leaves []func()
		ended := make(chan error, 10)
		for range 10 {
			in, leave, cancel := enter(large)
			leaves = append(leaves, func() { cancel(); synctest.Wait(); leave() })
			go func() {
				_, err := io.Copy(io.Discard, in)
				ended <- err
			}()
		}
		synctest.Wait()
		if most := int64(64+24) * mb; h.budget.used > most || len(ended) == 10 {
			t.Errorf("%d bytes are claimed of %d, and %d of 10 have all they want", h.budget.used, most, len(ended))
		}
		whole := len(ended)
		for _, leave := range leaves {
			leave()
			synctest.Wait()
		}
		for i := range 10 {
			if err := <-ended; err != nil && (i < whole || !errors.Is(err, context.Canceled)) {
				t.Error(err)
			}
		}
		if h.budget.used != 0 || h.budget.usedPlaces != 0 {
			t.Errorf("%d bytes and %d places are left behind", h.budget.used, h.budget.usedPlaces)
		}
	})
}
