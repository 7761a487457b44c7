package store

import (
	"context"
	"time"

	"github.com/pare-llm/pare"
)

// Memory returns a memory of summaries that all processes on the database share, for a
// [pare.Compactor].
func (s *Store) Memory() pare.Memory { return &summaryMemory{s} }

// A summaryMemory keeps the most recently used texts by name.
type summaryMemory struct{ s *Store }

const (
	// summaryLife is the time after which unused texts are deleted.
	summaryLife = 90 * 24 * time.Hour
	// maxSummaries is the approximate limit of texts.
	maxSummaries = 20_000
	// summarySweep is the number of new texts after which old ones are deleted.
	summarySweep = 500
	// summaryTouch is the precision of the time of the last use.
	summaryTouch = 24 * time.Hour
)

// Load returns a text.
func (m *summaryMemory) Load(key string) (text string, ok bool) {
	ctx := context.Background()
	var at int64
	err := m.s.read(ctx, func(t *tx) error {
		return t.row(ctx, `SELECT text, at FROM summaries WHERE key = ?`, key).Scan(&text, &at)
	})
	if now := m.s.now(); err == nil && now-at > summaryTouch.Microseconds() {
		m.s.write(ctx, func(t *tx) error {
			_, err := t.exec(ctx, `UPDATE summaries SET at = ? WHERE key = ?`, now, key)
			return err
		})
	}
	return text, err == nil
}

// Store keeps a text. The first text of a name stays.
func (m *summaryMemory) Store(key, text string) {
	if m.s.checkOpen() != nil {
		return
	}
	ctx := context.Background()
	now := m.s.now()
	m.s.write(ctx, func(t *tx) error {
		_, err := t.exec(ctx, `INSERT INTO summaries (key, text, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, key, text, now)
		return err
	})
	if m.s.keptSummaries.Add(1)%summarySweep == 1 {
		m.s.write(ctx, func(t *tx) error {
			_, err := t.exec(ctx, `DELETE FROM summaries WHERE at < ? OR at < (SELECT at FROM summaries ORDER BY at DESC LIMIT 1 OFFSET ?)`,
				now-summaryLife.Microseconds(), maxSummaries-1)
			return err
		})
	}
}
