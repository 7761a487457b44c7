package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pare-llm/pare/tokens"
)

// overfull is the damage of a session that is longer than the window of its model.
const overfull = "too long"

// fullKinds are the sessions that are filled: each ends with a prompt of the user. The last
// three are only held for this.
var fullKinds = append(pick("plain", "parallel calls", "killed, resumed", "compacted", "calls in a row"),
	kind{name: "one huge result", steps: []step{{order: "chain"}, {order: "thanks"}}, fill: oneResult},
	kind{name: "long replies", steps: []step{{order: "hello"}, {order: "run"}, {order: "hello"}, {order: "thanks"}}, fill: replies},
	kind{name: "many small messages", steps: []step{{order: "many"}, {order: "thanks"}}},
)

// pick returns the kinds of these names.
func pick(names ...string) (some []kind) {
	for _, k := range kinds {
		if slices.Contains(names, k.name) {
			some = append(some, k)
		}
	}
	return some
}

// A filling selects the texts of a session that are made longer.
type filling int

const (
	results   filling = iota // all of them; of a client that clips them itself, replies
	oneResult                // the first one
	replies                  // all but the last
)

// remedies are the commands that make a full session one that is resumed.
var remedies = []string{"trim", "compact"}

// full makes the results of a session exceed the window and compares the prediction of doctor
// with the client's requests, also after pare trim and pare compact.
func (c *campaign) full(held seat, sound *resumption, k kind) (rows []opinion) {
	m, _ := tokens.Lookup(c.models[0])
	c.window = m.Window // from here on the stand-in counts and refuses longer requests
	defer func() { c.window = 0 }()
	pad, texts := c.padding(k, sound, m.Window)
	if pad == "" {
		return nil
	}
	one := func(what string, do func() []string) {
		o := opinion{session: k.name, damage: what}
		r := c.resume(held, func(string) bool {
			if !c.lengthen(held, pad, texts) {
				return false
			}
			if o.predicted = c.doctor(held); do != nil {
				o.faults = do()
				if o.predicted = c.doctor(held); o.predicted == full {
					o.faults = append(o.faults, "still full")
				}
			}
			return true
		})
		if r == nil {
			return
		}
		sent, window := c.weigh(r)
		switch {
		case r.body == nil || r.err != nil:
			o.happened = dead
		case c.fresh(sound, r) != "":
			o.happened = dead
			o.faults = append(o.faults, "sends "+c.fresh(sound, r))
		case sent > window:
			o.happened = full
		case do == nil && r.lacks(sound), intersect(sound.marks, r.marks) == nil:
			o.happened = forgets // the client shortened it, or started anew
		default:
			o.happened = whole
		}
		o.count = fmt.Sprintf("%d of %d tokens", sent, window)
		rows = append(rows, o)
		c.keepFolder(r.dir, k.name, what, !o.cameTrue() || len(o.faults) > 0)
	}
	one(overfull, nil)
	for _, command := range remedies {
		one("after "+command, func() []string {
			was := c.bytes(held)
			c.age(held)
			out, err := exec.Command(c.pare, command, "--in-place", c.target(held)).CombinedOutput()
			if err != nil {
				return []string{fmt.Sprintf("%s: %s", command, oneLine(strings.ReplaceAll(string(out), held.home(), "~")))}
			}
			return c.repeatAndUndo(held, was, command)
		})
	}
	return rows
}

// lacks reports whether a request has some text less often than that of the sound session.
func (r *resumption) lacks(sound *resumption) bool {
	return slices.ContainsFunc(sound.marks, func(m string) bool { return r.times[m] < sound.times[m] })
}

// padding returns the text that makes a session too long and the texts that it follows, or
// none.
func (c *campaign) padding(k kind, sound *resumption, window int) (pad string, texts []string) {
	texts = c.filled(k, sound)
	each := 0
	for _, text := range texts {
		each += sound.times[text]
	}
	if each == 0 {
		return "", nil
	}
	return " " + filler(int(1.5*float64(window))/each), texts
}

// filled returns the texts of a session to make longer: results, which can be cleared, and
// never the last text.
func (c *client) filled(k kind, sound *resumption) (texts []string) {
	said := k.fill == replies || k.fill == results && c.clips
	for _, text := range sound.marks {
		if longer.MatchString(text) && !isCall(text) && strings.HasPrefix(text, "reply ") == said {
			texts = append(texts, text)
		}
	}
	switch {
	case said && len(texts) > 0:
		texts = texts[:len(texts)-1]
	case k.fill == oneResult && len(texts) > 0:
		texts = texts[:1]
	}
	return texts
}

// longer matches the texts that may be made longer: results, possibly after the name of a
// call, and replies.
var longer = regexp.MustCompile(`(echo )?(?:output [1-8] of the program|contents (?:alpha|beta))|reply [1-8]: done`)

func isCall(text string) bool { return strings.HasPrefix(text, "echo ") }

// lengthened inserts words after some texts.
func lengthened(in []byte, pad string, texts []string) []byte {
	return longer.ReplaceAllFunc(in, func(said []byte) []byte {
		if !slices.Contains(texts, string(said)) {
			return said
		}
		return append(bytes.Clone(said), pad...)
	})
}

// lengthen inserts words after texts in the files of a session, and reports whether it found
// any.
func (c *campaign) lengthen(s seat, pad string, texts []string) (changed bool) {
	if c.client.stored != nil {
		_ = inTables(c.newest(s), func(db *sql.DB) error {
			parts := map[string][]byte{}
			rows, err := db.Query(`SELECT id, data FROM part`)
			if err != nil {
				return err
			}
			for rows.Next() {
				var id, data string
				if rows.Scan(&id, &data) == nil {
					parts[id] = []byte(data)
				}
			}
			rows.Close()
			for id, was := range parts {
				if now := lengthened(was, pad, texts); !bytes.Equal(now, was) {
					_, err := db.Exec(`UPDATE part SET data = ? WHERE id = ?`, string(now), id)
					changed = changed || err == nil
				}
			}
			return nil
		})
		return changed
	}
	files := []string{c.newest(s)}
	if c.storage != "" {
		files, _ = filepath.Glob(filepath.Join(s.home(), c.sessions))
	}
	for _, f := range files {
		was, _ := os.ReadFile(f)
		var now []byte
		for line := range bytes.Lines(was) {
			if c.spoken(line) { // a repetition that is not sent
				line = lengthened(line, pad, texts)
			}
			now = append(now, line...)
		}
		if !bytes.Equal(now, was) {
			changed = os.WriteFile(f, now, 0o600) == nil || changed
		}
	}
	return changed
}

// weigh counts the tokens of a request, as the provider would, and its model's window.
func (c *campaign) weigh(r *resumption) (tokens, window int) {
	cmd := exec.Command(c.pare, "count", "--json", "--model", c.models[0], "-")
	cmd.Stdin = bytes.NewReader(r.body)
	out, _ := cmd.Output()
	var n struct{ Tokens, Window int }
	_ = json.Unmarshal(out, &n)
	return n.Tokens, n.Window
}
