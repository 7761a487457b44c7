package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pare-llm/pare/cmd/internal/picture"
	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/cmd/internal/source"
	"github.com/pare-llm/pare/internal/agentlog"
)

// repairing is how the session files of a run are repaired.
type repairing struct {
	agentlog.Options
	force bool // even if the agent is still writing
	busy  *agentlog.Busy
}

// session repairs the session file of a chunk.
func (c *changer) session(in source.Chunk, b *batch) {
	from := origin{source: in.Source, lead: in.Lead, many: c.many}
	o := func() (o outcome) {
		// A bug that one file of many meets must not cost the others.
		defer func() {
			if p := recover(); p != nil {
				o = c.stuck(from, in.Data, ownBug(p))
			}
		}()
		defer c.memory.Frugal(len(in.Data))()
		return c.repair(from, in, b)
	}()
	if in.Lead > 0 && !o.unmarked {
		b.outs = append(b.outs, c.gap(in.Mark()))
	}
	b.outs = append(b.outs, o)
}

// repair repairs one session file.
func (c *changer) repair(from origin, in source.Chunk, b *batch) (o outcome) {
	if c.shorten != nil {
		return c.shortenSession(from, in, b)
	}
	if c.off {
		if o.before, o.after = len(in.Data), len(in.Data); !c.dryRun {
			o.out = in.Data
		}
		return o
	}
	l, err := readSession(in, c.opts)
	if err != nil {
		return c.unreadable(from, failure(err))
	}
	how := c.repairing.Options
	how.Profile, how.Model = c.opts.Profile, c.opts.Model
	fixed, err := l.Fix(how)
	switch {
	case errors.Is(err, agentlog.ErrAppendOnly):
		return c.unreadable(from, failure(hinted{fmt.Errorf("--append-only: the format of %s cannot hold what has to be repaired here beside the original lines", l.Format.Maker()),
			"without --append-only, only the lines that must change are touched, and the original is kept"}))
	case err != nil:
		return c.stuck(from, in.Data, failure(err))
	}
	o.before, o.after = len(l.Raw()), len(fixed.Raw)
	if o.unmarked = fixed.Unmarked; o.unmarked {
		o.before += in.Lead
	}
	files := l.Replacements(fixed) // what is written decides what has changed
	o.changed = len(files) > 0
	if why := c.busy(l); o.changed && why != nil {
		return c.leftAlone(from, in.Data, why)
	}
	for _, ch := range fixed.Changes {
		o.rules = append(o.rules, ch.Rule)
	}
	if agentlog.Broken(fixed.Left) {
		o.status = statusFindings
	}
	if c.dryRun {
		o.out = c.showSession(from, l, fixed)
		return o
	}
	if len(fixed.Left) > 0 {
		o.note = c.leftInSession(from, l, fixed.Left)
	}
	o.receipt = c.logReceipt(from, fixed.Changes)
	if c.inPlace {
		b.Session = replacements(in, files, how.AppendOnly)
		return o
	}
	o.out = fixed.Raw
	return o
}

// replacements are the files of a session that change, packed as they were. Agents list
// their sessions by the time of the last change, and go on with the newest: fixing is not
// using, so a session stays in its place. What is appended is news.
func replacements(in source.Chunk, files []agentlog.Replacement, news bool) []agentlog.Replacement {
	for i := range files {
		f := &files[i]
		f.Pack = source.Packer(in.Packed)
		if news {
			f.Modified = time.Time{}
		}
	}
	return files
}

// busy says why the agent may still be writing to the session; nil: it is not, or
// nobody minds.
func (c *changer) busy(l logFile) error {
	if !c.inPlace || c.repairing.force {
		return nil
	}
	return c.repairing.busy.Why(l.Newest())
}

// leftAlone reports a session that its agent may still be writing. Of several files the
// others are repaired.
func (c *changer) leftAlone(from origin, raw []byte, why error) outcome {
	const hint = "end the agent, or wait ten seconds after its last write; --force rewrites it anyway"
	p := failure(hinted{fmt.Errorf("left as it is: %w", why), hint})
	if from.many {
		return c.stuck(from, raw, p)
	}
	return c.unreadable(from, p)
}

