package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/pare-llm/pare/wire"
)

// Export selects a part of a session. The zero value selects all of it.
type Export struct {
	LastTurns int // the last turns, or all if there are fewer
	FromTurn  int // from this turn on, counted from 1; an error if there are fewer
	// All also exports entries that are not messages, except reverts, undos and compactions.
	// Replies that no message follows are always exported.
	All bool
}

// Export calls f with the entries in force, oldest first, and stops at the first error. The state
// is that at the time of the call. The part begins earlier if it would split an exchange. Messages
// of a summary replace those that retention has deleted.
func (s *Store) Export(ctx context.Context, key Key, o Export, f func(Entry) error) error {
	if o.LastTurns > 0 && o.FromTurn > 0 {
		return fmt.Errorf("export: %w: LastTurns and FromTurn exclude each other", ErrUsage)
	}
	var from int64 = 1
	head := int64(-1)
	replaced := false
	var last int64
	for {
		var entries, stand []Entry
		err := s.read(ctx, func(t *tx) error {
			session, err := s.live(ctx, t, key, false)
			if err != nil {
				return err
			}
			if head < 0 {
				head = session.Head
				if from, err = s.exportFrom(ctx, t, session, o); err != nil {
					return err
				}
			} else if session.Head > head { // later reverts do not matter
				if err := s.rewindTo(ctx, t, session, head); err != nil {
					return err
				}
			}
			if entries, err = s.entries(ctx, t, session, from, head, 256); err != nil {
				return err
			}
			if err := s.restoreCacheMarkers(ctx, t, session, entries); err != nil {
				return err
			}
			if last, err = s.lastMessage(ctx, t, session); err != nil || replaced {
				return err
			}
			stand, err = s.summaryMessages(ctx, t, session, entries)
			return err
		})
		if err != nil {
			return fmt.Errorf("export %s: %w", key, err)
		}
		for _, e := range stand {
			replaced = true
			if err := f(e); err != nil {
				return err
			}
		}
		for _, e := range entries {
			from = e.Seq + 1
			if e.Gone || e.Kind.control() || !(o.All || e.Kind == KindMessage || e.Kind == KindReply && e.Seq > last) {
				continue
			}
			if err := f(e); err != nil {
				return err
			}
		}
		if len(entries) == 0 {
			return nil
		}
	}
}

// summaryMessages returns the messages of the compaction that replaces deleted entries, or nil if
// none of the entries is deleted.
func (s *Store) summaryMessages(ctx context.Context, t *tx, session *Session, entries []Entry) (list []Entry, err error) {
	if !slices.ContainsFunc(entries, func(e Entry) bool { return e.Gone }) {
		return nil, nil
	}
	session.readMedia = true
	last, c, err := s.newestCompaction(ctx, t, session)
	if err != nil {
		return nil, err
	}
	for i, m := range c.Prefix {
		raw, err := s.fillMediaIn(ctx, t, m)
		if err != nil {
			return nil, err
		}
		list = append(list, Entry{ID: fmt.Sprintf("%s-%d", c.Archive, i), Kind: KindMessage, Raw: raw, Seq: last.Seq})
	}
	return list, nil
}

// replaceExpired replaces deleted entries by the messages of the compaction.
func (s *Store) replaceExpired(ctx context.Context, t *tx, session *Session, entries []Entry) ([]Entry, error) {
	list, err := s.summaryMessages(ctx, t, session, entries)
	if err != nil {
		return nil, err
	}
	return append(list, slices.DeleteFunc(entries, func(e Entry) bool { return e.Gone })...), nil
}

// exportFrom returns the number of the first entry to export.
func (s *Store) exportFrom(ctx context.Context, t *tx, session *Session, o Export) (int64, error) {
	switch {
	case o.LastTurns > 0:
		turns, err := s.lastTurns(ctx, t, session, session.Head, o.LastTurns)
		if err != nil || len(turns) < o.LastTurns {
			return 1, err
		}
		return s.expandStart(ctx, t, session, turns[len(turns)-1])
	case o.FromTurn > 0:
		turns, err := s.findMarked(ctx, t, session, markTurn, 1, session.Head, false, o.FromTurn)
		if err != nil {
			return 0, err
		}
		if len(turns) < o.FromTurn {
			return 0, fmt.Errorf("%w: there are only %d turns", ErrUsage, len(turns))
		}
		return s.expandStart(ctx, t, session, turns[o.FromTurn-1])
	}
	return 1, nil
}

// Request returns the messages in force as one request, without repairs and summaries, and the
// numbers of their entries.
func (s *Store) Request(ctx context.Context, key Key) (*wire.Request, []int64, error) {
	session, err := s.Session(ctx, key)
	if err != nil {
		return nil, nil, err
	}
	var (
		messages [][]byte
		seqs     []int64
	)
	err = s.Export(ctx, key, Export{}, func(e Entry) error {
		messages, seqs = append(messages, e.Raw), append(seqs, e.Seq)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	body, err := session.body(nil, messages)
	if err != nil {
		return nil, nil, fmt.Errorf("session %s: %w: %w", key, ErrUsage, err)
	}
	r, err := session.parse(body)
	return r, seqs, err
}
