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

// mark is a byte order mark, which editors put in front of a file.
var mark = []byte("\xef\xbb\xbf")

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
		{"byte order mark", to(func(f string, d []byte) error { return os.WriteFile(f, slices.Concat(mark, d), 0o644) })},
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
