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
	"strings"

	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

type findingOf = wire.Finding

// overfull is the damage of a session whose results are longer than the window of its model.
const overfull = "results too long"

// fullKinds are the sessions that are filled: each ends with something that the user said.
var fullKinds = []string{"plain", "parallel calls", "killed, resumed", "compacted", "calls in a row"}

// remedies are the commands that make a full session one that is resumed.
var remedies = []string{"trim", "compact"}

// full makes the results of a session longer than the window, and asks what doctor says, what the
// client sends, and what it sends after pare trim and pare compact.
func (c *campaign) full(held seat, sound *resumption, k kind) (rows []opinion) {
	m, _ := tokens.Lookup(c.models[0])
	c.window = m.Window // the stand-in counts now, and refuses what is longer
	defer func() { c.window = 0 }()
	pad, last := c.padding(sound.marks, m.Window)
	if pad == "" {
		return nil
	}
	one := func(what string, do func() []string) {
		o := opinion{session: k.name, damage: what}
		r := c.resume(held, func(string) bool {
			if !c.lengthen(held, pad, last) {
				return false
			}
			if o.says = c.doctor(held); do != nil {
				o.faults = do()
				if o.says = c.doctor(held); o.says == full {
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
			o.does = dead
		case len(r.found) > 0 && len(sound.found) == 0:
			o.does = dead
			o.faults = append(o.faults, "sends "+string(r.found[0].Rule))
		case sent > window:
			o.does = full
		default:
			o.does = whole
		}
		o.count = fmt.Sprintf("%d of %d tokens", sent, window)
		rows = append(rows, o)
		c.put(r.dir, k.name, what, !o.right() || len(o.faults) > 0)
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
			return c.twice(held, was, command)
		})
	}
	return rows
}

// padding is what is put behind each text of a session so that it is too long, and the text that stays as it
// is; nothing if there is none to put it behind.
func (c *campaign) padding(texts []string, window int) (pad, last string) {
	each := 0
	for _, text := range texts {
		if c.lengthens().MatchString(text) && !isCall(text) {
			each++
			last = text
		}
	}
	if c.long == nil {
		last = "" // results can be cleared; what was said last stays
	} else {
		each--
	}
	if each <= 0 {
		return "", ""
	}
	return " " + filler(int(1.5*1.15*float64(window))/each), last
}

// outputs are what tools say, of which the name of a call may be the beginning.
var outputs = regexp.MustCompile(`(echo )?(?:output [1-8] of the program|contents (?:alpha|beta))`)

func isCall(text string) bool { return strings.HasPrefix(text, "echo ") }

// lengthens finds the texts that are made longer.
func (c *client) lengthens() *regexp.Regexp {
	if c.long != nil {
		return c.long
	}
	return outputs
}

// lengthened puts words behind each of them.
func (c *client) lengthened(text []byte, pad, but string) []byte {
	return c.lengthens().ReplaceAllFunc(text, func(said []byte) []byte {
		if isCall(string(said)) || string(said) == but {
			return said
		}
		return append(bytes.Clone(said), pad...)
	})
}

// lengthen puts words behind texts in the files of a session, all but one, and reports whether there was any.
func (c *campaign) lengthen(s seat, pad, but string) (changed bool) {
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
				if now := c.lengthened(was, pad, but); !bytes.Equal(now, was) {
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
			if c.spoken(line) { // what repeats it is not sent
				line = c.lengthened(line, pad, but)
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
	out, _ := exec.Command(c.pare, "count", "--json", "--model", c.models[0], filepath.Join(r.dir, "request.json")).Output()
	var n struct{ Tokens, Window int }
	_ = json.Unmarshal(out, &n)
	return n.Tokens, n.Window
}
