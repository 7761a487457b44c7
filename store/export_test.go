package store

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/klauspost/compress/zstd"
	"modernc.org/sqlite"
)

// Exec runs a statement without the store.
func (s *Store) Exec(query string, args ...any) error {
	_, err := s.writer.Exec(s.engine.bind(query), args...)
	return err
}

// SettleAfter sets the number of entries at which fast appends write marks.
func SettleAfter(s *Store, entries int) { s.maxTail = entries }

// UntilSeen retries an upgrade of PostgreSQL if a table is missing.
var UntilSeen = retryMissingTable

// Forget removes a session from the cache, as if another process used it.
func Forget(s *Store, key Key) { s.cache.remove(key) }

// Weight returns the weight of a session.
func Weight(session *Session) int64 { return session.weight }

// Count runs a query that returns a number.
func (s *Store) Count(query string, args ...any) (n int) {
	if err := s.reader.QueryRow(s.engine.bind(query), args...).Scan(&n); err != nil {
		panic(err)
	}
	return n
}

// HoldLock locks a session in a transaction, and calls f before the transaction ends.
func HoldLock(s *Store, key Key, f func()) error {
	return s.write(context.Background(), func(t *tx) error {
		if _, err := s.live(context.Background(), t, key, true); err != nil {
			return err
		}
		f()
		return nil
	})
}

// HoldLockSet is HoldLock with a setting of PostgreSQL for the rest of the transaction.
func HoldLockSet(s *Store, key Key, setting string, f func()) error {
	return s.write(context.Background(), func(t *tx) error {
		if _, err := s.live(context.Background(), t, key, true); err != nil {
			return err
		}
		if _, err := t.exec(context.Background(), `SET LOCAL `+setting); err != nil {
			return err
		}
		f()
		return nil
	})
}

// HoldRead calls f within a transaction that reads.
func HoldRead(s *Store, f func()) error {
	return s.read(context.Background(), func(t *tx) error {
		var n int
		err := t.row(context.Background(), `SELECT count(*) FROM sessions`).Scan(&n)
		f()
		return err
	})
}

// OpenGivenUp decodes the first entry of a session with and without media, with a canceled context.
func OpenGivenUp(s *Store, key Key) (errs []error) {
	err := s.read(context.Background(), func(t *tx) error {
		session, err := s.live(context.Background(), t, key, false)
		if err != nil {
			return err
		}
		e, err := s.entry(context.Background(), t, session, session.sid, 1)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		lazy := e
		errs = append(errs, s.open(ctx, t, session, &e), s.openWithoutMedia(ctx, t, session, &lazy))
		return nil
	})
	if err != nil {
		panic(err)
	}
	return errs
}

// FastAppend appends entries without a transaction of their own, or not at all.
func FastAppend(s *Store, key Key, entries ...Entry) bool {
	_, session := s.fastAppend(context.Background(), key, Anywhere, entries)
	return session != nil
}

// SeqAt returns the first entry in force at which a session has more than a weight.
func SeqAt(s *Store, session *Session, cum int64) (seq int64, err error) {
	err = s.read(context.Background(), func(t *tx) error {
		seq, err = s.findSeqByWeight(context.Background(), t, session, 1, 0, cum)
		return err
	})
	return seq, err
}

// WindowWork returns the work of the database for a window: the rows that PostgreSQL reads, or the
// pages that SQLite uses, cached or not.
func WindowWork(s *Store, key Key, ask WindowOptions) (work int, err error) {
	ctx := context.Background()
	pages := func() (n int) {
		s.reader.SetMaxOpenConns(1) // the counters are those of a connection
		conn, err := s.reader.Conn(ctx)
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		conn.Raw(func(c any) error {
			for _, op := range []sqlite.DBStatusOp{sqlite.DBStatusCacheHit, sqlite.DBStatusCacheMiss} {
				k, _, err := c.(sqlite.DBStatus).Status(op, false)
				if err != nil {
					panic(err)
				}
				n += k
			}
			return nil
		})
		return n
	}
	before := 0
	if s.Engine() == "sqlite" {
		before = pages()
	}
	rows := func(t *tx) int {
		if s.Engine() == "sqlite" {
			return 0
		}
		return t.rowsRead()
	}
	err = s.read(ctx, func(t *tx) error {
		before := rows(t)
		session, err := s.live(ctx, t, key, false)
		if err != nil {
			return err
		}
		_, err = s.loadHistory(ctx, t, session, readLimitFor(session, ask.policy(session)))
		work = rows(t) - before
		return err
	})
	if s.Engine() == "sqlite" {
		work = pages() - before
	}
	return work, err
}

