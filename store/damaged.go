package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/transcript"
)

// quarantineReason describes entries in quarantine.
const quarantineReason = "its bytes are damaged, and are kept as they are"

// markDamaged replaces an entry by a placeholder if err is a *CorruptError, and returns other
// errors. A damaged entry does not stop a session. Fsck quarantines it: it sets a bit and keeps the
// row, so that the row can be restored.
func (s *Session) markDamaged(e *storedEntry, err error) error {
	var corrupt *CorruptError
	if !errors.As(err, &corrupt) {
		return err
	}
	e.Damaged = corrupt.What
	what := "is damaged: what it said is missing here]"
	if e.Gone {
		what = "and others were let go of, and the summary that stood for them is damaged]"
	}
	text := fmt.Sprintf("%sentry %s %s", wording.Mark, describeEntry(&e.Entry), what)
	if e.Kind != KindMessage && e.Kind != KindReply {
		e.Raw, err = json.Marshal(text)
		return err
	}
	d, err := s.dialect()
	if err != nil {
		return err
	}
	e.Raw = dialect.TextMessage(d, transcript.User, text)
	return nil
}

// describeEntry names an entry in a placeholder. It adds the id if that is a plain word, because a
// bracket would end the placeholder.
func describeEntry(e *Entry) string {
	const plain = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._:/-"
	if e.ID != "" && len(e.ID) <= 80 && strings.Trim(e.ID, plain) == "" {
		return fmt.Sprintf("%d (%s)", e.Seq, e.ID)
	}
	return fmt.Sprint(e.Seq)
}

// newestCompaction returns the newest readable compaction in force, or zero values. If a compaction
// is damaged, windows use the one before it.
func (s *Store) newestCompaction(ctx context.Context, t *tx, session *Session) (compactionRef, Compaction, error) {
	for _, k := range slices.Backward(session.state.Compactions) {
		c, err := s.readCompaction(ctx, t, session, k.Seq)
		for _, m := range c.Prefix {
			if err == nil && session.readMedia {
				_, err = s.fillMediaIn(ctx, t, m)
			}
		}
		if err == nil {
			return k, c, nil
		}
		if isMediumError(err) {
			continue
		}
		var corrupt *CorruptError
		if !errors.As(err, &corrupt) {
			return k, c, err
		}
	}
	return compactionRef{}, Compaction{}, nil
}
