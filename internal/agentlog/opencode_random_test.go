package agentlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pare-llm/pare/internal/atomicfile"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/wire"
)

// An ocView is an independent reading of a storage by the description of its format: the first file
// on which opencode fails, the sent text of the user, and the sent calls without an end.
type ocView struct {
	fails string
	user  map[string]bool
	open  []string
}

func ocSees(files map[string]string) ocView {
	type part struct {
		id, kind, text string
		file           string
		f              fields
	}
	v := ocView{user: make(map[string]bool)}
	read := func(name string) (f fields, ok bool) {
		raw := strings.ToValidUTF8(strings.TrimPrefix(files[name], "\ufeff"), "\uFFFD")
		if json.Unmarshal([]byte(raw), &f) != nil || f == nil {
			v.fails = name
			return nil, false
		}
		return f, true
	}
	text := func(f fields, name string) string { t, _ := f[name].(string); return t }
	type message struct {
		id, said, role string
		f              fields
		parts          []part
	}
	sessions := make(map[string][]message)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		dir := strings.Split(name, "/")
		if len(dir) != 3 || dir[0] != "message" || path.Ext(name) != ".json" {
			if dir[0] == "session" && path.Ext(name) == ".json" {
				read(name)
			}
			continue
		}
		f, ok := read(name)
		if !ok {
			continue
		}
		m := message{id: strings.TrimSuffix(dir[2], ".json"), said: text(f, "id"), role: text(f, "role"), f: f}
		for _, p := range slices.Sorted(maps.Keys(files)) {
			if at := strings.Split(p, "/"); len(at) == 3 && at[0] == "part" && at[1] == m.id && path.Ext(p) == ".json" {
				if f, ok := read(p); ok {
					m.parts = append(m.parts, part{text(f, "id"), text(f, "type"), text(f, "text"), p, f})
				}
			}
		}
		slices.SortStableFunc(m.parts, func(a, b part) int { return strings.Compare(a.id, b.id) })
		sessions[dir[1]] = append(sessions[dir[1]], m)
	}
	for _, s := range slices.Sorted(maps.Keys(sessions)) {
		all := sessions[s]
		slices.SortStableFunc(all, func(a, b message) int { return strings.Compare(a.id, b.id) })
		from, done := 0, make(map[string]bool)
		for i := len(all) - 1; i >= 0; i-- {
			if m := all[i]; m.role == "assistant" {
				done[text(m.f, "parentID")] = done[text(m.f, "parentID")] || m.f["summary"] == true && m.f["finish"] != nil
			} else if done[m.said] && slices.ContainsFunc(m.parts, func(p part) bool { return p.kind == "compaction" }) {
				from = i
				break
			}
		}
		for _, m := range all[from:] {
			if e, ok := m.f["error"].(map[string]any); ok && m.role == "assistant" && e["name"] != "MessageAbortedError" {
				continue
			}
			for _, p := range m.parts {
				switch p.kind {
				case "text":
					if m.role == "user" {
						v.user[p.text] = true
					}
				case "tool":
					if m.role != "assistant" {
						continue
					}
					state, _ := p.f["state"].(map[string]any)
					_, output := state["output"].(string)
					_, failed := state["error"].(string)
					if s := state["status"]; s != "completed" && s != "error" || s == "completed" && !output || s == "error" && !failed {
						v.open = append(v.open, p.file)
					}
				}
			}
		}
	}
	return v
}

