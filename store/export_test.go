package store

import "context"

// Routes are the rows of the handler's table, for the tests.
func Routes() (all [][2]string) {
	for _, r := range routes {
		all = append(all, [2]string{r.method, r.path})
	}
	return all
}

// Exec runs a statement behind the back of the store.
func (s *Store) Exec(query string, args ...any) error {
	_, err := s.wdb.Exec(s.eng.bind(query), args...)
	return err
}

// Weight is what a session weighs.
func Weight(x *Session) int64 { return x.cum }

// Count asks for a number.
func (s *Store) Count(query string, args ...any) (n int) {
	if err := s.db.QueryRow(s.eng.bind(query), args...).Scan(&n); err != nil {
		panic(err)
	}
	return n
}

// HoldLock locks a session in a transaction and calls a function before it ends.
func HoldLock(s *Store, key Key, f func()) error {
	return s.write(context.Background(), func(t *tx) error {
		if _, err := s.live(context.Background(), t, key, true); err != nil {
			return err
		}
		f()
		return nil
	})
}
