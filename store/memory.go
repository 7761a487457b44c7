package store

import (
	"context"
	"time"

	"github.com/pare-llm/pare"
)

// Memory keeps summaries, so that every process sends the same ones. It is the memory
// of a [pare.Compactor].
func (s *Store) Memory() pare.Memory { return &summaryMemory{s} }

// A Memory keeps texts by name, those that were used last: they can be made again. Many
// goroutines may use it.
type summaryMemory struct{ s *Store }

const (
	// summaryLife is how long a text is kept that nobody asks for.
	summaryLife = 90 * 24 * time.Hour
	// maxSummaries is about how many are kept.
	maxSummaries = 20_000
	// summarySweep is after how many texts the oldest are looked for.
	summarySweep = 500
	// summaryTouch is how old the time of the last use may be.
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
		m.s.write(ctx, func(t *tx) error { // the text is there, whether that can be written or not
			_, err := t.exec(ctx, `UPDATE summaries SET at = ? WHERE key = ?`, now, key)
			return err
		})
	}
	return text, err == nil
}

// Store keeps a text; the first one of a name stays.
func (m *summaryMemory) Store(key, text string) {
	if m.s.checkOpen() != nil {
		return // it can be made again
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
