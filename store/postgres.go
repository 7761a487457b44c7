package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
)

// A postgresEngine stores sessions in PostgreSQL, which many machines can share.
type postgresEngine struct {
	bound sync.Map // statements with numbered placeholders, by their text

	pool  *pgxpool.Pool // for fast appends
	group commitGroup
}

func openPostgres(dsn string) (*sql.DB, engine, error) {
	c, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, nil, errors.New("open store: the address of the database cannot be read; it looks like postgres://user@host/database")
	}
	// Settings in the address take precedence.
	for name, value := range map[string]string{
		"application_name": "pare",
		// Planning a small statement takes longer than running it.
		"plan_cache_mode": "force_generic_plan",
		// A plan from when a table was small must not scan it later.
		"enable_seqscan": "off",
		// Compiling a statement takes longer than running it.
		"jit": "off",
		// Otherwise, locks of a machine that vanished may be held for hours.
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
	// With the pool for fast appends 20: five processes fit into the default limit of a server.
	db.SetMaxOpenConns(20 - fastLanes)
	db.SetMaxIdleConns(20 - fastLanes)
	e := new(postgresEngine)
	if e.pool, err = newFastPool(c); err != nil {
		db.Close()
		return nil, nil, err
	}
	e.group = commitGroup{lanes: fastLanes, maxMembers: 16, commit: e.commitAppends}
	return db, e, nil
}

func (e *postgresEngine) close() { e.pool.Close() }

func (*postgresEngine) name() string { return "postgres" }

func (*postgresEngine) explainOpenError(err error) error { return err }

func (*postgresEngine) checkFiles() error { return nil }

func (*postgresEngine) afterWrite() {}

// maxTail is small, because an append has to write all marks at once, also over a connection that
// often breaks.
func (*postgresEngine) maxTail() int { return 64 }

// lock locks the rows. A fast append shares the lock of the row.
func (*postgresEngine) lock(ctx context.Context, t *tx, where string, args ...any) error {
	_, err := t.exec(ctx, `SELECT sid FROM sessions WHERE `+where+` ORDER BY sid FOR UPDATE`, args...)
	return err
}

// bind numbers the placeholders. Question marks have no other meaning in the statements.
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

func (*postgresEngine) isRetryable(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == "40001" || e.Code == "40P01")
}

func (*postgresEngine) isFull(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code == "53100"
}

// withReserve keeps no reserve: the server deletes in place.
func (*postgresEngine) withReserve(do func() error) error { return do() }

func (e *postgresEngine) isDown(err error) bool {
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) {
		return true
	}
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		switch pgErr.Code {
		case "25006", // a read-only replica
			// Memory or connections are exhausted, or the server is starting.
			"53000", "53200", "53300", "57P03":
			return true
		}
	}
	return e.isBroken(err)
}

func (*postgresEngine) isBroken(err error) bool {
	var (
		connect *pgconn.ConnectError
		pgErr   *pgconn.PgError
		network net.Error
		corrupt *CorruptError
	)
	switch {
	case errors.As(err, &connect), errors.As(err, &corrupt): // decompression may end early, too
		return false
	case errors.As(err, &pgErr):
		return slices.Contains([]string{"57P01", "57P02", "57P05"}, pgErr.Code) || strings.HasPrefix(pgErr.Code, "08")
	}
	return errors.As(err, &network) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, driver.ErrBadConn) || pgconn.SafeToRetry(err)
}

// isDamaged checks for data_corrupted and index_corrupted.
func (*postgresEngine) isDamaged(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == "XX001" || e.Code == "XX002")
}

func (*postgresEngine) backup(context.Context, string) error {
	return fmt.Errorf("%w: it is a PostgreSQL: use pg_dump", ErrUsage)
}

func (*postgresEngine) verify(context.Context) ([]string, error) { return nil, nil }
func (*postgresEngine) isSpoiled(error) bool                     { return false }
func (*postgresEngine) reindex(context.Context, *tx) error       { return nil }

// maxPosition is the largest position of a word in a tsvector.
const maxPosition = 1<<14 - 1

// maxWords limits the indexed text of an entry in bytes, because a tsvector is limited.
const maxWords = 200 << 10

func (*postgresEngine) indexWords(ctx context.Context, t *tx, sid, seq int64, text string) error {
	if len(text) > maxWords {
		text = strings.ToValidUTF8(text[:maxWords], "")
	}
	// The words are listed, because the server would split paths and addresses differently.
	var list strings.Builder
	for i, w := range strings.Fields(text) {
		fmt.Fprintf(&list, "'%s':%d ", w, min(i+1, maxPosition))
	}
	_, err := t.exec(ctx, `INSERT INTO words (sid, seq, body) VALUES (?, ?, CAST(CAST(? AS text) AS tsvector)) ON CONFLICT DO NOTHING`, sid, seq, list.String())
	if err != nil {
		return fmt.Errorf("index entry %d: %w", seq, err)
	}
	if _, err = t.exec(ctx, `INSERT INTO stems (pos, body) VALUES (?, to_tsvector('english', CAST(? AS text))) ON CONFLICT DO NOTHING`, pos(sid, seq), text); err != nil {
		return fmt.Errorf("index entry %d: %w", seq, err)
	}
	return nil
}

