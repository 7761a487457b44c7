package store

import (
	"database/sql"
	"strings"
)

// A toyEngine keeps sessions in a file of SQLite, and counts what is written.
type toyEngine struct {
	engine
	writes int
}

func openToy(dsn string) (read, write *sql.DB, eng engine, err error) {
	read, write, eng, err = openSQLite(strings.TrimPrefix(dsn, "toy://"))
	return read, write, &toyEngine{engine: eng}, err
}

func (e *toyEngine) afterWrite() {
	e.writes++
	e.engine.afterWrite()
}

// Writes is how many transactions have written something, for the proof.
func (s *Store) Writes() int { return s.engine.(*toyEngine).writes }
