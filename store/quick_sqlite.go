package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"
)

// sqliteQuick writes quick appends to SQLite, below database/sql: a statement takes
// microseconds, and what is around it took as long. Only one goroutine at a time uses it,
// the one that has the connection.
type sqliteQuick struct {
	conn  driver.Conn // that the statements belong to
	stmts [statements]driver.Stmt
	args  [1 + 2*manyMarks]driver.NamedValue
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
		if err := e.statements.write(ctx, all); err != nil {
			return err
		}
		e.checks.wrote()
		return e.lately()
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
	stmtEntry
	stmtMark
	stmtMarks
	stmtSettled
	statements
)

var quickStatements = [statements]string{
	stmtBegin:     `BEGIN IMMEDIATE`,
	stmtCommit:    `COMMIT`,
	stmtRollback:  `ROLLBACK`,
	stmtSavepoint: `SAVEPOINT one`,
	stmtUndo:      `ROLLBACK TO one`,
	stmtRelease:   `RELEASE one`,
	// A session that is not deleted loses no entries, so the head that was known is not behind
	// the last one; if it is in front, the number is taken.
	stmtEntry: `INSERT INTO entries (pos, id, kind, flags, weight, cum, size, sum, codec, at, pairs, raw)
		SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM sessions
		WHERE sid = ? AND deleted_at IS NULL AND NOT EXISTS (SELECT 1 FROM marks WHERE sid = ? AND mark = ?)`,
	stmtMark:    marksQuery(1),
	stmtMarks:   marksQuery(manyMarks),
	stmtSettled: `UPDATE sessions SET settled = ?, noted_head = ?, cum = ?, updated_at = ? WHERE sid = ?`,
}

// manyMarks is how many marks go with one statement.
const manyMarks = 64

func marksQuery(n int) string {
	marks := strings.Repeat(`, (?1, ?, ?)`, n-1)
	return `INSERT INTO marks (sid, mark, seq) VALUES (?1, ?, ?)` + marks + ` ON CONFLICT DO NOTHING`
}

// errNotQuick says that a session is not what it was taken for.
var errNotQuick = errors.New("the session has changed")

// prepare prepares the statements, once for a connection.
func (s *sqliteQuick) prepare(ctx context.Context, c driver.Conn) (err error) {
	if s.conn == c {
		return nil
	}
	s.forget()
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

// forget drops statements of a connection that database/sql has closed: the driver crashes if one
// of them is closed after that.
func (s *sqliteQuick) forget() { s.stmts, s.conn = [statements]driver.Stmt{}, nil }

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
	if m := all[0]; len(all) == 1 && len(m.q.rows) == 1 && len(m.q.settle) == 0 {
		// One statement is a transaction by itself, and takes its lock when it begins.
		err = s.append(ctx, m)
		m.ok = err == nil
		return err
	}
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
			err = s.append(ctx, m)
			if m.ok = err == nil; !m.ok {
				return err
			}
			break
		}
		if _, err := s.run(ctx, stmtSavepoint); err != nil {
			return err
		}
		m.err = s.append(ctx, m)
		if m.ok = m.err == nil; !m.ok {
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

// append writes one member; it fails if its session has another head by now.
func (s *sqliteQuick) append(ctx context.Context, m *member) error {
	x, q := m.x, m.q
	for i := range q.rows {
		r := &q.rows[i]
		var pairs driver.Value // of a slice that is nil, SQLite makes an empty one
		if p := r.pairs(); p != nil {
			pairs = p
		}
		written, err := s.run(ctx, stmtEntry, pos(x.sid, r.Seq), r.ID, string(r.Kind), int64(r.flags), r.weight, r.cum, int64(r.size), r.sum[:], int64(r.codec), q.at, pairs, r.stored,
			x.sid, x.sid, q.marks[i])
		if err != nil {
			return err
		}
		if written == 0 {
			return errNotQuick
		}
	}
	return s.writeMarks(ctx, x, q)
}

// writeMarks writes the marks of the entries in front.
func (s *sqliteQuick) writeMarks(ctx context.Context, x *Session, q *quickly) error {
	if len(q.settle) == 0 {
		return nil
	}
	args := make([]driver.Value, 0, len(s.args))
	for rest := q.settle; len(rest) > 0; {
		stmt, n := stmtMark, 1
		if len(rest) >= manyMarks {
			stmt, n = stmtMarks, manyMarks
		}
		args = append(args[:0], x.sid)
		for _, k := range rest[:n] {
			args = append(args, k.mark, k.seq)
		}
		if _, err := s.run(ctx, stmt, args...); err != nil {
			return err
		}
		rest = rest[n:]
	}
	q.settled = true
	_, err := s.run(ctx, stmtSettled, x.Head, q.head, q.cum, q.at, x.sid)
	return err
}
