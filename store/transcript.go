package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
)

// readTranscript returns the entries that are lines of an agent's session file, and their reader.
// The reader is nil if the session has messages or nothing reads its entries. All lines in force
// are read, because links and compactions within them determine the request.
func (s *Store) readTranscript(ctx context.Context, t *tx, session *Session) (lines []byte, read Transcript, err error) {
	if session.Dialect != "" || session.weight > 0 || len(s.options.Transcripts) == 0 { // only messages have a weight
		return nil, nil, nil
	}
	all, err := s.scanAll(ctx, t, session, 1, session.Head, math.MaxInt)
	if err != nil {
		return nil, nil, err
	}
	var kind Kind // that of the last entry: a session has one
	for _, e := range all {
		if s.options.Transcripts[e.Kind] != nil {
			kind = e.Kind
		}
	}
	for i := range all {
		e := &all[i]
		if kind == "" || e.Kind != kind {
			continue
		}
		if err := session.markDamaged(e, s.open(ctx, t, session, e)); err != nil {
			return nil, nil, err
		}
		if e.Damaged != "" {
			continue
		}
		line := bytes.NewBuffer(lines)
		if err := json.Compact(line, e.Raw); err != nil {
			return nil, nil, err
		}
		lines = append(line.Bytes(), '\n')
	}
	return lines, s.options.Transcripts[kind], nil
}

// historyFromTranscript returns the history of a transcript. It sets the dialect of the session,
// and the model if it has none, without storing them.
func historyFromTranscript(session *Session, lines []byte, read Transcript) (h history, err error) {
	r, err := read(lines, session.Model)
	if err != nil {
		return h, fmt.Errorf("window of %s: its transcript: %w", session.Key, err)
	}
	session.Dialect = r.Dialect.String()
	if session.Model == "" {
		session.Model = r.Model()
	}
	t := r.Transcript()
	h.from = 1
	for _, m := range t.Messages() {
		h.messages, h.seqs = append(h.messages, t.Bytes(m.Span)), append(h.seqs, 0)
	}
	return h, nil
}
