package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// AcceptCompaction replaces everything up to an entry by the provider's own compaction of exactly
// these messages. The next window begins with the given messages, and the entries after upto
// follow. Undo works as with other compactions.
func (s *Store) AcceptCompaction(ctx context.Context, key Key, upto string, messages ...[]byte) (*Compaction, error) {
	if len(messages) == 0 {
		return nil, fmt.Errorf("swap %s: %w: there is no message", key, ErrUsage)
	}
	token := NewID()
	session, err := s.acquireLease(ctx, key, token)
	if err != nil {
		return nil, err
	}
	ctx, done := s.keepLease(ctx, session.sid, token)
	defer done()
	compaction := &Compaction{Archive: "pare-" + NewID()}
	for i, m := range messages {
		r, err := session.readMessage(m)
		if err == nil {
			err = checkMessage(r, 0)
		}
		if err != nil {
			return nil, fmt.Errorf("swap %s: %w: message %d: %w", key, ErrUsage, i, err)
		}
		compaction.Prefix = append(compaction.Prefix, json.RawMessage(m))
	}
	var prior compactionRef
	err = s.read(ctx, func(t *tx) error {
		if prior, _, err = s.newestCompaction(ctx, t, session); err != nil {
			return err
		}
		compaction.To, _, err = s.findByID(ctx, t, session, upto)
		if err == nil && (compaction.To == 0 || !session.state.visible(compaction.To)) {
			err = fmt.Errorf("swap %s: %w: %q", key, ErrNoCursor, upto)
		}
		if err == nil && compaction.To <= prior.To {
			err = fmt.Errorf("swap %s: %w: a summary stands for it already: %q", key, ErrUsage, upto)
		}
		if err == nil {
			compaction.Messages, err = s.countMessages(ctx, t, session, prior.To+1, compaction.To)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := s.commitCompaction(ctx, session, compaction, prior, token); err != nil {
		if errors.Is(err, errSplitsExchange) {
			err = fmt.Errorf("%w: %w", ErrUsage, errSplitsExchange)
		}
		return nil, fmt.Errorf("swap %s: %w", key, err)
	}
	s.watchers.wake(session.sid)
	s.emit("compaction_completed", EventData{Session: key, To: compaction.To, Messages: compaction.Messages, Archive: compaction.Archive})
	return compaction, nil
}

// countMessages counts the messages in force of a range.
func (s *Store) countMessages(ctx context.Context, t *tx, session *Session, from, to int64) (n int, err error) {
	for _, st := range session.ranges(from, to) {
		var k int
		if err := t.row(ctx, `SELECT count(*) FROM entries WHERE pos BETWEEN ? AND ? AND kind = 'message'`, pos(st.owner, st.from), pos(st.owner, st.to)).Scan(&k); err != nil {
			return 0, err
		}
		n += k
	}
	return n, nil
}
