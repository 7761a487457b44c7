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
func (c *changer) shortenSession(from origin, chunk source.Chunk, b *batch) (out outcome) {
	session, err := readSession(chunk, c.options)
	if err != nil {
		return c.reportUnreadable(from, newProblem(err))
	}
	options := c.sessionRepair.Options
	options.Profile, options.Model = c.options.Profile, c.options.Model
	s, err := c.shortenThreads(session, options)
	switch {
	case errors.Is(err, agentlog.ErrShorten):
		return c.reportUnreadable(from, newProblem(newShortenError(c.command, chunk.Agent)))
	case err != nil:
		return c.reportPlanError(from, chunk.Data, err)
	}
	out.bytesBefore, out.bytesAfter = len(session.Raw()), len(s.Raw)
	if c.countTokens != nil && !(c.json && !c.dryRun) {
		out.size = &s.size
	}
	if out.dropsByteOrderMark = s.RemovedMark; out.dropsByteOrderMark {
		out.bytesBefore += chunk.Lead
	}
	files := session.Replacements(s.Fixed)
	out.isChanged = len(files) > 0
	if why := c.checkBusy(session); out.isChanged && why != nil {
		return c.reportBusy(from, chunk.Data, why)
	}
	for _, change := range s.Changes {
		out.rules = append(out.rules, change.Rule)
	}
	if agentlog.Broken(s.Remaining) {
		out.status = statusFindings
	}
	for _, plan := range s.plans {
		if why := findSkipReason(plan); why != "" {
			out.note = append(out.note, c.formatSkipped(from, why)...)
		}
		if why := findSummaryFailure(plan); why != "" {
			out.note = append(out.note, c.formatUnsummarized(from, why)...)
		}
	}
	if c.dryRun {
		out.out = c.renderSessionPlan(from, session, s.Fixed)
		return out
	}
	if len(s.Remaining) > 0 {
		out.note = append(out.note, c.formatRemainingInSession(from, session, s.Remaining)...)
	}
	out.receipt = c.buildSessionReceipt(from, s.Changes)
	for _, plan := range s.plans {
		if c.archive != "" {
			out.archive = append(out.archive, buildArchiveLines(from, plan.Archive(), plan.Conserved().Items > 0)...)
		}
	}
	if c.inPlace {
		b.Session = prepareReplacements(chunk, files, true)
		return out
	}
	out.out = s.Raw
	return out
}

// newShortenError returns the error for a format that cannot be shortened.
func newShortenError(command string, f agentlog.Format) error {
	return hintedError{fmt.Errorf("this is a session file of %s, which pare %s cannot shorten yet", f.Maker(), command),
		"pare session import FILE, then pare session window ID, gives a request that fits; pare fix repairs the file"}
}
