package store

import (
	"context"
	"fmt"
	"time"
)

// leaseTime is the time after which another process may take over a lease. The holder renews it
// three times as often.
const leaseTime = time.Minute

// acquireLease makes this process the only one that compacts a session, or returns ErrBusy. A
// process that has lost its lease cannot write a compaction.
func (s *Store) acquireLease(ctx context.Context, key Key, token string) (session *Session, err error) {
	err = s.write(ctx, func(t *tx) error {
		if session, err = s.live(ctx, t, key, true); err != nil {
			return err
		}
		now, err := s.engine.sharedNow(ctx, t, s.now)
		if err != nil {
			return err
		}
		// A lease that ends too late was written by a clock that has been set back.
		n, err := t.exec(ctx, `INSERT INTO leases (sid, token, expires) VALUES (?, ?, ?)
			ON CONFLICT (sid) DO UPDATE SET token = excluded.token, expires = excluded.expires WHERE leases.expires < ? OR leases.expires > ?`,
			session.sid, token, now+leaseTime.Microseconds(), now, now+2*leaseTime.Microseconds())
		if err == nil && n == 0 {
			err = fmt.Errorf("compact %s: %w", key, ErrBusy)
		}
		return err
	})
	return session, err
}

// keepLease renews a lease until the returned function is called. The returned context is canceled
// if the lease is lost.
func (s *Store) keepLease(ctx context.Context, sid int64, token string) (context.Context, func()) {
	held, lost := context.WithCancelCause(ctx)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		beat := time.NewTicker(leaseTime / 3)
		defer beat.Stop()
		for {
			select {
			case <-stop:
				return
			case <-held.Done():
				return
			case <-beat.C:
			}
			if held.Err() == nil && !s.renewLease(held, sid, token) {
				lost(ErrBusy)
			}
		}
	}()
	return held, func() {
		close(stop)
		<-stopped
		lost(nil)
		s.releaseLease(context.WithoutCancel(ctx), sid, token)
	}
}

// renewLease reports whether this process still holds the lease. Errors of the database count as
// holding it.
func (s *Store) renewLease(ctx context.Context, sid int64, token string) bool {
	mine := true
	s.write(ctx, func(t *tx) error {
		now, err := s.engine.sharedNow(ctx, t, s.now)
		if err != nil {
			return err
		}
		n, err := t.exec(ctx, `UPDATE leases SET expires = ? WHERE sid = ? AND token = ?`, now+leaseTime.Microseconds(), sid, token)
		mine = err != nil || n > 0
		return err
	})
	return mine
}

func (s *Store) releaseLease(ctx context.Context, sid int64, token string) {
	s.write(ctx, func(t *tx) error {
		_, err := t.exec(ctx, `DELETE FROM leases WHERE sid = ? AND token = ?`, sid, token)
		return err
	})
}
