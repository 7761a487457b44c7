package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// postgresEngine is PostgreSQL: many machines share one database.
type postgresEngine struct {
	bound sync.Map // statements, by how they were written
}

func openPostgres(dsn string) (*sql.DB, engine, error) {
	c, err := pgx.ParseConfig(dsn)
	if err != nil {
		// The error may hold the address with its password.
		return nil, nil, errors.New("open store: the address of the database cannot be read; it looks like postgres://user@host/database")
	}
	for name, value := range map[string]string{
		"application_name": "pare",
		// Every statement is small, and known: planning it each time costs more than running it.
		"plan_cache_mode": "force_generic_plan",
		// A machine that vanishes in the middle of a transaction holds its locks until the
		// server notices; left alone, that may take hours.
		"idle_in_transaction_session_timeout": "60000",
		"tcp_keepalives_idle":                 "30",
		"tcp_keepalives_interval":             "10",
		"tcp_keepalives_count":                "3",
	} {
		if c.RuntimeParams[name] == "" {
			c.RuntimeParams[name] = value
		}
	}
	db := stdlib.OpenDB(*c)
	db.SetMaxOpenConns(16)
	db.SetMaxIdleConns(16)
	return db, &postgresEngine{}, nil
}

func (*postgresEngine) name() string { return "postgres" }
func (*postgresEngine) lock() string { return " FOR UPDATE" }

// bind numbers the question marks. There are none in our statements that mean
// anything else.
func (e *postgresEngine) bind(query string) string {
	if b, ok := e.bound.Load(query); ok {
		return b.(string)
	}
	var out strings.Builder
	n := 0
	for i := range len(query) {
		if query[i] != '?' {
			out.WriteByte(query[i])
			continue
		}
		n++
		out.WriteString("$" + strconv.Itoa(n))
	}
	e.bound.Store(query, out.String())
	return out.String()
}

func (*postgresEngine) retry(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == "40001" || e.Code == "40P01")
}

func (*postgresEngine) full(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code == "53100"
}

// maxWords is how much text of an entry can be looked up: a tsvector is bounded.
const maxWords = 200 << 10

func (*postgresEngine) index(ctx context.Context, t *tx, sid, seq int64, text string) error {
	if len(text) > maxWords {
		text = strings.ToValidUTF8(text[:maxWords], "")
	}
	_, err := t.exec(ctx, `INSERT INTO words (sid, seq, body) VALUES (?, ?, to_tsvector('simple', ?)) ON CONFLICT DO NOTHING`, sid, seq, strings.ReplaceAll(text, "\x00", " "))
	if err != nil {
		return fmt.Errorf("index entry %d: %w", seq, err)
	}
	return nil
}

func (*postgresEngine) find(words []string) (string, []any, string) {
	where, args := make([]string, len(words)), make([]any, len(words))
	for i, w := range words {
		where[i], args[i] = `words.body @@ phraseto_tsquery('simple', ?)`, strings.ReplaceAll(w, "\x00", " ")
	}
	return strings.Join(where, " AND "), args, `words.sid, words.seq DESC`
}

func (*postgresEngine) forget(ctx context.Context, t *tx, sid, from, to int64) error {
	_, err := t.exec(ctx, `DELETE FROM words WHERE sid = ? AND seq BETWEEN ? AND ?`, sid, from, to)
	return err
}

// clock is the server's: those of the machines differ.
func (*postgresEngine) clock(ctx context.Context, t *tx, _ func() int64) (now int64, err error) {
	err = t.row(ctx, `SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint`).Scan(&now)
	return now, err
}

// mediaLock is the number of the lock of the media.
const mediaLock = 0x70617265 // "pare"

func (*postgresEngine) guard(ctx context.Context, t *tx, alone bool) error {
	query := `SELECT pg_advisory_xact_lock_shared(?)`
	if alone {
		query = `SELECT pg_advisory_xact_lock(?)`
	}
	_, err := t.exec(ctx, query, mediaLock)
	return err
}

// Parts of the statement that appends in one: nothing is inserted unless the head is as
// expected.
const (
	quickHead = `WITH s AS (
		UPDATE sessions SET head = $2, cum = $3, updated_at = $4 WHERE sid = $1 AND head = $5 AND deleted_at IS NULL RETURNING sid
	), e AS (
		INSERT INTO entries (sid, seq, id, kind, flags, weight, cum, size, sum, codec, at, raw)
		SELECT s.sid, v.seq, v.id, v.kind, v.flags, v.weight, v.cum, v.size, v.sum, v.codec, $4, v.raw
		FROM s, unnest($6::bigint[], $7::text[], $8::text[], $9::smallint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bytea[], $14::smallint[], $15::bytea[])
			AS v (seq, id, kind, flags, weight, cum, size, sum, codec, raw)
	)`
	quickCalls = `, c AS (
		INSERT INTO calls (sid, seq, no, call_id, tool, family)
		SELECT s.sid, v.seq, v.no, v.call_id, v.tool, v.family
		FROM s, unnest($16::bigint[], $17::integer[], $18::text[], $19::text[], $20::smallint[]) AS v (seq, no, call_id, tool, family)
	)`
	quickAnswers = `, a AS (
		INSERT INTO answers (sid, seq, no, call_id, tool, family, call_seq, call_no)
		SELECT s.sid, v.seq, v.no, v.call_id, v.tool, v.family, v.call_seq, v.call_no
		FROM s, unnest($16::bigint[], $17::integer[], $18::text[], $19::text[], $20::smallint[], $21::bigint[], $22::integer[])
			AS v (seq, no, call_id, tool, family, call_seq, call_no)
	)`
	quickBoth = quickCalls + `, a AS (
		INSERT INTO answers (sid, seq, no, call_id, tool, family, call_seq, call_no)
		SELECT s.sid, v.seq, v.no, v.call_id, v.tool, v.family, v.call_seq, v.call_no
		FROM s, unnest($21::bigint[], $22::integer[], $23::text[], $24::text[], $25::smallint[], $26::bigint[], $27::integer[])
			AS v (seq, no, call_id, tool, family, call_seq, call_no)
	)`
	quickEnd = ` SELECT count(*) FROM s`
)

func (*postgresEngine) quick(ctx context.Context, db *sql.DB, x *Session, q *quickly) (bool, error) {
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
	args := []any{x.sid, q.head, q.cum, q.at, x.Head, seqs, ids, kinds, flags, weights, cums, sizes, sums, codecs, raws}
	query := quickHead
	switch {
	case len(calls.seqs) > 0 && len(answers.seqs) > 0:
		query += quickBoth
		args = append(args, calls.seqs, calls.nos, calls.ids, calls.tools, calls.families,
			answers.seqs, answers.nos, answers.ids, answers.tools, answers.families, answers.callSeqs, answers.callNos)
	case len(calls.seqs) > 0:
		query += quickCalls
		args = append(args, calls.seqs, calls.nos, calls.ids, calls.tools, calls.families)
	case len(answers.seqs) > 0:
		query += quickAnswers
		args = append(args, answers.seqs, answers.nos, answers.ids, answers.tools, answers.families, answers.callSeqs, answers.callNos)
	}
	var n int
	err := db.QueryRowContext(ctx, query+quickEnd, args...).Scan(&n)
	return n == 1, err
}

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
