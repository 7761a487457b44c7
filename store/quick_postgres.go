package store

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
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

// commitQuick writes all members in one transaction. One whose head is another by now
// writes nothing.
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
	single, several, settles := divide(all)
	if len(single) == 1 && len(several) == 0 && len(settles) == 0 {
		return e.alone(ctx, conn.Conn(), single[0])
	}
	var b pgconn.Batch
	if len(single) == 1 {
		several, single = append(several, single[0]), nil
	}
	if len(single) > 0 {
		query, args := e.shapes.joint(single)
		err = e.queue(ctx, conn.Conn(), &b, query, args)
	}
	for _, m := range several {
		query, args := e.shapes.statement(m.x, m.q)
		err = cmp.Or(err, e.queue(ctx, conn.Conn(), &b, query, args))
	}
	for _, m := range settles {
		query, args := settling(m.x, m.q)
		err = cmp.Or(err, e.queue(ctx, conn.Conn(), &b, query, args))
	}
	if err != nil {
		return err
	}
	results := conn.Conn().PgConn().ExecBatch(ctx, &b)
	if len(single) > 0 && results.NextResult() {
		written(results.ResultReader(), single)
	}
	for _, m := range several {
		m.ok = affected(results) > 0
	}
	for _, m := range settles {
		m.q.settled = affected(results) == int64(len(m.q.settle))
	}
	return outdated(ctx, conn.Conn(), results.Close())
}

// queue adds a statement to those that are sent at once. It is prepared once on a connection,
// but where somebody has asked for another way in the address, for a pooler say.
func (e *postgresEngine) queue(ctx context.Context, conn *pgx.Conn, b *pgconn.Batch, query string, args [][]byte) error {
	if !e.prepares {
		b.ExecParams(query, args, nil, inBinary, inBinary)
		return nil
	}
	statement, err := conn.Prepare(ctx, query, query)
	if err == nil {
		b.ExecStatement(statement, args, inBinary, inBinary)
	}
	return err
}

// affected is how many rows the next statement has written; none if it has failed, which the
// end of the results tells.
func affected(results *pgconn.MultiResultReader) int64 {
	if !results.NextResult() {
		return 0
	}
	tag, _ := results.ResultReader().Close()
	return tag.RowsAffected()
}

// alone writes a member with one entry.
func (e *postgresEngine) alone(ctx context.Context, conn *pgx.Conn, m *member) error {
	if m.x.era != 0 && m.q.fresh {
		if err := e.one(ctx, conn, m, eraQuery, eraArguments(m)); m.ok || err != nil {
			return err
		}
	}
	query, args := e.shapes.statement(m.x, m.q)
	return e.one(ctx, conn, m, query, args)
}

// eraArguments are those of eraQuery.
func eraArguments(m *member) [][]byte {
	a := newArguments(3 + len(entryTypes))
	a.number(m.x.sid)
	a.number(m.q.at)
	a.entry(m.x, &m.q.rows[0])
	a.number(m.x.era)
	return a.all
}

// one writes a member with one entry by a statement, which may tell the era.
func (e *postgresEngine) one(ctx context.Context, conn *pgx.Conn, m *member, query string, args [][]byte) error {
	var result *pgconn.ResultReader
	if !e.prepares {
		result = conn.PgConn().ExecParams(ctx, query, args, nil, inBinary, inBinary)
	} else {
		statement, err := conn.Prepare(ctx, query, query)
		if err != nil {
			return err
		}
		result = conn.PgConn().ExecStatement(ctx, statement, args, inBinary, inBinary)
	}
	for result.NextRow() {
		if era := result.Values()[0]; len(era) == 8 {
			m.q.era = int64(binary.BigEndian.Uint64(era))
		}
	}
	tag, err := result.Close()
	m.ok = tag.RowsAffected() > 0
	return outdated(ctx, conn, err)
}

// outdated ends a connection whose statements somebody has removed: the next one makes them
// anew.
func outdated(ctx context.Context, conn *pgx.Conn, err error) error {
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == "26000" {
		conn.Close(ctx)
	}
	return err
}

// divide tells members with one entry from those with several, and lists those that settle.
// Of two that append to the same session, one comes first: the other one has another head
// then, and is left out.
func divide(all []*member) (single, several, settles []*member) {
	for i, m := range all {
		if i > 0 && all[i-1].x.sid == m.x.sid {
			continue
		}
		if len(m.q.rows) == 1 {
			single = append(single, m)
		} else {
			several = append(several, m)
		}
		if len(m.q.settle) > 0 {
			settles = append(settles, m)
		}
	}
	return single, several, settles
}

