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

// Options says how to open a store. The zero value is right for most. Many goroutines may
// read it.
type Options struct {
	// Sink gets every lifecycle event; nil throws them away. It may be called by many
	// goroutines, never while a transaction is open.
	Sink func(pare.Event)
	// Now tells the time; nil: the clock of the machine. No order depends on it.
	Now func() time.Time
	// MaxEntry is the size of the largest entry that is taken, in bytes; zero: 256 MB.
	MaxEntry int
	// Counter weighs entries when they are appended; nil: the estimator of the
	// session's model.
	Counter func(model string) wire.Counter
	// Damaged opens a SQLite file that is damaged or was cut off, too, to save what can be read of
	// it: every write is an error that wraps [ErrDamaged]. A file that is in order is opened as ever.
	Damaged bool
	// Transcripts read entries that are no messages but the lines of an agent's own session
	// file, by their kind: windows are made of such sessions, too.
	Transcripts map[Kind]Transcript
}

// A Transcript makes a request of the lines of a session file, each ended by a newline: what
// the agent would go on with. The model is that of the session, if it has one.
type Transcript func(lines []byte, model string) (*wire.Request, error)

// A Store keeps sessions in one database. It may be used by many goroutines.
type Store struct {
	reader  *sql.DB // for reading
	writer  *sql.DB // for writing
	eng     engine
	options Options
	// tail is how many entries may be without marks while this process appends.
	maxTail int

	watchers      watchers
	cache         sessionCache
	keptSummaries atomic.Int64 // that were kept
	secret        []byte       // of the database
	salvaged      bool         // it is damaged, and only read
}

// An engine is what the two databases do differently.
type engine interface {
	// name is the name of the folder of migrations and of the engine.
	name() string
	// bind rewrites the question marks of a statement.
	bind(query string) string
	// prepare prepares statements, once the tables exist.
	prepare(ctx context.Context) error
	// appendFast writes an append if the session has the head that it was prepared for, and none
	// of its ids. It reports whether it did.
	appendFast(ctx context.Context, w *fastWrite) (written bool, err error)
	// tail is how many entries may be without marks in the table while one process appends to a
	// session: another one that looks for a mark reads them.
	maxTail() int
	// unready says more about an error for which a database could not be used.
	explainOpenError(err error) error
	// close gives back what the engine holds besides the database.
	close()
	// there is an error if what is written would not be found: somebody has removed or replaced
	// the files of the database.
	checkFiles() error
	// wrote is called after every transaction that has written something.
	afterWrite()
	// lock lets nobody else change the sessions of a condition until the transaction ends.
	// What they are is read behind it: a statement sees what was so when it began.
	lock(ctx context.Context, tx *tx, where string, args ...any) error
	// retry reports whether a transaction failed for a reason that passes: another one was
	// in its way.
	isRetryable(err error) bool
	// full reports whether there was no room on the disk.
	isFull(err error) bool
	// freeing runs what makes room, with room that was kept for it if the disk is full.
	withReserve(do func() error) error
	// down reports whether the database does not answer or cannot be opened.
	isDown(err error) bool
	// broken reports whether a connection that was open is none any more.
	isBroken(err error) bool
	// spoiled reports whether a connection may remember what a transaction left that failed so.
	isSpoiled(err error) bool
	// damaged reports whether the files of the database are not what it wrote.
	isDamaged(err error) bool
	// backup writes a copy of the database to a file that is not there yet.
	backup(ctx context.Context, path string) error
	// verify lets the database look at its own files: what it finds, a sentence each. Others may
	// write meanwhile.
	verify(ctx context.Context) ([]string, error)
	// reindex makes indexes anew from their tables.
	reindex(ctx context.Context, tx *tx) error
	// index adds the words of an entry; find looks words up.
	indexWords(ctx context.Context, tx *tx, sid, seq int64, text string) error
	// The text is folded; what was indexed before that was done is found as it was said.
	searchCondition(words []phrase) (where string, args []any)
	// rank finds entries of a scope that have any of the words, the best first.
	rank(ctx context.Context, tx *tx, words []string, scope string, most int) ([]ranked, error)
	// forget takes the words of a session out, from an entry on up to another one.
	deleteWords(ctx context.Context, tx *tx, sid, from, to int64) error
	// clock tells the time that all processes on the database share, in microseconds.
	sharedNow(ctx context.Context, tx *tx, local func() int64) (int64, error)
	// guard keeps those who store media and the one who removes them apart, until the
	// transaction ends.
	lockMedia(ctx context.Context, tx *tx, alone bool) error
	// lockName keeps others who lock the same number waiting until the transaction ends.
	lockName(ctx context.Context, tx *tx, name int64) error
}

// Open opens a database, and brings its tables up to date: a path, or file:…, is
// SQLite, postgres://… is PostgreSQL.
func Open(ctx context.Context, dsn string) (*Store, error) { return OpenWith(ctx, dsn, Options{}) }

// OpenWith opens a database with options.
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
		s.reader, s.eng, err = openPostgres(dsn)
		s.writer = s.reader
	case strings.Contains(dsn, "://"):
		scheme, _, _ := strings.Cut(dsn, "://")
		return nil, fmt.Errorf("open store: unknown database %q; give the path of a file, or postgres://…", scheme+"://")
	default:
		s.reader, s.writer, s.eng, err = openSQLite(dsn)
	}
	if err != nil {
		return nil, err
	}
	s.maxTail = s.eng.maxTail()
	if err := migrate(ctx, s.writer, s.eng); err != nil {
		if o.Damaged && s.eng.isDamaged(err) && s.salvage(ctx) == nil {
			return s, nil
		}
		s.Close()
		return nil, fmt.Errorf("open store: %w", s.eng.explainOpenError(s.classifyError(ctx, err)))
	}
	err = s.loadSecret(ctx)
	if err == nil {
		err = s.eng.prepare(ctx)
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("open store: %w", err)
	}
	return s, nil
}

