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

// take waits for room for a request of a length, or of at most so many bytes if that is not
// known. What it returns gives it back, and may be called more than once.
func (r *room) take(ctx context.Context, length, most int64) (free func(), err error) {
	if r == nil {
		return func() {}, nil
	}
	if length < 0 {
		length = most
	}
	length = min(length, r.size)
	if err := r.all.Acquire(ctx, length); err != nil {
		return nil, err
	}
	given := false
	return func() {
		if !given {
			given = true
			r.all.Release(length)
		}
	}, nil
}