// written reads which members a joint statement has written.
func written(r *pgconn.ResultReader, all []*member) {
	for r.NextRow() {
		sid := int64(binary.BigEndian.Uint64(r.Values()[0])) >> seqBits
		if i, ok := slices.BinarySearchFunc(all, sid, func(m *member, sid int64) int { return cmp.Compare(m.x.sid, sid) }); ok {
			all[i].ok = true
		}
	}
	r.Close() // of an error the end of all results tells
}

// maxShape is how many entries a statement of its own may have; more are written by arrays,
// which cost about as much as a bare append, however few they are.
const maxShape = 4

// shapes are statements. Those of the same shape are written by the same one, which the
// server has planned. Many goroutines may use it.
type shapes struct{ known sync.Map }

// A shape is how many entries a statement writes.
type shape struct {
	n     int
	joint bool // one of each of several sessions
	fresh bool // their ids need not be looked for
}

// query returns the statement of a shape.
func (k *shapes) query(s shape, write func(shape) string) string {
	query, ok := k.known.Load(s)
	if !ok {
		query = write(s)
		k.known.Store(s, query)
	}
	return query.(string)
}

func (k *shapes) statement(x *Session, q *quickly) (string, [][]byte) {
	if len(q.rows) > maxShape {
		return quickArrays(x, q)
	}
	a := newArguments(3 + len(entryTypes)*len(q.rows))
	a.number(x.sid)
	a.number(q.at)
	if len(q.rows) > 1 {
		list(a, int8OID, q.marks, appendNumber)
		for i := range q.rows {
			a.entry(x, &q.rows[i])
		}
		return k.query(shape{n: len(q.rows)}, shapeQuery), a.all
	}
	a.entry(x, &q.rows[0])
	if q.fresh {
		return freshQuery, a.all
	}
	a.number(q.marks[0])
	return oneQuery, a.all
}

// joint is the statement for members with one entry each. To start a statement takes longer
// than a row of it.
func (k *shapes) joint(all []*member) (string, [][]byte) {
	a := newArguments((3 + len(entryTypes)) * len(all))
	fresh := true
	for _, m := range all {
		a.number(m.x.sid)
		a.number(m.q.marks[0])
		a.number(m.q.at)
		a.entry(m.x, &m.q.rows[0])
		fresh = fresh && m.q.fresh
	}
	return k.query(shape{len(all), true, fresh}, jointQuery), a.all
}

// entryTypes are the types of the columns of a quick append.
var entryTypes = []string{"bigint", "text", "text", "smallint", "bigint", "bigint", "bigint", "bytea", "smallint", "bytea", "bytea"}

