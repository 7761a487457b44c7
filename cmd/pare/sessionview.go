package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/cmd/internal/source"
	"github.com/pare-llm/pare/cmd/internal/ui"
	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/wire"
)

// threads returns the threads of a session that are to be shown, the main one first.
func (v *viewing) threads(in source.Chunk) ([]*shown, error) {
	l, err := readSession(in, v.opts)
	if err != nil {
		return nil, err
	}
	sent := l.Sent()
	chosen := slices.Clone(sent)
	for _, t := range l.Threads {
		if !slices.Contains(sent, t) {
			chosen = append(chosen, t)
		}
	}
	switch {
	case len(chosen) == 0:
		return nil, errors.New("this session is empty")
	case v.Thread != "":
		if chosen, err = threadNamed(chosen, v.Thread); err != nil {
			return nil, err
		}
	case len(sent) > 1:
		return nil, hinted{fmt.Errorf("it holds %d sessions", len(sent)), "a page shows one: " + threadHint(chosen)}
	}
	found := l.Check(wire.CheckOptions{Strict: v.Strict, Advice: v.Advice})
	var all []*shown
	for i, t := range chosen {
		s := &shown{from: origin{source: v.Path, lead: in.Lead}, req: t.Stored(), line: l.Lines(t)}
		if slices.Contains(sent, t) {
			size := l.Size(t)
			s.size = &size
		}
		if len(chosen) > 1 || v.Thread != "" {
			s.from.thread = t.Name
		}
		for _, f := range found {
			if f.Of() == t || f.Of() == nil && i == 0 {
				s.found = append(s.found, f.Finding)
			}
		}
		all = append(all, s)
	}
	return all, nil
}

// threadNamed finds a thread by its name, with or without the word in front.
func threadNamed(all []*agentlog.Thread, name string) ([]*agentlog.Thread, error) {
	for _, t := range all {
		if t.Name == name || strings.TrimPrefix(strings.TrimPrefix(t.Name, "side "), "session ") == name {
			return []*agentlog.Thread{t}, nil
		}
	}
	return nil, hinted{fmt.Errorf("there is no thread %q", name), threadHint(all)}
}

func threadHint(all []*agentlog.Thread) string {
	const most = 5
	var names []string
	for i, t := range all {
		if i == most {
			names = append(names, fmt.Sprintf("and %d more", len(all)-most))
			break
		}
		names = append(names, quoted(t.Name))
	}
	return "--thread is one of " + strings.Join(names, ", ")
}

// pageOf makes one page of several threads: the first is the one that is sent, and what
// the headline is about; the others are there if they are chosen.
func pageOf(all []*shown) *ui.Page {
	p := all[0].page()
	if len(all) == 1 {
		return p
	}
	p.Source, p.Thread = origin{source: all[0].from.source}.String(), all[0].from.thread
	for _, s := range all[1:] {
		p.Others = append(p.Others, ui.Thread{Name: s.from.thread, Side: s.page().Before})
	}
	return p
}

// others says, in the terminal, which threads are not shown.
func (r report) others(all []*shown) []byte {
	if len(all) < 2 {
		return nil
	}
	var names []string
	for _, s := range all[1:] {
		names = append(names, fmt.Sprintf("%s (%s)", quoted(s.from.thread), plural(len(s.req.Transcript().Messages()), "message")))
	}
	return screen.Appendf(nil, "\n%s\n", r.Paint.Faint("not sent, and shown by --thread NAME: "+strings.Join(names, ", ")))
}
