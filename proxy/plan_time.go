package proxy

import (
	"context"
	"time"
)

// planTimeFor returns the default limit of processor time for a body. Most plans need a
// thousandth of it; the limit allows for a busy machine.
func planTimeFor(size int) time.Duration {
	return 5*time.Second + time.Duration(size>>20)*time.Second
}

// maxWallTimeFactor limits the wall time of a plan to a multiple of its processor time, because a
// callback that waits uses no processor time and might never return.
const maxWallTimeFactor = 6

// withBudget returns a context that ends when this process has used limit of processor time since
// the call, so that other programs do not use up the budget. Without such a clock, and for plans
// that wait, the wall clock decides.
func withBudget(ctx context.Context, most time.Duration) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	began, spent, known := time.Now(), processTime(), hasProcessTime
	var t *time.Timer
	set := make(chan struct{}) // t is
	t = time.AfterFunc(most, func() {
		<-set
		left := most - (processTime() - spent)
		if rest := maxWallTimeFactor*most - time.Since(began); known && left > 0 && rest > 0 {
			t.Reset(min(max(left, most/8), rest))
			return
		}
		end(context.DeadlineExceeded)
	})
	close(set)
	return ctx, func() { t.Stop(); end(nil) }
}
