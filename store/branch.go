package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// Revert hides all entries after an entry, including summaries. An empty id hides everything.
// Nothing is deleted, and the revert can be undone until an entry is appended. It returns the
// number of hidden messages. If head is not that of the session, the error is a *ConflictError.
func (s *Store) Revert(ctx context.Context, key Key, head Head, id string) (int, error) {
	return s.revert(ctx, key, head, func(t *tx, session *Session) (int64, error) {
		if id == "" {
			return 0, nil
		}
		seq, _, err := s.findByID(ctx, t, session, id)
		if err == nil && (seq == 0 || !session.state.visible(seq)) {
			err = fmt.Errorf("revert %s: %w: %q", key, ErrNoCursor, id)
		}
		return seq, err
	})
}

// RevertTurns hides the last n turns. A turn begins with a message of the user.
func (s *Store) RevertTurns(ctx context.Context, key Key, head Head, n int) (int, error) {
	if n <= 0 {
		return 0, fmt.Errorf("revert %s: %w: %d turns: it must be one at least", key, ErrUsage, n)
	}
	return s.revert(ctx, key, head, func(t *tx, session *Session) (int64, error) {
		turns, err := s.lastTurns(ctx, t, session, session.Head, n)
		if err != nil {
			return 0, err
		}
		if len(turns) < n {
			return 0, fmt.Errorf("revert %s: %w: there are %d turns, not %d", key, ErrUsage, len(turns), n)
		}
		return turns[n-1] - 1, nil
	})
}

// lastTurns lists the last n entries up to a number that begin a turn, newest first.
func (s *Store) lastTurns(ctx context.Context, t *tx, session *Session, upto int64, n int) (all []int64, err error) {
	return s.findMarked(ctx, t, session, markTurn, 1, upto, true, n)
}

func (s *Store) revert(ctx context.Context, key Key, head Head, target func(*tx, *Session) (int64, error)) (gone int, err error) {
	var session *Session
	err = s.write(ctx, func(t *tx) error {
		gone = 0
		if session, err = s.live(ctx, t, key, true); err != nil {
			return err
		}
		if head.mode == disjointHead {
			head.mode = exactHead // a revert touches everything after the entry
		}
		if err := s.checkHead(ctx, t, session, head, nil); err != nil {
			return err
		}
		to, err := target(t, session)
		if err != nil {
			return err
		}
		if gone, err = s.countMessages(ctx, t, session, to+1, session.Head); err != nil {
			return err
		}
		return s.appendControl(ctx, t, session, KindRevert, encode(revertBody{to}))
	})
	if err != nil {
		return 0, err
	}
	s.watchers.wake(session.sid)
	s.emit(eventReverted, EventData{Session: key, Head: session.Head, Messages: gone})
	return gone, nil
}

// appendControl appends a control entry and applies it to the state.
func (s *Store) appendControl(ctx context.Context, t *tx, session *Session, kind Kind, raw []byte) (err error) {
	r := &row{Entry: Entry{ID: "pare-" + string(kind) + "-" + strconv.FormatInt(session.Head+1, 10) + "-" + NewID()[:8], Kind: kind}}
	r.size, r.sum = len(raw), checksum(raw)
	r.codec, r.stored = encodeBytes(raw, nil)
	next := session.Head + 1
	if err := s.applyControl(ctx, t, session, next, kind, raw); err != nil {
		return err
	}
	if err := session.checkNotExpired(); err != nil {
		return err
	}
	if session.weight, err = s.weightUpTo(ctx, t, session, session.lastVisible(session.Head)); err != nil {
		return err
	}
	return s.insert(ctx, t, session, []*row{r})
}

// checkNotExpired returns ErrExpired if retention has deleted bytes of entries that are in force.
func (s *Session) checkNotExpired() error {
	last, _ := s.state.compaction()
	for _, st := range s.ranges(last.To+1, s.Head) {
		if st.from <= s.state.expiredUpTo(st.owner) {
			return fmt.Errorf("%s: %w", s.Key, ErrExpired)
		}
	}
	return nil
}

