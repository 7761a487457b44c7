package atomicfile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// journalSuffix is added to a hidden name for the journal of its replacement.
const journalSuffix = ".journal"

// A journal describes a replacement. It is on the disk from before the exchange until the
// replacement is settled.
type journal struct {
	Hidden string `json:"hidden"` // the name of the new file before the exchange, of the old one after it
	Backup string `json:"backup"` // "": none
	Old    digest `json:"old"`
	New    digest `json:"new"`
}

// A digest describes the content of a file.
type digest struct {
	Size int64  `json:"size"`
	Sum  string `json:"sha256"`
}

func digestOf(v version) digest { return digest{v.size, hex.EncodeToString(v.sum[:])} }

func (d digest) version() version {
	v := version{size: d.Size}
	sum, err := hex.DecodeString(d.Sum)
	if err == nil && len(sum) == sha256.Size {
		copy(v.sum[:], sum)
	}
	return v
}

// hasJournal reports whether a hidden name belongs to a replacement.
func hasJournal(hidden string) bool {
	_, err := os.Lstat(hidden + journalSuffix)
	return err == nil
}

// An openJournal is a journal that is locked as long as its run lives.
type openJournal struct {
	name string
	file File
}

// close lets other runs take the journal. It modifies j, and does nothing the second time.
func (j *openJournal) close() {
	if j.file != nil {
		j.file.Close()
	}
	j.file = nil
}

// begin writes the journal of a replacement.
func (r *replacement) begin() (*openJournal, error) {
	backup := r.backup
	if abs, err := filepath.Abs(backup); err == nil && backup != "" {
		backup = abs
	}
	text, err := json.Marshal(journal{filepath.Base(r.temp), backup, digestOf(r.old), digestOf(r.new)})
	if err != nil {
		return nil, err
	}
	name := r.temp + journalSuffix
	file, err := r.files.create(name, 0o600)
	if err != nil {
		return nil, err
	}
	if plain, ok := file.(*os.File); ok && canLock && !own(plain, name) {
		file.Close()
		return nil, ErrMoved
	}
	if r.files.Step != nil {
		file = &stepFile{file, r.files, name}
	}
	_, err = file.Write(append(text, '\n'))
	if err = errors.Join(err, file.Sync()); err != nil {
		file.Close()
		r.files.remove(name)
		return nil, err
	}
	return &openJournal{name, file}, nil
}

// Recover finishes the replacements of the file at path whose runs were killed: it adds the lines
// to the file that programs wrote to the replaced one. Its error is an *[Error] that wraps a
// [RecoveredError] if there were such lines, or a [StrayError] if they cannot be added.
func (f *Files) Recover(path string) error {
	folder, base := filepath.Split(path)
	for _, name := range journalNames(folder) {
		if journaledBase(name) != base {
			continue
		}
		if err := f.recoverJournal(name, path, true); err != nil {
			return &Error{path, err}
		}
	}
	return nil
}

// sweepJournals removes the journals of killed runs in a folder whose replaced files did not
// change.
func (f *Files) sweepJournals(folder string) {
	for _, name := range journalNames(folder) {
		_ = f.recoverJournal(name, filepath.Join(folder, journaledBase(name)), false) // a run that writes the file reports it
	}
}

// journaledBase returns the base name of the file that a journal is about.
func journaledBase(name string) string {
	base := strings.TrimPrefix(filepath.Base(name), ".")
	return base[:strings.LastIndex(base, ".pare-")]
}

// journalNames lists the journals of a folder.
func journalNames(folder string) []string {
	entries, err := os.ReadDir(filepath.Clean(folder + "."))
	if err != nil {
		return nil
	}
	var all []string
	for _, e := range entries {
		hidden, isJournal := strings.CutSuffix(e.Name(), journalSuffix)
		if isJournal && IsHidden(hidden) && e.Type().IsRegular() {
			all = append(all, filepath.Join(folder, e.Name()))
		}
	}
	return all
}