// A logLeftover is what --json prints about a session that is not all repaired.
type logLeftover struct {
	Source string             `json:"source"`
	Line   int                `json:"line,omitempty"` // of a data set
	Format string             `json:"format"`
	Left   []agentlog.Finding `json:"left"`
}

// leftInSession reports what could not be repaired.
func (c *changer) leftInSession(from origin, l logFile, left []agentlog.Finding) []byte {
	if c.json {
		return encode(logLeftover{from.source, from.line, l.Format.String(), left})
	}
	var b bytes.Buffer
	screen.Fprintf(&b, "pare: %s: %s cannot be fixed; lines are those of the result\n", from.String(), plural(len(left), "finding"))
	for _, f := range left {
		c.notes.Placed(&b, from.name(), f)
		c.notes.Meaning(&b, f.Finding, true, false)
		c.notes.Instead(&b, f)
	}
	return b.Bytes()
}

// A logReceipt is a change of a session file.
type logReceipt struct {
	agentlog.Change
	Source string `json:"source,omitempty"`
}

// logReceipt renders changes as JSON lines, if anybody wants them.
func (c *changer) logReceipt(from origin, changes []agentlog.Change) lines {
	var all lines
	for _, ch := range changes {
		if !c.receipts {
			break
		}
		r := logReceipt{Change: ch}
		if from.many {
			r.Source = from.source
		}
		if from.line > 0 { // it has no lines of its own
			r.Line = from.line
		}
		all.add(r)
	}
	return all
}

// A logPlan is what --dry-run --json prints about a session file.
type logPlan struct {
	Source  string             `json:"source"`
	Line    int                `json:"line,omitempty"` // of a data set
	Format  string             `json:"format"`
	Changes []agentlog.Change  `json:"changes"`
	Left    []agentlog.Finding `json:"left"`
}

// showSession renders what would be done to a session file.
func (c *changer) showSession(from origin, l logFile, fixed *agentlog.Fixed) []byte {
	if c.json {
		return encode(logPlan{from.source, from.line, l.Format.String(), append([]agentlog.Change{}, fixed.Changes...), append([]agentlog.Finding{}, fixed.Left...)})
	}
	if len(fixed.Changes)+len(fixed.Left) == 0 {
		return nil
	}
	var b bytes.Buffer
	screen.Fprintf(&b, "%s  %s\n\n", c.view.Paint.Bold(from.String()), c.view.Paint.Faint(c.view.AboutSession(l.Stored)))
	all := slices.Clone(fixed.Changes)
	slices.SortStableFunc(all, func(x, y agentlog.Change) int {
		return cmp.Or(cmp.Compare(x.File, y.File), cmp.Compare(lineOrLast(x), lineOrLast(y)))
	})
	c.view.Changes(&b, from.name(), all)
	if around := aroundChanges(l, fixed); around != 0 {
		screen.Fprintf(&b, "%s\n", c.view.Paint.Faint("around these changes:"+picture.BytesChanged(around)+": the records that they stand in, and links between lines"))
	}
	if len(fixed.Files) == 0 {
		const most = 12
		picture.Difference(&b, c.view.Paint, c.view.Width, most, l.Raw(), fixed.Raw)
	}
	if len(fixed.Left) > 0 {
		screen.Fprintf(&b, "\n%s\n", c.view.Paint.Bold("cannot be fixed; lines are those of the result"))
		for _, f := range fixed.Left {
			c.view.Placed(&b, from.name(), f)
			c.view.Meaning(&b, f.Finding, true, false)
			c.view.Instead(&b, f)
		}
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// aroundChanges is how many bytes a repair adds that no single change does, so that the bytes of
// all changes and these come to the difference of the file.
func aroundChanges(l logFile, fixed *agentlog.Fixed) int {
	n := len(fixed.Raw) - len(l.Raw())
	for _, c := range fixed.Changes {
		n -= c.Bytes
	}
	if len(fixed.Changes) == 0 || len(fixed.Files) > 0 {
		return 0
	}
	return n
}

// lineOrLast puts what is new, and has no line, behind everything.
func lineOrLast(c agentlog.Change) int {
	if c.Line == 0 {
		return 1 << 62
	}
	return c.Line
}
