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

// A sessionPlanner plans the changes of one thread of a session.
type sessionPlanner func(*agentlog.Thread, agentlog.Size) (*pare.Plan, error)

// planEachRequest returns a session planner that plans the thread's request.
func planEachRequest(plan planner) sessionPlanner {
	return func(thread *agentlog.Thread, _ agentlog.Size) (*pare.Plan, error) { return plan(thread.Request) }
}

// newSessionRepair returns the repair options for commands that shorten sessions.
func newSessionRepair(policy *pare.Policy) *sessionRepair {
	return &sessionRepair{Options: agentlog.Options{Repair: policy.Repair, Check: policy.Check}, busy: agentlog.NewBusy(time.Now())}
}

// A shortenedSession is the result of shortening a session.
type shortenedSession struct {
	*agentlog.Fixed
	plans []*pare.Plan
	size  picture.Size
}

// shortenThreads shortens the threads of a session in memory.
func (c *changer) shortenThreads(session sessionFile, options agentlog.Options) (*shortenedSession, error) {
	short := &shortenedSession{}
	fixed, err := session.Shorten(options, func(thread *agentlog.Thread, size agentlog.Size) (*pare.Plan, error) {
		plan, err := c.planSession(thread, size)
		if err != nil {
			return nil, err
		}
		short.plans = append(short.plans, plan)
		if c.countTokens != nil {
			c.addThreadSize(&short.size, thread, plan)
		}
		return plan, nil
	})
	short.Fixed = fixed
	return short, err
}

// addThreadSize adds the size of a thread before and after a plan to size.
func (c *changer) addThreadSize(size *picture.Size, thread *agentlog.Thread, plan *pare.Plan) {
	before := picture.Amount{Messages: thread.Messages(), Tokens: c.countTokens(thread.Stored())}
	after := c.amountOf(plan.Result())
	if thread.Messages() < len(thread.Request.Transcript().Messages()) {
		// The request ends with a stand-in for the next prompt, which is not stored.
		after.Messages--
		after.Tokens -= c.countTokens(thread.Request) - before.Tokens
	}
	size.Before.Messages += before.Messages
	size.Before.Tokens += before.Tokens
	size.After.Messages += after.Messages
	size.After.Tokens += after.Tokens
}

// shortenSession shortens one session file. It modifies b.
func (c *changer) shortenSession(from origin, chunk source.Chunk, b *batch) (o outcome) {
	session, err := readSession(chunk, c.options)
	if err != nil {
		return c.reportUnreadable(from, newProblem(err))
	}
	how := c.sessionRepair.Options
	how.Profile, how.Model = c.options.Profile, c.options.Model
	s, err := c.shortenThreads(session, how)
	switch {
	case errors.Is(err, agentlog.ErrShorten):
		return c.reportUnreadable(from, newProblem(newShortenError(c.command, chunk.Agent)))
	case err != nil:
		return c.reportPlanError(from, chunk.Data, err)
	}
	o.bytesBefore, o.bytesAfter = len(session.Raw()), len(s.Raw)
	if c.countTokens != nil && !(c.json && !c.dryRun) {
		o.size = &s.size
	}
	if o.dropsByteOrderMark = s.RemovedMark; o.dropsByteOrderMark {
		o.bytesBefore += chunk.Lead
	}
	files := session.Replacements(s.Fixed)
	o.isChanged = len(files) > 0
	if why := c.checkBusy(session); o.isChanged && why != nil {
		return c.reportBusy(from, chunk.Data, why)
	}
	for _, ch := range s.Changes {
		o.rules = append(o.rules, ch.Rule)
	}
	if agentlog.Broken(s.Remaining) {
		o.status = statusFindings
	}
	for _, plan := range s.plans {
		if why := findSkipReason(plan); why != "" {
			o.note = append(o.note, c.formatSkipped(from, why)...)
		}
		if why := findSummaryFailure(plan); why != "" {
			o.note = append(o.note, c.formatUnsummarized(from, why)...)
		}
	}
	if c.dryRun {
		o.out = c.renderSessionPlan(from, session, s.Fixed)
		return o
	}
	if len(s.Remaining) > 0 {
		o.note = append(o.note, c.formatRemainingInSession(from, session, s.Remaining)...)
	}
	o.receipt = c.buildSessionReceipt(from, s.Changes)
	for _, plan := range s.plans {
		if c.archive != "" {
			o.archive = append(o.archive, buildArchiveLines(from, plan.Archive(), plan.Conserved().Items > 0)...)
		}
	}
	if c.inPlace {
		b.Session = prepareReplacements(chunk, files, true)
		return o
	}
	o.out = s.Raw
	return o
}

// newShortenError returns the error for a format that cannot be shortened.
func newShortenError(command string, f agentlog.Format) error {
	return hintedError{fmt.Errorf("this is a session file of %s, which pare %s cannot shorten yet", f.Maker(), command),
		"pare session import FILE, then pare session window ID, gives a request that fits; pare fix repairs the file"}
}
