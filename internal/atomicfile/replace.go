package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// Replacing a file that an agent may write to.
//
// The new content is in a hidden file next to the old one. A replacement takes these steps:
//
//  1. Lock the old file against other runs. On Linux, take a lease: the kernel refuses it if a
//     process has the file open for writing.
//  2. Compare the file with the version that was read: inode, size, time, content.
//  3. Link the backup and write a journal.
//  4. Exchange the two names in one step. The hidden name now leads to exactly the file that was
//     replaced.
//  5. Look at the replaced file. If a program has written to it, has it open for writing or waits
//     to open it, exchange the names again.
//  6. Remove the hidden name and the journal.
//
// At every moment the name leads to the whole of the old or of the new content. Every line that an
// agent wrote is in the file, or an error, a note or the journal names the file that has it. If
// programs wrote to both files, the lines of the hidden one are added to the other. A run that was
// killed leaves its journal, and [Files.Recover] finishes its work.
//
// Limits:
//   - An open for writing that began before the exchange must reach the file within openGrace.
//   - Without leases (macOS, network file systems, files of other users), a process that has the
//     file open and writes nothing within writeGrace is found in the list of open files. If the
//     system has no such list, a note names the backup.
//   - Without an atomic exchange of names (NFS, some FUSE file systems), a file is lost that a
//     program renames to the same name between the link and the rename of step 4. Windows has no
//     exchange either, but refuses to replace an open file.
const (
	openGrace  = 20 * time.Millisecond
	writeGrace = 100 * time.Millisecond
	graceStep  = 10 * time.Millisecond
	// strayGrace limits the time in which lines are taken over from a replaced file.
	strayGrace = 2 * time.Second
)

// Replaced describes a file that was replaced.
type Replaced struct {
	Backup string // the name of the old content; "": none was kept
	Note   string // a sentence for the user; "": there is nothing to report
}

// A replacement is the exchange of one file. Before the exchange temp leads to the new file, after
// it to the old one.
type replacement struct {
	files      *Files
	path, temp string
	old, new   version
	hold       *hold  // on the old file
	backup     string // "": none
	keep       func(from string) (name string, err error)
}

// An exchangeOrder describes a replacement: the file, the new content, and the method.
type exchangeOrder struct {
	path, temp string
	was        fs.FileInfo // the file at path when it was read
	how        Over
	keep       func(from, path string) (string, error) // nil: no backup
	spent      string                                  // a second name of the file at temp that goes with it; "": none
	unlock     func()                                  // closes the file at temp, which a journal protects from then on
}

// An unfinishedError is a failure after the exchange of the names. The journal of the replacement
// stays, and the next run recovers the file.
type unfinishedError struct {
	backup string
	err    error
}

func (e *unfinishedError) Error() string {
	if stray, ok := e.err.(*StrayError); ok {
		return stray.Error()
	}
	return fmt.Sprintf("the replacement is unfinished, and the original is %s: %v", e.backup, e.err)
}

func (e *unfinishedError) Unwrap() error { return e.err }

// carryOut replaces a file. It leaves no hidden file and no journal, unless the error is an
// [unfinishedError].
func (f *Files) carryOut(e exchangeOrder) (Replaced, error) {
	if err := f.Recover(e.path); err != nil {
		return Replaced{}, errors.Unwrap(err)
	}
	hold, err := f.hold(e.path, e.how.Force)
	if err != nil {
		return Replaced{}, err
	}
	defer hold.release()
	r, err := f.prepare(e, hold)
	if err != nil {
		return Replaced{}, err
	}
	noted, err := r.begin()
	if err != nil {
		r.dropBackup()
		return Replaced{}, err
	}
	defer noted.close()
	e.unlock()
	newFile, err := f.lock(e.temp, true) // other runs wait until this one is settled
	if err == nil && newFile != nil {
		defer newFile.Close()
	}
	end, err := r.run()
	if err != nil && r.isExchanged() {
		return Replaced{}, &unfinishedError{r.backup, err}
	}
	var stray *StrayError
	if errors.As(end.refusal, &stray) {
		if end.isUndone && r.backup != stray.At {
			r.dropBackup()
		}
		return Replaced{}, &unfinishedError{stray.At, stray} // the next run looks again
	}
	if err != nil || end.isUndone {
		r.dropBackup()
	}
	f.remove(e.temp)
	if err == nil && end.refusal == nil && e.spent != "" {
		f.remove(e.spent)
	}
	if err == nil && !end.isUndone && !r.new.isRoughlyAt(r.path) {
		f.markWritten(r.path)
	}
	noted.close()
	f.remove(noted.name) // the last step: the report of a run that is killed before it is made by the next one
	if err == nil {
		err = end.refusal
	}
	return Replaced{r.backup, end.note}, err
}

