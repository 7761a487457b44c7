package store

import "github.com/pare-llm/pare"

const (
	// The types of events. Compactions have those of package pare.
	eventCreated  = "session_created"
	eventAppended = "entries_appended"
	eventReverted = "session_reverted"
	eventUndone   = "session_undone"
	eventForked   = "session_forked"
	eventMerged   = "session_merged"
	eventDeleted  = "session_deleted"
)

// EventData is the metadata of every event of the store.
type EventData struct {
	Session  Key    `json:"session"`
	Head     int64  `json:"head,omitempty"`     // after the change
	From     *Key   `json:"from,omitempty"`     // fork and merge: the other session
	Entries  int    `json:"entries,omitempty"`  // appended or merged
	Messages int    `json:"messages,omitempty"` // reverted or summarized
	To       int64  `json:"to,omitempty"`       // compaction: the last entry that it replaces
	Archive  string `json:"archive,omitempty"`  // compaction: the handle of the replaced messages
	What     Kind   `json:"what,omitempty"`     // undo: the kind of the undone entry
	Error    string `json:"error,omitempty"`
}

func (s *Store) emit(kind string, h EventData) {
	if s.options.Sink != nil {
		s.options.Sink(pare.Event{Type: kind, Metadata: h})
	}
}
