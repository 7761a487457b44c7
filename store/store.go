package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/wire"
)

// Options configures a store. The zero value is a good default.
type Options struct {
	// Sink receives every lifecycle event. Nil drops events. Several goroutines call it, never
	// while a transaction is open.
	Sink func(pare.Event)
	// Now returns the time; nil means time.Now. The order of entries does not depend on it.
	Now func() time.Time
	// MaxEntry limits the size of an entry in bytes. Zero means 256 MB.
	MaxEntry int
	// Counter returns the token counter for the entries of sessions with a model. Nil means the
	// estimator of the model.
	Counter func(model string) wire.Counter
	// Damaged also opens a SQLite file that is damaged or truncated, to save its readable part.
	// Writes to such a file return an error that wraps [ErrDamaged]. An intact file is opened as
	// usual.
	Damaged bool
	// Transcripts read entries that are lines of an agent's session file instead of messages, by
	// their kind, so that windows can be made of them.
	Transcripts map[Kind]Transcript
}

// A Transcript parses the lines of a session file into the request that the agent would send next.
// Each line ends with a newline. The model is that of the session, or empty.
type Transcript func(lines []byte, model string) (*wire.Request, error)

// A Store keeps sessions in one database.
type Store struct {
	reader  *sql.DB
	writer  *sql.DB
	engine  engine
	options Options
	// maxTail is the number of entries without marks at which a fast append writes marks.
	maxTail int

	watchers      watchers
	cache         sessionCache
	keptSummaries atomic.Int64 // since the store was opened
	secret        []byte       // of the database; signs media markers
	salvaged      bool         // the file is damaged and read only
}

// An engine implements the differences between the databases.
type engine interface {
	// name returns the name of the engine and of its folder of migrations.
	name() string
	// bind rewrites the question marks of a statement as the placeholders of the database.
	bind(query string) string
	// prepare prepares statements. The tables must exist.
	prepare(ctx context.Context) error
	// appendFast writes an append if the session has the expected head and none of the ids. It
	// reports whether it did.
	appendFast(ctx context.Context, w *fastWrite) (written bool, err error)
	// maxTail returns the default of Store.maxTail. Other processes read these entries when they
	// look for a mark.
	maxTail() int
	// explainOpenError adds the file and a hint to the error of a database that cannot be used.
	explainOpenError(err error) error
	// close releases everything but the connection pools.
	close()
	// checkFiles returns an error if the files of the database were removed or replaced, because
	// writes to them would be lost.
	checkFiles() error
	// afterWrite is called after every transaction that wrote.
	afterWrite()
	// lock locks the sessions of a condition until the transaction ends. Read them after locking: a
	// statement sees the state at its beginning.
	lock(ctx context.Context, tx *tx, where string, args ...any) error
	// isRetryable reports whether a transaction failed because of a concurrent one.
	isRetryable(err error) bool
	// isFull reports whether the disk is full.
	isFull(err error) bool
	// withReserve runs a function that frees space. If the disk is full, it gives up the reserved
	// space first.
	withReserve(do func() error) error
	// isDown reports whether the database does not answer or cannot be opened.
	isDown(err error) bool
	// isBroken reports whether an open connection was lost.
	isBroken(err error) bool
	// isSpoiled reports whether the connection may keep state of a transaction that failed with
	// this error.
	isSpoiled(err error) bool
	// isDamaged reports whether the files of the database are corrupt.
	isDamaged(err error) bool
	// backup copies the database into a file that must not exist.
	backup(ctx context.Context, path string) error
	// verify checks the files of the database, while others may write. It returns one sentence per
	// problem.
	verify(ctx context.Context) ([]string, error)
	// reindex rebuilds all indexes from their tables.
	reindex(ctx context.Context, tx *tx) error
	// indexWords adds the folded words of an entry to the search indexes.
	indexWords(ctx context.Context, tx *tx, sid, seq int64, text string) error
	// searchCondition returns the condition for entries that hold all words. It matches the folded
	// text and the original text, because entries of old versions were indexed unfolded.
	searchCondition(words []phrase) (where string, args []any)
	// rank returns the entries of a scope that hold any of the words, best first.
	rank(ctx context.Context, tx *tx, words []string, scope string, most int) ([]ranked, error)
	// deleteWords removes the words of a range of entries.
	deleteWords(ctx context.Context, tx *tx, sid, from, to int64) error
	// sharedNow returns the clock that all processes on the database share, in microseconds.
	sharedNow(ctx context.Context, tx *tx, local func() int64) (int64, error)
	// lockMedia keeps transactions that store media apart from the one that deletes unused media,
	// until the transaction ends. The deleting one is exclusive.
	lockMedia(ctx context.Context, tx *tx, alone bool) error
	// lockName locks a number until the transaction ends.
	lockName(ctx context.Context, tx *tx, name int64) error
}