// recoverJournal finishes the replacement of one journal. The journal stays if that fails, if a
// program has the replaced file open, or if there are lines to add and mayAdd is not set.
func (f *Files) recoverJournal(name, path string, mayAdd bool) error {
	file, err := os.Open(name)
	if err != nil {
		return nil // its run has just ended
	}
	defer file.Close()
	if isRunning(name) || tryLock(file) || !isAt(file, name) {
		return nil
	}
	text, err := f.read(name)
	if err != nil {
		return err
	}
	hidden := strings.TrimSuffix(name, journalSuffix)
	var j journal
	if json.Unmarshal(text, &j) != nil || j.Hidden != filepath.Base(hidden) { // killed before the exchange
		f.remove(name)
		return nil
	}
	if err := f.finishExchange(hidden, path); err != nil {
		return err
	}
	r, lines, err := f.strayLines(j, hidden, path)
	switch {
	case err != nil:
		return err
	case r == nil:
		f.remove(hidden)
		if now, err := f.readVersion(path); err == nil && now.sum != j.Old.version().sum && now.sum != j.New.version().sum {
			f.markWritten(path)
		}
		f.remove(name)
		return nil
	case !mayAdd:
		return nil
	}
	return r.recoverLines(name, lines)
}

// isRunning reports whether the run of a hidden file lives, on systems without locks.
func isRunning(name string) bool {
	if canLock {
		return false
	}
	_, rest, _ := strings.Cut(name, ".pare-")
	number, _, _ := strings.Cut(rest, "-")
	pid, err := strconv.Atoi(number)
	return err == nil && pid != os.Getpid() && runs(pid)
}

// strayLines returns the bytes that programs appended to the hidden file of a journal, and the
// replacement to finish; nil: there is nothing to do.
func (f *Files) strayLines(j journal, hidden, path string) (*replacement, []byte, error) {
	data, err := f.read(hidden)
	if errors.Is(err, fs.ErrNotExist) && j.Backup != "" { // killed between the last two steps
		hidden = j.Backup
		data, err = f.read(hidden)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	r := &replacement{
		files: f, path: path, temp: hidden, backup: j.Backup, hold: &hold{},
		old: j.Old.version(), new: j.New.version(),
		keep: func(from string) (string, error) { return f.BackupAs(from, path) },
	}
	writers, isKnown := f.openForWriting(hidden)
	bases := []version{r.old, r.new}
	if r.new.size > r.old.size { // the new content may begin with the old one
		slices.Reverse(bases)
	}
	for _, base := range bases {
		if !base.isPrefixOf(data) {
			continue
		}
		if rest := data[base.size:]; len(rest) > 0 || len(writers) > 0 || !isKnown {
			r.old = base
			return r, rest, nil
		}
		return nil, nil, nil
	}
	r.old = version{size: -1}
	return r, nil, nil
}

// recoverLines adds lines to the file at path, unless they are there, and reports them.
func (r *replacement) recoverLines(journal string, lines []byte) error {
	f := r.files
	stray := func() error {
		s, err := r.abandon(version{}, nil)
		if err != nil {
			return err
		}
		if writers, _ := f.openForWriting(r.temp); len(writers) == 0 {
			f.removeHidden(r.temp)
			f.remove(journal)
		}
		return s.refusal
	}
	isWhole := len(lines) > 0 && lines[len(lines)-1] == '\n'
	if !isWhole {
		return stray()
	}
	data, err := f.read(r.path)
	if err != nil {
		return stray()
	}
	if missing := missingLines(data, lines); len(missing) > 0 {
		if err := f.appendBytes(r.path, missing); err != nil {
			return err
		}
	}
	if writers, isKnown := f.openForWriting(r.temp); len(writers) > 0 || !isKnown {
		return stray()
	}
	f.removeHidden(r.temp)
	f.remove(journal)
	return &RecoveredError{Lines: countLines(lines)}
}

// removeHidden removes a hidden file, and leaves a backup.
func (f *Files) removeHidden(name string) {
	if IsHidden(name) {
		f.remove(name)
	}
}

func countLines(text []byte) int { return strings.Count(string(text), "\n") }

// A StrayError reports lines that programs wrote to a file while it was replaced, and that are in
// another file.
type StrayError struct {
	At string // the other file
}

func (e *StrayError) Error() string {
	return "another program wrote to it while it was replaced, or still has it open; its lines are in " + e.At
}

// A RecoveredError reports lines that programs wrote to a file while a run replaced it that was
// killed. They have been added to the file.
type RecoveredError struct {
	Lines int
}

func (e *RecoveredError) Error() string {
	return fmt.Sprintf("an earlier run was killed while it replaced the file; lines that another program wrote meanwhile were added at the end: %d", e.Lines)
}

// An OpenError reports a program that has a file open for writing.
type OpenError struct {
	Program string
}

func (e *OpenError) Error() string { return e.Program + " has it open for writing" }
