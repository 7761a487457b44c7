package agentlog

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// ErrAppendOnly is returned if the format cannot hold a repaired branch in addition to the original
// lines.
var ErrAppendOnly = errors.New("append only: this format cannot hold a repaired branch beside the original lines")

// A Change is one change of a file.
type Change struct {
	wire.Change
	Thread string `json:"thread,omitempty"`
	File   string `json:"file,omitempty"` // the file of a folder
	Line   int    `json:"line"`           // in the original file; 0 for a new line
}

// with returns a change of w at the place of c.
func (c Change) with(w wire.Change) Change {
	c.Change = w
	return c
}

// Fixed is the result of repairing a file.
type Fixed struct {
	Raw         []byte    // the original slice if nothing changed
	Files       []File    // the changed files of a folder
	Changes     []Change  // in order
	Remaining   []Finding // the remaining findings, with lines of Raw
	RemovedMark bool      // the byte order mark was removed
}

// maxRounds bounds the number of rounds in which repairs are applied to the result of earlier
// repairs.
const maxRounds = 12

// Fix repairs the findings of Check in the threads that the agent sends. Lines without changes keep
// their bytes; a file without findings is returned as the same slice. Fix checks the repaired file
// and discards a repair that would cause a new fault or hide a sent message.
func (l *Log) Fix(o Options) (*Fixed, error) {
	o.Format = l.Format
	// Remove several marks at once.
	if rest := l.Raw(); l.options.HasByteOrderMark && !o.AppendOnly && bytes.HasPrefix(rest, byteOrderMark) {
		for bytes.HasPrefix(rest, byteOrderMark) {
			rest = rest[len(byteOrderMark):]
		}
		with := l.options
		with.Format = l.Format
		if repeated, err := Read(l.name, rest, with); err == nil {
			return repeated.Fix(o)
		}
	}
	kept, cur := l.removeMark(&o)
	var next Fixed
	next, cur = l.beginDecodedFix(kept, cur, o)
	last := cur           // the log of kept.Raw
	var held map[int]bool // units in last that repairs must leave alone
	var origin lineOrigins
	for range maxRounds {
		e, raw, err := cur.planRepairs(o)
		if err != nil {
			return nil, fmt.Errorf("fix %s: %w", l.name, err)
		}
		if cur == last {
			held = e.heldUnits
		}
		if bytes.Equal(raw, cur.raw) {
			break
		}
		if cur.files != nil {
			all, changed := e.filesOf()
			cur, next.Files = readFiles(all, o), mergeFiles(next.Files, changed)
		} else if cur, err = Read(l.name, raw, o); err != nil {
			return nil, fmt.Errorf("fix %s: %w", l.name, err)
		}
		origin.renumberLines(e.changes)
		origin = origin.afterEdits(e)
		next.Raw, next.Changes = raw, append(slices.Clip(next.Changes), e.changes...)
		if l.isSafeRepair(cur, &next, o) && isImprovement(last, cur, next.Changes[len(kept.Changes):], o) {
			done := next
			kept, last, held = &done, cur, nil
		}
	}
	l.keepEncoding(kept, o)
	for _, f := range last.inFileOrder(last.findFaults(o.Check)) {
		if f.Effect == Cosmetic || f.Open && o.Repair.Open { // the caller wants open calls to stay open
			continue
		}
		if f.Effect == Refused {
			if f.Instead = newSessionAdvice; held[f.unit] {
				f.Instead = heldBackAdvice
			}
		}
		kept.Remaining = append(kept.Remaining, f)
	}
	return kept, nil
}

const markRule = "byte-order-mark"

// readsMarkNote explains why a byte order mark is harmless to some agents.
const readsMarkNote = "the agent still reads what stands behind it"

// removeMark returns the starting point of a fix: the log without its byte order mark, unless all
// bytes must stay. It modifies o.
func (l *Log) removeMark(o *Options) (*Fixed, *Log) {
	kept := &Fixed{Raw: l.Raw()}
	o.HasByteOrderMark = l.options.HasByteOrderMark && o.AppendOnly
	if !l.options.HasByteOrderMark || o.AppendOnly {
		return kept, l
	}
	e := &edits{file: l}
	e.addChange(Change{Line: 1, Change: wire.Change{Action: wire.ActionEdit, Rule: markRule, Bytes: -len(byteOrderMark)}}, "the byte order mark before the first line goes")
	kept.Changes, kept.RemovedMark = e.changes, true
	bare := *l
	bare.options.HasByteOrderMark = false
	bare.damage = slices.DeleteFunc(slices.Clone(l.damage), func(f Finding) bool { return f.Rule == markRule })
	return kept, &bare
}

// collect collects the repairs of the file and of all sent threads.
func (e *edits) collect(o Options) error {
	l := e.file
	l.repairDamage(e, o)
	for _, t := range l.Threads {
		if !l.isSent(t) {
			continue
		}
		if err := e.repairThread(t, o); err != nil {
			return err
		}
	}
	if f, ok := l.reader.(finisher); ok {
		f.finish(e)
	}
	return nil
}

// repairThread repairs a thread with its format's own repair or, if it has none, with repairFlat.
func (e *edits) repairThread(t *Thread, o Options) error {
	if f, ok := e.file.reader.(threadRepairer); ok {
		return f.repair(e, t, o)
	}
	return repairFlat(e.file.reader.(unitWriter), e, t, o)
}

// mergeFiles adds files to old. Later versions of a file replace earlier ones.
func mergeFiles(old, changed []File) []File {
	out := slices.Clone(old)
	at := make(map[string]int, len(out))
	for i, f := range out {
		at[f.Path] = i
	}
	for _, f := range changed {
		if i, ok := at[f.Path]; ok {
			out[i] = f
		} else {
			out = append(out, f)
		}
	}
	return out
}

// repairDamage inserts missing newlines and removes duplicate lines.
func (l *Log) repairDamage(e *edits, o Options) {
	for _, f := range l.damage {
		switch f.Rule {
		case "joined-lines":
			if !o.AppendOnly {
				e.addChange(Change{Line: f.Line, Change: wire.Change{Action: wire.ActionEdit, Rule: f.Rule, Bytes: 1}}, "a newline between two objects")
			}
		case "truncated-line":
			e.endLine = true
			e.addChange(Change{Line: f.Line, Change: wire.Change{Action: wire.ActionEdit, Rule: f.Rule, Bytes: 1}}, "a newline behind a line that breaks off, so that nothing is appended to it")
		}
	}
	if o.AppendOnly {
		return
	}
	e.splitLines = true
	for _, u := range l.duplicates {
		e.unit(u).drop = true // its children become children of the first copy
		e.addChange(Change{Line: l.units[u].line, Change: wire.Change{Action: wire.ActionDrop, Rule: "duplicate-line", Bytes: -l.units[u].span.Len()}}, "a copy of an earlier line")
	}
}

// lineOfPath returns the line of the message that a path names, or 0.
func (l *Log) lineOfPath(t *Thread, path string) int {
	var list string
	var i int
	for k := range path {
		if path[k] == '.' {
			list = path[:k]
			break
		}
	}
	if _, err := fmt.Sscanf(path[len(list):], ".%d", &i); err != nil || i < 0 || i >= len(t.sources) {
		return 0
	}
	return l.units[t.sources[i].unit].line
}

// stubText returns the text of a result that stands in for a missing one.
func stubText(p wire.Repair, tr *transcript.Transcript, call transcript.BlockID) string {
	if p.Stub == nil {
		return wording.Stub
	}
	return p.Stub(tr.Exchanges()[tr.ExchangeOf(call)])
}
