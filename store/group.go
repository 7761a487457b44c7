package store

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// A group lets appends of this process that come at the same time share one transaction
// of SQLite, and one wait for the disk: while one is committed, the next ones gather. Each
// succeeds or fails for itself. Many goroutines may use it.
type group struct {
	mu      sync.Mutex
	waiting []*member
	busy    bool // somebody commits

	prepared                  sync.Mutex
	head, entry, call, answer *sql.Stmt
}

// A member is one append of a group.
type member struct {
	x    *Session
	q    *quickly
	ok   bool
	err  error
	done chan struct{}
}

func (e *sqliteEngine) quick(ctx context.Context, db *sql.DB, x *Session, q *quickly) (bool, error) {
	g := &e.group
	if err := g.prepare(ctx, db); err != nil {
		return false, err
	}
	m := &member{x: x, q: q, done: make(chan struct{})}
	g.mu.Lock()
	g.waiting = append(g.waiting, m)
	lead := !g.busy
	g.busy = true
	g.mu.Unlock()
	if !lead {
		select {
		case <-m.done:
			return m.ok, m.err
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
	// Whoever finds nobody at work begins. Those who come meanwhile are not its business: it
	// would never be done under load.
	g.round(ctx, db)
	go g.others(context.WithoutCancel(ctx), db)
	return m.ok, m.err
}

// others does the work of those who wait, until nobody does.
func (g *group) others(ctx context.Context, db *sql.DB) {
	for g.round(ctx, db) {
	}
}

// round writes for all who have come, and reports whether somebody had.
func (g *group) round(ctx context.Context, db *sql.DB) bool {
	g.mu.Lock()
	all := g.waiting
	g.waiting = nil
	if len(all) == 0 {
		g.busy = false
	}
	g.mu.Unlock()
	if len(all) == 0 {
		return false
	}
	// Nobody's context but their own may end the work of others.
	g.run(context.WithoutCancel(ctx), db, all)
	for _, other := range all {
		close(other.done)
	}
	return true
}

// prepare prepares the statements, once.
func (g *group) prepare(ctx context.Context, db *sql.DB) (err error) {
	g.prepared.Lock()
	defer g.prepared.Unlock()
	for into, query := range map[**sql.Stmt]string{
		&g.head:   `UPDATE sessions SET head = ?, cum = ?, updated_at = ? WHERE sid = ? AND head = ? AND deleted_at IS NULL`,
		&g.entry:  `INSERT INTO entries (sid, seq, id, kind, flags, weight, cum, size, sum, codec, at, raw) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		&g.call:   `INSERT INTO calls (sid, seq, no, call_id, tool, family) VALUES (?, ?, ?, ?, ?, ?)`,
		&g.answer: `INSERT INTO answers (sid, seq, no, call_id, tool, family, call_seq, call_no) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
	} {
		if *into == nil {
			if *into, err = db.PrepareContext(ctx, query); err != nil {
				return err
			}
		}
	}
	return nil
}

// run writes all members in one transaction. If it fails, none was written.
func (g *group) run(ctx context.Context, db *sql.DB, all []*member) {
	err := g.commit(ctx, db, all)
	for _, m := range all {
		if err != nil {
			m.ok, m.err = false, err
		}
	}
}

func (g *group) commit(ctx context.Context, db *sql.DB, all []*member) error {
	t, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer t.Rollback() // does nothing once it is committed
	for _, m := range all {
		if len(all) == 1 {
			m.ok, m.err = g.write(ctx, t, m)
			if m.err != nil {
				return m.err
			}
			break
		}
		if _, err := t.ExecContext(ctx, `SAVEPOINT one`); err != nil {
			return err
		}
		m.ok, m.err = g.write(ctx, t, m)
		if m.err != nil {
			if _, err := t.ExecContext(ctx, `ROLLBACK TO one`); err != nil {
				return errors.Join(m.err, err)
			}
		}
		if _, err := t.ExecContext(ctx, `RELEASE one`); err != nil {
			return err
		}
	}
	return t.Commit()
}

// write writes one member; false if its session has another head by now.
func (g *group) write(ctx context.Context, t *sql.Tx, m *member) (bool, error) {
	run := func(s *sql.Stmt, args ...any) (n int64, err error) {
		r, err := t.StmtContext(ctx, s).ExecContext(ctx, args...)
		if err == nil {
			n, err = r.RowsAffected()
		}
		return n, err
	}
	x, q := m.x, m.q
	if n, err := run(g.head, q.head, q.cum, q.at, x.sid, x.Head); err != nil || n == 0 {
		return false, err
	}
	for i := range q.rows {
		r := &q.rows[i]
		if _, err := run(g.entry, x.sid, r.Seq, r.ID, string(r.Kind), r.flags, r.weight, r.cum, len(r.Raw), r.sum[:], r.codec, q.at, r.stored); err != nil {
			return false, err
		}
		for _, c := range r.Calls {
			if _, err := run(g.call, x.sid, r.Seq, c.No, c.ID, c.Tool, c.family); err != nil {
				return false, err
			}
		}
		for j, c := range r.Answers {
			if _, err := run(g.answer, x.sid, r.Seq, j, c.ID, c.Tool, c.family, c.Seq, c.No); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}
