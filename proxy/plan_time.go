package proxy

import (
	"context"
	"time"
)

// planTimeFor is how much processor time planning for a body may take, if nobody says: it is
// worth waiting for, also on a machine that is busy with other things. Most take a thousandth
// of that.
func planTimeFor(size int) time.Duration {
	return 5*time.Second + time.Duration(size>>20)*time.Second
}

// patience is how many times its processor time a plan may take by the clock: a rule or a
// counter that waits for something uses none, and would never end.
const maxWallTimeFactor = 6

// withBudget ends a context when this process has had that much processor time since, so that
// other programs do not use it up. Where there is no such clock, and for whoever waits, the
// one on the wall decides.
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
