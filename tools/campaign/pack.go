package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A packed file is all that was recorded of a client, for the tests of internal/agentlog.
type packed struct {
	Agent    string              `json:"agent"`
	Version  string              `json:"version"`
	Sessions map[string][]string `json:"sessions"` // the lines of the sound files
	Records  []record            `json:"records"`
}

// packRecords writes the records of each client below a folder into one file. Long texts that are not part
// of the conversation, such as the client's instructions, are cut; the damages are the same.
func packRecords(dir string) error {
	clients, err := filepath.Glob(filepath.Join(dir, "*@*"))
	for _, client := range clients {
		if st, statErr := os.Stat(client); statErr != nil || !st.IsDir() {
			continue
		}
		err = errors.Join(err, packClient(client))
	}
	return err
}

func packClient(dir string) error {
	out := packed{Sessions: map[string][]string{}}
	out.Agent, out.Version, _ = strings.Cut(filepath.Base(dir), "@")
	files, _ := filepath.Glob(filepath.Join(dir, "*.session"))
	for _, file := range files {
		sound, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		lines := slices.Collect(bytes.Lines(sound))
		for i := range lines {
			lines[i] = shortened(lines[i])
		}
		for _, line := range lines {
			out.Sessions[stem(file)] = append(out.Sessions[stem(file)], string(line))
		}
		records, err := os.Open(strings.TrimSuffix(file, ".session") + ".json")
		if err != nil {
			return err
		}
		for decoder := json.NewDecoder(records); decoder.More(); {
			var r record
			if err := decoder.Decode(&r); err != nil {
				return err
			}
			if r.Outcome == timedOut || strings.HasPrefix(r.Damage, "foreign") && r.sharesID(sound) {
				continue
			}
			for i := range r.Pieces {
				r.Pieces[i].Text = shortened(r.Pieces[i].Text)
			}
			out.Records = append(out.Records, r)
		}
		if err := records.Close(); err != nil {
			return err
		}
	}
	text, err := json.Marshal(out)
	if err != nil || len(out.Records) == 0 {
		return err
	}
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if _, err := z.Write(text); err != nil {
		return err
	}
	return errors.Join(z.Close(), os.WriteFile(dir+".json.gz", b.Bytes(), 0o644))
}

// sharesID reports whether a line of the damaged file has an id that the sound file has: no line of another
// session has.
func (r record) sharesID(sound []byte) bool {
	for _, p := range r.Pieces {
		if slices.ContainsFunc(itemIDs.FindAll(p.Text, -1), func(id []byte) bool { return bytes.Contains(sound, id) }) {
			return true
		}
	}
	return false
}

// longTexts are the strings of JSON that are cut.
var longTexts = regexp.MustCompile(`"(?:[^"\\]|\\.){120,}"`)

func shortened(line []byte) []byte {
	return longTexts.ReplaceAllFunc(line, func(text []byte) []byte {
		if marks.Match(text) {
			return text
		}
		end := 1
		for end < 40 {
			if end++; text[end-1] == '\\' {
				end += len(`u0000`)
			}
		}
		cut := append(slices.Clone(text[:end]), `…"`...)
		if !json.Valid(cut) {
			return []byte(`"…"`)
		}
		return cut
	})
}
