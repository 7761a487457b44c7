// Package tables reads and writes the sessions of agents that keep them in a SQLite database:
// opencode and goose.
//
// A session is presented as the document that its agent would export. Writing compares the old and
// the new document and changes only the rows that differ, in one transaction, if the session has
// not changed since it was read. The old rows are kept in a file next to the database, from which
// [Undo] restores them. Other sessions of the database are not affected and may be in use
// meanwhile.
package tables

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	_ "modernc.org/sqlite" // registers the driver

	"github.com/pare-llm/pare/internal/agentlog"
)

// ErrUnknown is returned for a database without sessions of a known agent.
var ErrUnknown = fmt.Errorf("%w: the database is none of opencode or goose", agentlog.ErrFormat)

// ErrModified is returned if a session was changed after it was read.
var ErrModified = errors.New("the session was changed in the meantime; run the command again")

// sqliteHeader is the beginning of a SQLite file.
const sqliteHeader = "SQLite format 3\x00"

// IsDatabase reports whether a file is a SQLite database.
func IsDatabase(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, len(sqliteHeader))
	n, _ := f.Read(head)
	return n == len(head) && string(head) == sqliteHeader
}

// SplitName splits the name of a session in a database, FILE#ID. ok is false if there is a file
// with the whole name, or no database before the #.
func SplitName(name string) (path, id string, ok bool) {
	i := strings.LastIndexByte(name, '#')
	if i < 0 {
		return "", "", false
	}
	if _, err := os.Lstat(name); err == nil {
		return "", "", false
	}
	return name[:i], name[i+1:], IsDatabase(name[:i])
}

// A layout reads and writes the tables of an agent.
type layout interface {
	// sessions returns the sessions, oldest first.
	sessions(*sql.Tx) ([]entry, error)
	// read returns the document of a session.
	read(tx *sql.Tx, id string) ([]byte, error)
	// write updates the rows of a session to match a document.
	write(j *journal, id string, was, now []byte) error
	format() agentlog.Format
}

// An entry describes a session in a database.
type entry struct {
	id         string
	modified   time.Time
	bytes      int64
	isSubAgent bool // the conversation of a sub-agent
}

// A Session is one session of a database.
type Session struct {
	entry
	path string // of the database
	layout
}

// Name returns the name of the session, FILE#ID.
func (s *Session) Name() string { return s.path + "#" + s.id }

// Format returns the format of the session's document.
func (s *Session) Format() agentlog.Format { return s.format() }

// IsSubAgent reports whether the session is that of a sub-agent.
func (s *Session) IsSubAgent() bool { return s.isSubAgent }

// Sessions returns the sessions of a database.
func Sessions(path string) (all []*Session, err error) {
	err = withReadTx(path, func(tx *sql.Tx) error {
		l, err := detectLayout(tx)
		if err != nil {
			return err
		}
		list, err := l.sessions(tx)
		for _, e := range list {
			all = append(all, &Session{e, path, l})
		}
		return err
	})
	return all, err
}

// Find returns the session with the given id.
func Find(path, id string) (*Session, error) {
	all, err := Sessions(path)
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if s.id == id {
			return s, nil
		}
	}
	return nil, fmt.Errorf("no session %s in %s: %w", id, filepath.Base(path), fs.ErrNotExist)
}

// Places returns the sessions of a database for a search. If aside is set, it includes those of
// sub-agents.
func Places(a *agentlog.Agent, path string, aside bool) ([]agentlog.Place, error) {
	if !IsDatabase(path) {
		return nil, ErrUnknown
	}
	sessions, err := Sessions(path)
	var all []agentlog.Place
	for _, s := range sessions {
		if aside || !s.isSubAgent {
			all = append(all, agentlog.Place{Agent: a, Path: s.Name(), Info: s.info(), Bytes: s.bytes, Rows: s})
		}
	}
	return all, err
}

// Read returns the document of the session.
func (s *Session) Read() (raw []byte, format agentlog.Format, err error) {
	err = withReadTx(s.path, func(tx *sql.Tx) error {
		raw, err = s.read(tx, s.id)
		return err
	})
	return raw, s.format(), err
}

// Write updates the rows of the session from was to now and returns the name of the backup.
func (s *Session) Write(was, now []byte) (backup string, err error) {
	return withJournal(s.path, s.id, func(j *journal) error {
		if raw, err := s.read(j.tx, s.id); err != nil {
			return err
		} else if !bytes.Equal(raw, was) {
			return ErrModified
		}
		if err := s.write(j, s.id, was, now); err != nil {
			return err
		}
		raw, err := s.read(j.tx, s.id)
		if err == nil && !sameJSON(raw, now) {
			err = errors.New("the rows could not be made what they should be, so nothing was written")
		}
		return err
	})
}

// sameJSON reports whether two documents are equal. The order of members may differ.
func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// File returns the database and the information of the session. The agent may be using other
// sessions, so the time is that of this session.
func (s *Session) File() (path string, info fs.FileInfo) { return s.path, s.info() }

func (s *Session) info() fs.FileInfo { return sessionFileInfo{s.Name(), s.entry} }

// A sessionFileInfo presents a session as a file.
type sessionFileInfo struct {
	name string
	entry
}

func (i sessionFileInfo) Name() string       { return filepath.Base(i.name) }
func (i sessionFileInfo) Size() int64        { return i.bytes }
func (i sessionFileInfo) Mode() fs.FileMode  { return 0o600 }
func (i sessionFileInfo) ModTime() time.Time { return i.modified }
func (i sessionFileInfo) IsDir() bool        { return false }
func (i sessionFileInfo) Sys() any           { return nil }

// withReadTx runs a transaction that changes neither the database nor the files next to it. Without
// a write-ahead log, the database is opened as immutable, because SQLite would otherwise create
// files for its locks.
func withReadTx(path string, read func(*sql.Tx) error) error {
	q := url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(5000)"}}
	if st, err := os.Stat(path + "-wal"); err != nil || st.Size() == 0 {
		q.Set("immutable", "1")
	}
	return withTx(path, q, read)
}

// withTx runs a transaction on a database.
func withTx(path string, q url.Values, do func(*sql.Tx) error) error {
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+q.Encode())
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	tx, err := db.BeginTx(context.Background(), nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after a commit
	if err := do(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// detectLayout returns the layout of a database by its tables.
func detectLayout(tx *sql.Tx) (layout, error) {
	for _, l := range []struct {
		table, column string
		layout
	}{{"part", "data", openCode{}}, {"messages", "content_json", goose{}}} {
		var n int
		if err := tx.QueryRow(`SELECT count(*) FROM pragma_table_info(?) WHERE name = ?`, l.table, l.column).Scan(&n); err != nil {
			return nil, err
		}
		if n == 1 {
			return l.layout, nil
		}
	}
	return nil, ErrUnknown
}
