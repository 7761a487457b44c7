package main

import (
	"bytes"
	"fmt"
	"iter"

	"github.com/pare-llm/pare/agentlog"
	"github.com/pare-llm/pare/internal/picture"
	"github.com/pare-llm/pare/internal/source"
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
	o := agentlog.Options{Format: in.Agent, Profile: opts.Profile, Model: opts.Model}
	if o.Profile != "" {
		if _, err := wire.ResolveProfile(in.Agent.Dialect(), o.Profile, ""); err != nil {
			return logFile{}, err
		}
	}
	if in.IsFolder() {
		l.Stored, err = agentlog.OpenFolder(in.Source, "", o)
	} else {
		l.Stored, err = agentlog.OpenFile(in.Source, in.File, in.Data, o)
	}
	return l, err
}

// lines tells the line of each message of a thread; nil: they share one, or have files
// of their own.
func (s logFile) lines(t *agentlog.Thread) func(int) int {
	if n := t.Messages(); s.Format == agentlog.OpenCode || n > 1 && s.Line(t, 0) == s.Line(t, n-1) {
		return nil
	}
	return func(i int) int { return s.Line(t, i) }
}

// profile names dialect and profile of the session.
func (s logFile) profile(opts wire.Options) (dialect, profile string) {
	if r := s.first(); r != nil {
		return r.Dialect.String(), r.Profile.Name
	}
	d := s.Format.Dialect()
	p, err := wire.ResolveProfile(d, opts.Profile, opts.Model)
	if err != nil {
		return d.String(), d.String()
	}
	return d.String(), p.Name
}

// first is the request that the session is about: the first one that is sent.
func (s logFile) first() *wire.Request {
	if sent := s.Sent(); len(sent) > 0 {
		return sent[0].Request
	}
	if len(s.Threads) > 0 {
		return s.Threads[0].Request
	}
	return nil
}

// counts are those of what would be sent.
func (s logFile) counts() picture.Counts { return countsOf(s.Log) }

// countsOf counts what would be sent if a session went on, as it is stored.
func countsOf(l *agentlog.Log) (n picture.Counts) {
	for _, t := range l.Sent() {
		tr := t.Request.Transcript()
		all := tr.Messages()[:t.Messages()]
		n.Messages += len(all)
		for _, m := range all {
			for b := m.First; b < m.End; b++ {
				n.Add(tr.Block(b).Kind)
			}
		}
	}
	return n
}

// requests returns what would be sent if the session went on, as it is stored, and where
// it is from.
func (s logFile) requests(from origin) iter.Seq2[origin, *wire.Request] {
	return func(yield func(origin, *wire.Request) bool) {
		all := s.Sent()
		for _, t := range all {
			if len(all) > 1 {
				from.thread, from.many = t.Name, true
			}
			if !yield(from, stored(t)) {
				return
			}
		}
	}
}

// stored returns the request of a thread without the prompt that only stands in for
// what the user would say next.
func stored(t *agentlog.Thread) *wire.Request {
	all := t.Request.Transcript().Messages()
	n := t.Messages()
	if n == len(all) || n == 0 {
		return t.Request
	}
	raw := t.Request.Raw()
	kept := append(bytes.Clone(raw[:all[n-1].Span.End]), raw[all[len(all)-1].Span.End:]...)
	r, err := wire.Parse(kept, wire.Options{Dialect: t.Request.Dialect, Profile: t.Request.Profile.Name, Model: t.Request.Model()})
	if err != nil {
		panic(err) // a part of what was parsed before
	}
	return r
}

// notShortened says why a session file is none for a command that takes things out.
func notShortened(command string, f agentlog.Format) error {
	return hinted{fmt.Errorf("this is a session file of %s, and pare %s is for requests: a shortened session is not written back", f.Maker(), command),
		"pare fix repairs it, pare count, split and replay show what is in it; to make it shorter, let the agent compact it"}
}
