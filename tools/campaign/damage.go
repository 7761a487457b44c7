package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A damage is something that happens to session files. hit does it to the session below a
// folder, or returns false: there is nothing to do it to.
type damage struct {
	name string
	hit  func(c *campaign, dir string) bool
}

// mark is a byte order mark, which editors put at the start of a file.
var mark = []byte("\xef\xbb\xbf")

// partDamages are those of opencode's folder of parts, messages and sessions.
func partDamages() []damage {
	type change = func(file string, data []byte) error
	lose := func(f string, _ []byte) error { return os.Remove(f) }
	empty := func(f string, _ []byte) error { return os.WriteFile(f, nil, 0o644) }
	tear := func(f string, d []byte) error { return os.WriteFile(f, d[:len(d)/2], 0o644) }
	// last changes the last part that has all of some words; at is the pattern of the file to change,
	// with the folder of the part for a *, "" is the part itself.
	last := func(at string, do change, words ...string) func(*campaign, string) bool {
		return func(_ *campaign, dir string) bool {
			storage := filepath.Join(dir, "home/.local/share/opencode/storage")
			files, _ := filepath.Glob(filepath.Join(storage, "part/*/*.json"))
			for _, f := range slices.Backward(files) {
				data, err := os.ReadFile(f)
				if err != nil || slices.ContainsFunc(words, func(w string) bool { return !bytes.Contains(data, []byte(w)) }) {
					continue
				}
				if at != "" {
					found, _ := filepath.Glob(filepath.Join(storage, strings.Replace(at, "MESSAGE", filepath.Base(filepath.Dir(f)), 1)))
					if len(found) == 0 {
						return false
					}
					f = found[0]
					if data, err = os.ReadFile(f); err != nil {
						return false
					}
				}
				return do(f, data) == nil
			}
			return false
		}
	}
	part := func(do change) func(*campaign, string) bool { return last("", do, `"tool"`, `"completed"`) }
	message := func(do change) func(*campaign, string) bool {
		return last("message/*/MESSAGE.json", do, `"tool"`, `"completed"`)
	}
	return []damage{
		{"part of a call lost", part(lose)},
		{"part of a call empty", part(empty)},
		{"part of a call torn", part(tear)},
		{"byte order mark", part(func(f string, d []byte) error { return os.WriteFile(f, slices.Concat(mark, d), 0o644) })},
		{"call still running", part(func(f string, d []byte) error {
			return os.WriteFile(f, bytes.Replace(d, []byte(`"completed"`), []byte(`"running"`), 1), 0o644)
		})},
		{"output lost", part(func(f string, d []byte) error {
			var o object
			if err := json.Unmarshal(d, &o); err != nil {
				return err
			}
			if state, ok := o["state"].(object); ok {
				delete(state, "output")
			}
			return os.WriteFile(f, raw(o), 0o644)
		})},
		{"part of a call twice", part(func(f string, d []byte) error {
			id := stem(f)
			again := id[:len(id)-1] + string(other(id[len(id)-1]))
			d = bytes.ReplaceAll(d, []byte(id), []byte(again))
			return os.WriteFile(filepath.Join(filepath.Dir(f), again+".json"), d, 0o644)
		})},
		{"message of a call lost", message(lose)},
		{"message of a call empty", message(empty)},
		{"message of a call torn", message(tear)},
		{"part of a prompt torn", last("", tear, `"prompt `)},
		{"session torn", last("session/*/*.json", tear)},
	}
}
