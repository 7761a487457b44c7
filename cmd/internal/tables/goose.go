package tables

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/internal/jsonedit"
	"github.com/pare-llm/pare/internal/jsonspan"
)

// goose is the database of goose since version 1.10, with a row of messages for each message. Newer
// versions have a column with message ids. When goose compacts a session, it replaces its rows by
// new ones. This package does the same from the first changed row on.
type goose struct{}

func (goose) format() agentlog.Format { return agentlog.Goose }

func (goose) sessions(tx *sql.Tx) (all []entry, err error) {
	rows, err := tx.Query(`
		SELECT s.id, s.id IS NULL, max(coalesce(CAST(strftime('%s', s.updated_at) AS INTEGER), 0), coalesce(max(m.created_timestamp), 0)), coalesce(sum(length(m.content_json)), 0)
		FROM sessions s JOIN messages m ON m.session_id = s.id GROUP BY s.id ORDER BY 3, 1`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var e entry
		var at int64
		if err := rows.Scan(&e.id, &e.isSubAgent, &at, &e.bytes); err != nil {
			return nil, err
		}
		if e.modified = time.Unix(at, 0); at > 1e11 {
			e.modified = time.UnixMilli(at)
		}
		all = append(all, e)
	}
	return all, rows.Err()
}

// A gooseRow is a row of messages, and its message in the document.
type gooseRow struct {
	key     int64
	message []byte
}

func (g goose) read(tx *sql.Tx, id string) ([]byte, error) {
	var folder, name string
	if err := tx.QueryRow(`SELECT coalesce(working_dir, ''), coalesce(description, '') FROM sessions WHERE id = ?`, id).Scan(&folder, &name); err != nil {
		return nil, err
	}
	head, err := json.Marshal(map[string]string{"id": id, "working_dir": folder, "description": name})
	if err != nil {
		return nil, err
	}
	rows, err := g.rows(tx, id)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.Write(head[:len(head)-1])
	b.WriteString(`,"conversation":[`)
	for i, r := range rows {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
		b.Write(r.message)
	}
	b.WriteString("\n]}\n")
	return b.Bytes(), nil
}

// rows returns the messages of a session in the order in which goose sends them.
func (g goose) rows(tx *sql.Tx, id string) (all []gooseRow, err error) {
	named, order := "NULL", "timestamp, id"
	if hasColumn(tx, "messages", "message_id") {
		named, order = "message_id", "created_timestamp, id"
	}
	rows, err := tx.Query(`SELECT id, `+named+`, role, content_json, created_timestamp, metadata_json FROM messages WHERE session_id = ? ORDER BY `+order, id)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var r gooseRow
		var name, metadata sql.NullString
		var role, content string
		var created int64
		if err := rows.Scan(&r.key, &name, &role, &content, &created, &metadata); err != nil {
			return nil, err
		}
		r.message = gooseMessage(name, role, content, created, metadata)
		all = append(all, r)
	}
	return all, rows.Err()
}

// gooseMessage returns the message of a row.
func gooseMessage(name sql.NullString, role, content string, created int64, metadata sql.NullString) []byte {
	var id, meta []byte
	if name.Valid {
		id = jsonedit.Quote(name.String)
	}
	if jsonspan.Valid([]byte(content)) != nil {
		content = `[]`
	}
	if metadata.Valid && jsonspan.Valid([]byte(metadata.String)) == nil {
		meta = bytes.TrimSpace([]byte(metadata.String))
	}
	return jsonedit.New("id", id, "role", role, "created", strconv.AppendInt(nil, created, 10), "content", bytes.TrimSpace([]byte(content)), "metadata", meta)
}

func hasColumn(tx *sql.Tx, table, column string) bool {
	var n int
	return tx.QueryRow(`SELECT count(*) FROM pragma_table_info(?) WHERE name = ?`, table, column).Scan(&n) == nil && n > 0
}

func (g goose) write(j *journal, id string, _, now []byte) error {
	var d struct {
		Conversation []json.RawMessage `json:"conversation"`
	}
	if err := json.Unmarshal(now, &d); err != nil {
		return err
	}
	old, err := g.rows(j.tx, id)
	if err != nil {
		return err
	}
	same := 0
	for same < len(old) && same < len(d.Conversation) && bytes.Equal(old[same].message, d.Conversation[same]) {
		same++
	}
	// Insert the rest after all other rows. Unchanged messages keep all columns of their rows.
	kept := map[string][]gooseRow{}
	for _, r := range old[same:] {
		kept[string(r.message)] = append(kept[string(r.message)], r)
	}
	var top int64
	if err := j.tx.QueryRow(`SELECT coalesce(max(id), 0) FROM messages`).Scan(&top); err != nil {
		return err
	}
	like := int64(-1) // the preceding row, a template for new ones
	if same > 0 {
		like = old[same-1].key
	} else if len(old) > 0 {
		like = old[0].key
	}
	last := "" // the time of the preceding row, which is a lower bound
	if same > 0 {
		if err := j.tx.QueryRow(`SELECT quote(timestamp) FROM messages WHERE id = ?`, like).Scan(&last); err != nil {
			return err
		}
	}
	for _, m := range d.Conversation[same:] {
		from := like
		stays := kept[string(m)]
		if len(stays) > 0 {
			from = stays[0].key
			kept[string(m)] = stays[1:]
			like = from
		}
		top++
		if last, err = g.put(j, top, from, m, len(stays) > 0, last); err != nil {
			return err
		}
	}
	for _, r := range old[same:] {
		key := strconv.FormatInt(r.key, 10)
		if err := j.noteBefore("messages", key); err != nil {
			return err
		}
		if err := j.replaceRow("messages", key, nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// put inserts a message as a new row. An unchanged message keeps all columns of row like; a new one
// copies its session and time. goose sends messages in order of time, so no row may be earlier than
// the preceding one.
func (g goose) put(j *journal, key, like int64, message []byte, stays bool, last string) (stamp string, err error) {
	names, values, err := j.readRow("messages", strconv.FormatInt(like, 10))
	if err != nil || values == nil {
		return "", errors.Join(err, errors.New("no row of the session is left to take after"))
	}
	if err := j.noteBefore("messages", strconv.FormatInt(key, 10)); err != nil {
		return "", err
	}
	var m struct {
		ID       *string         `json:"id"`
		Role     string          `json:"role"`
		Created  int64           `json:"created"`
		Content  json.RawMessage `json:"content"`
		Metadata json.RawMessage `json:"metadata"`
	}
	if err := json.Unmarshal(message, &m); err != nil {
		return "", err
	}
	for i, name := range names {
		switch {
		case name == "timestamp":
			values[i] = max(values[i], last)
			stamp = values[i]
		case name == "id":
			values[i] = strconv.FormatInt(key, 10)
		case stays:
		case name == "message_id" && m.ID != nil:
			values[i] = quoteText(*m.ID)
		case name == "role":
			values[i] = quoteText(m.Role)
		case name == "content_json":
			values[i] = quoteText(string(m.Content))
		case name == "created_timestamp":
			values[i] = strconv.FormatInt(m.Created, 10)
		case name == "metadata_json" && m.Metadata != nil:
			values[i] = quoteText(string(m.Metadata))
		case name == "tokens":
			values[i] = "NULL"
		}
	}
	return stamp, j.replaceRow("messages", strconv.FormatInt(key, 10), names, values)
}
