package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// These limits bound the size of a damaged session and the number of damages in one folder.
const (
	damagedBytes = 150 << 10
	damagedFiles = 10
)

// damaged spoils the session files below a folder n times each, as crashes, editors and programs
// for backups do, and repairs the spoilt ones together: one run of a binary serves many of them.
func (c *collector) damaged(dir string, n int) error {
	k := 0
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, name)
		short := path.Join(filepath.Base(dir), filepath.ToSlash(rel))
		if err != nil || e.IsDir() || !isSession(short) && filepath.Base(dir) != "trajectories" || strings.HasSuffix(name, ".md") || strings.HasSuffix(name, "manifest.json") {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		records, put := recordsOf(unpack(data))
		if len(records) < 2 {
			return nil
		}
		file := strings.TrimSuffix(filepath.Base(name), ".gz")
		if strings.Contains(short, "/cline/") {
			file = "api_conversation_history.json"
		}
		k++
		for first := 0; first < n; first += damagedFiles {
			t := &testCase{input: fmt.Sprintf("damaged/%s#%d", short, first), files: map[string][]byte{}}
			var all []string
			for i := first; i < min(n, first+damagedFiles); i++ {
				at := fmt.Sprintf("%03d/%s", i, file)
				t.files[at] = put(spoil(rand.New(rand.NewPCG(uint64(k), uint64(i))), records))
				t.size += len(t.files[at])
				all = append(all, at)
			}
			for _, s := range [][]string{
				{"check", "--json", "--advice"}, {"count", "--json"}, {"fix", "-i", "--receipt", "r.jsonl"}, {"check", "--json", "--advice"}, {"fix", "-n", "--json"}, {"undo"},
				{"fix", "-i", "--append-only"}, {"undo", "--force"}, {"fix", "-i", "--orphan-call", "drop", "--orphan-result", "drop"}, {"trim", "-i", "--max-messages", "5"},
			} {
				t.steps = append(t.steps, step{label: strings.Join(append([]string{s[0], "damaged"}, s[1:]...), " "), args: append(slices.Clone(s), all...)})
			}
			c.cases = append(c.cases, t)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the folder already names the agent
	}
	return err
}

// recordsOf splits a session into its records and returns a function that joins them again:
// lines, or the elements of the longest list of a document.
func recordsOf(data []byte) (records [][]byte, put func([][]byte) []byte) {
	if !json.Valid(data) {
		size := 0
		for line := range bytes.Lines(data) {
			if size += len(line); size > damagedBytes {
				break
			}
			records = append(records, bytes.TrimRight(line, "\r\n"))
		}
		return records, func(all [][]byte) []byte { return append(bytes.Join(all, []byte("\n")), '\n') }
	}
	list := func(raw []byte) (all []json.RawMessage) { _ = json.Unmarshal(raw, &all); return all } // a value that is not a list has no elements
	longest := data
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) == nil {
		for _, raw := range sorted(members) {
			if len(list(longest)) == 0 || len(list(raw)) > 0 && len(raw) > len(longest) {
				longest = raw
			}
		}
	}
	for _, raw := range list(longest) {
		records = append(records, raw)
	}
	at := bytes.Index(data, longest)
	return records, func(all [][]byte) []byte {
		return slices.Concat(data[:at], []byte{'['}, bytes.Join(all, []byte(", ")), []byte{']'}, data[at+len(longest):])
	}
}

// spoil drops, repeats, swaps, joins and tears records.
func spoil(r *rand.Rand, records [][]byte) [][]byte {
	all := slices.Clone(records)
	for range 1 + r.IntN(4) {
		if len(all) < 2 {
			break
		}
		i := r.IntN(len(all) - 1)
		switch r.IntN(8) {
		case 0, 1:
			all = slices.Delete(all, i, i+1)
		case 2:
			all = slices.Delete(all, i, min(len(all), i+1+r.IntN(5)))
		case 3:
			all = slices.Insert(all, i, all[i])
		case 4:
			all = append(all, all[i])
		case 5:
			all[i], all[i+1] = all[i+1], all[i]
		case 6:
			all = slices.Replace(all, i, i+2, slices.Concat(all[i], all[i+1]))
		case 7:
			all[i] = all[i][:r.IntN(len(all[i])+1)]
		}
	}
	return all
}
