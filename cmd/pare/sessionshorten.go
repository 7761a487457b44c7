package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/cmd/internal/picture"
	"github.com/pare-llm/pare/cmd/internal/source"
	"github.com/pare-llm/pare/internal/agentlog"
)

// A shortening plans what becomes of a session.
type shortening func(*agentlog.Thread, agentlog.Size) (*pare.Plan, error)

// bySession lets a planner of requests plan what becomes of a session.
func bySession(plan planner) shortening {
	return func(t *agentlog.Thread, _ agentlog.Size) (*pare.Plan, error) { return plan(t.Request) }
}

// forSessions is how a command that takes things out writes sessions.
func forSessions(p *pare.Policy) *repairing {
	return &repairing{Options: agentlog.Options{Repair: p.Repair, Check: p.Check}, busy: agentlog.NewBusy(time.Now())}
}

// shortened is a session that a command has made shorter.
type shortened struct {
	*agentlog.Fixed
	plans []*pare.Plan
	size  picture.Size
}

// shortenLog makes a session shorter, in memory.
func (c *changer) shortenLog(l logFile, how agentlog.Options) (*shortened, error) {
	out := &shortened{}
	fixed, err := l.Shorten(how, func(t *agentlog.Thread, s agentlog.Size) (*pare.Plan, error) {
		p, err := c.shorten(t, s)
		if err != nil {
			return nil, err
		}
		out.plans = append(out.plans, p)
		if c.tokens != nil {
			n, was, is := len(p.Result().Transcript().Messages()), c.tokens(t.Stored()), c.tokens(p.Result())
			if t.Messages() < len(t.Request.Transcript().Messages()) { // the prompt that stands in for the next one
				n, is = n-1, is-(c.tokens(t.Request)-was)
			}
			out.size.Messages[0] += t.Messages()
			out.size.Messages[1] += n
			out.size.Tokens[0] += was
			out.size.Tokens[1] += is
		}
		return p, nil
	})
	out.Fixed = fixed
	return out, err
}

// shortenSession makes one session file shorter.
func (c *changer) shortenSession(from origin, in source.Chunk, b *batch) (o outcome) {
	l, err := readSession(in, c.opts)
	if err != nil {
		return c.unreadable(from, failure(err))
	}
	how := c.repairing.Options
	how.Profile, how.Model = c.opts.Profile, c.opts.Model
	s, err := c.shortenLog(l, how)
	switch {
	case errors.Is(err, agentlog.ErrShorten):
		return c.unreadable(from, failure(notShortened(c.command, in.Agent)))
	case err != nil:
		return c.refused(from, in.Data, err)
	}
	o.before, o.after = len(l.Raw()), len(s.Raw)
	if c.tokens != nil && !(c.json && !c.dryRun) {
		o.size = &s.size
	}
	if o.unmarked = s.Unmarked; o.unmarked {
		o.before += in.Lead
	}
	files := l.Replacements(s.Fixed)
	o.changed = len(files) > 0
	if why := c.busy(l); o.changed && why != nil {
		return c.leftAlone(from, in.Data, why)
	}
	for _, ch := range s.Changes {
		o.rules = append(o.rules, ch.Rule)
	}
	if agentlog.Broken(s.Left) {
		o.status = statusFindings
	}
	for _, p := range s.plans {
		if why := skipped(p); why != "" {
			o.note = append(o.note, c.skipped(from, why)...)
		}
		if why := unsummarized(p); why != "" {
			o.note = append(o.note, c.unsummarized(from, why)...)
		}
	}
	if c.dryRun {
		o.out = c.showSession(from, l, s.Fixed)
		return o
	}
	if len(s.Left) > 0 {
		o.note = append(o.note, c.leftInSession(from, l, s.Left)...)
	}
	o.receipt = c.logReceipt(from, s.Changes)
	for _, p := range s.plans {
		if c.archive != "" {
			o.archive = append(o.archive, archiveLines(from, p.Archive(), p.Conserved().Items > 0)...)
		}
	}
	if c.inPlace {
		b.Session = replacements(in, files, true)
		return o
	}
	o.out = s.Raw
	return o
}

// notShortened says why a session file is none for a command that takes things out.
func notShortened(command string, f agentlog.Format) error {
	return hinted{fmt.Errorf("this is a session file of %s, which pare %s cannot shorten yet", f.Maker(), command),
		"pare session import FILE, then pare session window ID, gives a request that fits; pare fix repairs the file"}
}
