package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
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

// commitQuick writes all members in one transaction. One whose head is another by now
// writes nothing.
func (e *postgresEngine) commitQuick(ctx context.Context, all []*member) error {
	if len(all) > 1 {
		// Sessions are locked in one order everywhere, so that nobody waits in a circle. A
		// server that does not answer is given up on: nobody else can do so for all.
		slices.SortFunc(all, func(a, b *member) int { return cmp.Compare(a.x.sid, b.x.sid) })
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, time.Minute)
		defer cancel()
	}
	conn, err := e.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if m := all[0]; len(all) == 1 && len(m.q.settle) == 0 {
		query, args := e.shapes.statement(m.x, m.q)
		tag, err := conn.Exec(ctx, query, args...)
		m.ok = tag.RowsAffected() > 0
		return err
	}
	var b pgx.Batch
	for _, m := range all {
		query, args := e.shapes.statement(m.x, m.q)
		b.Queue(query, args...)
		if len(m.q.settle) > 0 {
			query, args := settling(m.x, m.q)
			b.Queue(query, args...)
		}
	}
	r := conn.SendBatch(ctx, &b)
	for _, m := range all {
		tag, err := r.Exec()
		if err != nil {
			r.Close()
			return err
		}
		m.ok = tag.RowsAffected() > 0
		if len(m.q.settle) > 0 {
			tag, err := r.Exec()
			if err != nil {
				r.Close()
				return err
			}
			m.q.settled = tag.RowsAffected() == int64(len(m.q.settle))
		}
	}
	return r.Close()
}

// maxShape is how many entries a statement of its own may have; more are written by arrays,
// which cost about as much as a bare append, however few they are.
const maxShape = 4

// shapes are the statements by the number of entries. Those of the same number are written
// by the same statement, which the server has planned. Many goroutines may use it.
type shapes struct{ known sync.Map }

func (k *shapes) statement(x *Session, q *quickly) (string, []any) {
	if len(q.rows) > maxShape {
		return quickArrays(x, q)
	}
	query, ok := k.known.Load(len(q.rows))
	if !ok {
		query = shapeQuery(len(q.rows))
		k.known.Store(len(q.rows), query)
	}
	args := make([]any, 0, 3+len(entryTypes)*len(q.rows))
	if args = append(args, x.sid, q.at); len(q.rows) == 1 {
		args = append(args, q.marks[0])
	} else {
		args = append(args, q.marks)
	}
	for i := range q.rows {
		r := &q.rows[i]
		args = append(args, pos(x.sid, r.Seq), r.ID, string(r.Kind), int16(r.flags), r.weight, r.cum, int64(len(r.Raw)), r.sum[:], int16(r.codec), r.pairs(), r.stored)
	}
	return query.(string), args
}

// entryTypes are the types of the columns of a quick append.
var entryTypes = []string{"bigint", "text", "text", "smallint", "bigint", "bigint", "bigint", "bytea", "smallint", "bytea", "bytea"}

const (
	quickInsert = `INSERT INTO entries (pos, id, kind, flags, weight, cum, size, sum, codec, pairs, raw, at) SELECT `
	// Whoever has locked the session is not waited for: the append goes the long way. A session
	// that is not deleted loses no entries, so the head that was known is not behind the last one.
	quickWhere = `, $2::bigint FROM sessions WHERE sid = $1 AND deleted_at IS NULL
		AND NOT EXISTS (SELECT 1 FROM marks WHERE marks.sid = $1 AND mark = $3) FOR KEY SHARE SKIP LOCKED`
	// The session is locked once for all of a list: in a join it would be for each row, and of
	// two rows the second one alone could find it free.
	quickOnce = `WITH s AS (SELECT sid FROM sessions WHERE sid = $1 AND deleted_at IS NULL
		AND NOT EXISTS (SELECT 1 FROM marks WHERE marks.sid = $1 AND mark = ANY ($3::bigint[])) FOR KEY SHARE SKIP LOCKED)
		INSERT INTO entries (pos, id, kind, flags, weight, cum, size, sum, codec, pairs, raw, at) SELECT v.*, $2::bigint FROM s, `
	quickRows = ` AS v (pos, id, kind, flags, weight, cum, size, sum, codec, pairs, raw)`
	// If the entries that it goes with were not written, nobody is waited for.
	quickSettle = `WITH s AS (
		UPDATE sessions SET settled = $2, noted_head = $2, cum = $3, updated_at = $4
		WHERE sid = $1 AND deleted_at IS NULL AND settled < $2 AND noted_head <= $2
			AND EXISTS (SELECT 1 FROM entries WHERE pos = $7) RETURNING sid
	)
	INSERT INTO marks (sid, mark, seq) SELECT s.sid, v.mark, v.seq FROM s, unnest($5::bigint[], $6::bigint[]) AS v (mark, seq) ON CONFLICT DO NOTHING`
)

// shapeQuery is the statement for a number of entries. That of one has no list to go through,
// which took a third of the time.
func shapeQuery(entries int) string {
	var out strings.Builder
	at := 3 // arguments so far
	for i := range entries {
		out.WriteString([]string{"", "), ("}[min(i, 1)])
		for j, t := range entryTypes {
			at++
			fmt.Fprintf(&out, "%s$%d::%s", []string{"", ", "}[min(j, 1)], at, t)
		}
	}
	if entries == 1 {
		return quickInsert + out.String() + quickWhere
	}
	return quickOnce + "(VALUES (" + out.String() + "))" + quickRows
}

// quickArrays is the statement for any number of entries: a column is an array.
func quickArrays(x *Session, q *quickly) (string, []any) {
	var (
		at, weights, cums, sizes []int64
		ids, kinds               []string
		flags, codecs            []int16
		sums, pairs, raws        [][]byte
	)
	for i := range q.rows {
		r := &q.rows[i]
		at, ids, kinds, flags = append(at, pos(x.sid, r.Seq)), append(ids, r.ID), append(kinds, string(r.Kind)), append(flags, int16(r.flags))
		weights, cums, sizes = append(weights, r.weight), append(cums, r.cum), append(sizes, int64(len(r.Raw)))
		sums, codecs, pairs, raws = append(sums, r.sum[:]), append(codecs, int16(r.codec)), append(pairs, r.pairs()), append(raws, r.stored)
	}
	return arraysQuery, []any{x.sid, q.at, q.marks, at, ids, kinds, flags, weights, cums, sizes, sums, codecs, pairs, raws}
}

// arraysQuery is the statement of quickArrays.
var arraysQuery = func() string {
	var out []string
	for i, t := range entryTypes {
		out = append(out, fmt.Sprintf("$%d::%s[]", 4+i, t))
	}
	return quickOnce + "unnest(" + strings.Join(out, ", ") + ")" + quickRows
}()

// settling is the statement that writes the marks of the entries in front.
func settling(x *Session, q *quickly) (string, []any) {
	marks, seqs := make([]int64, len(q.settle)), make([]int64, len(q.settle))
	for i, k := range q.settle {
		marks[i], seqs[i] = k.mark, k.seq
	}
	return quickSettle, []any{x.sid, x.Head, x.cum, q.at, marks, seqs, pos(x.sid, q.head)}
}
