package atomicfile

import (
	"errors"
	"io/fs"
	"os"
)

// What an [Error] may wrap.
var (
	ErrMoved       = errors.New("somebody else wrote to it meanwhile")
	ErrLocked      = errors.New("another process has locked it")
	ErrManyBackups = errors.New("there are too many backups of it")
)

// An Error names a file that cannot be written, as the user called it, and the cause.
type Error struct {
	Name string
	Err  error
}

func (e *Error) Error() string {
	why := e.Err
	var path *fs.PathError
	if errors.As(why, &path) {
		why = path.Err // the path is that of the hidden file
	}
	var link *os.LinkError
	if errors.As(why, &link) {
		why = link.Err
	}
	return "write " + e.Name + ": " + why.Error()
}

func (e *Error) Unwrap() error { return e.Err }
