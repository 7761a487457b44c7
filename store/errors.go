package store

import (
	"errors"
	"fmt"
)

// ErrNotFound is wrapped by the error for a session that does not exist.
var ErrNotFound = errors.New("no such session")

// ErrExists is wrapped by the error for a session that is to be made and exists.
var ErrExists = errors.New("the session exists")

// ErrDeleted is wrapped by the error for a session that was deleted. Nothing can be
// written to it any more, by anybody who has not heard yet.
var ErrDeleted = errors.New("the session was deleted")

// ErrBusy is the error for a compaction of a session that is being compacted.
var ErrBusy = errors.New("the session is being compacted by somebody else")

// ErrNothingToUndo is wrapped by the error for an undo that cannot be.
var ErrNothingToUndo = errors.New("nothing to undo")

// ErrNoCursor is wrapped by the error for a cursor that names no entry of the
// session.
var ErrNoCursor = errors.New("no such entry")

// ErrExpired is wrapped by the error for a revert, an undo, a fork or a window of an earlier
// head that needs entries whose bytes retention has let go of.
var ErrExpired = errors.New("retention has let go of what would be in force again")

// ErrFull is wrapped by the error for a write that found no room on the disk. Nothing of
// it was written.
var ErrFull = errors.New("the disk is full")

// ErrUnavailable is wrapped by the error for a database that does not answer, or that cannot be
// opened: a server that is stopped or has no connection left, a file that another program keeps
// locked or that is not where it was. Whether a write that was under way counts is not known:
// what is sent again under the same ids counts once. The store goes on by itself as soon as the
// database is back.
var ErrUnavailable = errors.New("the database cannot be reached")

// ErrDamaged is wrapped by the error for a file whose pages are not what the database wrote.
// Fsck says which.
var ErrDamaged = errors.New("the database file is damaged")

// A ConflictError says that entries were appended that the writer has not seen. Many
// goroutines may read it.
type ConflictError struct {
	Key      Key
	Expected int64 // what the writer took for the head
	Head     int64 // what the head is
	// Missed is what of the entries between is in force, oldest first; at most 1,000. A revert
	// is there in the place of what it hides.
	Missed []Entry
	Reason string // what stands in the way
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("session %s: the head is %d, not %d: %s", e.Key, e.Head, e.Expected, e.Reason)
}

// A DuplicateError says that an entry of that id is there and says something else, or
// was reverted. Many goroutines may read it.
type DuplicateError struct {
	Key      Key
	ID       string
	Seq      int64
	Reverted bool // the bytes are the same, but the entry is not in force any more
}

func (e *DuplicateError) Error() string {
	if e.Reverted {
		return fmt.Sprintf("append to %s: entry %q was reverted; give the new one an id of its own", e.Key, e.ID)
	}
	return fmt.Sprintf("append to %s: entry %q is there already, with other bytes", e.Key, e.ID)
}

// An EntryError says what is wrong with an entry that was to be appended. Nothing was
// written. Many goroutines may read it.
type EntryError struct {
	Index int // in the list that was given
	ID    string
	Err   error
}

func (e *EntryError) Error() string { return fmt.Sprintf("entry %d (%.80q): %v", e.Index, e.ID, e.Err) }
func (e *EntryError) Unwrap() error { return e.Err }

// A CorruptError says that stored bytes are not what was stored. Many goroutines may read
// it.
type CorruptError struct {
	Key  Key
	Seq  int64
	What string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("session %s, entry %d: %s; run fsck", e.Key, e.Seq, e.What)
}

// ErrUsage is wrapped by errors about what was asked for.
var ErrUsage = errors.New("this cannot be done")
