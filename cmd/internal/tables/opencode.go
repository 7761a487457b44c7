package tables

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/internal/jsonedit"
	"github.com/pare-llm/pare/internal/jsonspan"
)

// openCode is the database of opencode since version 1.2. The column data of the tables message and
// part holds the exported object without its ids. Seen with 1.18.33, which sends messages by
// creation time and id, and parts by id.
type openCode struct{}

func (openCode) format() agentlog.Format { return agentlog.OpenCodeExport }

func (openCode) sessions(tx *sql.Tx) (all []entry, err error) {
	rows, err := tx.Query(`
		SELECT s.id, s.parent_id IS NOT NULL, max(s.time_updated, coalesce(max(p.time_updated), 0)), coalesce(sum(length(p.data)), 0)
		FROM session s JOIN part p ON p.session_id = s.id GROUP BY s.id ORDER BY 3, 1`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var e entry
		var ms int64
		if err := rows.Scan(&e.id, &e.isSubAgent, &ms, &e.bytes); err != nil {
			return nil, err
		}
		e.modified = time.UnixMilli(ms)
		all = append(all, e)
	}
	return all, rows.Err()
}

func (o openCode) read(tx *sql.Tx, id string) ([]byte, error) {
	var b bytes.Buffer
	var s struct {
		ID        string           `json:"id"`
		ParentID  *string          `json:"parentID,omitempty"`
		Directory string           `json:"directory"`
		Title     string           `json:"title"`
		Version   string           `json:"version"`
		Time      map[string]int64 `json:"time"`
	}
	var created, updated int64
	err := tx.QueryRow(`SELECT id, parent_id, directory, title, version, time_created, time_updated FROM session WHERE id = ?`, id).
		Scan(&s.ID, &s.ParentID, &s.Directory, &s.Title, &s.Version, &created, &updated)
	if err != nil {
		return nil, err
	}
	s.Time = map[string]int64{"created": created, "updated": updated}
	head, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	parts, err := o.parts(tx, id)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(&b, "{\"info\":%s,\"messages\":[", head)
	rows, err := tx.Query(`SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id`, id)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for n := 0; rows.Next(); n++ {
		var message string
		var data []byte
		if err := rows.Scan(&message, &data); err != nil {
			return nil, err
		}
		if n > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "\n{\"info\":%s,\"parts\":[", withIDs(data, "id", message, "sessionID", id))
		for i, p := range parts[message] {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "\n%s", p)
		}
		b.WriteString("]}")
	}
	b.WriteString("\n]}\n")
	return b.Bytes(), rows.Err()
}

// parts returns the parts of a session, by message.
func (openCode) parts(tx *sql.Tx, id string) (map[string][][]byte, error) {
	rows, err := tx.Query(`SELECT id, message_id, data FROM part WHERE session_id = ? ORDER BY id`, id)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[string][][]byte{}
	for rows.Next() {
		var part, message string
		var data []byte
		if err := rows.Scan(&part, &message, &data); err != nil {
			return nil, err
		}
		all[message] = append(all[message], withIDs(data, "id", part, "sessionID", id, "messageID", message))
	}
	return all, rows.Err()
}

// unreadRow is the member with the text of a row that is not a JSON object. Package agentlog
// repairs such rows.
const unreadRow = "pare_row"

// withIDs returns the object of a row with the values of its id columns, as in an export.
func withIDs(data []byte, pairs ...string) []byte {
	if jsonspan.Valid(data) != nil || len(bytes.TrimSpace(data)) == 0 || bytes.TrimSpace(data)[0] != '{' {
		data = jsonedit.New(unreadRow, string(bytes.ToValidUTF8(data, []byte("\uFFFD"))))
	}
	out := bytes.TrimSpace(data)
	for i := 0; i < len(pairs); i += 2 {
		out = jsonedit.Set(out, pairs[i], pairs[i+1])
	}
	return out
}

// withoutIDs returns an exported object as a row holds it.
func withoutIDs(data []byte) []byte { return jsonedit.Of(data).Without("id", "sessionID", "messageID") }

// An ocRow is a row of a document.
type ocRow struct {
	ID      string `json:"id"`
	Message string `json:"messageID"`
	raw     []byte
}

// rowsOf returns the rows of a document by table.
func rowsOf(doc []byte) (all map[string][]ocRow, err error) {
	var d struct {
		Messages []struct {
			Info  json.RawMessage   `json:"info"`
			Parts []json.RawMessage `json:"parts"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(doc, &d); err != nil {
		return nil, err
	}
	all = map[string][]ocRow{}
	add := func(table string, raw []byte) error {
		r := ocRow{raw: raw}
		all[table] = append(all[table], r)
		return json.Unmarshal(raw, &all[table][len(all[table])-1])
	}
	for _, m := range d.Messages {
		if err := add("message", m.Info); err != nil {
			return nil, err
		}
		for _, p := range m.Parts {
			if err := add("part", p); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

func (openCode) write(j *journal, id string, was, now []byte) error {
	before, err := rowsOf(was)
	if err != nil {
		return err
	}
	after, err := rowsOf(now)
	if err != nil {
		return err
	}
	for _, table := range []string{"message", "part"} {
		old := map[string][]byte{}
		for _, r := range before[table] {
			old[r.ID] = r.raw
		}
		for _, r := range after[table] {
			raw, there := old[r.ID]
			delete(old, r.ID)
			if there && bytes.Equal(raw, r.raw) {
				continue
			}
			if err := writeOpenCode(j, table, id, r, there); err != nil {
				return err
			}
		}
		for _, r := range before[table] {
			if old[r.ID] == nil {
				continue
			}
			if err := j.noteBefore(table, quoteText(r.ID)); err != nil {
				return err
			}
			if err := j.replaceRow(table, quoteText(r.ID), nil, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeOpenCode writes one row. It keeps the row's times, because a repair is not a use of the
// session.
func writeOpenCode(j *journal, table, session string, r ocRow, there bool) error {
	data := withoutIDs(r.raw)
	if err := j.noteBefore(table, quoteText(r.ID)); err != nil {
		return err
	}
	if there {
		_, err := j.tx.Exec(`UPDATE `+quoteIdent(table)+` SET data = ? WHERE id = ?`, string(data), r.ID)
		return err
	}
	if table != "part" {
		return fmt.Errorf("a message %s that is not in the database", r.ID)
	}
	_, err := j.tx.Exec(`INSERT INTO part (id, message_id, session_id, time_created, time_updated, data)
		SELECT ?, id, session_id, time_created, time_updated, ? FROM message WHERE id = ? AND session_id = ?`, r.ID, string(data), r.Message, session)
	return err
}
