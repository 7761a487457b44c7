package atomicfile

import (
	"errors"
	"os"
)

// asideSuffix is added to a hidden name for the second name of the file that it is exchanged with.
const asideSuffix = ".aside"

// exchange swaps the files of a hidden name and of path. At every moment path leads to one of
// them. Without an exchange in the file system it takes three steps, and a run that is killed
// between them leaves a file at the hidden name with asideSuffix.
func (f *Files) exchange(hidden, path string) error {
	if err := f.step("exchange", path); err != nil {
		return err
	}
	if err := f.system().exchange(hidden, path); !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	aside := hidden + asideSuffix
	if err := f.LinkOrCopy(path, aside); err != nil {
		return err
	}
	if err := f.rename(hidden, path); err != nil {
		f.remove(aside)
		return err
	}
	return f.rename(aside, hidden)
}

// finishExchange does the last step of an exchange that was killed.
func (f *Files) finishExchange(hidden, path string) error {
	aside := hidden + asideSuffix
	kept, err := os.Lstat(aside)
	if err != nil {
		return nil
	}
	if _, err := os.Lstat(hidden); err == nil { // killed before the second step
		if now, err := os.Lstat(path); err == nil && os.SameFile(now, kept) {
			f.remove(aside)
		}
		return nil
	}
	return f.rename(aside, hidden)
}
