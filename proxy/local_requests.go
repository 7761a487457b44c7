package proxy

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// errStopped is the error for a body that arrives too slowly or not at all.
var errStopped = fmt.Errorf("the body came too slowly, or stopped: %w", os.ErrDeadlineExceeded)

// enter acquires a place for a request that the server answers itself. The body claims shared
// memory while it arrives. leave releases both.
func (h *Handler) enter(w http.ResponseWriter, r *http.Request) (on *http.Request, leave func(), err error) {
	client := clientOf(r)
	out, err := h.budget.acquirePlace(r.Context(), client)
	if err != nil {
		return nil, nil, err
	}
	if r.Body == nil || r.Body == http.NoBody {
		return r, out, nil
	}
	rc := http.NewResponseController(w)
	arriving := h.budget.trackBody(func() { rc.SetReadDeadline(time.Unix(1, 0)) })
	room := &memoryClaim{budget: h.budget, client: client}
	on = r.WithContext(r.Context()) // the server checks the body of its own request; see ServeHTTP
	on.Body = &claimingBody{ReadCloser: &timedBody{ReadCloser: r.Body, rc: rc, timeout: h.conf.BodyTime, arrivingBody: arriving}, ctx: r.Context(), memory: room}
	return on, func() { arriving.end(); room.releaseAll(); out() }, nil
}

// turn waits until a body may be processed, and limits the time for it.
func (h *Handler) turn(ctx context.Context, raw []byte) (in context.Context, done func(), err error) {
	in, end := ctx, func() {}
	if most := cmp.Or(h.conf.PlanTime, planTimeFor(len(raw))); most > 0 {
		var stop context.CancelFunc
		in, stop = withBudget(ctx, most)
		end = stop
	}
	if planMemory(raw) <= smallClaim {
		return in, end, nil
	}
	wait, stop := context.WithTimeout(ctx, planWait)
	defer stop()
	select {
	case h.budget.plans <- struct{}{}:
		return in, func() { end(); <-h.budget.plans }, nil
	case <-wait.Done():
		end()
		return nil, nil, wait.Err()
	}
}

// A claimingBody claims memory for processing the bytes that arrive; see [planMemory].
type claimingBody struct {
	io.ReadCloser
	ctx    context.Context
	memory *memoryClaim
	values int
}

func (b *claimingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	values := min(bytes.Count(p[:n], []byte{','}), maxValues-b.values)
	b.values += values
	if n > 0 {
		if err := b.memory.acquire(b.ctx, 4*int64(n)+500*int64(values)); err != nil {
			return 0, err
		}
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = errStopped
	}
	return n, err
}
