package store

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
