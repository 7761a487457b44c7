package store

import "github.com/pare-llm/pare"

// The events of a session; those of compactions are the engine's.
const (
	eventCreated  = "session_created"
	eventAppended = "entries_appended"
	eventReverted = "session_reverted"
	eventUndone   = "session_undone"
	eventForked   = "session_forked"
	eventMerged   = "session_merged"
	eventDeleted  = "session_deleted"
)

// EventData is the metadata of every event of the store: which session, and what of it.
// Many goroutines may read it.
type EventData struct {
	Session  Key    `json:"session"`
	Head     int64  `json:"head,omitempty"`     // afterwards
	From     *Key   `json:"from,omitempty"`     // fork and merge: the other session
	Entries  int    `json:"entries,omitempty"`  // appended or merged
	Messages int    `json:"messages,omitempty"` // reverted, or summarized
	To       int64  `json:"to,omitempty"`       // compaction: it stands for all up to here
	Archive  string `json:"archive,omitempty"`  // the handle of what it stands for
	What     Kind   `json:"what,omitempty"`     // undo
	Error    string `json:"error,omitempty"`
}

func (s *Store) emit(kind string, h EventData) {
	if s.options.Sink != nil {
		s.options.Sink(pare.Event{Type: kind, Metadata: h})
	}
}
