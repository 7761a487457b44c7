package store

import (
	"context"
	"database/sql/driver"
	"errors"
)

// sqliteQuick writes quick appends to SQLite, below database/sql: a statement takes
// microseconds, and what is around it took as long. Only one goroutine at a time uses it,
// the one that has the connection.
type sqliteQuick struct {
	conn  driver.Conn // that the statements belong to
	stmts [statements]driver.Stmt
	args  [12]driver.NamedValue
}

func (e *sqliteEngine) quick(ctx context.Context, x *Session, q *quickly) (bool, error) {
	return e.group.add(ctx, x, q)
}

// commitQuick writes all members in one transaction.
func (e *sqliteEngine) commitQuick(ctx context.Context, all []*member) error {
	ctx = context.WithoutCancel(ctx) // what has begun is done in microseconds
	conn, err := e.write.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Raw(func(c any) error {
		if err := e.statements.prepare(ctx, c.(driver.Conn)); err != nil {
			return err
		}
		return e.statements.write(ctx, all)
	})
}

// The statements of a quick append.
const (
	stmtBegin = iota
	stmtCommit
	stmtRollback
	stmtSavepoint
	stmtUndo
	stmtRelease
	stmtHead
	stmtEntry
	stmtCall
	stmtAnswer
	statements
)

var quickStatements = [statements]string{
	stmtBegin:     `BEGIN IMMEDIATE`,
	stmtCommit:    `COMMIT`,
	stmtRollback:  `ROLLBACK`,
	stmtSavepoint: `SAVEPOINT one`,
	stmtUndo:      `ROLLBACK TO one`,
	stmtRelease:   `RELEASE one`,
	stmtHead:      `UPDATE sessions SET noted_head = ?, cum = ?, updated_at = ? WHERE sid = ? AND noted_head = ? AND deleted_at IS NULL`,
	stmtEntry:     `INSERT INTO entries (sid, seq, id, kind, flags, weight, cum, size, sum, codec, at, raw) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
	stmtCall:      `INSERT INTO calls (sid, seq, no, call_id, tool, family) VALUES (?, ?, ?, ?, ?, ?)`,
	stmtAnswer:    `INSERT INTO answers (sid, seq, no, call_id, tool, family, call_seq, call_no) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
}

// prepare prepares the statements, once for a connection.
func (s *sqliteQuick) prepare(ctx context.Context, c driver.Conn) (err error) {
	if s.conn == c {
		return nil
	}
	s.close()
	for i, query := range quickStatements {
		if s.stmts[i], err = c.(driver.ConnPrepareContext).PrepareContext(ctx, query); err != nil {
			s.close()
			return err
		}
	}
	for i := range s.args {
		s.args[i].Ordinal = i + 1
	}
	s.conn = c
	return nil
}

func (s *sqliteQuick) close() {
	for i, stmt := range s.stmts {
		if stmt != nil {
			stmt.Close()
		}
		s.stmts[i] = nil
	}
	s.conn = nil
}

// run runs a statement and tells how many rows it changed.
func (s *sqliteQuick) run(ctx context.Context, stmt int, args ...driver.Value) (int64, error) {
	for i, a := range args {
		s.args[i].Value = a
	}
	r, err := s.stmts[stmt].(driver.StmtExecContext).ExecContext(ctx, s.args[:len(args)])
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

func (s *sqliteQuick) write(ctx context.Context, all []*member) (err error) {
	if _, err := s.run(ctx, stmtBegin); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			s.run(ctx, stmtRollback)
		}
	}()
	for _, m := range all {
		if len(all) == 1 {
			if m.ok, err = s.append(ctx, m); err != nil {
				return err
			}
			break
		}
		if _, err := s.run(ctx, stmtSavepoint); err != nil {
			return err
		}
		if m.ok, m.err = s.append(ctx, m); m.err != nil {
			if _, err := s.run(ctx, stmtUndo); err != nil {
				return errors.Join(m.err, err)
			}
		}
		if _, err := s.run(ctx, stmtRelease); err != nil {
			return err
		}
	}
	_, err = s.run(ctx, stmtCommit)
	return err
}

// append writes one member; false if its session has another head by now.
func (s *sqliteQuick) append(ctx context.Context, m *member) (bool, error) {
	x, q := m.x, m.q
	if n, err := s.run(ctx, stmtHead, q.head, q.cum, q.at, x.sid, x.Head); err != nil || n == 0 {
		return false, err
	}
	for i := range q.rows {
		r := &q.rows[i]
		_, err := s.run(ctx, stmtEntry, x.sid, r.Seq, r.ID, string(r.Kind), int64(r.flags), r.weight, r.cum, int64(len(r.Raw)), r.sum[:], int64(r.codec), q.at, r.stored)
		if err != nil {
			return false, err
		}
		for _, c := range r.Calls {
			if _, err := s.run(ctx, stmtCall, x.sid, r.Seq, int64(c.No), c.ID, c.Tool, int64(c.family)); err != nil {
				return false, err
			}
		}
		for j, c := range r.Answers {
			if _, err := s.run(ctx, stmtAnswer, x.sid, r.Seq, int64(j), c.ID, c.Tool, int64(c.family), c.Seq, int64(c.No)); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}
