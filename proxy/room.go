package proxy

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// A room bounds how many bytes of requests are held at once. Those for which there is none
// wait before they are read, so that their clients wait, too. Nil has no bound.
type room struct {
	all  *semaphore.Weighted
	size int64
}

func newRoom(size int64) *room {
	if size <= 0 {
		return nil
	}
	return &room{semaphore.NewWeighted(size), size}
}

// A claim is what a request has of a room. One goroutine at a time may use it.
type claim struct {
	of *room
	n  int64
}

// take waits for room for a request of a length, or of at most so many bytes if that is not
// known.
func (r *room) take(ctx context.Context, length, most int64) (claim, error) {
	c := claim{of: r}
	if r == nil {
		return c, nil
	}
	if length < 0 {
		length = most
	}
	length = min(length, r.size)
	if err := r.all.Acquire(ctx, length); err != nil {
		return c, err
	}
	c.n = length
	return c, nil
}

// more waits for room for so many bytes more, or all that there is.
func (c *claim) more(ctx context.Context, n int64) bool {
	if c.of == nil {
		return true
	}
	n = min(n, c.of.size-c.n)
	if c.of.all.Acquire(ctx, n) != nil {
		return false
	}
	c.n += n
	return true
}

// spare takes room for so many bytes more if that is there at once.
func (c *claim) spare(n int64) bool {
	if c.of == nil {
		return true
	}
	if !c.of.all.TryAcquire(n) {
		return false
	}
	c.n += n
	return true
}

// less gives so many bytes back, if there are as many.
func (c *claim) less(n int64) {
	if n = min(n, c.n); c.of != nil && n > 0 {
		c.n -= n
		c.of.all.Release(n)
	}
}

// free gives all of it back.
func (c *claim) free() { c.less(c.n) }