// rowsRead returns the number of rows that PostgreSQL has read in a transaction.
func (t *tx) rowsRead() (n int) {
	if err := t.row(context.Background(), `SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)) FROM pg_stat_xact_user_tables`).Scan(&n); err != nil {
		panic(err)
	}
	return n
}

// AppendRows returns the number of rows that PostgreSQL reads for an append in a transaction.
func AppendRows(s *Store, key Key, entries ...Entry) (n int, err error) {
	ctx := context.Background()
	err = s.write(ctx, func(t *tx) error {
		before := t.rowsRead()
		session, err := s.live(ctx, t, key, true)
		if err != nil {
			return err
		}
		_, err = s.append(ctx, t, session, Anywhere, entries)
		n = t.rowsRead() - before
		return err
	})
	return n, err
}

// Weights lists the numbers and total weights of the entries in force.
func Weights(s *Store, session *Session) (all [][2]int64, err error) {
	err = s.read(context.Background(), func(t *tx) error {
		rows, err := s.scanAll(context.Background(), t, session, 1, session.Head, int(session.Head))
		for _, e := range rows {
			all = append(all, [2]int64{e.Seq, e.totalWeight})
		}
		return err
	})
	return all, err
}

// MarkID returns the mark of an id.
func MarkID(id string) int64 { return markID(id) }

// Pack returns the bytes of an entry without media as they are stored.
func Pack(raw []byte) (codec int, stored []byte) { return encodeBytes(raw, nil) }

func Unpack(codec int, stored []byte) ([]byte, error) {
	return decodeBytes(codec, stored, func(mediaRef) ([]byte, error) { return nil, errBadMediaList })
}

// PackZstd packs like versions that had only zstd.
func PackZstd(raw []byte) (codec int, stored []byte) {
	e := encoders.Get().(*zstd.Encoder)
	defer encoders.Put(e)
	return codecZstd, e.EncodeAll(raw, nil)
}

// MigrateSQLite upgrades the tables of a file.
func MigrateSQLite(ctx context.Context, db *sql.DB) error {
	return migrateSQLite(ctx, db, &sqliteEngine{})
}

// OnFastConnection runs a query on a connection for fast appends, like a pooler that does not know
// their prepared statements. It returns the resulting number, if any.
func OnFastConnection(s *Store, query string) (n int, err error) {
	ctx := context.Background()
	conn, err := s.engine.(*postgresEngine).pool.Acquire(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Release()
	err = conn.QueryRow(ctx, query, pgx.QueryExecModeSimpleProtocol).Scan(&n)
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	return n, err
}

// WithinAppend appends an entry to a cached session, and calls f before the transaction ends.
func WithinAppend(s *Store, key Key, e Entry, f func()) (ok bool, err error) {
	ctx := context.Background()
	y := s.cache.get(key).session
	r, err := s.prepare(&y, 0, e)
	if err != nil {
		return false, err
	}
	r.Seq, r.totalWeight = y.Head+1, y.weight+r.weight
	m := &groupMember{write: &fastWrite{sid: y.sid, settled: y.settled, at: s.now(), rows: []*row{r}}}
	t, err := s.engine.(*postgresEngine).pool.Begin(ctx)
	if err != nil {
		return false, err
	}
	defer t.Rollback(ctx)
	var b pgx.Batch
	queueAppend(&b, m)
	if err := t.SendBatch(ctx, &b).Close(); err != nil {
		return false, err
	}
	f()
	return m.written, t.Commit(ctx)
}

// HoldLanes queues all appends of the store until release is called.
func HoldLanes(s *Store) (release func()) {
	g := groupOf(s)
	g.mu.Lock()
	g.busy += g.lanes
	g.mu.Unlock()
	return func() {
		g.mu.Lock()
		g.busy -= g.lanes - 1
		all := g.take()
		g.mu.Unlock()
		g.runQueue(context.Background(), all)
	}
}

// AwaitMember waits until an append is queued.
func AwaitMember(s *Store) {
	for g := groupOf(s); ; runtime.Gosched() {
		g.mu.Lock()
		n := len(g.queue)
		g.mu.Unlock()
		if n > 0 {
			return
		}
	}
}

func groupOf(s *Store) *commitGroup {
	if e, ok := s.engine.(*sqliteEngine); ok {
		return &e.group
	}
	return &s.engine.(*postgresEngine).group
}

// CheckpointAfter sets the time for which new data is only in SQLite's journal.
func CheckpointAfter(s *Store, d time.Duration) {
	c := &s.engine.(*sqliteEngine).checks
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.after = d; c.timer != nil {
		c.timer.Reset(d)
	}
}
