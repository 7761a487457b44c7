package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
)

// salvage opens a damaged file for reading, unless its tables have another version.
func (s *Store) salvage(ctx context.Context) error {
	e, ok := s.engine.(*sqliteEngine)
	if !ok {
		return errors.ErrUnsupported // servers repair their own files
	}
	db, err := salvageDB(e.path)
	if err != nil {
		return err
	}
	// The table with the version may be lost.
	if n, err := version(ctx, db); err == nil && n != schema || err != nil && !e.isDamaged(err) {
		db.Close()
		return errors.Join(fmt.Errorf("the database has version %d, this program knows %d", n, schema), err)
	}
	e.checks.stop()
	s.reader.Close()
	s.writer.Close()
	s.reader, s.writer, s.salvaged, e.salvaged = db, db, true, true
	s.loadSecret(ctx) // without it, media markers look like text
	return nil
}

// salvageDB opens a file without checks. SQLite reads a truncated file only with writable_schema.
func salvageDB(path string) (*sql.DB, error) {
	return sql.Open("sqlite", sqliteURL(path, url.Values{"_pragma": {"busy_timeout(20000)", "writable_schema(1)", "query_only(1)"}}))
}
