// Package store keeps the conversations of agents in SQLite or PostgreSQL. They survive crashes,
// concurrent writers, compactions and undo.
//
//	db, err := store.Open(ctx, "pare.db")             // SQLite, one file
//	db, err := store.Open(ctx, "postgres://…")        // PostgreSQL, many machines
//	key := store.ID("flaky-login")
//	_, err = db.Create(ctx, key, store.Create{Model: "claude-sonnet-4-5"}) // ErrExists if it exists
//	_, err = db.Append(ctx, key, store.Exactly(head), store.Message(id, raw)) // head is 0 at first
//	w, err := db.Window(ctx, key, store.WindowOptions{})        // a body, ready to send
//
// # Sessions
//
// A session is a sequence of entries that are numbered from 1 without gaps. Entries never change.
// A revert, a compaction and an undo are entries too: a revert hides the entries after another
// entry, a compaction replaces older entries in windows, and an undo cancels one of these. The
// resulting state is stored with the session, so that reading it does not require the history. A
// fork shares the entries of its parent up to a number.
//
// # Entries
//
// A message is one element of the provider's list of messages, in the dialect of the session. The
// store returns it byte for byte. Entries of other kinds are kept in order and never sent.
//
// # Pairs
//
// The store links each result to its call. A call may stay open for any time, and its result may
// come from another process. A window closes open calls with stubs, which are not stored.
//
// Values may be read, and a Store and its parts used, by many goroutines; several stores may use
// one database.
package store
