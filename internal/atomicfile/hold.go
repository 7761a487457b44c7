package atomicfile

import (
	"os"
	"time"
)

// A system is the part of an operating system that replacements need and that differs.
type system struct {
	// exchange swaps the files of two names in one step. Its error wraps errors.ErrUnsupported if
	// the file system cannot do that.
	exchange func(a, b string) error
	// lease makes isLeaseBroken report programs that open the file for writing. They wait until the
	// file is closed.
	lease         func(*os.File) leaseState
	isLeaseBroken func(*os.File) bool
	// writers lists the programs that have a file open for writing, for people. isKnown is false if
	// the system does not tell.
	writers func(name string) (programs []string, isKnown bool)
}

type leaseState uint8

const (
	leaseUnsupported leaseState = iota
	leaseTaken
	leaseRefused // a program has the file open for writing
)

// noLease is for systems without leases.
func noLease(*os.File) leaseState { return leaseUnsupported }

func neverBroken(*os.File) bool { return false }

func (f *Files) system() system {
	if f.testSystem != nil {
		return *f.testSystem
	}
	return thisSystem
}

// A hold keeps other runs from replacing a file.
type hold struct {
	file     *os.File // nil: an open file could not be replaced
	isLeased bool
	writer   string // the program that has the file open for writing; "": none is known
}

// release lets go of the file. Programs that wait to open it go on.
func (h *hold) release() {
	if h.file != nil {
		h.file.Close()
	}
	h.file, h.isLeased = nil, false
}

// hold locks the file at path. It returns an [OpenError] if a program has the file open for
// writing, unless force is set.
func (f *Files) hold(path string, force bool) (*hold, error) {
	file, err := f.lock(path, force)
	if err != nil {
		return nil, err
	}
	h := &hold{file: file}
	if file != nil {
		if err := f.step("lease", path); err != nil {
			h.release()
			return nil, err
		}
		state := f.system().lease(file)
		h.isLeased = state == leaseTaken
		if h.isLeased {
			return h, nil
		}
		if state == leaseRefused {
			h.writer = "another program"
		}
	}
	if writers, _ := f.system().writers(path); len(writers) > 0 {
		h.writer = writers[0]
	}
	if h.writer != "" && !force {
		h.release()
		return nil, &OpenError{h.writer}
	}
	return h, nil
}

// openForWriting lists the programs that have a file open for writing. isKnown is false if the
// system does not tell.
func (f *Files) openForWriting(name string) (programs []string, isKnown bool) {
	file, err := os.Open(name)
	if err != nil {
		return nil, false
	}
	state := f.system().lease(file)
	if state == leaseTaken && f.system().isLeaseBroken(file) {
		state = leaseRefused
	}
	file.Close()
	if state == leaseTaken {
		return nil, true
	}
	programs, isKnown = f.system().writers(name)
	if state == leaseRefused && len(programs) == 0 {
		return []string{"another program"}, true
	}
	return programs, isKnown
}

// Writer returns a program that has a file open for writing, as people would call it; "": none is
// known.
func Writer(name string) string {
	var f Files
	if programs, _ := f.openForWriting(name); len(programs) > 0 {
		return programs[0]
	}
	return ""
}

// lock keeps other runs from replacing the file at path until the returned file is closed. The
// lock is on the file, not on its name: a run that waited for it must look at the name again. The
// returned file is nil on systems that cannot replace an open file.
func (f *Files) lock(path string, force bool) (*os.File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if !canLock {
		file.Close()
		return nil, nil
	}
	patience := f.Patience
	if patience == 0 {
		patience = 5 * time.Second
	}
	const pause = 10 * time.Millisecond
	for ; ; patience -= pause {
		if !tryLock(file) || force && patience <= 0 {
			return file, nil
		}
		if patience <= 0 {
			file.Close()
			return nil, ErrLocked
		}
		time.Sleep(pause)
	}
}

// pause waits.
func (f *Files) pause(d time.Duration, path string) error {
	if err := f.step("wait", path); err != nil {
		return err
	}
	if f.testSystem == nil {
		time.Sleep(d)
	}
	return nil
}