// prepare compares the file with the version that was read, and keeps a backup.
func (f *Files) prepare(e exchangeOrder, hold *hold) (*replacement, error) {
	r := &replacement{files: f, path: e.path, temp: e.temp, hold: hold}
	r.keep = func(from string) (string, error) { return f.BackupAs(from, e.path) }
	if e.keep != nil {
		r.keep = func(from string) (string, error) { return e.keep(from, e.path) }
	}
	var err error
	if r.old, err = f.readVersion(e.path); err != nil {
		return nil, err
	}
	if !isSame(r.old.info, e.was) || e.how.Read != nil && *e.how.Read != r.old.sum {
		return nil, ErrMoved
	}
	if r.new, err = f.readVersion(e.temp); err != nil {
		return nil, err
	}
	if e.keep == nil {
		return r, nil
	}
	if r.backup, err = r.keep(e.path); err != nil {
		return nil, fmt.Errorf("keep a backup: %w", err)
	}
	kept, err := f.readVersion(r.backup)
	if err != nil || kept.sum != r.old.sum {
		r.dropBackup()
		return nil, ErrMoved
	}
	return r, nil
}

// markWritten gives the file at path, to which a program has written, the present time. An undo
// compares that time with the last change of the backup, which was just now.
func (f *Files) markWritten(path string) {
	if f.step("chtimes", path) == nil {
		_ = os.Chtimes(path, time.Time{}, time.Now()) // a file that is gone needs none
	}
}

// dropBackup removes the backup of a file that was not replaced.
func (r *replacement) dropBackup() {
	if r.backup != "" {
		r.files.remove(r.backup)
	}
}

// isExchanged reports whether the file at temp may be another one than the new file.
func (r *replacement) isExchanged() bool {
	at, err := os.Lstat(r.temp)
	return err != nil || !os.SameFile(at, r.new.info)
}

// A settlement is the end of a replacement that left nothing undecided.
type settlement struct {
	note     string // for the user, about a file that was replaced
	refusal  error  // why the file was not replaced
	isUndone bool   // path leads to the file that would be there without the run
}

// run exchanges the files and looks at the old one. An error means that the exchange is unfinished:
// its journal must stay.
func (r *replacement) run() (settlement, error) {
	if err := r.files.exchange(r.temp, r.path); err != nil {
		return settlement{}, err
	}
	replaced, err := r.files.stat(r.temp)
	if err != nil {
		return settlement{}, err
	}
	if !os.SameFile(replaced, r.old.info) { // a program renamed its own file to path just before
		return r.restoreNewest()
	}
	writer, err := r.watch()
	if err != nil {
		return settlement{}, err
	}
	switch {
	case writer.found != nil:
		return r.rollBack(writer.found)
	case writer.isUnknown:
		return settlement{note: "could not check whether another program has it open; lines that such a program writes from now on are in " + r.backup}, nil
	case r.hold.writer != "":
		return settlement{note: r.hold.writer + " has the replaced file open; lines that it writes from now on are in " + r.backup}, nil
	}
	return settlement{}, nil
}

// A sighting is the result of a look for programs that write to a file.
type sighting struct {
	found     error // describes the program, or its writes
	isUnknown bool  // the system does not list open files
}

// watch looks for writers of the old file until the grace is over.
func (r *replacement) watch() (sighting, error) {
	grace := writeGrace
	if r.hold.isLeased {
		grace = openGrace
	}
	for ; grace > 0; grace -= graceStep {
		if err := r.files.pause(graceStep, r.temp); err != nil {
			return sighting{}, err
		}
		if r.isLeaseBroken() || !r.old.isRoughlyAt(r.temp) {
			return sighting{found: ErrMoved}, nil
		}
	}
	var seen sighting
	if !r.hold.isLeased && r.hold.writer == "" {
		writers, isKnown := r.files.system().writers(r.temp)
		if len(writers) > 0 {
			return sighting{found: &OpenError{writers[0]}}, nil
		}
		seen.isUnknown = !isKnown
	}
	now, err := r.files.readVersion(r.temp)
	if err != nil {
		return sighting{}, err
	}
	if r.isLeaseBroken() || now.sum != r.old.sum {
		seen.found = ErrMoved
	}
	return seen, nil
}

func (r *replacement) isLeaseBroken() bool {
	return r.hold.isLeased && r.files.system().isLeaseBroken(r.hold.file)
}

