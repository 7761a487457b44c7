package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// A sqliteEngine stores sessions in a SQLite file, with one writer at a time and any number of
// readers.
type sqliteEngine struct {
	*sqliteFile
	write    *sql.DB
	checks   checkpointer
	salvaged bool // see Store.salvage
	group    commitGroup
	appends  sqliteAppends
}

// openSQLite opens a file that only its owner can read. A single connection writes. It locks the
// file when a transaction begins, because a transaction that reads first could not wait for another
// writer. Writers of the same process wait in order, those of other processes until the busy
// timeout.
func openSQLite(path string) (read, write *sql.DB, eng engine, err error) {
	path = strings.TrimPrefix(path, "file:")
	if path == "" {
		return nil, nil, nil, errors.New("open store: the path of the database is empty")
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, nil, nil, fmt.Errorf("open store: %s is no regular file", path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, nil, nil, explainFileError(path, err)
	}
	file, err := newSQLiteFile(path)
	if err != nil {
		return nil, nil, nil, err
	}
	if err := checkOwnTables(path); err != nil {
		return nil, nil, nil, err
	}
	if read, err = sqliteDB(path, "deferred", 8); err != nil {
		return nil, nil, nil, err
	}
	if write, err = sqliteDB(path, "immediate", 1); err != nil {
		return nil, nil, nil, err
	}
	e := &sqliteEngine{sqliteFile: file, write: write}
	// A passive checkpoint waits for no reader.
	e.checks = checkpointer{after: checkpointAfter, checkpoint: func() { write.Exec(`PRAGMA wal_checkpoint(PASSIVE)`) }}
	e.group = commitGroup{lanes: 1, maxMembers: 64, commit: e.commitAppends}
	e.reserve()
	return read, write, e, nil
}

// checkpointAfter is the maximum time for which new data is only in the journal.
const checkpointAfter = 2 * time.Second

func (e *sqliteEngine) afterWrite() { e.checks.schedule() }

// checkOwnTables returns an error for files that are not databases, and for databases of other
// programs, before anything is written to them, such as another journal mode. Other problems are
// left to the caller.
func checkOwnTables(path string) error {
	db, err := sql.Open("sqlite", sqliteURL(path, url.Values{"_pragma": {"busy_timeout(20000)"}}))
	if err != nil {
		return fmt.Errorf("open store: %w", err)
	}
	defer db.Close()
	rows, err := db.Query(`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'`)
	switch {
	case sqliteCode(err) == lib.SQLITE_NOTADB:
		return fmt.Errorf("open store: %s is not a database, or its first page is damaged", path)
	case err != nil:
		return nil
	}
	defer rows.Close()
	own, others := 0, 0
	for rows.Next() {
		var name string
		if rows.Scan(&name) != nil {
			return nil
		}
		switch name {
		case "sessions", "entries", "marks":
			own++
		case "goose_db_version": // another process may be creating the tables
		default:
			others++
		}
	}
	if own == 3 || own+others == 0 {
		return nil
	}
	return fmt.Errorf("open store: %s is a database of another program", path)
}

func (e *sqliteEngine) close() { e.checks.stop() }

func sqliteDB(path, lock string, conns int) (*sql.DB, error) {
	q := url.Values{"_txlock": {lock}}
	// The timeout comes first, because the other pragmas may have to wait for a lock.
	for _, p := range []string{"busy_timeout(20000)", "journal_mode(WAL)", "synchronous(FULL)", "cache_size(-16000)",
		// The journal is reused after 4 MB: with a growing journal, each sync took half as long
		// again.
		"wal_autocheckpoint(1000)", "journal_size_limit(67108864)"} {
		q.Add("_pragma", p)
	}
	db, err := sql.Open("sqlite", sqliteURL(path, q))
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return db, nil
}

func sqliteURL(path string, q url.Values) string {
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + q.Encode()
}

func (*sqliteEngine) name() string             { return "sqlite" }
func (*sqliteEngine) bind(query string) string { return query }

// maxTail is large, because marks are scattered over the pages of a session, each of which is
// written as a whole.
func (*sqliteEngine) maxTail() int { return 512 }

// lock does nothing: a transaction that writes has locked everything.
func (*sqliteEngine) lock(context.Context, *tx, string, ...any) error { return nil }

func (*sqliteEngine) isRetryable(err error) bool {
	code := sqliteCode(err)
	return code == lib.SQLITE_BUSY || code == lib.SQLITE_LOCKED
}

// isFull checks for a full file system and for a limit of the file size.
func (*sqliteEngine) isFull(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code()&0xff == lib.SQLITE_FULL || e.Code() == lib.SQLITE_IOERR_WRITE || e.Code() == lib.SQLITE_IOERR_SHMSIZE)
}

// isDown checks for a locked, missing or forbidden file and for a failing disk.
func (*sqliteEngine) isDown(err error) bool {
	switch sqliteCode(err) {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_CANTOPEN, lib.SQLITE_PERM, lib.SQLITE_READONLY, lib.SQLITE_IOERR:
		return true
	}
	return false
}

func (*sqliteEngine) isBroken(error) bool { return false }

