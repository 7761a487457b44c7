package tables

import (
	"bytes"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/pare-llm/pare/internal/atomicfile"
)

// A rowChange holds the values of a row before and after a change as SQL literals, by column. They
// are empty if the row did not exist or no longer exists.
type rowChange struct {
	Table string   `json:"table"`
	Key   string   `json:"key"` // the id as a literal
	Names []string `json:"columns"`
	Was   []string `json:"was"`
	Now   []string `json:"now"`
}

// A journal records the rows that a transaction changes.
type journal struct {
	tx    *sql.Tx
	rows  []*rowChange
	names map[string][]string // columns by table
}

// withJournal runs a transaction that changes rows of a session. Before it commits, it writes the
// old rows to a backup on disk, next to the database.
func withJournal(path, id string, do func(*journal) error) (backup string, err error) {
	q := url.Values{"mode": {"rw"}, "_txlock": {"immediate"}, "_pragma": {"busy_timeout(5000)", "foreign_keys(0)"}}
	err = withTx(path, q, func(tx *sql.Tx) error {
		j := &journal{tx: tx, names: map[string][]string{}}
		if err := do(j); err != nil {
			return err
		}
		if err := j.noteAfter(); err != nil {
			return err
		}
		backup, err = j.writeBackup(path + "#" + id)
		return err
	})
	if err != nil && backup != "" {
		_ = os.Remove(backup) // nothing has changed
		backup = ""
	}
	return backup, err
}

// writeBackup writes the changes to a new backup file.
func (j *journal) writeBackup(name string) (string, error) {
	var b bytes.Buffer
	for _, r := range j.rows {
		line, err := json.Marshal(r)
		if err != nil {
			return "", err
		}
		b.Write(append(line, '\n'))
	}
	n := 0
	if all := atomicfile.Backups(name); len(all) > 0 {
		n = all[0] + 1
	}
	to := atomicfile.BackupName(name, n)
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = f.Write(b.Bytes())
	return to, errors.Join(err, f.Sync(), f.Close())
}

// noteBefore records a row before it is changed, inserted or deleted.
func (j *journal) noteBefore(table string, key string) error {
	for _, r := range j.rows {
		if r.Table == table && r.Key == key {
			return nil
		}
	}
	names, was, err := j.readRow(table, key)
	j.rows = append(j.rows, &rowChange{Table: table, Key: key, Names: names, Was: was})
	return err
}

// noteAfter records the new values of the rows.
func (j *journal) noteAfter() (err error) {
	for _, r := range j.rows {
		if _, r.Now, err = j.readRow(r.Table, r.Key); err != nil {
			return err
		}
	}
	return nil
}

// readRow returns the values of a row as literals. values is nil if there is no such row.
func (j *journal) readRow(table, key string) (names, values []string, err error) {
	if names, err = j.columns(table); err != nil {
		return nil, nil, err
	}
	quoted := make([]string, len(names))
	into := make([]any, len(names))
	values = make([]string, len(names))
	for i, n := range names {
		// Convert texts with null bytes to blobs, because SQLite would end the literal at the null.
		quoted[i] = fmt.Sprintf(`CASE WHEN typeof(%[1]s) = 'text' AND instr(CAST(%[1]s AS BLOB), x'00') > 0 THEN 'CAST(x''' || hex(%[1]s) || ''' AS TEXT)' ELSE quote(%[1]s) END`, quoteIdent(n))
		into[i] = &values[i]
	}
	err = j.tx.QueryRow(fmt.Sprintf(`SELECT %s FROM %s WHERE id = %s`, strings.Join(quoted, ", "), quoteIdent(table), key)).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return names, nil, nil
	}
	for i, v := range values {
		if !utf8.ValidString(v) { // JSON cannot represent it
			text := strings.ReplaceAll(v[1:len(v)-1], "''", "'")
			values[i] = "CAST(x'" + hex.EncodeToString([]byte(text)) + "' AS TEXT)"
		}
	}
	return names, values, err
}

// columns returns the columns of a table.
func (j *journal) columns(table string) ([]string, error) {
	if j.names[table] != nil {
		return j.names[table], nil
	}
	rows, err := j.tx.Query(`SELECT name FROM pragma_table_info(?) ORDER BY cid`, table)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		j.names[table] = append(j.names[table], name)
	}
	return j.names[table], rows.Err()
}

// replaceRow replaces a row by one with the given literals. Without values, it deletes the row.
func (j *journal) replaceRow(table, key string, names, values []string) error {
	if _, err := j.tx.Exec(fmt.Sprintf(`DELETE FROM %s WHERE id = %s`, quoteIdent(table), key)); err != nil || values == nil {
		return err
	}
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = quoteIdent(n)
	}
	_, err := j.tx.Exec(fmt.Sprintf(`INSERT INTO %s (%s) VALUES (%s)`, quoteIdent(table), strings.Join(quoted, ", "), strings.Join(values, ", ")))
	return err
}

func quoteIdent(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// quoteText returns a text as an SQL literal.
func quoteText(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// Undone describes a session that was restored.
type Undone struct {
	Name   string // of the session
	Backup string // the backup that was restored
	Kept   string // the new backup with the rows from before
}

// Undo restores the rows of a session from its newest backup in one transaction, and backs up the
// current rows, so that a second undo reverts the first one. Unless force is set, it returns
// [ErrChanged] if one of the rows has changed since. If id is "", it restores the session that was
// written last.
func Undo(path, id string, force bool) (done Undone, err error) {
	if id == "" {
		if id, err = lastWritten(path); err != nil {
			return Undone{}, err
		}
	}
	name := path + "#" + id
	all := atomicfile.Backups(name)
	if len(all) == 0 {
		return Undone{}, errNoBackup
	}
	from := atomicfile.BackupName(name, all[0])
	rows, err := readJournal(from)
	if err != nil {
		return Undone{}, err
	}
	kept, err := withJournal(path, id, func(j *journal) error {
		for _, r := range rows {
			if err := j.noteBefore(r.Table, r.Key); err != nil {
				return err
			}
			if is := j.rows[len(j.rows)-1].Was; !force && strings.Join(is, "\x00") != strings.Join(r.Now, "\x00") {
				return ErrChanged
			}
			if err := j.replaceRow(r.Table, r.Key, r.Names, r.Was); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = os.Remove(from)
	}
	return Undone{name, from, kept}, err
}

// ErrChanged is returned if a session has changed since it was written.
var ErrChanged = errors.New("it was changed after it was rewritten: going back would lose that")

var errNoBackup = errors.New("there is no backup of it")

// lastWritten returns the session of a database with the newest backup.
func lastWritten(path string) (id string, err error) {
	var last os.FileInfo
	sessions, err := Sessions(path)
	if err != nil {
		return "", err
	}
	for _, s := range sessions {
		for _, n := range atomicfile.Backups(s.Name()) {
			st, err := os.Stat(atomicfile.BackupName(s.Name(), n))
			if err == nil && (last == nil || st.ModTime().After(last.ModTime())) {
				last, id = st, s.id
			}
		}
	}
	if last == nil {
		return "", errNoBackup
	}
	return id, nil
}

// readJournal reads a backup.
func readJournal(name string) ([]rowChange, error) {
	raw, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var all []rowChange
	d := json.NewDecoder(bytes.NewReader(raw))
	for d.More() {
		var r rowChange
		if err := d.Decode(&r); err != nil || len(r.Names) == 0 {
			return nil, fmt.Errorf("%s is not a backup of rows", name)
		}
		all = append(all, r)
	}
	return all, nil
}
