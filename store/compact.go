package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/jsonedit"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A Compaction is the body of an entry that replaces everything up to another entry in windows. The
// replaced entries stay in the session.
type Compaction struct {
	// To is the last entry that it replaces. No exchange crosses it.
	To int64 `json:"to"`
	// Cum is the weight of all entries that it replaces, including those of earlier compactions.
	Weight int64 `json:"cum"`
	// Prefix are the messages that are sent instead, byte for byte.
	Prefix []json.RawMessage `json:"prefix"`
	// Summary is the text in Prefix. It is empty for the provider's own compaction.
	Summary string `json:"summary,omitempty"`
	// Messages counts the replaced messages that no earlier compaction replaces. Archive is the
	// handle that recalls them.
	Messages int    `json:"messages"`
	Archive  string `json:"archive"`

	combined []combinedHandle // of summaries that were summarized again
}

// A combinedHandle is a new handle for everything that several handles refer to.
type combinedHandle struct {
	name  string
	parts []string
}

// Encode returns the compaction as JSON. The bytes of its messages stay as they are.
func (c *Compaction) Encode() ([]byte, error) {
	bare := *c
	bare.Prefix = nil
	raw, err := json.Marshal(bare)
	if err != nil {
		return nil, err
	}
	list := make([][]byte, len(c.Prefix))
	for i, m := range c.Prefix {
		list[i] = m
	}
	return setMember(raw, "prefix", jsonedit.List(list...))
}

// Compact replaces the older part of a session by a summary, and leaves the messages that the
// compactor keeps. Only one compaction of a session runs at a time, in all processes; others return
// ErrBusy. Entries may be appended while the summary is written. If there is nothing to compact, it
// returns nil.
func (s *Store) Compact(ctx context.Context, key Key, c *pare.Compactor) (*Compaction, error) {
	token := NewID()
	session, err := s.acquireLease(ctx, key, token)
	if err != nil {
		return nil, err
	}
	ctx, done := s.keepLease(ctx, session.sid, token)
	defer done()
	s.emit("compaction_started", EventData{Session: key, Head: session.Head})
	compaction, err := s.compact(ctx, session, c, token)
	switch {
	case err != nil:
		s.emit("compaction_failed", EventData{Session: key, Error: err.Error()})
		return nil, fmt.Errorf("compact %s: %w", key, err)
	case compaction == nil:
		s.emit("compaction_skipped", EventData{Session: key})
		return nil, nil
	}
	s.watchers.wake(session.sid)
	s.emit("compaction_completed", EventData{Session: key, To: compaction.To, Messages: compaction.Messages, Archive: compaction.Archive})
	return compaction, nil
}

// compact asks for a summary and commits it. Only the lease is held meanwhile.
func (s *Store) compact(ctx context.Context, session *Session, c *pare.Compactor, token string) (*Compaction, error) {
	var h history
	err := s.read(ctx, func(t *tx) (err error) {
		h, err = s.loadHistory(ctx, t, session, readLimit{})
		return err
	})
	if err != nil || len(h.messages) == 0 {
		return nil, err
	}
	body, err := session.body(nil, h.messages)
	if err != nil {
		return nil, err
	}
	r, err := session.parse(body)
	if err != nil {
		return nil, err
	}
	minKeep := c.MinKeep
	if minKeep == 0 {
		minKeep = 12
	}
	cut, ok := r.Transcript().Split(minKeep, c.Inside)
	if !ok || h.seqs[cut.Before()-1] == 0 { // only the last summary precedes the cut
		return nil, nil
	}
	// The summary names the handle, for people and for the model.
	compaction := &Compaction{To: h.seqs[cut.Before()-1], Archive: "pare-" + NewID()}
	plan, err := planner.CompactNamed(ctx, c, r, func(together ...string) string {
		if len(together) == 0 {
			return compaction.Archive
		}
		compaction.combined = append(compaction.combined, combinedHandle{"pare-" + NewID(), together})
		return compaction.combined[len(compaction.combined)-1].name
	})
	if err != nil {
		return nil, err
	}
	if compaction.Summary, ok = findNewSummary(r, plan.Result()); !ok {
		return nil, nil
	}
	if compaction.Prefix, compaction.Messages = buildPrefix(r, cut, h.seqs, compaction.Summary, c.Options.FoldTask); compaction.Messages == 0 {
		return nil, nil
	}
	return compaction, s.commitCompaction(ctx, session, compaction, h.prior, token)
}

// buildPrefix returns the messages before the cut that stay, followed by the summary, and the
// number of replaced messages. Messages without a number belong to a summary and are not counted
// again. With foldTask, the task is replaced as well.
func buildPrefix(r *wire.Request, cut transcript.Cut, seqs []int64, summary string, foldTask bool) (list []json.RawMessage, messages int) {
	t := r.Transcript()
	task, from := foldTask, 0
	gone := func(seq int64) {
		if seq != 0 {
			messages++
		}
	}
	if t.IsCompacted() && t.StartMessage() < cut.Before() {
		// The provider's own compaction is never summarized. It includes the task and everything
		// before it.
		list, task, from = append(list, dialect.CompactionMessage(r)), true, t.StartMessage()+1
		for _, seq := range seqs[:t.StartMessage()] {
			gone(seq)
		}
	}
	for i, m := range t.Messages()[from:cut.Before()] {
		raw := t.Bytes(m.Span)
		switch {
		case m.Role == transcript.System:
			list = append(list, raw)
		case !task && m.Begins && !(seqs[from+i] == 0 && isSummary(r, m)):
			list = append(list, raw)
			task = true
		default:
			gone(seqs[from+i])
		}
	}
	text := wording.SummaryBegin + "\n" + summary + "\n" + wording.SummaryEnd
	return append(list, dialect.TextMessage(r.Dialect, transcript.User, text)), messages
}

