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

// A quick append to PostgreSQL is one statement in one round trip. The row of the session is not written, only
// kept from those who change the session otherwise: to write it took as long as to insert
// the entry. Of two that append at the same time, the second one meets the number of the
// first and fails. Appends to different sessions that come at the same time travel together.

// quickLanes is how many connections write quick appends: one commits while the other one
// is filled. More appends than these share a transaction: with one for each of eight writers,
// the processors spent more time on commits and wake-ups than on entries.
const quickLanes = 2

// quickWait is how long one waits for somebody who appends to the same session at the same
// time, before all who share the transaction go the long way, each alone.
const quickWait = 100 * time.Millisecond

// quickPool opens the connections that quick appends go over; none is made before one is
// needed.
func quickPool(c *pgx.ConnConfig) (*pgxpool.Pool, error) {
	p, err := pgxpool.ParseConfig("")
	if err != nil {
		return nil, err
	}
	p.ConnConfig = c.Copy()
	p.ConnConfig.RuntimeParams["lock_timeout"] = fmt.Sprint(quickWait.Milliseconds())
	p.MaxConns = quickLanes
	p.MinConns = 0
	return pgxpool.NewWithConfig(context.Background(), p)
}

func (e *postgresEngine) quick(ctx context.Context, x *Session, q *quickly) (bool, error) {
	return e.group.add(ctx, x, q)
}

// commitQuick writes all members in one transaction and one round trip. One whose head is another
// by now writes nothing.
func (e *postgresEngine) commitQuick(ctx context.Context, all []*member) error {
	if len(all) > 1 {
		// Sessions are locked in one order everywhere, so that nobody waits in a circle. A
		// server that does not answer is given up on: nobody else can do so for all.
		slices.SortStableFunc(all, func(a, b *member) int { return cmp.Compare(a.x.sid, b.x.sid) })
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, time.Minute)
		defer cancel()
	}
	conn, err := e.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	var b pgx.Batch
	for i, m := range all {
		if i > 0 && all[i-1].x.sid == m.x.sid {
			continue // of two that append to one session, the second has another head then
		}
		queue(&b, m)
	}
	err = conn.SendBatch(ctx, &b).Close()
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == "26000" {
		conn.Conn().Close(ctx) // somebody has removed its statements: the next one makes them anew
	}
	return err
}

// queue adds the statements of a member.
func queue(b *pgx.Batch, m *member) {
	x, q := m.x, m.q
	var (
		positions, weights, cums, sizes []int64
		ids, kinds                      []string
		flags, codecs                   []int16
		sums, pairs, raws               [][]byte
	)
	for i := range q.rows {
		r := &q.rows[i]
		positions, weights, cums, sizes = append(positions, pos(x.sid, r.Seq)), append(weights, r.weight), append(cums, r.cum), append(sizes, int64(r.size))
		ids, kinds = append(ids, r.ID), append(kinds, string(r.Kind))
		flags, codecs = append(flags, int16(r.flags)), append(codecs, int16(r.codec))
		sums, pairs, raws = append(sums, r.sum[:]), append(pairs, r.pairs()), append(raws, r.stored)
	}
	b.Queue(quickAppend, x.sid, q.at, q.marks, positions, ids, kinds, flags, weights, cums, sizes, sums, codecs, pairs, raws).
		Exec(func(tag pgconn.CommandTag) error {
			m.ok = tag.RowsAffected() > 0
			return nil
		})
	if len(q.settle) == 0 {
		return
	}
	var marks, seqs []int64
	for _, k := range q.settle {
		marks, seqs = append(marks, k.mark), append(seqs, k.seq)
	}
	b.Queue(quickSettle, x.sid, x.Head, x.cum, q.at, marks, seqs, pos(x.sid, q.head), x.settled).
		Exec(func(tag pgconn.CommandTag) error {
			q.settled = tag.RowsAffected() == int64(len(q.settle))
			return nil
		})
}

const (
	// Whoever has locked the session is not waited for: the append goes the long way. A session
	// that is not deleted loses no entries, so the head that was known is not behind the last one.
	quickAppend = `WITH s AS (SELECT sid FROM sessions WHERE sid = $1 AND deleted_at IS NULL
		AND NOT EXISTS (SELECT 1 FROM marks WHERE marks.sid = $1 AND mark = ANY ($3::bigint[])) FOR KEY SHARE SKIP LOCKED)
		INSERT INTO entries (pos, id, kind, flags, weight, cum, size, sum, codec, pairs, raw, at)
		SELECT v.*, $2::bigint FROM s, unnest($4::bigint[], $5::text[], $6::text[], $7::smallint[], $8::bigint[], $9::bigint[],
			$10::bigint[], $11::bytea[], $12::smallint[], $13::bytea[], $14::bytea[]) AS v`
	// If the entries that it goes with were not written, nobody is waited for. Nobody else has
	// written these marks: a look for each of them took as long as to write it. Two lists of one
	// length go side by side, and nothing is kept of them, as it is of a list to select from.
	quickSettle = `WITH s AS (
		UPDATE sessions SET settled = $2, noted_head = $2, cum = $3, updated_at = $4
		WHERE sid = $1 AND deleted_at IS NULL AND settled = $8 AND noted_head <= $2
			AND EXISTS (SELECT 1 FROM entries WHERE pos = $7) RETURNING sid
	)
	INSERT INTO marks (sid, mark, seq) SELECT sid, unnest($5::bigint[]), unnest($6::bigint[]) FROM s`
)
