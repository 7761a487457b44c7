package store

import (
	"context"
	"slices"
	"strings"
	"time"
)

// prepareRows reads entries into rows, without looking at the database. It modifies the session:
// the first message determines the dialect.
func (s *Store) prepareRows(session *Session, entries []Entry) ([]*row, error) {
	rows := make([]*row, len(entries))
	for i, e := range entries {
		r, err := s.prepare(session, i, e)
		if err != nil {
			return nil, err
		}
		rows[i] = r
	}
	return rows, nil
}

// number places rows at the end of a session and links every result to its call. It modifies the
// rows and the session.
func (s *Store) number(session *Session, rows []*row, now int64, pairs *pairing) error {
	for _, r := range rows {
		session.Head++
		session.weight += r.weight
		r.Seq = session.Head
		r.totalWeight = session.weight
		r.At = time.UnixMicro(now).UTC()
		if err := pairs.link(r); err != nil {
			return err
		}
	}
	session.tail = slices.Clip(session.tail)
	for _, r := range rows {
		session.tail = session.tail.add(&r.Entry, r.flags)
	}
	return nil
}

// insert writes rows at the end of a session that the transaction has locked. It modifies the rows
// and the session.
func (s *Store) insert(ctx context.Context, t *tx, session *Session, rows []*row) error {
	tail, err := s.loadTail(ctx, t, session)
	if err != nil {
		return err
	}
	session.tail = tail
	now := s.now()
	if err := s.number(session, rows, now, s.pairingIn(ctx, t, session)); err != nil {
		return err
	}
	insert := bulkInsert{into: `INSERT INTO entries (pos, id, kind, flags, weight, cum, size, sum, codec, at, pairs, raw)`, width: 12}
	for _, r := range rows {
		if err := s.insertMedia(ctx, t, session, r); err != nil {
			return err
		}
		insert.add(len(r.stored), pos(session.sid, r.Seq), r.ID, string(r.Kind), r.flags, r.weight, r.totalWeight, r.size, r.sum[:], r.codec, now, r.encodePairs(), r.stored)
		if insert.bytes > maxStatement {
			if err := insert.flush(ctx, t); err != nil {
				return err
			}
		}
	}
	if err := insert.flush(ctx, t); err != nil {
		return err
	}
	if session.tail.entries() >= minTailToMark {
		if err := s.writeMarks(ctx, t, session); err != nil {
			return err
		}
	}
	_, err = t.exec(ctx, `UPDATE sessions SET noted_head = ?, cum = ?, settled = ?, dialect = ?, state = ?, updated_at = ? WHERE sid = ?`,
		session.Head, session.weight, session.settled, session.Dialect, session.state.encode(), now, session.sid)
	return err
}

// insertMedia stores the media of a row. Equal media are stored once.
func (s *Store) insertMedia(ctx context.Context, t *tx, session *Session, r *row) error {
	if len(r.media) > 0 {
		if err := s.engine.lockMedia(ctx, t, false); err != nil {
			return err
		}
	}
	for _, m := range r.media {
		if _, err := t.exec(ctx, `INSERT INTO blobs (sum, size, data) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, m.sum[:], len(m.data), m.data); err != nil {
			return err
		}
		if _, err := t.exec(ctx, `INSERT INTO blob_uses (sum, sid, seq) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, m.sum[:], session.sid, r.Seq); err != nil {
			return err
		}
	}
	return nil
}

// A bulkInsert collects rows of one table and writes many of them with one statement.
type bulkInsert struct {
	into   string
	suffix string // follows the values
	width  int    // values of a row
	values []any
	bytes  int
}

// maxStatement is the size in bytes at which a bulkInsert of entries is flushed.
const maxStatement = 4 << 20

func (b *bulkInsert) add(bytes int, values ...any) {
	b.values = append(b.values, values...)
	b.bytes += bytes
}

// flush writes the rows. It uses statements of three sizes only, so that each is planned once.
func (b *bulkInsert) flush(ctx context.Context, t *tx) error {
	for rest := b.values; len(rest) > 0; {
		n := 1
		for _, more := range []int{8, 64} {
			if len(rest) >= more*b.width {
				n = more
			}
		}
		one := "(?" + strings.Repeat(", ?", b.width-1) + ")"
		if _, err := t.exec(ctx, b.into+" VALUES "+one+strings.Repeat(", "+one, n-1)+b.suffix, rest[:n*b.width]...); err != nil {
			return err
		}
		rest = rest[n*b.width:]
	}
	clear(b.values)
	b.values, b.bytes = b.values[:0], 0
	return nil
}
