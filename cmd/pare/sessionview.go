package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pare-llm/pare/agentlog"
	"github.com/pare-llm/pare/internal/source"
	"github.com/pare-llm/pare/ui"
	"github.com/pare-llm/pare/wire"
)

// threads returns the threads of a session that are to be shown, the main one first.
func (v *viewing) threads(in source.Chunk) ([]*shown, error) {
	l, err := readSession(in, v.opts)
	if err != nil {
		return nil, err
	}
	chosen := slices.Clone(l.Threads)
	slices.SortStableFunc(chosen, func(a, b *agentlog.Thread) int { return cmp.Compare(a.Kind, b.Kind) })
	switch {
	case len(chosen) == 0:
		return nil, errors.New("this session is empty")
	case v.Thread != "":
		if chosen, err = threadNamed(chosen, v.Thread); err != nil {
			return nil, err
		}
	case len(l.main()) > 1:
		return nil, hinted{fmt.Errorf("it holds %d sessions", len(l.main())), "a page shows one: " + threadHint(chosen)}
	}
	found := l.Check(wire.CheckOptions{Strict: v.Strict, Advice: v.Advice})
	var all []*shown
	for i, t := range chosen {
		s := &shown{from: origin{source: v.Path, lead: in.Lead}, req: stored(t), line: l.lines(t)}
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

// pageOf makes one page of several threads: blocks are counted through all of them.
func pageOf(all []*shown) *ui.Page {
	p := all[0].page()
	if len(all) == 1 {
		return p
	}
	p.Source = plain(origin{source: all[0].from.source}.String())
	for i := range p.Before.Messages {
		p.Before.Messages[i].Thread = all[0].from.thread
	}
	for _, s := range all[1:] {
		p.Before = joined(p.Before, s.page().Before, s.from.thread)
	}
	return p
}

// joined puts a thread behind others.
func joined(a, b ui.Side, thread string) ui.Side {
	blocks := 0
	for _, m := range a.Messages {
		blocks += len(m.Blocks)
	}
	moved := func(n, by int) int {
		if n < 0 {
			return n
		}
		return n + by
	}
	for _, x := range b.Exchanges {
		x.Call = moved(x.Call, blocks)
		x.Results = slices.Clone(x.Results)
		for i := range x.Results {
			x.Results[i] += blocks
		}
		a.Exchanges = append(a.Exchanges, x)
	}
	for _, f := range b.Faults {
		f.Message, f.Block = moved(f.Message, len(a.Messages)), moved(f.Block, blocks)
		a.Faults = append(a.Faults, f)
	}
	for _, m := range b.Messages {
		m.Thread = thread
		a.Messages = append(a.Messages, m)
	}
	return a
}
