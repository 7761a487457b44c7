package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A fast append to PostgreSQL takes one round trip. It locks the row of the session but does not
// write it, because that took as long as inserting the entry. If two processes append at the same
// time, the second one violates the primary key and fails. Appends to different sessions share a
// round trip.

// fastLanes is the number of connections for fast appends: one is filled while the other commits.
// With one connection for each of eight writers, commits and wake-ups took more processor time than
// entries.
const fastLanes = 2

// fastLockTimeout limits how long a fast append waits for another one to the same session. After
// that, all members of the group fail, and each appends in its own transaction.
const fastLockTimeout = 100 * time.Millisecond

// newFastPool returns a pool for fast appends. It opens no connection before the first use.
func newFastPool(c *pgx.ConnConfig) (*pgxpool.Pool, error) {
	p, err := pgxpool.ParseConfig("")
	if err != nil {
		return nil, err
	}
	p.ConnConfig = c.Copy()
	p.ConnConfig.RuntimeParams["lock_timeout"] = fmt.Sprint(fastLockTimeout.Milliseconds())
	p.MaxConns = fastLanes
	p.MinConns = 0
	return pgxpool.NewWithConfig(context.Background(), p)
}

// prepare does nothing: pgx prepares statements when they are first used.
func (*postgresEngine) prepare(context.Context) error { return nil }

func (e *postgresEngine) appendFast(ctx context.Context, w *fastWrite) (bool, error) {
	return e.group.add(ctx, w)
}

// maxGroupCommit limits the time of a commit for several callers, none of which can cancel it.
const maxGroupCommit = time.Minute

// undefinedStatement is the SQLSTATE for a prepared statement that does not exist.
const undefinedStatement = "26000"

// commitAppends writes all members in one transaction and one round trip. Members whose session has
// another head are not written.
func (e *postgresEngine) commitAppends(ctx context.Context, members []*groupMember) error {
	if len(members) > 1 {
		// All transactions lock sessions in the same order, so that they cannot deadlock.
		slices.SortStableFunc(members, func(a, b *groupMember) int { return cmp.Compare(a.write.sid, b.write.sid) })
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, maxGroupCommit)
		defer cancel()
	}
	conn, err := e.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	var b pgx.Batch
	for i, m := range members {
		if i > 0 && members[i-1].write.sid == m.write.sid {
			continue // the append before it changes the head
		}
		queueAppend(&b, m)
	}
	err = conn.SendBatch(ctx, &b).Close()
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == undefinedStatement {
		conn.Conn().Close(ctx) // a pooler has removed its statements; the next connection prepares them
	}
	return err
}

// queueAppend adds the statements of a member to a batch.
func queueAppend(b *pgx.Batch, m *groupMember) {
	w := m.write
	n := len(w.rows)
	idMarks, positions := make([]int64, n), make([]int64, n)
	ids, kinds := make([]string, n), make([]string, n)
	flags, codecs := make([]int16, n), make([]int16, n)
	weights, cums, sizes := make([]int64, n), make([]int64, n), make([]int64, n)
	sums, pairs, raws := make([][]byte, n), make([][]byte, n), make([][]byte, n)
	for i, r := range w.rows {
		idMarks[i] = markID(r.ID)
		positions[i] = pos(w.sid, r.Seq)
		ids[i] = r.ID
		kinds[i] = string(r.Kind)
		flags[i] = int16(r.flags)
		weights[i] = r.weight
		cums[i] = r.totalWeight
		sizes[i] = int64(r.size)
		sums[i] = r.sum[:]
		codecs[i] = int16(r.codec)
		pairs[i] = r.encodePairs()
		raws[i] = r.stored
	}
	b.Queue(insertEntries, w.sid, w.at, idMarks, positions, ids, kinds, flags, weights, cums, sizes, sums, codecs, pairs, raws).
		Exec(func(tag pgconn.CommandTag) error {
			m.written = tag.RowsAffected() > 0
			return nil
		})
	if len(w.marks) == 0 {
		return
	}
	marks, seqs := make([]int64, len(w.marks)), make([]int64, len(w.marks))
	for i, k := range w.marks {
		marks[i], seqs[i] = k.mark, k.seq
	}
	b.Queue(insertMarks, w.sid, w.head, w.weight, w.at, marks, seqs, pos(w.sid, w.last().Seq), w.settled).
		Exec(func(tag pgconn.CommandTag) error {
			w.wroteMarks = tag.RowsAffected() == int64(len(w.marks))
			return nil
		})
}

const (
	// A session that another transaction has locked is skipped. A session that is not deleted loses
	// no entries, so the known head is not after the last entry.
	insertEntries = `WITH s AS (SELECT sid FROM sessions WHERE sid = $1 AND deleted_at IS NULL
		AND NOT EXISTS (SELECT 1 FROM marks WHERE marks.sid = $1 AND mark = ANY ($3::bigint[])) FOR KEY SHARE SKIP LOCKED)
		INSERT INTO entries (pos, id, kind, flags, weight, cum, size, sum, codec, pairs, raw, at)
		SELECT v.*, $2::bigint FROM s, unnest($4::bigint[], $5::text[], $6::text[], $7::smallint[], $8::bigint[], $9::bigint[],
			$10::bigint[], $11::bytea[], $12::smallint[], $13::bytea[], $14::bytea[]) AS v`
	// The marks are written only if an entry follows them, of this append or of another process. They are inserted without a
	// check for each, which took as long as inserting it: only the process that sets settled
	// writes them.
	insertMarks = `WITH s AS (
		UPDATE sessions SET settled = $2, noted_head = $2, cum = $3, updated_at = $4
		WHERE sid = $1 AND deleted_at IS NULL AND settled = $8 AND noted_head <= $2
			AND EXISTS (SELECT 1 FROM entries WHERE pos = $7) RETURNING sid
	)
	INSERT INTO marks (sid, mark, seq) SELECT sid, unnest($5::bigint[]), unnest($6::bigint[]) FROM s`
)
