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

// A sessionRepair configures the repair of session files.
type sessionRepair struct {
	agentlog.Options
	overwritesBusy bool // rewrites files even if the agent may be writing to them
	busy           *agentlog.Busy
}

// changeSessionFile changes the session file in a chunk and adds its outcomes to b.
func (c *changer) changeSessionFile(chunk source.Chunk, b *batch) {
	from := origin{source: chunk.Source, skippedBytes: chunk.Lead, isOneOfMany: c.hasManyFiles}
	out := func() (out outcome) {
		// A bug that one file triggers must not cost the other files.
		defer func() {
			if p := recover(); p != nil {
				out = c.reportUnchanged(from, chunk.Data, newBugProblem(p))
			}
		}()
		defer c.memory.Frugal(len(chunk.Data))()
		return c.changeSession(from, chunk, b)
	}()
	if chunk.Lead > 0 && !out.dropsByteOrderMark {
		b.outs = append(b.outs, c.newGap(chunk.Mark()))
	}
	b.outs = append(b.outs, out)
}

// changeSession repairs one session file. It modifies b.
func (c *changer) changeSession(from origin, chunk source.Chunk, b *batch) (out outcome) {
	if c.planSession != nil {
		return c.shortenSession(from, chunk, b)
	}
	if c.isOff {
		if out.bytesBefore, out.bytesAfter = len(chunk.Data), len(chunk.Data); !c.dryRun {
			out.out = chunk.Data
		}
		return out
	}
	session, err := readSession(chunk, c.options)
	if err != nil {
		return c.reportUnreadable(from, newProblem(err))
	}
	options := c.sessionRepair.Options
	options.Profile, options.Model = c.options.Profile, c.options.Model
	fixed, err := session.Fix(options)
	switch {
	case errors.Is(err, agentlog.ErrAppendOnly):
		return c.reportUnreadable(from, newProblem(hintedError{fmt.Errorf("--append-only: the format of %s cannot hold what has to be repaired here beside the original lines", session.Format.Maker()),
			"without --append-only, only the lines that must change are touched, and the original is kept"}))
	case err != nil:
		return c.reportUnchanged(from, chunk.Data, newProblem(err))
	}
	out.bytesBefore, out.bytesAfter = len(session.Raw()), len(fixed.Raw)
	if out.dropsByteOrderMark = fixed.RemovedMark; out.dropsByteOrderMark {
		out.bytesBefore += chunk.Lead
	}
	files := session.Replacements(fixed) // the written files decide whether the session has changed
	out.isChanged = len(files) > 0
	if why := c.checkBusy(session); out.isChanged && why != nil {
		return c.reportBusy(from, chunk.Data, why)
	}
	for _, change := range fixed.Changes {
		out.rules = append(out.rules, change.Rule)
	}
	if agentlog.Broken(fixed.Remaining) {
		out.status = statusFindings
	}
	if c.dryRun {
		out.out = c.renderSessionPlan(from, session, fixed)
		return out
	}
	if len(fixed.Remaining) > 0 {
		out.note = c.formatRemainingInSession(from, session, fixed.Remaining)
	}
	out.receipt = c.buildSessionReceipt(from, fixed.Changes)
	if c.inPlace {
		b.Session = prepareReplacements(chunk, files, options.AppendOnly)
		return out
	}
	out.out = fixed.Raw
	return out
}

// prepareReplacements returns the files of a session, compressed as they were. A repair keeps the
// modification time, because agents list sessions by it and continue the newest; appended lines
// update it. It modifies files.
func prepareReplacements(chunk source.Chunk, files []agentlog.Replacement, news bool) []agentlog.Replacement {
	for i := range files {
		f := &files[i]
		f.Pack = source.Packer(chunk.Packed)
		if news {
			f.Modified = time.Time{}
		}
	}
	return files
}

// checkBusy returns an error if the agent may still be writing to the session and --force is not
// given.
func (c *changer) checkBusy(session sessionFile) error {
	if !c.inPlace || c.sessionRepair.overwritesBusy {
		return nil
	}
	return c.sessionRepair.busy.CheckIdle(session.Newest())
}

// reportBusy returns the outcome of a session that its agent may still be writing. If there are
// several files, the run continues.
func (c *changer) reportBusy(from origin, raw []byte, why error) outcome {
	const hint = "end the agent, or wait ten seconds after its last write; --force rewrites it anyway"
	p := newProblem(hintedError{fmt.Errorf("left as it is: %w", why), hint})
	if from.isOneOfMany {
		return c.reportUnchanged(from, raw, p)
	}
	return c.reportUnreadable(from, p)
}

