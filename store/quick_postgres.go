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

// A quick append to PostgreSQL is one statement in one round trip: nothing is inserted
// unless the last entry is the expected one. The row of the session is not written, only
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
	var b pgx.Batch
	for _, m := range all {
		query, args := e.shapes.statement(m.x, m.q)
		b.Queue(query, args...)
	}
	r := conn.SendBatch(ctx, &b)
	for _, m := range all {
		tag, err := r.Exec()
		if err != nil {
			r.Close()
			return err
		}
		m.ok = tag.RowsAffected() > 0
	}
	return r.Close()
}

// A shape is how many entries, calls and answers an append has. Those of the same shape are
// written by the same statement, which the server has planned.
type shape struct{ entries, calls, answers int }

// maxShape is how many of each a statement of its own may have; what is larger is written
// by arrays, which cost about as much as a bare append, however small they are.
const maxShape = 4

// shapes are the statements by shape. Many goroutines may use it.
type shapes struct{ known sync.Map }

func (k *shapes) statement(x *Session, q *quickly) (string, []any) {
	s := shape{entries: len(q.rows)}
	for i := range q.rows {
		s.calls, s.answers = s.calls+len(q.rows[i].Calls), s.answers+len(q.rows[i].Answers)
	}
	if max(s.entries, s.calls, s.answers) > maxShape {
		return quickArrays(x, q)
	}
	query, ok := k.known.Load(s)
	if !ok {
		query = s.query()
		k.known.Store(s, query)
	}
	args := make([]any, 0, 3+10*s.entries+5*s.calls+7*s.answers)
	args = append(args, x.sid, x.Head, q.at)
	for i := range q.rows {
		r := &q.rows[i]
		args = append(args, r.Seq, r.ID, string(r.Kind), int16(r.flags), r.weight, r.cum, int64(len(r.Raw)), r.sum[:], int16(r.codec), r.stored)
	}
	for i := range q.rows {
		for _, c := range q.rows[i].Calls {
			args = append(args, q.rows[i].Seq, int32(c.No), c.ID, c.Tool, int16(c.family))
		}
	}
	for i := range q.rows {
		for j, c := range q.rows[i].Answers {
			args = append(args, q.rows[i].Seq, int32(j), c.ID, c.Tool, int16(c.family), c.Seq, int32(c.No))
		}
	}
	return query.(string), args
}

// The columns of a quick append, with their types.
var (
	entryTypes  = []string{"bigint", "text", "text", "smallint", "bigint", "bigint", "bigint", "bytea", "smallint", "bytea"}
	callTypes   = []string{"bigint", "integer", "text", "text", "smallint"}
	answerTypes = []string{"bigint", "integer", "text", "text", "smallint", "bigint", "integer"}
)

const (
	// Whoever has locked the session is not waited for: the append goes the long way.
	quickHead = `WITH s AS (
		SELECT sid FROM sessions WHERE sid = $1 AND deleted_at IS NULL
			AND coalesce((SELECT seq FROM entries WHERE entries.sid = $1 ORDER BY seq DESC LIMIT 1), noted_head) = $2
		FOR KEY SHARE SKIP LOCKED
	)`
	quickCalls = `, c AS (
		INSERT INTO calls (sid, seq, no, call_id, tool, family)
		SELECT s.sid, v.seq, v.no, v.call_id, v.tool, v.family FROM s, %s AS v (seq, no, call_id, tool, family)
	)`
	quickAnswers = `, a AS (
		INSERT INTO answers (sid, seq, no, call_id, tool, family, call_seq, call_no)
		SELECT s.sid, v.seq, v.no, v.call_id, v.tool, v.family, v.call_seq, v.call_no FROM s, %s
			AS v (seq, no, call_id, tool, family, call_seq, call_no)
	)`
	quickEntries = `
		INSERT INTO entries (sid, seq, id, kind, flags, weight, cum, size, sum, codec, at, raw)
		SELECT s.sid, v.seq, v.id, v.kind, v.flags, v.weight, v.cum, v.size, v.sum, v.codec, $3::bigint, v.raw FROM s, %s
			AS v (seq, id, kind, flags, weight, cum, size, sum, codec, raw)`
)

// query is the statement of a shape.
func (s shape) query() string {
	at := 3 // arguments so far
	values := func(rows int, types []string) string {
		var out strings.Builder
		for i := range rows {
			out.WriteString([]string{"(VALUES (", "), ("}[min(i, 1)])
			for j, t := range types {
				at++
				fmt.Fprintf(&out, "%s$%d::%s", []string{"", ", "}[min(j, 1)], at, t)
			}
		}
		return out.String() + "))"
	}
	entries := fmt.Sprintf(quickEntries, values(s.entries, entryTypes))
	query := quickHead
	if s.calls > 0 {
		query += fmt.Sprintf(quickCalls, values(s.calls, callTypes))
	}
	if s.answers > 0 {
		query += fmt.Sprintf(quickAnswers, values(s.answers, answerTypes))
	}
	return query + entries
}

// quickArrays is the statement for any number of entries: a column is an array.
func quickArrays(x *Session, q *quickly) (string, []any) {
	var (
		seqs, weights, cums, sizes []int64
		ids, kinds                 []string
		flags, codecs              []int16
		sums, raws                 [][]byte
		calls, answers             exchangeColumns
	)
	for i := range q.rows {
		r := &q.rows[i]
		seqs, ids, kinds, flags = append(seqs, r.Seq), append(ids, r.ID), append(kinds, string(r.Kind)), append(flags, int16(r.flags))
		weights, cums, sizes = append(weights, r.weight), append(cums, r.cum), append(sizes, int64(len(r.Raw)))
		sums, codecs, raws = append(sums, r.sum[:]), append(codecs, int16(r.codec)), append(raws, r.stored)
		for _, c := range r.Calls {
			calls.add(r.Seq, c.No, c)
		}
		for j, c := range r.Answers {
			answers.add(r.Seq, j, c)
		}
	}
	args := []any{x.sid, x.Head, q.at, seqs, ids, kinds, flags, weights, cums, sizes, sums, codecs, raws,
		calls.seqs, calls.nos, calls.ids, calls.tools, calls.families,
		answers.seqs, answers.nos, answers.ids, answers.tools, answers.families, answers.callSeqs, answers.callNos}
	return arraysQuery, args
}

// arraysQuery is the statement of quickArrays.
var arraysQuery = func() string {
	at := 3
	unnest := func(types []string) string {
		var out []string
		for _, t := range types {
			at++
			out = append(out, fmt.Sprintf("$%d::%s[]", at, t))
		}
		return "unnest(" + strings.Join(out, ", ") + ")"
	}
	entries := fmt.Sprintf(quickEntries, unnest(entryTypes))
	return quickHead + fmt.Sprintf(quickCalls, unnest(callTypes)) + fmt.Sprintf(quickAnswers, unnest(answerTypes)) + entries
}()

// exchangeColumns are calls or answers by column.
type exchangeColumns struct {
	seqs, callSeqs []int64
	nos, callNos   []int32
	ids, tools     []string
	families       []int16
}

func (c *exchangeColumns) add(seq int64, no int, x Call) {
	c.seqs, c.nos, c.ids, c.tools, c.families = append(c.seqs, seq), append(c.nos, int32(no)), append(c.ids, x.ID), append(c.tools, x.Tool), append(c.families, int16(x.family))
	c.callSeqs, c.callNos = append(c.callSeqs, x.Seq), append(c.callNos, int32(x.No))
}
