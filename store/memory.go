package store

import "context"

// Memory keeps summaries, so that every process sends the same ones. It is the memory
// of a [pare.Compactor].
func (s *Store) Memory() *Memory { return &Memory{s} }

// A Memory keeps texts by name. Many goroutines may use it.
type Memory struct{ s *Store }

// Load returns a text.
func (m *Memory) Load(key string) (text string, ok bool) {
	err := m.s.read(context.Background(), func(t *tx) error {
		return t.row(context.Background(), `SELECT text FROM summaries WHERE key = ?`, key).Scan(&text)
	})
	return text, err == nil
}

// Store keeps a text; the first one of a name stays.
func (m *Memory) Store(key, text string) {
	m.s.write(context.Background(), func(t *tx) error {
		_, err := t.exec(context.Background(), `INSERT INTO summaries (key, text, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, key, text, m.s.now())
		return err
	})
}
