// Package adkgo keeps the sessions of agents that are written with adk-go in a store of
// Pare: on SQLite, or on PostgreSQL for many machines.
//
//	st, err := store.Open(ctx, "pare.db")
//	service := adkgo.New(st)
//	runner, err := runner.New(runner.Config{SessionService: service, …})
//
// An app is a scope of the store, a session is a session, and an event becomes two
// entries: what the event is, and, where it has content, a message in the dialect of
// Gemini. So everything the store can do works on it: windows, compaction, revert, fork,
// search. [Key] names the session for that.
//
// Events have the order in which they were appended, whatever their time is. An event is
// appended disjointly: a second writer does not end the turn of the first, unless it would
// part a call from its response. The same event appended twice is there once.
package adkgo
