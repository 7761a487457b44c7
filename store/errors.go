package store

import (
	"errors"
	"fmt"
)

// ErrNotFound is wrapped by the error for a session that does not exist.
var ErrNotFound = errors.New("no such session")

// ErrExists is wrapped by the error for creating a session that exists.
var ErrExists = errors.New("the session exists")

// ErrDeleted is wrapped by the error for a session that was deleted. It cannot be written to.
var ErrDeleted = errors.New("the session was deleted")

// ErrBusy is wrapped by the error for compacting a session during another compaction.
var ErrBusy = errors.New("the session is being compacted by somebody else")

// ErrNothingToUndo is wrapped by the error for an undo that is not possible.
var ErrNothingToUndo = errors.New("nothing to undo")

// ErrNoCursor is wrapped by the error for an id that names no entry of the session.
var ErrNoCursor = errors.New("no such entry")

// ErrExpired is wrapped by the error for a revert, undo, fork or window of an earlier head that
// needs entries whose bytes retention has deleted.
var ErrExpired = errors.New("retention has let go of what would be in force again")

// ErrFull is wrapped by the error for a write that found no space on the disk. Nothing was written.
var ErrFull = errors.New("the disk is full")

// ErrUnavailable is wrapped by the error for a database that does not answer or cannot be opened.
// An interrupted write may have been committed; repeat it with the same ids. The store recovers
// when the database is back.
var ErrUnavailable = errors.New("the database cannot be reached")

// ErrDamaged is wrapped by the error for a corrupt database file. Fsck reports the damaged parts.
var ErrDamaged = errors.New("the database file is damaged")

// A ConflictError reports entries that the writer has not seen.
type ConflictError struct {
	Key      Key
	Expected int64 // the head according to the writer
	Head     int64
	// Missed are up to 1,000 entries in force after Expected, oldest first. They include reverts,
	// but not the entries that these hide.
	Missed []Entry
	Reason string
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("session %s: the head is %d, not %d: %s", e.Key, e.Head, e.Expected, e.Reason)
}

// A DuplicateError reports that the id is taken by an entry with other bytes, or by a reverted one.
type DuplicateError struct {
	Key      Key
	ID       string
	Seq      int64
	Reverted bool // the bytes are equal, but the entry is not in force
}

func (e *DuplicateError) Error() string {
	if e.Reverted {
		return fmt.Sprintf("append to %s: entry %q was reverted; give the new one an id of its own", e.Key, e.ID)
	}
	return fmt.Sprintf("append to %s: entry %q is there already, with other bytes", e.Key, e.ID)
}

// An EntryError reports an invalid entry. Nothing was written.
type EntryError struct {
	Index int // in the list of entries
	ID    string
	Err   error
}

func (e *EntryError) Error() string { return fmt.Sprintf("entry %d (%.80q): %v", e.Index, e.ID, e.Err) }
func (e *EntryError) Unwrap() error { return e.Err }

// A CorruptError reports stored bytes that differ from those that were written.
type CorruptError struct {
	Key  Key
	Seq  int64
	What string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("session %s, entry %d: %s; run fsck", e.Key, e.Seq, e.What)
}

// ErrUsage is wrapped by errors about invalid arguments.
var ErrUsage = errors.New("this cannot be done")