// Open opens a database and upgrades its tables. The dsn is postgres://… for PostgreSQL, or the
// path of a SQLite file.
func Open(ctx context.Context, dsn string) (*Store, error) { return OpenWith(ctx, dsn, Options{}) }

// OpenWith is Open with options.
func OpenWith(ctx context.Context, dsn string, o Options) (*Store, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MaxEntry == 0 {
		o.MaxEntry = 256 << 20
	}
	s := &Store{options: o}
	var err error
	switch {
	case strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://"):
		s.reader, s.engine, err = openPostgres(dsn)
		s.writer = s.reader
	case strings.Contains(dsn, "://"):
		scheme, _, _ := strings.Cut(dsn, "://")
		return nil, fmt.Errorf("open store: unknown database %q; give the path of a file, or postgres://…", scheme+"://")
	default:
		s.reader, s.writer, s.engine, err = openSQLite(dsn)
	}
	if err != nil {
		return nil, err
	}
	s.maxTail = s.engine.maxTail()
	if err := migrate(ctx, s.writer, s.engine); err != nil {
		if o.Damaged && s.engine.isDamaged(err) && s.salvage(ctx) == nil {
			return s, nil
		}
		s.Close()
		return nil, fmt.Errorf("open store: %w", s.engine.explainOpenError(s.classifyError(ctx, err)))
	}
	err = s.loadSecret(ctx)
	if err == nil {
		err = s.engine.prepare(ctx)
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("open store: %w", err)
	}
	return s, nil
}

// Backup writes a consistent copy of the store to a new file, while the store may be in use.
// Copying the file itself would miss the entries in its journal (-wal). For PostgreSQL, use
// pg_dump.
func (s *Store) Backup(ctx context.Context, path string) error {
	if err := s.checkOpen(); err != nil {
		return err
	}
	if err := s.engine.backup(ctx, path); err != nil {
		return fmt.Errorf("back up the store: %w", s.classifyError(ctx, err))
	}
	return nil
}

// Close closes the database.
func (s *Store) Close() error {
	if err := s.checkOpen(); err != nil {
		return err
	}
	s.engine.close()
	err := s.reader.Close()
	if s.writer != s.reader {
		err = errors.Join(err, s.writer.Close())
	}
	return err
}

// Engine returns sqlite or postgres, or "" if the store is not open.
func (s *Store) Engine() string {
	if s.checkOpen() != nil {
		return ""
	}
	return s.engine.name()
}

func (s *Store) now() int64 { return s.sharedNow().UnixMicro() }

func (s *Store) sharedNow() time.Time {
	if s == nil || s.options.Now == nil {
		return time.Now()
	}
	return s.options.Now()
}

// checkOpen returns an error for nil and the zero value.
func (s *Store) checkOpen() error {
	if s == nil || s.engine == nil {
		return errNotOpen
	}
	return nil
}

var errNotOpen = errors.New("the store is not open: Open makes one")

// A tx is a transaction. Its statements use question marks as placeholders.
type tx struct {
	queries interface {
		ExecContext(context.Context, string, ...any) (sql.Result, error)
		QueryContext(context.Context, string, ...any) (*sql.Rows, error)
		QueryRowContext(context.Context, string, ...any) *sql.Row
	}
	engine engine
}

