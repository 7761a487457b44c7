package store

import (
	"errors"
	"os"
	"strings"
)

// reserveSize is the disk space in bytes that is reserved for deletions: as much as the journal
// takes before a checkpoint.
const reserveSize = 4 << 20

// reserve creates a file next to the database that reserves disk space, once the database is larger
// than the reserve. On a full disk, deletions need space, because they are written to the journal
// first. Nothing is reserved unless as much space remains for others.
func (f *sqliteFile) reserve() {
	info, err := os.Stat(f.path)
	if err != nil || info.Size() <= reserveSize {
		return
	}
	file, err := os.OpenFile(f.reserved(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return
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

// withReserve deletes the reserve if the disk is full, and checkpoints the journal to free its
// space.
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
