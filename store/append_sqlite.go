package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
)

// sqliteAppends are the statements of fast appends, prepared once: parsing them takes longer than
// running them.
type sqliteAppends struct {
	entry, mark, marks, session *sql.Stmt
}

// marksPerStatement is the number of marks that one statement writes.
const marksPerStatement = 64

// prepare prepares the statements. The tables must exist.
func (e *sqliteEngine) prepare(ctx context.Context) error {
	insertMarks := func(n int) string {
		marks := strings.Repeat(`, (?1, ?, ?)`, n-1)
		return `INSERT INTO marks (sid, mark, seq) VALUES (?1, ?, ?)` + marks + ` ON CONFLICT DO NOTHING`
	}
	for _, s := range []struct {
		stmt  **sql.Stmt
		query string
	}{
		// A session that is not deleted loses no entries, so the known head is not after the last
		// entry. If it is before the last entry, the primary key is taken.
		{&e.appends.entry, `INSERT INTO entries (pos, id, kind, flags, weight, cum, size, sum, codec, at, pairs, raw)
			SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM sessions
			WHERE sid = ? AND deleted_at IS NULL AND NOT EXISTS (SELECT 1 FROM marks WHERE sid = ? AND mark = ?)`},
		{&e.appends.mark, insertMarks(1)},
		{&e.appends.marks, insertMarks(marksPerStatement)},
		{&e.appends.session, `UPDATE sessions SET settled = ?, noted_head = ?, cum = ?, updated_at = ? WHERE sid = ?`},
	} {
		stmt, err := e.write.PrepareContext(ctx, s.query)
		if err != nil {
			return err
		}
		*s.stmt = stmt
	}
	return nil
}

func (e *sqliteEngine) appendFast(ctx context.Context, w *fastWrite) (bool, error) {
	return e.group.add(ctx, w)
}

// errNotWritten reports that a session has changed or that an id may be taken.
var errNotWritten = errors.New("the session has changed")

// commitAppends writes all members in one transaction, each in its own savepoint.
func (e *sqliteEngine) commitAppends(ctx context.Context, members []*groupMember) error {
	ctx = context.WithoutCancel(ctx) // a transaction takes less time than canceling it
	if m := members[0]; len(members) == 1 && len(m.write.rows) == 1 && len(m.write.marks) == 0 {
		// A single statement is a transaction.
		if err := e.appends.insertEntry(ctx, e.appends.entry, m.write, m.write.rows[0]); err != nil {
			return err
		}
		m.written = true
		e.afterWrite()
		return e.checkFiles()
	}
	t, err := e.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer t.Rollback()
	for _, m := range members {
		if _, err := t.ExecContext(ctx, `SAVEPOINT member`); err != nil {
			return err
		}
		m.err = e.appends.insert(ctx, t, m.write)
		m.written = m.err == nil
		end := `RELEASE member`
		if m.err != nil {
			end = `ROLLBACK TO member; RELEASE member`
		}
		if _, err := t.ExecContext(ctx, end); err != nil {
			return errors.Join(m.err, err)
		}
	}
	if err := t.Commit(); err != nil {
		return err
	}
	e.afterWrite()
	return e.checkFiles()
}

// insert writes the rows and marks of one append.
func (a *sqliteAppends) insert(ctx context.Context, t *sql.Tx, w *fastWrite) error {
	entry := t.StmtContext(ctx, a.entry)
	for _, r := range w.rows {
		if err := a.insertEntry(ctx, entry, w, r); err != nil {
			return err
		}
	}
	if len(w.marks) == 0 {
		return nil
	}
	for rest := w.marks; len(rest) > 0; {
		stmt, n := a.mark, 1
		if len(rest) >= marksPerStatement {
			stmt, n = a.marks, marksPerStatement
		}
		args := []any{w.sid}
		for _, m := range rest[:n] {
			args = append(args, m.mark, m.seq)
		}
		if _, err := t.StmtContext(ctx, stmt).ExecContext(ctx, args...); err != nil {
			return err
		}
		rest = rest[n:]
	}
	w.wroteMarks = true
	last := w.last()
	_, err := t.StmtContext(ctx, a.session).ExecContext(ctx, w.head, last.Seq, last.totalWeight, w.at, w.sid)
	return err
}

// insertEntry writes one row. It returns errNotWritten if the session is deleted or has an entry
// with the mark of the id.
func (a *sqliteAppends) insertEntry(ctx context.Context, entry *sql.Stmt, w *fastWrite, r *row) error {
	result, err := entry.ExecContext(ctx, pos(w.sid, r.Seq), r.ID, string(r.Kind), r.flags, r.weight, r.totalWeight, r.size, r.sum[:], r.codec, w.at, r.encodePairs(), r.stored,
		w.sid, w.sid, markID(r.ID))
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return errors.Join(errNotWritten, err)
	}
	return nil
}