func (t *tx) exec(ctx context.Context, query string, args ...any) (int64, error) {
	r, err := t.queries.ExecContext(ctx, t.engine.bind(query), args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

func (t *tx) row(ctx context.Context, query string, args ...any) *sql.Row {
	return t.queries.QueryRowContext(ctx, t.engine.bind(query), args...)
}

// each calls f for every row of a query, with the Scan method of the row.
func (t *tx) each(ctx context.Context, f func(scan func(...any) error) error, query string, args ...any) error {
	rows, err := t.queries.QueryContext(ctx, t.engine.bind(query), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// write runs f in a transaction that writes. It runs f again if a concurrent transaction was in the
// way, so f must not keep results of a failed run.
func (s *Store) write(ctx context.Context, f func(*tx) error) error {
	if err := s.checkOpen(); err != nil {
		return err
	}
	start := time.Now()
	for try := 0; ; try++ {
		err := s.writeOnce(ctx, f)
		if err == nil || try == 20 || !s.engine.isRetryable(err) || time.Since(start) > maxRetryTime {
			return s.classifyError(ctx, err)
		}
		pause := time.Duration(1<<min(try, 6)) * time.Millisecond
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// maxRetryTime limits how long a transaction is retried. Conflicts that last longer do not pass.
const maxRetryTime = time.Minute

func (s *Store) writeOnce(ctx context.Context, f func(*tx) error) error {
	if s.salvaged {
		return fmt.Errorf("%w: it was opened to save what can be read, and is not written to", ErrDamaged)
	}
	// Every statement sees committed data, so f locks the row of a session before it reads anything
	// of it.
	conn, t, err := s.begin(ctx, s.writer, nil)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err = f(&tx{t, s.engine}); err != nil {
		t.Rollback()
	} else if err = t.Commit(); err == nil {
		s.engine.afterWrite()
		return s.engine.checkFiles()
	}
	if s.engine.isSpoiled(err) {
		s.discard(conn)
	}
	return err
}

// discard closes a connection instead of returning it to the pool.
func (s *Store) discard(conn *sql.Conn) {
	conn.Raw(func(any) error { return driver.ErrBadConn })
}

// read runs f on a snapshot.
func (s *Store) read(ctx context.Context, f func(*tx) error) error {
	if err := s.checkOpen(); err != nil {
		return err
	}
	conn, t, err := s.begin(ctx, s.reader, &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead})
	if err != nil {
		return s.classifyError(ctx, err)
	}
	defer conn.Close()
	defer t.Rollback()
	return s.classifyError(ctx, f(&tx{t, s.engine}))
}

// Ping returns an error if the database does not answer; see [ErrUnavailable] and [ErrDamaged].
func (s *Store) Ping(ctx context.Context) error {
	return s.read(ctx, func(t *tx) error {
		var n int
		return t.row(ctx, `SELECT count(*) FROM sessions WHERE sid = 0`).Scan(&n)
	})
}

// begin begins a transaction. Idle connections may have been lost in a restart of the server.
// Because nothing has happened on them, begin tries the next one, and a new one last.
func (s *Store) begin(ctx context.Context, db *sql.DB, o *sql.TxOptions) (*sql.Conn, *sql.Tx, error) {
	for stale := db.Stats().Idle; ; stale-- {
		conn, err := db.Conn(ctx)
		if err != nil {
			return nil, nil, err
		}
		t, err := conn.BeginTx(ctx, o)
		if err == nil {
			if err = s.engine.checkFiles(); err == nil {
				return conn, t, nil
			}
			t.Rollback()
			stale = 0
		}
		if s.engine.isBroken(err) {
			s.discard(conn)
		}
		conn.Close()
		if stale == 0 || !s.engine.isBroken(err) || ctx.Err() != nil {
			return nil, nil, err
		}
	}
}

// classifyError wraps an error with ErrFull, ErrDamaged or ErrUnavailable if it is one of these.
func (s *Store) classifyError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	kind := error(nil)
	switch {
	case s.engine.isFull(err):
		kind = ErrFull
	case s.engine.isDamaged(err):
		kind = ErrDamaged
	case ctx.Err() == nil && s.engine.isDown(err): // a canceled context says nothing about the database
		kind = ErrUnavailable
	}
	if kind == nil || errors.Is(err, kind) {
		return err
	}
	return fmt.Errorf("%w: %w", kind, err)
}
