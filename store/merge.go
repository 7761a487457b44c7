package store

import (
	"context"
	"fmt"
	"strconv"
)

// Merge appends the entries in force of one session to another one of the same scope and dialect,
// all or none. An entry whose id is taken gets a new id that is derived from the old one. Repeating
// a merge changes nothing. It returns an error if the provider's own compaction would follow other
// messages, because it would replace them too. It returns the number of added entries.
func (s *Store) Merge(ctx context.Context, from, into Key) (int, error) {
	if from == into {
		return 0, fmt.Errorf("merge: %w: a session cannot be merged into itself", ErrUsage)
	}
	var (
		session, y *Session
		added      int
	)
	err := s.write(ctx, func(t *tx) (err error) {
		// A fixed order of locks prevents deadlocks.
		first, second := from, into
		if second.String() < first.String() {
			first, second = second, first
		}
		a, err := s.live(ctx, t, first, true)
		if err != nil {
			return err
		}
		b, err := s.live(ctx, t, second, true)
		if err != nil {
			return err
		}
		if session, y = a, b; first != from {
			session, y = b, a
		}
		if session.Dialect != "" && y.Dialect != "" && session.Dialect != y.Dialect {
			return fmt.Errorf("%w: %s is %s, %s is %s", ErrUsage, from, session.Dialect, into, y.Dialect)
		}
		entries, err := s.entries(ctx, t, session, 1, session.Head, int(session.Head))
		if err != nil {
			return err
		}
		var list []Entry
		if entries, err = s.replaceExpired(ctx, t, session, entries); err != nil {
			return err
		}
		for _, e := range entries {
			if e.Kind.control() {
				continue
			}
			id, err := s.idForMerge(ctx, t, session, y, e)
			if err != nil {
				return err
			}
			if id != "" {
				list = append(list, Entry{ID: id, Kind: e.Kind, Raw: e.Raw})
			}
		}
		if err := s.checkNoProviderCompaction(ctx, t, y, list); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrUsage, from, err)
		}
		result, err := s.append(ctx, t, y, Anywhere, list)
		added = len(list) - result.Replayed
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("merge %s into %s: %w", from, into, err)
	}
	s.watchers.wake(y.sid)
	s.emit(eventMerged, EventData{Session: into, From: &from, Head: y.Head, Entries: added})
	return added, nil
}

// checkNoProviderCompaction returns an error if one of the entries holds the provider's own
// compaction and the session has messages.
func (s *Store) checkNoProviderCompaction(ctx context.Context, t *tx, y *Session, list []Entry) error {
	n, err := s.countMessages(ctx, t, y, 1, y.Head)
	if err != nil || n == 0 {
		return err
	}
	for _, e := range list {
		if e.Kind != KindMessage {
			continue
		}
		var r row
		if err := s.inspectMessage(y, &r, e.Raw); err == nil && r.flags&flagProviderCompaction != 0 {
			return fmt.Errorf("entry %q holds the provider's own compaction, which would stand for the messages of %s, too", e.ID, y.Key)
		}
	}
	return nil
}

// idForMerge returns the id of an entry in another session, or "" if the session has the entry,
// because it is shared or was merged before.
func (s *Store) idForMerge(ctx context.Context, t *tx, session, y *Session, e Entry) (string, error) {
	if session.owner(e.Seq) == y.owner(e.Seq) && e.Seq <= y.Head && y.state.visible(e.Seq) {
		return "", nil
	}
	sum := checksum(e.Raw)
	id := e.ID
	for n := 0; ; n++ {
		seq, old, err := s.findByID(ctx, t, y, id)
		switch {
		case err != nil:
			return "", err
		case seq == 0:
			return id, nil
		case string(old) == string(sum[:]) && y.state.visible(seq):
			return "", nil
		}
		id = e.ID + "~" + strconv.FormatInt(session.sid, 36)
		if n > 0 {
			id += "." + strconv.Itoa(n)
		}
	}
}