// applyControl recomputes the state with another control entry.
func (s *Store) applyControl(ctx context.Context, t *tx, session *Session, seq int64, kind Kind, raw []byte) error {
	all, err := s.readControls(ctx, t, session)
	if err != nil {
		return err
	}
	c, err := readControl(seq, kind, raw)
	if err != nil {
		return err
	}
	session.state = session.state.fold(append(all, c))
	return nil
}

// rewindTo sets a session to its state at an earlier head.
func (s *Store) rewindTo(ctx context.Context, t *tx, session *Session, head int64) error {
	if head > session.Head || head < session.state.firstOwnSeq()-1 {
		return fmt.Errorf("window of %s: %w: it has no head %d", session.Key, ErrUsage, head)
	}
	all, err := s.readControls(ctx, t, session)
	if err != nil {
		return err
	}
	if head < session.Head {
		if err := s.restoreEarlierBase(ctx, t, session, head); err != nil {
			return err
		}
	}
	session.state = session.state.fold(slices.DeleteFunc(all, func(c controlEntry) bool { return c.seq > head }))
	session.Head = head
	if err := session.checkNotExpired(); err != nil {
		return err
	}
	session.weight, err = s.weightUpTo(ctx, t, session, session.lastVisible(head))
	return err
}

// readControls reads the session's own control entries, in order.
func (s *Store) readControls(ctx context.Context, t *tx, session *Session) (all []controlEntry, err error) {
	seqs, err := s.findMarkedIn(ctx, t, session, markControl, entryRange{session.sid, session.state.firstOwnSeq(), session.Head}, false, allEntries)
	if err != nil {
		return nil, err
	}
	for _, seq := range seqs {
		e, err := s.entry(ctx, t, session, session.sid, seq)
		if err == nil && e.Kind == KindCompaction && e.codec&codecQuarantined != 0 {
			continue
		}
		if err == nil {
			err = s.open(ctx, t, session, &e)
		}
		if err != nil {
			return nil, err
		}
		c, err := readControl(e.Seq, e.Kind, e.Raw)
		if err != nil {
			return nil, &CorruptError{session.Key, e.Seq, err.Error()}
		}
		all = append(all, c)
	}
	return all, nil
}

// cumAt returns the weight of all entries in force up to an entry.
func (s *Store) weightUpTo(ctx context.Context, t *tx, session *Session, seq int64) (cum int64, err error) {
	if seq == 0 {
		return 0, nil
	}
	// In a damaged file, the row may be missing; the row before it is used instead.
	sid := session.owner(seq)
	err = t.row(ctx, `SELECT cum FROM entries WHERE pos BETWEEN ? AND ? ORDER BY pos DESC LIMIT 1`, pos(sid, 0), pos(sid, seq)).Scan(&cum)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return cum, err
}

// Undo undoes the last revert or compaction in force and returns its kind. A revert can be undone
// until an entry is appended, and only in its own session. A compaction can also be undone in a
// fork.
func (s *Store) Undo(ctx context.Context, key Key) (kind Kind, err error) {
	var session *Session
	err = s.write(ctx, func(t *tx) error {
		if session, err = s.live(ctx, t, key, true); err != nil {
			return err
		}
		all, err := s.readControls(ctx, t, session)
		if err != nil {
			return err
		}
		last, ok := session.state.undoable(all)
		if !ok {
			return fmt.Errorf("undo %s: %w", key, ErrNothingToUndo)
		}
		if last.kind == KindRevert {
			var n int
			if err := t.row(ctx, `SELECT count(*) FROM entries WHERE pos BETWEEN ? AND ? AND kind NOT IN ('compaction', 'revert', 'undo')`, pos(session.sid, last.seq+1), pos(session.sid, maxSeq)).Scan(&n); err != nil {
				return err
			}
			if n > 0 {
				return fmt.Errorf("undo %s: %w: entries were appended since the revert; fork the session at an earlier entry instead", key, ErrNothingToUndo)
			}
		}
		kind = last.kind
		return s.appendControl(ctx, t, session, KindUndo, encode(undoBody{last.seq}))
	})
	if err != nil {
		return "", err
	}
	s.watchers.wake(session.sid)
	s.emit(eventUndone, EventData{Session: key, Head: session.Head, What: kind})
	return kind, nil
}