const (
	quickInsert = `INSERT INTO entries (pos, id, kind, flags, weight, cum, size, sum, codec, pairs, raw, at) SELECT `
	// Whoever has locked the session is not waited for: the append goes the long way. A session
	// that is not deleted loses no entries, so the head that was known is not behind the last one.
	quickWhere = `, $2::bigint WHERE (SELECT TRUE FROM sessions WHERE sid = $1 AND deleted_at IS NULL FOR KEY SHARE SKIP LOCKED)`
	quickLook  = ` AND NOT EXISTS (SELECT 1 FROM marks WHERE marks.sid = $1 AND mark = $14)`
	// A session that was there in an era is there as long as the era lasts: its row need not be
	// looked at, which took half of what an entry takes longer than a bare row. Whoever changes
	// the session otherwise holds the lock; whoever deletes one, any, begins another era first.
	// Both are as they are now, not as they were when the statement began. What goes with marks
	// looks at the row: it writes it, and who waits for the lock has it.
	quickEra  = `, $2::bigint WHERE CASE WHEN pg_try_advisory_xact_lock_shared(` + lockBase + ` # $1) THEN ` + eraNow + ` = $14 END`
	eraNow    = `pg_sequence_last_value('deletions'::regclass)`
	quickTell = ` RETURNING ` + eraNow
	// The session is locked once for all of a list: in a join it would be for each row, and of
	// two rows the second one alone could find it free.
	quickOnce = `WITH s AS (SELECT sid FROM sessions WHERE sid = $1 AND deleted_at IS NULL
		AND NOT EXISTS (SELECT 1 FROM marks WHERE marks.sid = $1 AND mark = ANY ($3::bigint[])) FOR KEY SHARE SKIP LOCKED)
		INSERT INTO entries (pos, id, kind, flags, weight, cum, size, sum, codec, pairs, raw, at) SELECT v.*, $2::bigint FROM s, `
	quickRows = ` AS v (pos, id, kind, flags, weight, cum, size, sum, codec, pairs, raw)`
	// Each session for itself: the shape of the statement leaves the server no other way to
	// look for it and for the mark, however few rows it believes the tables to have.
	jointRows = `) AS v (sid, mark, at, pos, id, kind, flags, weight, cum, size, sum, codec, pairs, raw), LATERAL (
		SELECT 1 FROM sessions s WHERE s.sid = v.sid AND s.deleted_at IS NULL`
	jointLook = ` AND (SELECT seq FROM marks WHERE marks.sid = v.sid AND marks.mark = v.mark LIMIT 1) IS NULL`
	jointLock = ` LIMIT 1 FOR KEY SHARE OF s SKIP LOCKED) s RETURNING pos`
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

// placeholders writes lists of arguments of these types, from a number on.
func placeholders(at, lists int, types ...string) string {
	var out strings.Builder
	for i := range lists {
		out.WriteString([]string{"", "), ("}[min(i, 1)])
		for j, t := range types {
			fmt.Fprintf(&out, "%s$%d::%s", []string{"", ", "}[min(j, 1)], at, t)
			at++
		}
	}
	return out.String()
}

// freshQuery is the statement for one entry whose id is new for certain, eraQuery for one of a
// session that is there for certain, too, and oneQuery for one whose id is to be looked for.
// They have no list to go through, which took a third of the time.
var (
	eraQuery   = quickInsert + placeholders(3, 1, entryTypes...) + quickEra
	freshQuery = quickInsert + placeholders(3, 1, entryTypes...) + quickWhere + quickTell
	oneQuery   = quickInsert + placeholders(3, 1, entryTypes...) + quickWhere + quickLook
)

// shapeQuery is the statement for several entries.
func shapeQuery(s shape) string {
	return quickOnce + "(VALUES (" + placeholders(4, s.n, entryTypes...) + "))" + quickRows
}

// jointQuery is the statement for one entry of each of several sessions.
func jointQuery(s shape) string {
	look := jointLook
	if s.fresh {
		look = ""
	}
	return quickInsert + `v.pos, v.id, v.kind, v.flags, v.weight, v.cum, v.size, v.sum, v.codec, v.pairs, v.raw, v.at FROM (VALUES (` +
		placeholders(1, s.n, slices.Concat([]string{"bigint", "bigint", "bigint"}, entryTypes)...) + ")" + jointRows + look + jointLock
}

// quickArrays is the statement for any number of entries: a column is an array.
func quickArrays(x *Session, q *quickly) (string, [][]byte) {
	a := newArguments(3 + len(entryTypes))
	a.number(x.sid)
	a.number(q.at)
	list(a, int8OID, q.marks, appendNumber)
	numbers := func(of func(*row) int64) {
		list(a, int8OID, q.rows, func(b []byte, r row) []byte { return appendNumber(b, of(&r)) })
	}
	texts := func(oid uint32, of func(*row) []byte) {
		list(a, oid, q.rows, func(b []byte, r row) []byte { return appendBytes(b, of(&r)) })
	}
	shorts := func(of func(*row) int) {
		list(a, int2OID, q.rows, func(b []byte, r row) []byte { return appendShort(b, of(&r)) })
	}
	numbers(func(r *row) int64 { return pos(x.sid, r.Seq) })
	texts(textOID, func(r *row) []byte { return []byte(r.ID) })
	texts(textOID, func(r *row) []byte { return []byte(r.Kind) })
	shorts(func(r *row) int { return r.flags })
	numbers(func(r *row) int64 { return r.weight })
	numbers(func(r *row) int64 { return r.cum })
	numbers(func(r *row) int64 { return int64(r.size) })
	texts(byteaOID, func(r *row) []byte { return r.sum[:] })
	shorts(func(r *row) int { return r.codec })
	texts(byteaOID, func(r *row) []byte { return r.pairs() })
	texts(byteaOID, func(r *row) []byte { return r.stored })
	return arraysQuery, a.all
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
func settling(x *Session, q *quickly) (string, [][]byte) {
	a := newArguments(8)
	a.number(x.sid)
	a.number(x.Head)
	a.number(x.cum)
	a.number(q.at)
	list(a, int8OID, q.settle, func(b []byte, m marking) []byte { return appendNumber(b, m.mark) })
	list(a, int8OID, q.settle, func(b []byte, m marking) []byte { return appendNumber(b, m.seq) })
	a.number(pos(x.sid, q.head))
	a.number(x.settled)
	return quickSettle, a.all
}
