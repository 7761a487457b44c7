package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

type findingOf = wire.Finding

// overfull lets the client hold a session that is longer than the window of its model, and asks
// what doctor says, what the client sends, and what it sends after pare trim and pare compact.
func (c *campaign) overfull() (rows []opinion) {
	old := c.models
	defer func() { c.models = old }()
	if c.small != "" {
		c.models = [2]string{c.small, c.small}
	}
	// Three prompts and what clients say of themselves take about four fifths of the window, at which
	// no client compacts yet; the fourth is too long for the rest.
	m, _ := tokens.Lookup(c.models[0])
	c.window = m.Window
	defer func() { c.window, c.stdin = 0, "" }()
	dir := c.place()
	held := seat{dir, filepath.Join(dir, "work")}
	if write(held.cwd, map[string]string{"a.txt": "contents alpha\n", "b.txt": "contents beta\n"}) != nil {
		return nil
	}
	defer c.put(dir, "full", "held", false)
	for i, order := range []string{"read", "thanks", "run", "thanks"} {
		share := 0.24
		switch {
		case i == 3:
			share = 0.36
		case c.early:
			share = 0.22
		}
		pad := filler(int(share * float64(c.window) / 1.15))
		prompt := fmt.Sprintf("prompt %d: %s", i+1, order)
		if c.stdin = ""; c.piped {
			c.stdin = pad
		} else {
			prompt += " " + pad
		}
		api, err := newStandIn(c.client, held.cwd)
		if err != nil {
			fail(err)
		}
		api.window = c.window
		args := c.begin(prompt, c.models[0])
		if file := c.newest(held); i > 0 && file != "" {
			args = c.resumed(prompt, c.models[0], c.id(file))
		}
		out, err := c.start(held, api, args, ends)
		api.server.Close()
		if len(api.sent()) == 0 {
			fmt.Printf("full: prompt %d is not sent: %v %s\n", i+1, err, oneLine(out))
			return nil
		}
	}
	c.stdin = ""
	one := func(what string, do func(s seat) []string) {
		o := opinion{session: "full", damage: what}
		r := c.resume(held, func(string) bool {
			o.says = c.doctor(held)
			if do != nil {
				o.says, o.faults = "", do(held)
				if again := c.doctor(held); again != whole && again != "repairs" {
					o.faults = append(o.faults, "doctor still says "+again)
				}
				o.says = whole
			}
			return true
		})
		sent, window := c.weigh(r)
		switch {
		case r.body == nil || r.err != nil || len(r.found) > 0:
			o.does = dead
		case sent > window:
			o.does = full
		default:
			o.does = whole
		}
		o.count = fmt.Sprintf("%d of %d tokens", sent, window)
		rows = append(rows, o)
		c.put(r.dir, "full", what, !o.right())
	}
	one("resumed as it is", nil)
	for _, command := range []string{"trim", "compact"} {
		one("after "+command, func(s seat) []string {
			was := c.bytes(s)
			c.age(s)
			out, err := exec.Command(c.pare, command, "--in-place", c.target(s)).CombinedOutput()
			if err != nil {
				return []string{fmt.Sprintf("%s: %s", command, oneLine(strings.ReplaceAll(string(out), s.home(), "~")))}
			}
			return c.twice(s, was, command)
		})
	}
	return rows
}

// weigh counts the tokens of a request, as the provider would, and its model's window.
func (c *campaign) weigh(r *resumption) (tokens, window int) {
	out, _ := exec.Command(c.pare, "count", "--json", "--model", c.models[0], filepath.Join(r.dir, "request.json")).Output()
	var n struct{ Tokens, Window int }
	_ = json.Unmarshal(out, &n)
	return n.Tokens, n.Window
}