// rank adds up ts_rank_cd for each word, weighted by the rarity of the word, which the server does
// not know. Repeated words count more, but less than twice. Ranking reads the entries, so the index
// first selects those with the most and rarest words.
func (*postgresEngine) rank(ctx context.Context, t *tx, words []string, scope string, most int) (all []ranked, err error) {
	var total float64
	if err := t.row(ctx, `SELECT count(*) FROM stems`).Scan(&total); err != nil {
		return nil, err
	}
	// These are constants, repeated for each word.
	var scores, having []string
	var has, weighs []any
	for _, w := range words {
		var n float64
		if err := t.row(ctx, `SELECT count(*) FROM stems WHERE body @@ plainto_tsquery('english', ?)`, w).Scan(&n); err != nil {
			return nil, err
		}
		if n == 0 {
			continue
		}
		rare := math.Log(1 + (total-n+0.5)/(n+0.5))
		having = append(having, `SELECT pos, CAST(? AS double precision) AS rare FROM stems WHERE body @@ plainto_tsquery('english', ?)`)
		has = append(has, rare, w)
		scores = append(scores, `CAST(? AS double precision) * (1 - 0.03 / (0.03 + ts_rank_cd(body, plainto_tsquery('english', ?), 1)))`)
		weighs = append(weighs, rare, w)
	}
	if len(scores) == 0 {
		return nil, nil
	}
	score, where := strings.Join(scores, " + "), strings.Join(having, " UNION ALL ")
	query := `WITH likely AS (SELECT pos FROM (` + where + `) AS each_word WHERE (pos >> 28) IN (SELECT sid FROM sessions WHERE scope = ?)
			GROUP BY pos ORDER BY sum(rare) DESC, pos DESC LIMIT ?)
		SELECT pos, CAST(` + score + ` AS double precision) AS score FROM stems WHERE pos IN (SELECT pos FROM likely) ORDER BY score DESC, pos DESC`
	err = t.each(ctx, func(scan func(...any) error) error {
		var r ranked
		err := scan(&r.pos, &r.score)
		all = append(all, r)
		return err
	}, query, slices.Concat(has, []any{scope, min(most, maxRankRead)}, weighs)...)
	return all, err
}

// maxRankRead limits the entries that are read for ranking.
const maxRankRead = 60

func (*postgresEngine) searchCondition(words []phrase) (string, []any) {
	where, args := make([]string, len(words)), make([]any, 0, 2*len(words))
	for i, w := range words {
		where[i] = `(words.body @@ CAST(CAST(? AS text) AS tsquery) OR words.body @@ phraseto_tsquery('simple', ?))`
		args = append(args, "'"+strings.ReplaceAll(w.folded, " ", "' <-> '")+"'", strings.ReplaceAll(w.text, "\x00", " "))
	}
	return strings.Join(where, " AND "), args
}

func (*postgresEngine) deleteWords(ctx context.Context, t *tx, sid, from, to int64) error {
	if _, err := t.exec(ctx, `DELETE FROM words WHERE sid = ? AND seq BETWEEN ? AND ?`, sid, from, to); err != nil {
		return err
	}
	_, err := t.exec(ctx, `DELETE FROM stems WHERE pos BETWEEN ? AND ?`, pos(sid, from), pos(sid, to))
	return err
}

// sharedNow returns the time of the server, because the clocks of machines differ.
func (*postgresEngine) sharedNow(ctx context.Context, t *tx, _ func() int64) (now int64, err error) {
	err = t.row(ctx, `SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint`).Scan(&now)
	return now, err
}

// mediaLock is the number of the advisory lock for media: "pare" in ASCII.
const mediaLock = 0x70617265

func (*postgresEngine) lockMedia(ctx context.Context, t *tx, alone bool) error {
	query := `SELECT pg_advisory_xact_lock_shared(?)`
	if alone {
		query = `SELECT pg_advisory_xact_lock(?)`
	}
	_, err := t.exec(ctx, query, mediaLock)
	return err
}

func (*postgresEngine) lockName(ctx context.Context, t *tx, name int64) error {
	_, err := t.exec(ctx, `SELECT pg_advisory_xact_lock(?)`, name)
	return err
}
