package store

import (
	"errors"
	"os"
	"strings"
)

// reserveSize is how much room on the disk is kept for deleting: as much as the journal takes
// before it is worked into the file.
const reserveSize = 4 << 20

// reserve keeps room on the disk, in a file beside the database, once that is larger than the
// reserve. Whoever deletes on a full disk needs some: what goes is written to the journal first.
// Unless as much again is free for others, nothing is kept.
func (f *sqliteFile) reserve() {
	info, err := os.Stat(f.path)
	if err != nil || info.Size() <= reserveSize {
		return
	}
	file, err := os.OpenFile(f.reserved(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return // it is there, or this user may not
	}
	zeros := make([]byte, reserveSize)
	for range 2 {
		if _, err = file.Write(zeros); err != nil {
			break
		}
	}
	if err = errors.Join(err, file.Truncate(reserveSize), file.Close()); err != nil {
		os.Remove(f.reserved())
	}
}

func (f *sqliteFile) reserved() string { return strings.TrimSuffix(f.journal, "-wal") + "-reserve" }

// freeing gives the reserve up if the disk is full, and works the journal in, so that what is
// deleted and what is appended next find room in it.
func (e *sqliteEngine) withReserve(do func() error) error {
	err := do()
	if !errors.Is(err, ErrFull) || os.Remove(e.reserved()) != nil {
		return err
	}
	e.write.Exec(`PRAGMA wal_checkpoint(TRUNCATE)`)
	err = do()
	e.write.Exec(`PRAGMA wal_checkpoint(TRUNCATE)`)
	return err
}