// A sessionRemainingJSON is the output of --json for a session with findings that could not be
// repaired.
type sessionRemainingJSON struct {
	Source string             `json:"source"`
	Line   int                `json:"line,omitempty"`
	Format string             `json:"format"`
	Left   []agentlog.Finding `json:"left"`
}

// formatRemainingInSession returns the note about findings that could not be repaired.
func (c *changer) formatRemainingInSession(from origin, session sessionFile, left []agentlog.Finding) []byte {
	if c.json {
		return encodeLine(sessionRemainingJSON{from.source, from.line, session.Format.String(), left})
	}
	var b bytes.Buffer
	screen.Fprintf(&b, "pare: %s: %s cannot be fixed; lines are those of the result\n", from.String(), plural(len(left), "finding"))
	for _, finding := range left {
		c.noteStyle.WriteLocation(&b, from.sessionName(), finding)
		c.noteStyle.WriteMeaning(&b, finding.Finding, true, false)
		c.noteStyle.WriteAdvice(&b, finding)
	}
	return b.Bytes()
}

// A sessionReceiptLine is a change of a session file.
type sessionReceiptLine struct {
	agentlog.Change
	Source string `json:"source,omitempty"`
}

// buildSessionReceipt returns the changes as JSON lines, or nil without --receipt.
func (c *changer) buildSessionReceipt(from origin, changes []agentlog.Change) jsonLines {
	var all jsonLines
	for _, change := range changes {
		if !c.wantsReceipts {
			break
		}
		r := sessionReceiptLine{Change: change}
		if from.isOneOfMany {
			r.Source = from.source
		}
		if from.line > 0 { // the session is a line of a data set and has no lines itself
			r.Line = from.line
		}
		all.add(r)
	}
	return all
}

// A sessionPlanJSON is the output of --dry-run --json for a session file.
type sessionPlanJSON struct {
	Source  string             `json:"source"`
	Line    int                `json:"line,omitempty"`
	Format  string             `json:"format"`
	Changes []agentlog.Change  `json:"changes"`
	Left    []agentlog.Finding `json:"left"`
}

// renderSessionPlan returns the repair of a session file for --dry-run.
func (c *changer) renderSessionPlan(from origin, session sessionFile, fixed *agentlog.Fixed) []byte {
	if c.json {
		return encodeLine(sessionPlanJSON{from.source, from.line, session.Format.String(), append([]agentlog.Change{}, fixed.Changes...), append([]agentlog.Finding{}, fixed.Remaining...)})
	}
	if len(fixed.Changes)+len(fixed.Remaining) == 0 {
		return nil
	}
	var b bytes.Buffer
	screen.Fprintf(&b, "%s  %s\n\n", c.style.Paint.Bold(from.String()), c.style.Paint.Faint(c.style.DescribeSession(session.Stored)))
	all := slices.Clone(fixed.Changes)
	slices.SortStableFunc(all, func(x, y agentlog.Change) int {
		return cmp.Or(cmp.Compare(x.File, y.File), cmp.Compare(sortLine(x), sortLine(y)))
	})
	c.style.WriteChanges(&b, from.sessionName(), all)
	if around := countSurroundingBytes(session, fixed); around != 0 {
		screen.Fprintf(&b, "%s\n", c.style.Paint.Faint("around these changes:"+picture.FormatByteChange(around)+": the records that they stand in, and links between lines"))
	}
	if len(fixed.Files) == 0 {
		const most = 12
		picture.WriteDifference(&b, c.style.Paint, c.style.Width, most, session.Raw(), fixed.Raw)
	}
	if len(fixed.Remaining) > 0 {
		screen.Fprintf(&b, "\n%s\n", c.style.Paint.Bold("cannot be fixed; lines are those of the result"))
		for _, finding := range fixed.Remaining {
			c.style.WriteLocation(&b, from.sessionName(), finding)
			c.style.WriteMeaning(&b, finding.Finding, true, false)
			c.style.WriteAdvice(&b, finding)
		}
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// countSurroundingBytes returns the bytes that a repair adds outside of its changes, so that the
// bytes of all changes and these sum up to the difference in the file size.
func countSurroundingBytes(session sessionFile, fixed *agentlog.Fixed) int {
	n := len(fixed.Raw) - len(session.Raw())
	for _, change := range fixed.Changes {
		n -= change.Bytes
	}
	if len(fixed.Changes) == 0 || len(fixed.Files) > 0 {
		return 0
	}
	return n
}

// sortLine returns the line of a change. A new line is sorted last.
func sortLine(change agentlog.Change) int {
	if change.Line == 0 {
		return 1 << 62
	}
	return change.Line
}
