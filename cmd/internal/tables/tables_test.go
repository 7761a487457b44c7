package tables

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/wire"
)

// The tables as created by opencode 1.18.33, goose 1.10 and later versions of goose.
const (
	openCodeSchema = `
	CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, directory text NOT NULL, title text NOT NULL, version text NOT NULL, cost real DEFAULT 0 NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL);
	CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL REFERENCES session(id) ON DELETE CASCADE, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
	CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL REFERENCES message(id) ON DELETE CASCADE, session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);`
	gooseSchema = `
	CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '', description TEXT NOT NULL DEFAULT '', working_dir TEXT NOT NULL, updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
	CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, %s session_id TEXT NOT NULL REFERENCES sessions(id), role TEXT NOT NULL, content_json TEXT NOT NULL, created_timestamp INTEGER NOT NULL, timestamp TIMESTAMP DEFAULT CURRENT_TIMESTAMP, tokens INTEGER, metadata_json TEXT);`
)

// database creates a database from statements, in WAL mode like the agents.
func database(t *testing.T, name string, statements ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	execute(t, path, append([]string{"PRAGMA journal_mode=wal"}, statements...)...)
	return path
}

func execute(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// openCodeDB returns an opencode database with two sessions: ses_1 with turns of a prompt, a call
// with its result, and an answer, and ses_2 with only a prompt.
func openCodeDB(t *testing.T, turns int) string {
	all := []string{
		openCodeSchema,
		`INSERT INTO session VALUES ('ses_1', 'global', NULL, '/w', 'it''s a title', '1.18.33', 0.25, 1000, 2000)`,
		`INSERT INTO session VALUES ('ses_2', 'global', 'ses_1', '/w', 'sub', '1.18.33', 0, 1000, 2000)`,
		`INSERT INTO message VALUES ('msg_z', 'ses_2', 9, 9, '{"role":"user"}')`,
		`INSERT INTO part VALUES ('prt_z', 'msg_z', 'ses_2', 9, 9, '{"type":"text","text":"other"}')`,
	}
	row := func(table, columns, data string) {
		all = append(all, fmt.Sprintf(`INSERT INTO %s VALUES (%s, '%s')`, table, columns, strings.ReplaceAll(data, "'", "''")))
	}
	for i := range turns {
		n := 10 * i
		message := func(k int, data string) string {
			id := fmt.Sprintf("msg_%04d", n+k)
			row("message", fmt.Sprintf("'%s', 'ses_1', %d, %d", id, n+k, n+k), data)
			return id
		}
		parts := 0
		part := func(message, data string) {
			parts++
			row("part", fmt.Sprintf("'prt_%04d', '%s', 'ses_1', %d, %d", n+parts, message, n, n), data)
		}
		part(message(0, `{"role":"user","time":{"created":1},"model":{"providerID":"local","modelID":"claude-sonnet-4-5"}}`), fmt.Sprintf(`{"type":"text","text":"prompt %d"}`, i))
		m := message(1, `{"role":"assistant","modelID":"claude-sonnet-4-5","tokens":{"input":90,"output":5,"reasoning":0,"cache":{"read":5,"write":5}},"finish":"tool-calls"}`)
		part(m, `{"type":"step-start"}`)
		part(m, fmt.Sprintf(`{"type":"tool","tool":"bash","callID":"call_%d","state":{"status":"completed","input":{"command":"ls"},"output":"%s","title":"","metadata":{},"time":{"start":1,"end":2}}}`, i, strings.Repeat("a file ", 50)))
		part(message(2, `{"role":"assistant","modelID":"claude-sonnet-4-5","finish":"stop"}`), fmt.Sprintf(`{"type":"text","text":"answer %d"}`, i))
	}
	return database(t, "opencode.db", all...)
}

// gooseDB returns a database with a session of goose, in the old layout or, if named is true, the
// new one.
func gooseDB(t *testing.T, turns int, named bool) string {
	column, value := "", func(int) string { return "" }
	if named {
		column, value = "message_id TEXT,", func(n int) string { return fmt.Sprintf("'msg_%d',", n) }
	}
	all := []string{fmt.Sprintf(gooseSchema, column), `INSERT INTO sessions VALUES ('20261118_1', 'n', 'd', '/w', '2026-11-18 10:00:00')`}
	n := 0
	say := func(role, content string) {
		n++
		all = append(all, fmt.Sprintf(`INSERT INTO messages VALUES (%d, %s '20261118_1', '%s', '%s', %d, '2026-11-18 10:00:%02d', 7, '{"userVisible":true,"agentVisible":true}')`, n, value(n), role, content, 1000+n/2, n/2))
	}
	for i := range turns {
		say("user", fmt.Sprintf(`[{"type":"text","text":"prompt %d"}]`, i))
		say("assistant", fmt.Sprintf(`[{"type":"toolRequest","id":"call_%d","toolCall":{"status":"success","value":{"name":"shell","arguments":{"command":"ls"}}}}]`, i))
		say("user", fmt.Sprintf(`[{"type":"toolResponse","id":"call_%d","toolResult":{"status":"success","value":[{"type":"text","text":"%s"}]}}]`, i, strings.Repeat("a file ", 50)))
		say("assistant", fmt.Sprintf(`[{"type":"text","text":"answer %d"}]`, i))
	}
	return database(t, "sessions.db", all...)
}

// dump returns the contents of tables, to compare two states of a database.
func dump(t *testing.T, path string, tables ...string) string {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	sum := sha256.New()
	for _, table := range tables {
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		j := &journal{tx: tx, names: map[string][]string{}}
		rows, err := tx.Query(`SELECT quote(id) FROM ` + table + ` ORDER BY id`)
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for rows.Next() {
			var k string
			if err := rows.Scan(&k); err != nil {
				t.Fatal(err)
			}
			keys = append(keys, k)
		}
		for _, k := range keys {
			names, values, err := j.readRow(table, k)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(sum, table, names, values)
		}
		_ = tx.Rollback()
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// stores returns databases with a session to work on.
func stores(t *testing.T, turns int) map[string]struct {
	path, id string
	tables   []string
	cut      []string // removes the result of the last call
} {
	type store = struct {
		path, id string
		tables   []string
		cut      []string
	}
	rows := []string{"sessions", "messages"}
	return map[string]store{
		"opencode": {openCodeDB(t, turns), "ses_1", []string{"session", "message", "part"}, []string{
			`UPDATE part SET data = json_set(json_remove(data, '$.state.output'), '$.state.status', 'running') WHERE id = (SELECT max(id) FROM part WHERE json_extract(data, '$.type') = 'tool')`,
		}},
		"goose":       {gooseDB(t, turns, false), "20261118_1", rows, []string{`DELETE FROM messages WHERE id = (SELECT max(id) - 1 FROM messages)`}},
		"goose named": {gooseDB(t, turns, true), "20261118_1", rows, []string{`DELETE FROM messages WHERE id = (SELECT max(id) - 1 FROM messages)`}},
	}
}

// TestFixAndUndo checks that a session with a lost result is repaired in its database, that a
// second run finds nothing, that other sessions stay unchanged, and that undo restores every value
// of every row.
func TestFixAndUndo(t *testing.T) {
	for name, s := range stores(t, 3) {
		t.Run(name, func(t *testing.T) {
			execute(t, s.path, s.cut...)
			before := dump(t, s.path, s.tables...)
			fixed := repaired(t, s.path, s.id)
			if len(fixed.Changes) == 0 {
				t.Fatal("nothing was repaired")
			}
			after := dump(t, s.path, s.tables...)
			if after == before {
				t.Fatal("nothing was written")
			}
			if again := repaired(t, s.path, s.id); len(again.Changes) > 0 {
				t.Errorf("a second repair changes something: %v", again.Changes)
			}
			for _, want := range []string{before, after, before} {
				if _, err := Undo(s.path, "", false); err != nil {
					t.Fatal(err)
				}
				if got := dump(t, s.path, s.tables...); got != want {
					t.Errorf("undo does not restore the rows")
				}
			}
			// The session continues.
			execute(t, s.path, strings.NewReplacer("output", "title").Replace(s.cut[0]))
			if name == "opencode" {
				if _, err := Undo(s.path, s.id, false); !errors.Is(err, ErrChanged) {
					t.Errorf("undo of a session that went on: %v", err)
				}
			}
		})
	}
}

// repaired repairs a session in its database.
func repaired(t *testing.T, path, id string) *agentlog.Fixed {
	t.Helper()
	s, err := Find(path, id)
	if err != nil {
		t.Fatal(err)
	}
	l, err := agentlog.OpenRows(s.Name(), s, agentlog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	fixed, err := l.Fix(agentlog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	write(t, s, l, fixed)
	return fixed
}

func write(t *testing.T, s *Session, l *agentlog.Stored, fixed *agentlog.Fixed) {
	t.Helper()
	w := agentlog.Writer{}
	for _, r := range l.Replacements(fixed) {
		if err := w.Stage(r); err != nil {
			t.Fatal(err)
		}
	}
	done, err := w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range done {
		if _, err := os.Stat(d.Backup); err != nil {
			t.Error(err)
		}
	}
	if l, err = agentlog.OpenRows(s.Name(), s, agentlog.Options{}); err != nil || agentlog.Broken(l.Check(wire.CheckOptions{})) {
		t.Errorf("what was written: %v, %v", err, l.Check(wire.CheckOptions{}))
	}
}

// TestShorten checks that a session is shortened in its database, that the prompts stay, and that
// the sent part matches the plan.
func TestShorten(t *testing.T) {
	for name, s := range stores(t, 12) {
		t.Run(name, func(t *testing.T) {
			before := dump(t, s.path, s.tables...)
			x, err := Find(s.path, s.id)
			if err != nil {
				t.Fatal(err)
			}
			l, err := agentlog.OpenRows(x.Name(), x, agentlog.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var planned int
			fixed, err := l.Shorten(agentlog.Options{}, func(t *agentlog.Thread, _ agentlog.Size) (*pare.Plan, error) {
				p := pare.Policy{Window: &pare.Window{Tokens: 400}}
				plan, err := p.Plan(context.Background(), t.Request)
				if err == nil {
					planned = len(plan.Result().Transcript().Messages())
				}
				return plan, err
			})
			if err != nil {
				t.Fatal(err)
			}
			write(t, x, l, fixed)
			again, err := agentlog.OpenRows(x.Name(), x, agentlog.Options{})
			if err != nil {
				t.Fatal(err)
			}
			sent := again.Sent()[0]
			if got := len(sent.Request.Raw()); got >= len(l.Sent()[0].Request.Raw())/2 {
				t.Errorf("%d bytes are sent, of %d; %d messages were planned", got, len(l.Sent()[0].Request.Raw()), planned)
			}
			if last := sent.Request.Raw(); !bytes.Contains(last, []byte("prompt 11")) || !bytes.Contains(last, []byte("prompt 0")) {
				t.Errorf("the task or the last prompt is gone: %s", last)
			}
			if _, err := Undo(s.path, s.id, false); err != nil || dump(t, s.path, s.tables...) != before {
				t.Errorf("undo: %v", err)
			}
		})
	}
}

// TestTornRowsAreReplaced checks that rows that are not JSON, with which opencode does not open the
// session, are replaced and their remaining text is kept.
func TestTornRowsAreReplaced(t *testing.T) {
	for name, cut := range map[string]string{
		"part":         `UPDATE part SET data = substr(data, 1, 30) WHERE id = 'prt_0003'`,
		"empty part":   `UPDATE part SET data = '' WHERE id = 'prt_0003'`,
		"a user's":     `UPDATE part SET data = substr(data, 1, length(data) - 3) WHERE id = 'prt_0001'`,
		"message":      `UPDATE message SET data = substr(data, 1, 20) WHERE id = 'msg_0001'`,
		"no output":    `UPDATE part SET data = json_remove(data, '$.state.output') WHERE id = 'prt_0003'`,
		"no UTF-8":     `UPDATE part SET data = CAST(x'7b22ff' AS TEXT) WHERE id = 'prt_0003'`,
		"null in text": `UPDATE part SET data = CAST(x'7b220022' AS TEXT) WHERE id = 'prt_0003'`,
	} {
		t.Run(name, func(t *testing.T) {
			path := openCodeDB(t, 2)
			execute(t, path, cut)
			before := dump(t, path, "session", "message", "part")
			if fixed := repaired(t, path, "ses_1"); len(fixed.Changes) == 0 || agentlog.Broken(fixed.Remaining) {
				t.Errorf("changes %v, left %v", fixed.Changes, fixed.Remaining)
			}
			if name == "a user's" {
				s, _ := Find(path, "ses_1")
				if raw, _, _ := s.Read(); !bytes.Contains(raw, []byte(`"text":"prompt `)) {
					t.Error("the words of the user are gone")
				}
			}
			if _, err := Undo(path, "ses_1", false); err != nil || dump(t, path, "session", "message", "part") != before {
				t.Errorf("undo: %v", err)
			}
		})
	}
}

// TestModifiedSessionIsNotWritten checks that a session which its agent has changed since it was
// read is left alone without a backup.
func TestModifiedSessionIsNotWritten(t *testing.T) {
	for name, s := range stores(t, 2) {
		t.Run(name, func(t *testing.T) {
			x, err := Find(s.path, s.id)
			if err != nil {
				t.Fatal(err)
			}
			was, _, err := x.Read()
			if err != nil {
				t.Fatal(err)
			}
			execute(t, s.path, s.cut...)
			before := dump(t, s.path, s.tables...)
			if _, err := x.Write(was, append(bytes.Clone(was), '\n')); !errors.Is(err, ErrModified) {
				t.Errorf("got %v, want ErrMoved", err)
			}
			if dump(t, s.path, s.tables...) != before {
				t.Error("something was written")
			}
			if all, _ := filepath.Glob(filepath.Join(filepath.Dir(s.path), "*.bak*")); len(all) > 0 {
				t.Errorf("a backup of nothing: %v", all)
			}
		})
	}
}

// TestReadingChangesNothing checks that reading a database creates and changes no files.
func TestReadingChangesNothing(t *testing.T) {
	for name, s := range stores(t, 2) {
		t.Run(name, func(t *testing.T) {
			list := func() (all []string) {
				entries, err := os.ReadDir(filepath.Dir(s.path))
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range entries {
					raw, err := os.ReadFile(filepath.Join(filepath.Dir(s.path), e.Name()))
					if err != nil {
						t.Fatal(err)
					}
					all = append(all, fmt.Sprintf("%s %x", e.Name(), sha256.Sum256(raw)))
				}
				return all
			}
			before := list()
			x, err := Find(s.path, s.id)
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := x.Read(); err != nil {
				t.Fatal(err)
			}
			if after := list(); strings.Join(after, "\n") != strings.Join(before, "\n") {
				t.Errorf("before %v, after %v", before, after)
			}
		})
	}
}

// TestSubAgentsAndUnknownDatabases checks that sessions of sub-agents are marked, and that an
// unknown database and a missing session are refused by name.
func TestSubAgentsAndUnknownDatabases(t *testing.T) {
	path := openCodeDB(t, 1)
	agent := &agentlog.Agent{Name: "opencode"}
	for aside, want := range map[bool]int{false: 1, true: 2} {
		if all, err := Places(agent, path, aside); err != nil || len(all) != want {
			t.Errorf("Places(%v) = %d, %v", aside, len(all), err)
		}
	}
	if _, err := Find(path, "ses_9"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Find: %v", err)
	}
	if _, err := Sessions(database(t, "x.db", "CREATE TABLE t (id text)")); !errors.Is(err, ErrUnknown) {
		t.Errorf("Sessions: %v", err)
	}
	if _, id, ok := SplitName(path + "#ses_1"); !ok || id != "ses_1" {
		t.Errorf("Split: %q, %v", id, ok)
	}
	if _, _, ok := SplitName(filepath.Join(t.TempDir(), "a#b")); ok {
		t.Error("Split finds a database where there is none")
	}
}
