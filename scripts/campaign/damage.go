package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
)

// A damage is something that happens to session files. hit does it to the session below a
// folder, or returns false: there is nothing to do it to.
type damage struct {
	name string
	hit  func(c *campaign, dir string) bool
}

// lineDamages are those of a file of lines, by the words that calls and results have.
func lineDamages(call, result string) []damage {
	to := func(change func(lines [][]byte, calls, results []int) [][]byte) func(*campaign, string) bool {
		return func(c *campaign, dir string) bool {
			file := c.newest(seat{dir: dir})
			data, err := os.ReadFile(file)
			if err != nil {
				return false
			}
			lines := slices.Collect(bytes.Lines(data))
			var calls, results []int // the last one first
			for i, line := range slices.Backward(lines) {
				var tight bytes.Buffer
				if !c.spoken(line) || json.Compact(&tight, line) != nil {
					continue
				}
				if bytes.Contains(tight.Bytes(), []byte(call)) {
					calls = append(calls, i)
				}
				if bytes.Contains(tight.Bytes(), []byte(result)) {
					results = append(results, i)
				}
			}
			if calls == nil || results == nil {
				return false
			}
			now := change(lines, calls, results)
			st, err := os.Stat(file)
			if now == nil || err != nil || os.WriteFile(file, bytes.Join(now, nil), 0o644) != nil {
				return false
			}
			return os.Chtimes(file, st.ModTime(), st.ModTime()) == nil
		}
	}
	without := func(lines [][]byte, i int) [][]byte { return append(slices.Clone(lines[:i]), lines[i+1:]...) }
	return []damage{
		{"result lost", to(func(l [][]byte, _, r []int) [][]byte { return without(l, r[0]) })},
		{"earlier result lost", to(func(l [][]byte, _, r []int) [][]byte {
			if len(r) < 2 {
				return nil
			}
			return without(l, r[1])
		})},
		{"call lost", to(func(l [][]byte, c, _ []int) [][]byte { return without(l, c[0]) })},
		{"cut off behind the call", to(func(l [][]byte, c, _ []int) [][]byte { return l[:c[0]+1] })},
		{"result twice", to(func(l [][]byte, _, r []int) [][]byte { return slices.Insert(slices.Clone(l), r[0], l[r[0]]) })},
		{"torn in the result", to(func(l [][]byte, _, r []int) [][]byte {
			return append(slices.Clone(l[:r[0]]), l[r[0]][:len(l[r[0]])/2])
		})},
	}
}

// partDamages are those of opencode's folder of parts.
func partDamages() []damage {
	to := func(change func(file string, data []byte) error) func(*campaign, string) bool {
		return func(_ *campaign, dir string) bool {
			files, _ := filepath.Glob(filepath.Join(dir, "home/.local/share/opencode/storage/part/*/*.json"))
			slices.Reverse(files)
			for _, f := range files {
				data, err := os.ReadFile(f)
				if err == nil && bytes.Contains(data, []byte(`"tool"`)) && bytes.Contains(data, []byte(`"completed"`)) {
					return change(f, data) == nil
				}
			}
			return false
		}
	}
	return []damage{
		{"part of a call lost", to(func(f string, _ []byte) error { return os.Remove(f) })},
		{"part of a call empty", to(func(f string, _ []byte) error { return os.WriteFile(f, nil, 0o644) })},
		{"part of a call torn", to(func(f string, d []byte) error { return os.WriteFile(f, d[:len(d)/2], 0o644) })},
		{"call still running", to(func(f string, d []byte) error {
			return os.WriteFile(f, bytes.Replace(d, []byte(`"completed"`), []byte(`"running"`), 1), 0o644)
		})},
		{"output lost", to(func(f string, d []byte) error {
			var part object
			if err := json.Unmarshal(d, &part); err != nil {
				return err
			}
			if state, ok := part["state"].(object); ok {
				delete(state, "output")
			}
			return os.WriteFile(f, raw(part), 0o644)
		})},
	}
}
