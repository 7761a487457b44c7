// Package store keeps conversations of agents so that they survive: crashes, two
// writers at once, cuts, summaries, repairs and undo.
//
//	st, err := store.Open(ctx, "pare.db")             // SQLite, one file
//	st, err := store.Open(ctx, "postgres://…")        // PostgreSQL, many machines
//	key := store.ID("flaky-login")
//	_, err = st.Create(ctx, key, store.Create{Model: "claude-sonnet-4-5"}) // once; ErrExists afterwards
//	_, err = st.Append(ctx, key, store.Exactly(head), store.Message(id, raw)) // head is 0 at first
//	w, err := st.Window(ctx, key, store.WindowOptions{})        // a body, ready to send
//
// # A session is a log
//
// A session is a sequence of entries, numbered from 1 without gaps. The number is the
// only order there is; times are information. Entries are never changed and never
// moved. What looks like a change is an entry of its own: a revert hides what stands
// behind an entry, a compaction says what is sent in the place of a range, an undo
// takes one of the two back. What is in force is folded from these few entries and
// kept beside the session, so that nothing has to read a history to know it.
//
// A fork shares the entries of its parent up to a point and has its own from there on.
//
// # Messages and other entries
//
// The bytes of a message are those of one element of the provider's list, in the
// dialect of the session. They come back as they were put in. Entries of other kinds
// (state, spans, markers, links) are kept in order and never sent.
//
// # Pairs
//
// The store knows which call an entry opens and which one it closes. An exchange may
// stay open for as long as it takes; the answer may come from another process. Only a
// window, which is made for sending, closes it with a stub, and that is never written.
//
// A Store may be used by many goroutines, and a database by many stores.
package store