// isSummary reports whether a message is the summary of a compaction.
func isSummary(r *wire.Request, m transcript.Message) bool {
	return m.First < m.End && strings.HasPrefix(r.Text(m.First), wording.SummaryBegin+"\n")
}

// findNewSummary returns the text of a summary that after has and before lacks. It follows the
// marker on a line of its own.
func findNewSummary(before, after *wire.Request) (string, bool) {
	known := make(map[string]bool)
	findText := func(r *wire.Request, f func(text string) bool) bool {
		for b, blk := range r.Transcript().Blocks() {
			if blk.Kind != transcript.Text {
				continue
			}
			if text := r.Text(transcript.BlockID(b)); strings.Contains(text, wording.SummaryBegin) && f(text) {
				return true
			}
		}
		return false
	}
	findText(before, func(text string) bool { known[text] = true; return false })
	summary := ""
	found := findText(after, func(text string) bool {
		at := strings.LastIndex("\n"+text, "\n"+wording.SummaryBegin+"\n")
		if known[text] || at < 0 {
			return false
		}
		summary, _, _ = strings.Cut(text[at+len(wording.SummaryBegin):], wording.SummaryEnd)
		summary = strings.TrimSpace(summary)
		return true
	})
	return summary, found
}

// ErrStale is wrapped by the error for a compaction of entries that are no longer in force. Nothing
// was changed.
var ErrStale = errors.New("the session was reverted or compacted while the summary was written; nothing was changed")

// errSplitsExchange reports that a summary would end within an exchange.
var errSplitsExchange = errors.New("a call that it would stand for is answered behind it")

// commitCompaction writes a compaction and its handle, if the lease is still held and the
// summarized entries are still in force. It sets Cum.
func (s *Store) commitCompaction(ctx context.Context, session *Session, compaction *Compaction, prior compactionRef, token string) error {
	return s.write(ctx, func(t *tx) error {
		now, err := s.live(ctx, t, session.Key, true)
		if err != nil {
			return err
		}
		var holder string
		if err := t.row(ctx, `SELECT token FROM leases WHERE sid = ?`, now.sid).Scan(&holder); err != nil || holder != token {
			return errors.Join(ErrBusy, err)
		}
		last, _, err := s.newestCompaction(ctx, t, now)
		if err != nil {
			return err
		}
		if last.Seq != prior.Seq || !now.state.visible(compaction.To) || compaction.To <= prior.To {
			return ErrStale
		}
		// Entries that were appended meanwhile must not answer calls before the cut.
		if end, err := s.expandEnd(ctx, t, now, compaction.To); err != nil || end != compaction.To {
			return errors.Join(err, fmt.Errorf("%w: %w", ErrStale, errSplitsExchange))
		}
		if compaction.Weight, err = s.weightUpTo(ctx, t, now, compaction.To); err != nil {
			return err
		}
		ref := archive.Item{ID: compaction.Archive, Raw: reference{Key: now.Key, From: prior.To + 1, To: compaction.To}.encode()}
		if err := s.insertArchiveItem(ctx, t, now, ref, true); err != nil {
			return err
		}
		for _, h := range compaction.combined {
			if err := s.archiveCombined(ctx, t, now, h); err != nil {
				return err
			}
		}
		raw, err := compaction.Encode()
		if err != nil {
			return err
		}
		if err := s.appendControl(ctx, t, now, KindCompaction, raw); err != nil {
			return err
		}
		return s.linkMedia(ctx, t, now, raw)
	})
}

// archiveCombined archives the range from the first to the last entry of several handles under a
// new handle. Handles that are unknown or deleted are skipped.
func (s *Store) archiveCombined(ctx context.Context, t *tx, session *Session, h combinedHandle) error {
	all := reference{}
	for _, name := range h.parts {
		var raw []byte
		var ref reference
		err := t.row(ctx, `SELECT raw FROM archive WHERE scope = ? AND id = ? AND refers = 1 ORDER BY sid LIMIT 1`, session.Scope, name).Scan(&raw)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err == nil {
			err = json.Unmarshal(raw, &ref)
		}
		if err != nil {
			return err
		}
		if all.To == 0 {
			all = ref
		}
		all.From, all.To = min(all.From, ref.From), max(all.To, ref.To)
	}
	if all.To == 0 {
		return nil
	}
	all.Key = session.Key // a fork has the entries of its parent
	return s.insertArchiveItem(ctx, t, session, archive.Item{ID: h.name, Raw: all.encode()}, true)
}

// readCompaction reads a compaction.
func (s *Store) readCompaction(ctx context.Context, t *tx, session *Session, seq int64) (c Compaction, err error) {
	e, err := s.entry(ctx, t, session, session.owner(seq), seq)
	if errors.Is(err, sql.ErrNoRows) {
		err = &CorruptError{session.Key, seq, "the summary is missing"}
	}
	if err == nil {
		err = s.open(ctx, t, session, &e)
	}
	if err == nil {
		err = json.Unmarshal(e.Raw, &c)
	}
	return c, err
}
