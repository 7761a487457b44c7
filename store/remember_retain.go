package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// loadRemembered sets Remembered of sessions that a proxy has recorded.
func (s *Store) loadRemembered(ctx context.Context, t *tx, all ...*Session) error {
	const most = 500
	for len(all) > 0 {
		some := all[:min(most, len(all))]
		all = all[len(some):]
		by := make(map[int64]*Session, len(some))
		ids := make([]any, 0, len(some))
		for _, session := range some {
			by[session.sid] = session
			ids = append(ids, session.sid)
		}
		marks := strings.Repeat(", ?", len(ids)-1)
		err := t.each(ctx, func(scan func(...any) error) error {
			var sid int64
			r := new(Remembered)
			var pace string
			err := scan(&sid, &r.Agent, &r.Requests, &r.Usage.Input, &r.Usage.Read, &r.Usage.Written, &r.Usage.Output, &pace)
			p := decodeGrowth(pace)
			r.Fullness = p.fullness(by[sid].Model)
			by[sid].Remembered = r
			return err
		}, `SELECT sid, agent, requests, input, was_read, written, output, pace FROM remembered WHERE sid IN (?`+marks+`)`, ids...)
		if err != nil {
			return err
		}
	}
	return nil
}

// Forget deletes recorded sessions of all scopes: those without a change since a time, and then the
// oldest until the rest has at most so many bytes. The zero time and zero bytes are no bounds. It
// returns the number of deleted sessions.
func (s *Store) Forget(ctx context.Context, before time.Time, most int64) (gone int, err error) {
	type old struct {
		Key
		size, at int64
	}
	var all []old
	var sum int64
	err = s.read(ctx, func(t *tx) error {
		return t.each(ctx, func(scan func(...any) error) error {
			var o old
			err := scan(&o.Scope, &o.ID, &o.Path, &o.size, &o.at)
			all = append(all, o)
			sum += o.size
			return err
		}, `SELECT s.scope, s.id, s.path, r.size, r.at FROM remembered r JOIN sessions s ON s.sid = r.sid WHERE s.deleted_at IS NULL ORDER BY r.at, r.sid`)
	})
	if err != nil {
		return 0, fmt.Errorf("forget sessions: %w", err)
	}
	for _, o := range all {
		if !(o.at < before.UnixMicro() && !before.IsZero()) && (most <= 0 || sum <= most) {
			break
		}
		done, err := s.delete(ctx, o.Key, o.at+1)
		if err != nil && !errors.Is(err, ErrDeleted) && !errors.Is(err, ErrNotFound) {
			return gone, err
		}
		if done {
			sum -= o.size
			gone++
		}
	}
	return gone, nil
}