// isSpoiled checks for disk errors: after one, the full-text index still counts an entry that was
// rolled back, and writes a wrong checksum later.
func (*sqliteEngine) isSpoiled(err error) bool {
	switch sqliteCode(err) {
	case lib.SQLITE_IOERR, lib.SQLITE_FULL, lib.SQLITE_NOMEM, lib.SQLITE_CORRUPT:
		return true
	}
	return false
}

func (*sqliteEngine) isDamaged(err error) bool { return sqliteCode(err) == lib.SQLITE_CORRUPT }

// isPermanent reports whether an error does not depend on other processes.
func isPermanent(err error) bool {
	switch sqliteCode(err) {
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB, lib.SQLITE_READONLY, lib.SQLITE_FULL, lib.SQLITE_PERM, lib.SQLITE_AUTH, lib.SQLITE_CANTOPEN:
		return true
	case lib.SQLITE_IOERR:
		var e *sqlite.Error
		errors.As(err, &e)
		switch e.Code() { // locks of other processes are temporary
		case lib.SQLITE_IOERR_LOCK, lib.SQLITE_IOERR_UNLOCK, lib.SQLITE_IOERR_RDLOCK, lib.SQLITE_IOERR_CHECKRESERVEDLOCK, lib.SQLITE_IOERR_SHMLOCK, lib.SQLITE_IOERR_BLOCKED:
			return false
		}
		return true
	}
	return false
}

// sqliteCode returns the primary code of a SQLite error, or 0.
func sqliteCode(err error) int {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.Code() & 0xff
}

// verify uses its own connection, because the others may cache an old state of the full-text index.
func (e *sqliteEngine) verify(ctx context.Context) (found []string, err error) {
	db, err := sqliteDB(e.path, "deferred", 1)
	if e.salvaged {
		db, err = salvageDB(e.path)
	}
	if err != nil {
		return nil, err
	}
	defer db.Close()
	err = (&tx{db, e}).each(ctx, func(scan func(...any) error) error {
		var text string
		if err := scan(&text); err != nil {
			return err
		}
		for line := range strings.Lines(text) { // a row may describe several pages
			if line = strings.TrimSpace(line); line != "" && line != "ok" && !strings.HasPrefix(line, "***") {
				found = append(found, line)
			}
		}
		return nil
	}, `PRAGMA integrity_check(100)`)
	return found, err
}

func (*sqliteEngine) reindex(ctx context.Context, t *tx) error {
	for _, query := range []string{
		`REINDEX`,
		// The next search indexes the words again.
		`INSERT INTO words (words) VALUES ('rebuild')`, `DELETE FROM words`, `INSERT INTO stems (stems) VALUES ('delete-all')`, `UPDATE sessions SET indexed = 0`,
	} {
		if _, err := t.exec(ctx, query); err != nil {
			return err
		}
	}
	return nil
}

func (*sqliteEngine) indexWords(ctx context.Context, t *tx, sid, seq int64, text string) error {
	if _, err := t.exec(ctx, `INSERT INTO words (body, sid, seq) VALUES (?, ?, ?)`, text, sid, seq); err != nil {
		return err
	}
	_, err := t.exec(ctx, `INSERT INTO stems (rowid, body) VALUES (?, ?)`, pos(sid, seq), text)
	return err
}

// rank uses BM25, which SQLite returns as a negative number.
func (*sqliteEngine) rank(ctx context.Context, t *tx, words []string, scope string, most int) (all []ranked, err error) {
	err = t.each(ctx, func(scan func(...any) error) error {
		var r ranked
		err := scan(&r.pos, &r.score)
		r.score = -r.score
		all = append(all, r)
		return err
	}, `SELECT rowid, bm25(stems) FROM stems WHERE stems MATCH ? AND (rowid >> 28) IN (SELECT sid FROM sessions WHERE scope = ?) ORDER BY bm25(stems), rowid DESC LIMIT ?`,
		`"`+strings.Join(words, `" OR "`)+`"`, scope, most)
	return all, err
}

// searchCondition quotes each word, so that no part of it is an operator.
func (*sqliteEngine) searchCondition(words []phrase) (string, []any) {
	quoted := func(w string) string { return `"` + strings.ReplaceAll(w, `"`, `""`) + `"` }
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = "(" + quoted(w.folded) + " OR " + quoted(w.text) + ")"
	}
	return `words MATCH ?`, []any{strings.Join(all, " AND ")}
}

func (*sqliteEngine) deleteWords(ctx context.Context, t *tx, sid, from, to int64) error {
	if _, err := t.exec(ctx, `DELETE FROM words WHERE sid = ? AND seq BETWEEN ? AND ?`, sid, from, to); err != nil {
		return err
	}
	_, err := t.exec(ctx, `DELETE FROM stems WHERE rowid BETWEEN ? AND ?`, pos(sid, from), pos(sid, to))
	return err
}

func (*sqliteEngine) sharedNow(_ context.Context, _ *tx, local func() int64) (int64, error) {
	return local(), nil
}

// lockMedia does nothing: there is one writer.
func (*sqliteEngine) lockMedia(context.Context, *tx, bool) error { return nil }

// lockName does nothing: there is one writer.
func (*sqliteEngine) lockName(context.Context, *tx, int64) error { return nil }
