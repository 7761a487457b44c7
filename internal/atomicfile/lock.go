package atomicfile

import (
	"os"
	"time"
)

// lock keeps other runs from replacing the file at path until unlock is called. The lock
// is on the file, not on its name: who waited for it finds another file there, and has to
// look.
func (f *Files) lock(path string, force bool) (unlock func(), err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	patience := f.Patience
	if patience == 0 {
		patience = 5 * time.Second
	}
	const pause = 10 * time.Millisecond
	for ; ; patience -= pause {
		switch busy := tryLock(file); {
		case !busy, force && patience <= 0:
			return func() { file.Close() }, nil // the lock goes with it
		case patience <= 0:
			file.Close()
			return nil, ErrLocked
		}
		time.Sleep(pause)
	}
}
