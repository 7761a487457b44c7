package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
)

// salvage opens a damaged file for reading, unless its tables are of another version.
func (s *Store) salvage(ctx context.Context) error {
	e, ok := s.eng.(*sqliteEngine)
	if !ok {
		return errors.ErrUnsupported // a server looks after its files
	}
	db, err := salvageDB(e.path)
	if err != nil {
		return err
	}
	// The table that has the version may be lost: then the others are tried all the same.
	if n, err := version(ctx, db); err == nil && n != schema || err != nil && !e.isDamaged(err) {
		db.Close()
		return errors.Join(fmt.Errorf("the database has version %d, this program knows %d", n, schema), err)
	}
	e.checks.stop()
	s.reader.Close()
	s.writer.Close()
	s.reader, s.writer, s.salvaged, e.salvaged = db, db, true, true
	s.loadSecret(ctx) // without it a picture that is not read yet cannot be told from a text
	return nil
}

// salvageDB opens a file as it is. SQLite refuses to read a file that is shorter than it should be,
// unless somebody says that the schema may be repaired by hand, which is what this is.
func salvageDB(path string) (*sql.DB, error) {
	return sql.Open("sqlite", sqliteURL(path, url.Values{"_pragma": {"busy_timeout(20000)", "writable_schema(1)", "query_only(1)"}}))
}
