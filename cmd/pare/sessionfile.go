package main

import (
	"fmt"
	"iter"

	"github.com/pare-llm/pare/cmd/internal/picture"
	"github.com/pare-llm/pare/cmd/internal/source"
	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/internal/fullness"
	"github.com/pare-llm/pare/wire"
)

// A sessionFile is an agent's session file in memory.
type sessionFile struct {
	*agentlog.Stored
}

// readSession reads the session file in a chunk, or the folder or database that the chunk names.
func readSession(chunk source.Chunk, opts wire.Options) (session sessionFile, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = hintedError{fmt.Errorf("pare has met a bug of its own: %v", p), "please report it, with the session if you may share it"}
		}
	}()
	o := agentlog.Options{Format: chunk.Agent, Profile: opts.Profile, Model: opts.Model, HasByteOrderMark: chunk.Lead > 0}
	if o.Profile != "" {
		if _, err := wire.ResolveProfile(chunk.Agent.Dialect(), o.Profile, ""); err != nil {
			return sessionFile{}, err
		}
	}
	switch {
	case chunk.Rows != nil:
		session.Stored, err = agentlog.OpenRows(chunk.Source, chunk.Rows, o)
	case chunk.IsFolder():
		session.Stored, err = agentlog.OpenFolder(chunk.Source, "", o)
	default:
		session.Stored, err = agentlog.OpenFile(chunk.Source, chunk.File, chunk.Data, o)
	}
	return session, err
}

// dialectAndProfile returns the dialect and the profile of the session.
func (f sessionFile) dialectAndProfile(opts wire.Options) (dialect, profile string) {
	if req := f.First(); req != nil {
		return req.Dialect.String(), req.Profile.Name
	}
	d := f.Format.Dialect()
	p, err := wire.ResolveProfile(d, opts.Profile, opts.Model)
	if err != nil {
		return d.String(), d.String()
	}
	return d.String(), p.Name
}

// counts returns the number of messages, calls and results that would be sent.
func (f sessionFile) counts() picture.Counts { return picture.CountSession(f.Log) }

// sentRequests returns the requests that would be sent if the agent resumed the session, each with
// its origin.
func (f sessionFile) sentRequests(from origin) iter.Seq2[origin, *wire.Request] {
	return func(yield func(origin, *wire.Request) bool) {
		all := f.Sent()
		for _, thread := range all {
			if len(all) > 1 {
				from.thread, from.isOneOfMany = thread.Name, true
			}
			from.pace = func() fullness.Pace { return f.Pace(thread) }
			if from.counted = f.Counted(thread); !yield(from, thread.Stored()) {
				return
			}
		}
	}
}
