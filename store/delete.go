package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/pare-llm/pare/archive"
)

// Delete deletes a session and everything below its path. A tombstone stays, so that a late write
// does not create the session again. Entries that forks share are kept.
func (s *Store) Delete(ctx context.Context, key Key) error {
	_, err := s.delete(ctx, key, math.MaxInt64)
	return err
}

// writeFreeing runs a transaction that frees space, also on a full disk.
func (s *Store) writeFreeing(ctx context.Context, f func(*tx) error) error {
	if err := s.checkOpen(); err != nil {
		return err
	}
	return s.engine.withReserve(func() error { return s.write(ctx, f) })
}

// delete deletes a session unless it or a session below its path has changed since a time.
func (s *Store) delete(ctx context.Context, key Key, since int64) (done bool, err error) {
	err = s.writeFreeing(ctx, func(t *tx) error {
		done = false
		if _, err := s.live(ctx, t, key, true); err != nil {
			return err
		}
		where, args := `scope = ? AND id = ?`, []any{key.Scope, key.ID}
		if key.Path != "" {
			where, args = `scope = ? AND id = ? AND (path = ? OR substr(path, 1, ?) = ?)`, []any{key.Scope, key.ID, key.Path, len([]rune(key.Path)) + 1, key.Path + "/"}
		}
		if err := s.engine.lock(ctx, t, where, args...); err != nil {
			return err
		}
		var busy int
		if err := t.row(ctx, `SELECT count(*) FROM sessions_now WHERE deleted_at IS NULL AND updated_at >= ? AND `+where, append([]any{since}, args...)...).Scan(&busy); err != nil || busy > 0 {
			return err
		}
		var gone []int64
		err := t.each(ctx, func(scan func(...any) error) error {
			var sid int64
			if err := scan(&sid); err != nil {
				return err
			}
			gone = append(gone, sid)
			return nil
		}, `SELECT sid FROM sessions WHERE deleted_at IS NULL AND `+where+` ORDER BY sid`, args...)
		if err != nil {
			return err
		}
		for _, sid := range gone {
			if _, err := t.exec(ctx, `UPDATE sessions SET deleted_at = ?, base = NULL, settings = NULL, title = '' WHERE sid = ?`, s.now(), sid); err != nil {
				return err
			}
			for _, table := range []string{"remembered", "beginnings"} {
				if _, err := t.exec(ctx, `DELETE FROM `+table+` WHERE sid = ?`, sid); err != nil {
					return err
				}
			}
			if err := s.deleteUnshared(ctx, t, sid); err != nil {
				return err
			}
		}
		done = true
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("delete %s: %w", key, err)
	}
	if done {
		s.emit(eventDeleted, EventData{Session: key})
	}
	return done, nil
}

// deleteUnshared deletes the entries of a deleted session that no fork shares. Then it does the
// same with the deleted sessions from which that one was forked.
func (s *Store) deleteUnshared(ctx context.Context, t *tx, sid int64) error {
	for {
		var alive, forks, upto int64
		if err := t.row(ctx, `SELECT count(*) FROM sessions WHERE sid = ? AND deleted_at IS NULL`, sid).Scan(&alive); err != nil || alive > 0 {
			return err
		}
		if err := t.row(ctx, `SELECT count(*), coalesce(max(upto), 0) FROM forks WHERE owner = ?`, sid).Scan(&forks, &upto); err != nil {
			return err
		}
		if err := s.deleteEntriesAfter(ctx, t, sid, upto); err != nil || forks > 0 {
			return err
		}
		var owner sql.NullInt64
		err := t.row(ctx, `DELETE FROM forks WHERE sid = ? RETURNING owner`, sid).Scan(&owner)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		sid = owner.Int64
		// Of several deletions at the same time, one goes first.
		if err := s.engine.lock(ctx, t, `sid = ?`, sid); err != nil {
			return err
		}
	}
}

// deleteEntriesAfter deletes the rows of a session after a number.
func (s *Store) deleteEntriesAfter(ctx context.Context, t *tx, sid, upto int64) error {
	if _, err := t.exec(ctx, `DELETE FROM entries WHERE pos BETWEEN ? AND ?`, pos(sid, upto+1), pos(sid, maxSeq)); err != nil {
		return err
	}
	for _, table := range []string{"marks", "blob_uses"} {
		if _, err := t.exec(ctx, `DELETE FROM `+table+` WHERE sid = ? AND seq > ?`, sid, upto); err != nil {
			return err
		}
	}
	if upto > 0 {
		if err := s.deleteReferences(ctx, t, sid, func(ref reference) bool { return ref.To > upto }); err != nil {
			return err
		}
	} else {
		for _, table := range []string{"archive", "leases", "earlier"} {
			if _, err := t.exec(ctx, `DELETE FROM `+table+` WHERE sid = ?`, sid); err != nil {
				return err
			}
		}
	}
	return s.engine.deleteWords(ctx, t, sid, upto+1, math.MaxInt64)
}

// deleteReferences deletes the references of a session from the archive whose entries are gone.
// Other sessions have references of their own.
func (s *Store) deleteReferences(ctx context.Context, t *tx, sid int64, isGone func(reference) bool) error {
	var gone []string
	err := t.each(ctx, func(scan func(...any) error) error {
		var (
			id  string
			raw []byte
			ref reference
		)
		if err := scan(&id, &raw); err != nil {
			return err
		}
		if json.Unmarshal(raw, &ref) == nil && isGone(ref) {
			gone = append(gone, id)
		}
		return nil
	}, `SELECT id, raw FROM archive WHERE sid = ? AND refers = 1`, sid)
	for _, id := range gone {
		if err == nil {
			_, err = t.exec(ctx, `DELETE FROM archive WHERE sid = ? AND id = ?`, sid, id)
		}
	}
	return err
}

// deleteArchivedCopies deletes the bytes that a session archived before a time, except those of
// messages in force.
func (s *Store) deleteArchivedCopies(ctx context.Context, t *tx, session *Session, before int64) error {
	var ids []string
	err := t.each(ctx, func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		ids = append(ids, id)
		return err
	}, `SELECT id FROM archive WHERE sid = ? AND refers = 0 AND at < ?`, session.sid, before)
	if err != nil || len(ids) == 0 {
		return err
	}
	h, err := s.loadHistory(ctx, t, session, readLimit{})
	if err != nil {
		return err
	}
	inForce := make(map[string]bool)
	for _, m := range h.messages {
		inForce[archive.ID(m)] = true
		r, err := parseMessage(session, m)
		if err != nil {
			return nil
		}
		for _, b := range r.Transcript().Blocks() {
			inForce[archive.ID(r.Transcript().Bytes(b.Span))] = true
		}
	}
	for _, id := range ids {
		if inForce[id] {
			continue
		}
		if _, err := t.exec(ctx, `DELETE FROM archive WHERE scope = ? AND id = ? AND sid = ?`, session.Scope, id, session.sid); err != nil {
			return err
		}
	}
	return nil
}

