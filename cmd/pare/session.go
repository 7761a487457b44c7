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

// A logFile is an agent's session file that was read.
type logFile struct {
	*agentlog.Stored
}

// readSession reads the session that a chunk holds, or names.
func readSession(in source.Chunk, opts wire.Options) (l logFile, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = hinted{fmt.Errorf("pare has met a bug of its own: %v", p), "please report it, with the session if you may share it"}
		}
	}()
	o := agentlog.Options{Format: in.Agent, Profile: opts.Profile, Model: opts.Model, Marked: in.Lead > 0}
	if o.Profile != "" {
		if _, err := wire.ResolveProfile(in.Agent.Dialect(), o.Profile, ""); err != nil {
			return logFile{}, err
		}
	}
	switch {
	case in.Rows != nil:
		l.Stored, err = agentlog.OpenRows(in.Source, in.Rows, o)
	case in.IsFolder():
		l.Stored, err = agentlog.OpenFolder(in.Source, "", o)
	default:
		l.Stored, err = agentlog.OpenFile(in.Source, in.File, in.Data, o)
	}
	return l, err
}

// profile names dialect and profile of the session.
func (s logFile) profile(opts wire.Options) (dialect, profile string) {
	if r := s.First(); r != nil {
		return r.Dialect.String(), r.Profile.Name
	}
	d := s.Format.Dialect()
	p, err := wire.ResolveProfile(d, opts.Profile, opts.Model)
	if err != nil {
		return d.String(), d.String()
	}
	return d.String(), p.Name
}

// counts are those of what would be sent.
func (s logFile) counts() picture.Counts { return picture.CountSession(s.Log) }

// requests returns what would be sent if the session went on, as it is stored, and where
// it is from.
func (s logFile) requests(from origin) iter.Seq2[origin, *wire.Request] {
	return func(yield func(origin, *wire.Request) bool) {
		all := s.Sent()
		for _, t := range all {
			if len(all) > 1 {
				from.thread, from.many = t.Name, true
			}
			from.pace = func() fullness.Pace { return s.Pace(t) }
			if from.counted = s.Counted(t); !yield(from, t.Stored()) {
				return
			}
		}
	}
}
