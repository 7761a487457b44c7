package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
)

// transcript returns the entries of a session that are lines of an agent's session file,
// and who reads them; nil: it has messages, or nobody does. Which lines the agent would
// send is told by links between them and by marks of its own compactions, so all that are
// in force are read.
func (s *Store) readTranscript(ctx context.Context, t *tx, session *Session) (lines []byte, read Transcript, err error) {
	if session.Dialect != "" || session.cum > 0 || len(s.options.Transcripts) == 0 { // only messages weigh
		return nil, nil, nil
	}
	all, err := s.scanAll(ctx, t, session, 1, session.Head, math.MaxInt)
	if err != nil {
		return nil, nil, err
	}
	var kind Kind // that of the last one: a session has one
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
			continue // whoever reads the lines sees that one is missing
		}
		line := bytes.NewBuffer(lines)
		if err := json.Compact(line, e.Raw); err != nil { // a line is a line, however it was sent
			return nil, nil, err
		}
		lines = append(line.Bytes(), '\n')
	}
	return lines, s.options.Transcripts[kind], nil
}

// resumed is the history of a transcript. The session takes over what the lines say about
// the dialect, and about the model if it has none; neither is written.
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