// undoable returns the last revert or compaction that is not undone: one of the session's own, or
// an inherited compaction.
func (st *state) undoable(all []controlEntry) (controlEntry, bool) {
	undone := make(map[int64]bool)
	for i := len(all) - 1; i >= 0; i-- {
		switch c := all[i]; {
		case undone[c.seq]:
		case c.kind == KindUndo:
			undone[c.of] = true
		default:
			return c, true
		}
	}
	if st.Inherited != nil {
		for _, c := range slices.Backward(st.Inherited.Compactions) {
			if !undone[c.Seq] {
				return controlEntry{seq: c.Seq, kind: KindCompaction}, true
			}
		}
	}
	return controlEntry{}, false
}

// Fork creates a session that shares the entries of another one up to an entry, or up to the end if
// the id is empty. No entries are copied.
func (s *Store) Fork(ctx context.Context, from Key, id string, to Key) (*Session, error) {
	if err := to.valid(); err != nil {
		return nil, err
	}
	if to.Scope != from.Scope {
		return nil, fmt.Errorf("fork: %w: both sessions belong to one scope", ErrUsage)
	}
	var created *Session
	err := s.write(ctx, func(t *tx) error {
		session, err := s.live(ctx, t, from, true)
		if err != nil {
			return err
		}
		at := session.lastVisible(session.Head)
		if id != "" {
			seq, _, err := s.findByID(ctx, t, session, id)
			if err != nil {
				return err
			}
			if seq == 0 || !session.state.visible(seq) {
				return fmt.Errorf("fork %s: %w: %q", from, ErrNoCursor, id)
			}
			at = seq
		}
		created, err = s.fork(ctx, t, session, at, to)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("fork %s to %s: %w", from, to, err)
	}
	s.emit(eventForked, EventData{Session: to, From: &from, Head: created.Head})
	return created, nil
}

// fork creates a session that shares the entries up to a number.
func (s *Store) fork(ctx context.Context, t *tx, session *Session, at int64, to Key) (*Session, error) {
	st := session.forkAt(at)
	if err := (&Session{Key: to, Head: at, state: st}).checkNotExpired(); err != nil {
		return nil, err
	}
	// The fork finds shared entries by their marks.
	if err := s.writeMarksAndSession(ctx, t, session); err != nil {
		return nil, err
	}
	var err error
	if st.weight, err = s.weightUpTo(ctx, t, session, at); err != nil {
		return nil, err
	}
	created, err := s.create(ctx, t, to, Create{session.Dialect, session.Model, session.Title, session.Base}, session.Settings, st)
	if err != nil || len(st.Lineage) == 0 {
		return created, err
	}
	_, err = t.exec(ctx, `INSERT INTO forks (sid, owner, upto) VALUES (?, ?, ?)`, created.sid, st.Lineage[len(st.Lineage)-1].SID, at)
	return created, err
}

func (s *Session) forkAt(at int64) state {
	st := state{Origin: &Origin{s.Key, at}, head: at}
	for _, p := range s.state.Lineage {
		if p.Upto >= at {
			st.Lineage = append(st.Lineage, sharedRange{p.SID, at, p.Gone})
			break
		}
		st.Lineage = append(st.Lineage, p)
	}
	if at >= s.state.firstOwnSeq() {
		st.Lineage = append(st.Lineage, sharedRange{s.sid, at, s.state.Gone})
	}
	for _, h := range s.state.Hidden {
		if h[0] <= at {
			st.Hidden = append(st.Hidden, [2]int64{h[0], min(h[1], at)})
		}
	}
	for _, c := range s.state.Compactions {
		if c.Seq <= at {
			st.Compactions = append(st.Compactions, c)
		}
	}
	st.Inherited = &inheritance{slices.Clone(st.Hidden), slices.Clone(st.Compactions)}
	return st
}