func readStorage(t *testing.T, folder string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(name)
		below, _ := filepath.Rel(folder, name)
		all[filepath.ToSlash(below)] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestOpenCodeRandomDamage damages random storages. After a fix, opencode opens all of them, every
// sent call has an end, the user's text is sent as before, other files are unchanged, a second fix
// changes nothing, and an undo restores every file.
func TestOpenCodeRandomDamage(t *testing.T) {
	for n := range trial.Histories(100) {
		seed := trial.FirstSeed() + uint64(n)
		r := rand.New(rand.NewPCG(11, seed))
		s := &ocStorage{r: r, files: make(map[string]string)}
		main := s.session("")
		if r.IntN(3) == 0 {
			s.session(main)
		}
		whole := maps.Clone(s.files)
		var done []string
		for range r.IntN(5) {
			h := storageDamages[r.IntN(len(storageDamages))]
			if name := s.pick([]string{"part/", "part/", "part/", "message/", "session/"}[r.IntN(5)]); name != "" && h.do(s, name) {
				done = append(done, h.name+" "+name)
			}
		}
		faults := ocRelations(s.files, whole)
		if seed%16 == 0 {
			faults = append(faults, ocOnDisk(t, s.files)...)
		}
		if len(faults) > 0 {
			t.Errorf("seed %d: %s:\n  %s", seed, strings.Join(done, ", "), strings.Join(faults, "\n  "))
		}
	}
}

// ocRelations returns the promises that a storage violates.
func ocRelations(files, whole map[string]string) (faults []string) {
	wrong := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	before, meant := ocSees(files), ocSees(whole)
	now := maps.Clone(files)
	open := func() (*Log, *Fixed) {
		fsys := fstest.MapFS{}
		for name, raw := range now {
			fsys[name] = &fstest.MapFile{Data: []byte(raw)}
		}
		l, err := ReadFolder(fsys, Options{})
		if errors.Is(err, ErrFormat) && !slices.ContainsFunc(slices.Collect(maps.Keys(files)), func(n string) bool { return strings.HasPrefix(n, "message/") }) {
			return nil, nil // no message is left
		}
		if err != nil {
			wrong("open: %v", err)
			return nil, nil
		}
		fixed, err := l.Fix(Options{})
		if err != nil {
			wrong("fix: %v", err)
			return nil, nil
		}
		return l, fixed
	}
	l, fixed := open()
	if l == nil {
		return faults
	}
	if (before.fails != "" || len(before.open) > 0) && !Broken(l.Check(wire.CheckOptions{})) {
		wrong("nothing is found, though %q cannot be read and %q have no end", before.fails, before.open)
	}
	told := make(map[string]bool)
	for _, c := range fixed.Changes {
		told[c.File] = true
	}
	for _, f := range fixed.Files {
		if now[f.Path] = string(f.Raw); !told[f.Path] {
			wrong("%s has changed, and nobody says so", f.Path)
		}
	}
	if len(now) != len(files) {
		wrong("%d files became %d", len(files), len(now))
	}
	after := ocSees(now)
	if after.fails != "" {
		wrong("%s still cannot be read: %q", after.fails, now[after.fails])
	}
	if len(after.open) > 0 {
		wrong("calls without an end: %q", after.open)
	}
	for _, text := range slices.Sorted(maps.Keys(before.user)) {
		// Text hidden by a compaction is sent if the compaction is torn.
		if !after.user[text] && (before.fails == "" || meant.user[text]) {
			wrong("%q is no longer sent", text)
		}
	}
	sent := strings.Join(slices.Collect(maps.Keys(after.user)), "\n")
	// Text of the user in files that are unchanged or torn only after it.
	for _, name := range slices.Sorted(maps.Keys(whole)) {
		word := userWord.FindString(whole[name])
		if word == "" {
			continue
		}
		if files[name] == whole[name] && now[name] != whole[name] {
			wrong("%s: words of the user have changed: %s", name, now[name])
		}
		if strings.Contains(files[name], word) && meant.user["The user says "+word+"."] && files["message/"+messageFileOf(whole, name)] == whole["message/"+messageFileOf(whole, name)] && !strings.Contains(sent, word) && !json.Valid([]byte(files[name])) {
			wrong("%s is torn behind %s, which is not sent: %s", name, word, now[name])
		}
	}
	again, second := open()
	if again == nil {
		return faults
	}
	if found := again.Check(wire.CheckOptions{}); Broken(found) {
		wrong("still broken: %s %s", found[0].Rule, found[0].File)
	}
	if len(second.Changes)+len(second.Files) > 0 {
		wrong("a second fix: %+v", second.Changes)
	}
	for _, f := range fixed.Remaining {
		if f.Effect == Refused {
			wrong("left: %s %s", f.Rule, f.File)
		}
	}
	return faults
}

var userWord = regexp.MustCompile(`word[0-9]{4}`)

// messageFileOf returns the file of the message of a part, below the folder message.
func messageFileOf(files map[string]string, part string) string {
	for name := range files {
		if strings.HasPrefix(name, "message/") && path.Base(name) == path.Base(path.Dir(part))+".json" {
			return strings.TrimPrefix(name, "message/")
		}
	}
	return ""
}

// ocOnDisk writes a storage, fixes it and undoes the fix.
func ocOnDisk(t *testing.T, files map[string]string) (faults []string) {
	wrong := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	top := t.TempDir()
	storage := filepath.Join(top, "storage")
	lay(t, storage, files)
	l, err := OpenFolder(storage, "", Options{})
	if err != nil {
		return nil // reported elsewhere
	}
	fixed, err := l.Fix(Options{})
	if err != nil {
		return nil
	}
	w := Writer{Files: new(atomicfile.Files)}
	defer w.Discard()
	for _, r := range l.Replacements(fixed) {
		if err := w.Stage(r); err != nil {
			wrong("stage: %v", err)
			return faults
		}
	}
	if _, err := w.Commit(); err != nil {
		wrong("commit: %v", err)
		return faults
	}
	want := maps.Clone(files)
	for _, f := range fixed.Files {
		want[f.Path] = string(f.Raw)
	}
	if !maps.Equal(readStorage(t, storage), want) {
		wrong("on the disk it is another storage")
	}
	u := Undoer{Files: new(atomicfile.Files)}
	for _, k := range Originals(storage) {
		if _, err := u.Undo(k); err != nil {
			wrong("undo: %v", err)
		}
	}
	if !maps.Equal(readStorage(t, storage), files) {
		wrong("after the undo it is another storage")
	}
	if entries, _ := os.ReadDir(top); len(entries) > 2 { // the storage and the backup
		wrong("something else was written: %v", entries)
	}
	return faults
}