// Retention configures [Store.Collect]. The zero value keeps everything.
type Retention struct {
	// Idle deletes sessions without an append for this time. Zero keeps them.
	Idle time.Duration
	// Tombstones deletes tombstones after this time. Zero keeps them.
	Tombstones time.Duration
	// Originals deletes the bytes of entries that a compaction of this age replaces. Summaries and
	// windows stay, but recall, undo and revert cannot reach before the compaction. Zero keeps
	// them.
	Originals time.Duration
	// Receipts deletes the receipts of requests after this time. Zero keeps them.
	Receipts time.Duration
}

// Collected counts the rows that a collection deleted.
type Collected struct {
	Sessions   int `json:"sessions"`
	Tombstones int `json:"tombstones"`
	Entries    int `json:"entries"`
	Media      int `json:"media"`
	Receipts   int `json:"receipts"`
}

// Collect deletes data as far as retention allows. No window changes, except that windows of
// earlier heads may return [ErrExpired].
func (s *Store) Collect(ctx context.Context, scope string, r Retention) (done Collected, err error) {
	now := s.now()
	if r.Idle > 0 {
		idle, err := s.sessions(ctx, `scope = ? AND path = '' AND deleted_at IS NULL AND updated_at < ?
			AND NOT EXISTS (SELECT 1 FROM sessions_now c WHERE c.scope = sessions_now.scope AND c.id = sessions_now.id AND c.updated_at >= ? AND c.deleted_at IS NULL)`,
			scope, now-r.Idle.Microseconds(), now-r.Idle.Microseconds())
		if err != nil {
			return done, err
		}
		for _, session := range idle {
			// Sessions that were appended to since they were listed stay.
			gone, err := s.delete(ctx, session.Key, now-r.Idle.Microseconds())
			if err != nil && !errors.Is(err, ErrDeleted) && !errors.Is(err, ErrNotFound) {
				return done, err
			}
			if gone {
				done.Sessions++
			}
		}
	}
	if r.Originals > 0 {
		n, err := s.collectOriginals(ctx, scope, now-r.Originals.Microseconds())
		if err != nil {
			return done, err
		}
		done.Entries += n
	}
	err = s.writeFreeing(ctx, func(t *tx) error {
		done.Tombstones, done.Media, done.Receipts = 0, 0, 0
		if r.Receipts > 0 {
			n, err := s.forgetReceipts(ctx, t, now-r.Receipts.Microseconds())
			if err != nil {
				return err
			}
			done.Receipts = n
		}
		if r.Tombstones > 0 {
			n, err := t.exec(ctx, `DELETE FROM sessions WHERE scope = ? AND deleted_at < ? AND NOT EXISTS (SELECT 1 FROM forks WHERE forks.owner = sessions.sid)
				AND NOT EXISTS (SELECT 1 FROM entries WHERE entries.pos BETWEEN sessions.sid << 28 AND (sessions.sid << 28) + 268435455)`, scope, now-r.Tombstones.Microseconds())
			if err != nil {
				return err
			}
			done.Tombstones = int(n)
		}
		if err := s.engine.lockMedia(ctx, t, true); err != nil {
			return err
		}
		n, err := t.exec(ctx, `DELETE FROM blobs WHERE NOT EXISTS (SELECT 1 FROM blob_uses WHERE blob_uses.sum = blobs.sum)`)
		done.Media = int(n)
		return err
	})
	return done, err
}

