package store

import (
	"context"
	"fmt"
	"time"
)

// lease is how long a process that compacts a session may be silent before another one
// takes over. It says that it is alive three times as often.
const leaseTime = time.Minute

// lease makes this process the one that compacts a session. It may be taken over once
// it has expired; who has lost it cannot write any more.
func (s *Store) acquireLease(ctx context.Context, key Key, token string) (session *Session, err error) {
	err = s.write(ctx, func(t *tx) error {
		if session, err = s.live(ctx, t, key, true); err != nil {
			return err
		}
		now, err := s.eng.sharedNow(ctx, t, s.now)
		if err != nil {
			return err
		}
		// One that ends later than any can was made by a clock that was set back since.
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

// hold keeps a lease until the function is called that comes back. The context ends if it
// is lost.
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

// renew reports whether the lease is still ours. A database that does not answer says
// nothing about that.
func (s *Store) renewLease(ctx context.Context, sid int64, token string) bool {
	mine := true
	s.write(ctx, func(t *tx) error {
		now, err := s.eng.sharedNow(ctx, t, s.now)
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
