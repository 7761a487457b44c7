package main

import (
	"database/sql"
	"encoding/json"
	"os"
	"slices"
	"strings"

	_ "modernc.org/sqlite" // opencode keeps its sessions so
)

// openCodeRows are the parts of the messages in opencode's database that are JSON.
func openCodeRows(file string) (all []byte) {
	_ = inTables(file, func(db *sql.DB) error {
		rows, err := db.Query(`SELECT p.data, p.id FROM part p JOIN message m ON m.id = p.message_id ORDER BY m.time_created, m.id, p.id`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var data, id string
			if err := rows.Scan(&data, &id); err != nil {
				return err
			}
			var o object
			if json.Unmarshal([]byte(data), &o) != nil {
				continue
			}
			if state, ok := o["state"].(object); ok { // notes outside of the conversation
				delete(state, "metadata")
				delete(state, "title")
			}
			all = append(append(all, raw(o)...), '\n')
		}
		return rows.Err()
	})
	return all
}

// tableRows are all rows of the conversations in a database, as they are.
func tableRows(file string) (all []byte) {
	_ = inTables(file, func(db *sql.DB) error {
		rows, err := db.Query(`SELECT id, data FROM message UNION ALL SELECT id, data FROM part ORDER BY 1`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id, data string
			if err := rows.Scan(&id, &data); err != nil {
				return err
			}
			all = append(append(append(append(all, id...), ' '), data...), '\n')
		}
		return rows.Err()
	})
	return all
}

func inTables(file string, do func(db *sql.DB) error) error {
	db, err := sql.Open("sqlite", file)
	if err != nil {
		return err
	}
	defer db.Close()
	return do(db)
}

// rowDamages are those of opencode's database: of the newest part of a call that has ended.
func rowDamages() []damage {
	const part = `id = (SELECT id FROM part WHERE data LIKE '%"type":"tool"%' AND data LIKE '%"completed"%' ORDER BY id DESC LIMIT 1)`
	var all []damage
	for _, d := range []struct{ name, do string }{
		{"output lost", `UPDATE part SET data = json_remove(data, '$.state.output') WHERE ` + part},
		{"call still running", `UPDATE part SET data = json_set(json_remove(data, '$.state.output'), '$.state.status', 'running') WHERE ` + part},
		{"part of a call lost", `DELETE FROM part WHERE ` + part},
		{"part of a call torn", `UPDATE part SET data = substr(data, 1, length(data) / 2) WHERE ` + part},
		{"message of a call lost", `DELETE FROM message WHERE id = (SELECT message_id FROM part WHERE ` + part + `)`},
		{"message of a call torn", `UPDATE message SET data = substr(data, 1, length(data) / 2) WHERE id = (SELECT message_id FROM part WHERE ` + part + `)`},
	} {
		all = append(all, damage{d.name, func(c *campaign, dir string) bool {
			changed := false
			err := inTables(c.newest(seat{dir: dir}), func(db *sql.DB) error {
				result, err := db.Exec(d.do)
				if err == nil {
					n, _ := result.RowsAffected()
					changed = n > 0
				}
				return err
			})
			return err == nil && changed
		}})
	}
	return all
}

// historyDamages are those of Continue's one object: of the newest item with a call.
func historyDamages() []damage {
	var all []damage
	item := func(name string, change func(item object) bool) {
		all = append(all, damage{name, func(c *campaign, dir string) bool {
			file := c.newest(seat{dir: dir})
			data, _ := os.ReadFile(file)
			var o object
			if json.Unmarshal(data, &o) != nil {
				return false
			}
			list, _ := o["history"].([]any)
			for _, x := range slices.Backward(list) {
				if item, _ := x.(object); item["toolCallStates"] != nil && change(item) {
					now, err := json.MarshalIndent(o, "", "  ")
					return err == nil && os.WriteFile(file, now, 0o644) == nil
				}
			}
			return false
		}})
	}
	state := func(change func(s object)) func(object) bool {
		return func(item object) bool {
			list, _ := item["toolCallStates"].([]any)
			for _, s := range list {
				change(s.(object))
			}
			return len(list) > 0
		}
	}
	whole := func(name string, change func(data []byte) []byte) {
		all = append(all, damage{name, func(c *campaign, dir string) bool {
			file := c.newest(seat{dir: dir})
			data, err := os.ReadFile(file)
			return err == nil && os.WriteFile(file, change(data), 0o644) == nil
		}})
	}
	item("output lost", state(func(s object) { delete(s, "output") }))
	item("states lost", func(item object) bool { delete(item, "toolCallStates"); return true })
	item("calls lost", func(item object) bool {
		m, _ := item["message"].(object)
		delete(m, "toolCalls")
		return m != nil
	})
	whole("all twice", func(d []byte) []byte { return slices.Concat(d, []byte("\n"), d) })
	whole("torn", func(d []byte) []byte { return d[:len(d)/2] })
	whole("byte order mark", func(d []byte) []byte { return slices.Concat(mark, d) })
	return all
}

// filler returns a meaningless text of about so many tokens. It has words, because some
// clients count characters and would underestimate random letters.
func filler(tokens int) string {
	words := strings.Fields("about after again below could every first found great house large learn never other place plant point right small sound spell still study their there these thing think three water where which world would write years")
	var b strings.Builder
	for n := uint64(88172645463325252); b.Len() < 5*tokens; {
		n ^= n << 13
		n ^= n >> 7
		n ^= n << 17
		b.WriteString(words[n%uint64(len(words))] + " ")
	}
	return strings.TrimSpace(b.String())
}