// collectOriginals empties the entries that an old compaction replaces. The rows stay, so that
// numbers have no gaps and ids remain taken.
func (s *Store) collectOriginals(ctx context.Context, scope string, before int64) (gone int, err error) {
	all, err := s.sessions(ctx, `scope = ? AND deleted_at IS NULL`, scope)
	if err != nil {
		return 0, err
	}
	for _, session := range all {
		n := 0
		err := s.writeFreeing(ctx, func(t *tx) error {
			n = 0
			session, err := s.live(ctx, t, session.Key, true)
			if err != nil {
				return err
			}
			// Entries are kept if no readable compaction replaces them.
			last, _, err := s.newestCompaction(ctx, t, session)
			if err != nil || last.Seq == 0 {
				return err
			}
			var at, shared int64
			if err := t.row(ctx, `SELECT at FROM entries WHERE pos = ?`, pos(session.owner(last.Seq), last.Seq)).Scan(&at); err != nil || at >= before {
				return err
			}
			if err := t.row(ctx, `SELECT count(*) FROM forks WHERE owner = ?`, session.sid).Scan(&shared); err != nil || shared > 0 {
				return err
			}
			k, err := t.exec(ctx, `UPDATE entries SET raw = ?, codec = ?, size = 0 WHERE pos BETWEEN ? AND ? AND kind = 'message' AND codec <> ?`,
				[]byte{}, codecGone, pos(session.sid, 1), pos(session.sid, last.To), codecGone)
			if err != nil {
				return err
			}
			n = int(k)
			if session.state.Gone = max(session.state.Gone, last.To); n > 0 {
				if _, err := t.exec(ctx, `UPDATE sessions SET state = ? WHERE sid = ?`, session.state.encode(), session.sid); err != nil {
					return err
				}
			}
			if _, err := t.exec(ctx, `DELETE FROM blob_uses WHERE sid = ? AND seq <= ?`, session.sid, last.To); err != nil {
				return err
			}
			if err := s.deleteReferences(ctx, t, session.sid, func(ref reference) bool { return ref.To <= last.To }); err != nil {
				return err
			}
			if err := s.deleteArchivedCopies(ctx, t, session, before); err != nil {
				return err
			}
			return s.engine.deleteWords(ctx, t, session.sid, 1, last.To)
		})
		if err != nil {
			return gone, err
		}
		gone += n
	}
	return gone, nil
}