// rollBack makes the old file the file at path again. If a program has written to the new one, it
// stays, and the lines of the old one are added.
func (r *replacement) rollBack(why error) (settlement, error) {
	now, err := r.files.readVersion(r.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return settlement{}, err
	}
	isNew := err == nil && os.SameFile(now.info, r.new.info)
	if isNew && now.sum != r.new.sum {
		r.hold.release() // a program that waits to open the old file goes on
		return r.adopt(r.old, settlement{note: "another program wrote to it meanwhile; its lines were added at the end"})
	}
	if !isNew { // a program removed the new file, or renamed its own to path
		r.hold.release()
		return r.abandon(r.old, why)
	}
	if err := r.files.exchange(r.temp, r.path); err != nil {
		return settlement{}, err
	}
	back, err := r.files.stat(r.temp)
	if err != nil {
		return settlement{}, err
	}
	if os.SameFile(back, r.new.info) {
		r.hold.release()
		return r.adopt(r.new, settlement{refusal: why, isUndone: true})
	}
	// A program renamed its own file to path just before, which is the newest.
	if err := r.files.exchange(r.temp, r.path); err != nil {
		return settlement{}, err
	}
	r.hold.release()
	return r.abandon(r.old, why)
}

// restoreNewest exchanges the names until path leads to the file that another program put there
// last. It is called when the file at temp is that program's.
func (r *replacement) restoreNewest() (settlement, error) {
	expected := r.new
	const most = 100
	for range most {
		theirs, err := r.files.readVersion(r.temp)
		if err != nil {
			return settlement{}, err
		}
		if err := r.files.exchange(r.temp, r.path); err != nil {
			return settlement{}, err
		}
		out, err := r.files.stat(r.temp)
		if err != nil {
			return settlement{}, err
		}
		if os.SameFile(out, expected.info) {
			r.hold.release()
			s, err := r.abandon(expected, ErrMoved)
			s.isUndone = true
			return s, err
		}
		expected = theirs // the file that came out is newer
	}
	return settlement{}, errors.New("another program keeps replacing the file")
}

// adopt adds the lines that programs appended to the file at temp, since it was base, to the file
// at path, until no program has it open for writing. It returns done if the file at path has all
// of them.
func (r *replacement) adopt(base version, done settlement) (settlement, error) {
	taken := base.size
	calm := 0
	for grace := strayGrace; ; grace -= graceStep {
		data, err := r.files.read(r.temp)
		if err != nil {
			return settlement{}, err
		}
		if !base.isPrefixOf(data) || int64(len(data)) < taken {
			return r.abandon(base, done.refusal)
		}
		rest := data[taken:]
		lines := rest[:bytes.LastIndexByte(rest, '\n')+1]
		if len(lines) > 0 {
			isAdded, err := r.files.appendLines(r.path, lines)
			if err != nil {
				return settlement{}, err
			}
			if isAdded {
				taken += int64(len(lines))
			}
		}
		writers, isKnown := r.files.openForWriting(r.temp)
		if len(writers) == 0 && taken == int64(len(data)) {
			calm++
		} else {
			calm = 0
		}
		if isKnown && calm > int(openGrace/graceStep) {
			return done, nil
		}
		if grace <= 0 || calm > int(writeGrace/graceStep) {
			return r.abandon(base, done.refusal)
		}
		if err := r.files.pause(graceStep, r.temp); err != nil {
			return settlement{}, err
		}
	}
}

// abandon ends a replacement that leaves the file at path as another program made it. If programs
// wrote to the file at temp, since it was base, or may do so, that file is kept and named.
func (r *replacement) abandon(base version, why error) (settlement, error) {
	for grace := openGrace; grace > 0; grace -= graceStep {
		if err := r.files.pause(graceStep, r.temp); err != nil {
			return settlement{}, err
		}
	}
	writers, isKnown := r.files.openForWriting(r.temp)
	now, err := r.files.readVersion(r.temp)
	if err != nil {
		return settlement{}, err
	}
	if now.sum == base.sum && len(writers) == 0 && isKnown {
		return settlement{refusal: why}, nil
	}
	defer r.files.markWritten(r.path) // an undo must not take its lines away
	if name := findBackup(r.path, now.info); name != "" {
		return settlement{refusal: &StrayError{At: name}}, nil
	}
	if kept, err := os.Stat(r.backup); r.backup != "" && err == nil && os.SameFile(kept, now.info) {
		return settlement{refusal: &StrayError{At: r.backup}}, nil
	}
	at, err := r.keep(r.temp)
	if err != nil {
		return settlement{}, fmt.Errorf("keep %s: %w", r.temp, err)
	}
	return settlement{refusal: &StrayError{At: at}}, nil
}
