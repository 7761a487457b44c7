package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/wire"
)

// These limits bound the inputs that run with every command, and the size of one batch.
const (
	smallBytes = 96 << 10
	batchBytes = 2 << 20
)

// A collector gathers cases, each content once.
type collector struct {
	cases []*testCase
	seen  map[[sha256.Size]byte]bool
}

// collect makes all cases. slugs are the rules for pare explain.
func collect(o options, slugs []string) ([]*testCase, error) {
	c := &collector{seen: map[[sha256.Size]byte]bool{}}
	c.cases = every(input{name: "nothing"}, withoutInput)
	commands := []string{"check", "fix", "prune", "trim", "split", "compact", "count", "view", "explain", "rules", "replay", "doctor", "undo", "init", "completion", "man"}
	for _, name := range commands {
		c.cases = append(c.cases, command(name+" --help").on(input{name: "help"}))
	}
	for _, slug := range slugs {
		c.cases = append(c.cases, command("explain "+slug).on(input{name: "slugs"}))
	}
	for _, step := range []func() error{
		func() error { return c.folder("examples") },
		func() error { return c.folder("testdata") },
		func() error { return c.folder("internal/dialect/testdata") },
		func() error { return c.scripts("cmd/pare/testdata/script", "examples") },
		func() error { return c.folder(o.zoo) },
		func() error { c.histories(o.histories); return nil },
		func() error { return c.folder(o.corpus) },
		func() error { return c.home(o.corpus) },
		func() error { return c.damaged(o.corpus, o.damaged) },
		func() error { return c.damaged(o.trajectories, o.damaged) },
		func() error { c.traffic(40); return nil },
		func() error { return c.replays(o.corpus) },
		func() error { return c.replays(o.trajectories) },
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return c.cases, nil
}

// folder collects every file below dir, and the bodies that it wraps.
func (c *collector) folder(dir string) error {
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasSuffix(name, ".md") || strings.HasSuffix(name, "manifest.json") {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		short := filepath.ToSlash(filepath.Join(filepath.Base(dir), strings.TrimPrefix(name, dir)))
		plain := unpack(data)
		if body, ok := fuzzed(plain); ok {
			c.take(short, "in.json", body)
			return nil
		}
		file := "in" + filepath.Ext(strings.TrimSuffix(name, ".gz"))
		bodies := unwrapBodies(plain)
		if len(bodies) == 0 || isSession(short) {
			c.take(short, file, plain)
			return nil
		}
		c.cases = append(c.cases, every(input{short, file, plain}, wrapped)...)
		if len(bodies) <= 2 {
			for i, b := range bodies {
				c.take(fmt.Sprintf("%s#%d", short, i), "in.json", b)
			}
			return nil
		}
		for i, batch := range batches(bodies) {
			c.take(fmt.Sprintf("%s#batch%d", short, i), "in.jsonl", batch)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(os.Stderr, "motion: there is no %s; it is left out\n", dir)
		return nil
	}
	return err
}

func unpack(data []byte) []byte {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return data
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		return data
	}
	return plain
}

// take tries an input with the commands that fit its kind.
func (c *collector) take(name, file string, data []byte) {
	key := sha256.Sum256(data)
	if c.seen[key] {
		return
	}
	c.seen[key] = true
	in := input{name: name, file: file, data: data}
	lines := bytes.Count(bytes.TrimSpace(data), []byte("\n")) > 0 && json.Valid(firstLine(data))
	switch {
	case isSession(name):
		c.cases = append(c.cases, every(in, sessions)...)
	case len(data) > smallBytes:
		c.cases = append(c.cases, every(in, largeInputCommands)...)
	case lines:
		c.cases = append(c.cases, every(in, looking, changing)...)
	default:
		c.cases = append(c.cases, every(in, looking, changing, windows)...)
	}
}

func firstLine(data []byte) []byte {
	line, _, _ := bytes.Cut(bytes.TrimSpace(data), []byte("\n"))
	return line
}

// isSession reports whether a file is in one of the corpus' folders of sessions.
func isSession(name string) bool {
	for _, kind := range []string{"claude_code", "codex_rollout", "gemini_cli", "pi_session", "cline", "goose", "openhands_events", "adk_session"} {
		if strings.Contains(name, "/"+kind+"/") {
			return true
		}
	}
	return false
}

// fuzzed returns the bytes of a file of a fuzz corpus.
func fuzzed(data []byte) ([]byte, bool) {
	rest, ok := strings.CutPrefix(string(data), "go test fuzz v1\n[]byte(")
	if !ok {
		return nil, false
	}
	line, _, _ := strings.Cut(rest, "\n")
	s, err := strconv.Unquote(strings.TrimSuffix(line, ")"))
	return []byte(s), err == nil
}

// unwrapBodies returns the bodies inside of test data: a case of the zoo, a good and a bad list, a
// recorded rollout, a trajectory.
func unwrapBodies(data []byte) [][]byte {
	var all [][]byte
	for dec := json.NewDecoder(bytes.NewReader(data)); ; {
		var raw json.RawMessage
		if dec.Decode(&raw) != nil {
			return all
		}
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil {
			list = []json.RawMessage{raw}
		}
		for _, one := range list {
			all = append(all, unwrapOne(one)...)
		}
	}
}

func unwrapOne(raw json.RawMessage) [][]byte {
	var w struct {
		Request, Bad, Good, Traj, History, Body json.RawMessage
		Create                                  struct{ Input []json.RawMessage } `json:"responses_create_params"`
		Response                                struct{ Output []json.RawMessage }
	}
	if json.Unmarshal(raw, &w) != nil {
		return nil
	}
	var all [][]byte
	add := func(b []byte) {
		var flat bytes.Buffer
		if b != nil && string(b) != "null" && json.Compact(&flat, b) == nil {
			all = append(all, flat.Bytes())
		}
	}
	for _, b := range []json.RawMessage{w.Request, w.Bad, w.Good, w.Traj, w.History, w.Body} {
		add(b)
	}
	if items := append(w.Create.Input, w.Response.Output...); len(items) > 0 {
		if b, err := json.Marshal(map[string]any{"model": "gpt-5.2", "input": items}); err == nil {
			add(b)
		}
	}
	return all
}

func batches(bodies [][]byte) [][]byte {
	var all [][]byte
	var b []byte
	for i, body := range bodies {
		b = append(append(b, body...), '\n')
		if len(b) > batchBytes || i == len(bodies)-1 {
			all, b = append(all, b), nil
		}
	}
	return all
}

// histories makes random scripts, valid and broken, and damaged bodies. Each runs with a few
// commands, and all of them run in batches.
func (c *collector) histories(n int) {
	singles := append(append(append([]command{}, windows...), changing...), looking...)
	turn := 0
	var bodies [][]byte
	flush := func(name string) {
		if len(bodies) > 0 {
			c.cases = append(c.cases, every(input{name: name, file: "in.jsonl", data: batches(bodies)[0]}, looking, changing)...)
		}
		bodies = nil
	}
	for _, d := range wire.Dialects() {
		for seed := range n {
			r := rand.New(rand.NewPCG(uint64(seed), uint64(d)))
			s := histories.Random(uint64(seed), histories.GenOptions{})
			kind := "whole"
			if seed%2 == 1 {
				s, _ = histories.Break(r, s)
				kind = "broken"
			}
			body := s.Render(d, histories.RenderOptions{NoIDs: seed%5 == 0, Bare: seed%11 == 0})
			if seed%7 == 6 {
				body, _ = histories.Corrupt(r, body)
				kind = "corrupt"
			}
			name := fmt.Sprintf("random/%s/%s/%d", d, kind, seed)
			for range 3 {
				c.cases = append(c.cases, singles[turn%len(singles)].on(input{name: name, file: "in.json", data: body}))
				turn++
			}
			if json.Valid(body) && !bytes.ContainsRune(body, '\n') {
				bodies = append(bodies, body)
			}
			if len(bodies) == 100 {
				flush(fmt.Sprintf("random/%s/to %d", d, seed))
			}
		}
		flush(fmt.Sprintf("random/%s/rest", d))
	}
}