// Backup writes a copy of the store to a file, as it is at one moment; the store may be in use. A
// copy of the file of a store that is in use lacks what lies in the file beside it (-wal). A file
// that is there is not written over. PostgreSQL has pg_dump for it.
func (s *Store) Backup(ctx context.Context, path string) error {
	if err := s.checkOpen(); err != nil {
		return err
	}
	if err := s.eng.backup(ctx, path); err != nil {
		return fmt.Errorf("back up the store: %w", s.classifyError(ctx, err))
	}
	return nil
}

// Close closes the database.
func (s *Store) Close() error {
	if err := s.checkOpen(); err != nil {
		return err
	}
	s.eng.close()
	err := s.reader.Close()
	if s.writer != s.reader {
		err = errors.Join(err, s.writer.Close())
	}
	return err
}

// Engine names the database: sqlite or postgres; "" of a store that is not open.
func (s *Store) Engine() string {
	if s.checkOpen() != nil {
		return ""
	}
	return s.eng.name()
}

func (s *Store) now() int64 { return s.sharedNow().UnixMicro() }

// clock tells the time, also for a store that was not opened.
func (s *Store) sharedNow() time.Time {
	if s == nil || s.options.Now == nil {
		return time.Now()
	}
	return s.options.Now()
}

// opened is an error for the zero value.
func (s *Store) checkOpen() error {
	if s == nil || s.eng == nil {
		return errNotOpen
	}
	return nil
}

var errNotOpen = errors.New("the store is not open: Open makes one")

// A tx is a transaction; statements are written with question marks.
type tx struct {
	q interface {
		ExecContext(context.Context, string, ...any) (sql.Result, error)
		QueryContext(context.Context, string, ...any) (*sql.Rows, error)
		QueryRowContext(context.Context, string, ...any) *sql.Row
	}
	eng engine
}

func (t *tx) exec(ctx context.Context, query string, args ...any) (int64, error) {
	r, err := t.q.ExecContext(ctx, t.eng.bind(query), args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

func (t *tx) row(ctx context.Context, query string, args ...any) *sql.Row {
	return t.q.QueryRowContext(ctx, t.eng.bind(query), args...)
}

// each calls f for every row; scan is the row's Scan.
func (t *tx) each(ctx context.Context, f func(scan func(...any) error) error, query string, args ...any) error {
	rows, err := t.q.QueryContext(ctx, t.eng.bind(query), args...)
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

// write runs f in one transaction that writes. A transaction that another one was in
// the way of is run again, so f must not keep anything from a run that failed.
func (s *Store) write(ctx context.Context, f func(*tx) error) error {
	if err := s.checkOpen(); err != nil {
		return err
	}
	start := time.Now()
	for try := 0; ; try++ {
		err := s.writeOnce(ctx, f)
		if err == nil || try == 20 || !s.eng.isRetryable(err) || time.Since(start) > maxRetryTime {
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

// patience is how long a transaction is tried again: somebody who stands in its way for longer
// does so for good.
const maxRetryTime = time.Minute

func (s *Store) writeOnce(ctx context.Context, f func(*tx) error) error {
	if s.salvaged {
		return fmt.Errorf("%w: it was opened to save what can be read, and is not written to", ErrDamaged)
	}
	// Every statement sees what is committed; the row of a session is locked before
	// anything of it is read.
	conn, t, err := s.begin(ctx, s.writer, nil)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err = f(&tx{t, s.eng}); err != nil {
		t.Rollback()
	} else if err = t.Commit(); err == nil {
		s.eng.afterWrite()
		return s.eng.checkFiles()
	}
	if s.eng.isSpoiled(err) {
		s.discard(conn)
	}
	return err
}

// discard closes a connection for good.
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
	return s.classifyError(ctx, f(&tx{t, s.eng}))
}

// Ping reports whether the database answers; see [ErrUnavailable] and [ErrDamaged].
func (s *Store) Ping(ctx context.Context) error {
	return s.read(ctx, func(t *tx) error {
		var n int
		return t.row(ctx, `SELECT count(*) FROM sessions WHERE sid = 0`).Scan(&n)
	})
}

// begin begins a transaction. Connections that were open when a server was restarted are found
// out by using them: nothing was done on them yet, so the next one is taken, and a new one last.
func (s *Store) begin(ctx context.Context, db *sql.DB, o *sql.TxOptions) (*sql.Conn, *sql.Tx, error) {
	for stale := db.Stats().Idle; ; stale-- {
		conn, err := db.Conn(ctx)
		if err != nil {
			return nil, nil, err
		}
		t, err := conn.BeginTx(ctx, o)
		if err == nil {
			if err = s.eng.checkFiles(); err == nil {
				return conn, t, nil
			}
			t.Rollback()
			stale = 0
		}
		if s.eng.isBroken(err) {
			s.discard(conn)
		}
		conn.Close()
		if stale == 0 || !s.eng.isBroken(err) || ctx.Err() != nil {
			return nil, nil, err
		}
	}
}

// named says what kind of an error it is, if it is one that the caller can do something about.
func (s *Store) classifyError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	kind := error(nil)
	switch {
	case s.eng.isFull(err):
		kind = ErrFull
	case s.eng.isDamaged(err):
		kind = ErrDamaged
	case ctx.Err() == nil && s.eng.isDown(err): // who gives up learns nothing about the database
		kind = ErrUnavailable
	}
	if kind == nil || errors.Is(err, kind) {
		return err
	}
	return fmt.Errorf("%w: %w", kind, err)
}
