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

// ErrAppendOnly says that the format has no way to add a repaired branch behind what
// is there.
var ErrAppendOnly = errors.New("append only: this format cannot hold a repaired branch beside the original lines")

// A Change is one thing that was done to a file. Many goroutines may read it.
type Change struct {
	wire.Change
	Thread string `json:"thread,omitempty"`
	File   string `json:"file,omitempty"` // in a folder: the file it is in
	Line   int    `json:"line"`           // in the file as it was; 0 if it is new
}

// Fixed is what came of repairing a file. Many goroutines may read it.
type Fixed struct {
	Raw      []byte    // the original slice if nothing was done
	Files    []File    // of a folder: the files that are changed
	Changes  []Change  // in the order they were made
	Left     []Finding // what could not be repaired; lines are those of Raw
	Unmarked bool      // the byte order mark in front of the original is to go
}

// maxRounds bounds how often a file is read again to repair what a repair brought
// about.
const maxRounds = 12

// Fix repairs what Check finds and the agent sends. Lines that need no change leave byte
// for byte; a file without findings comes back as the same slice. What is made of the
// file is read again: a repair that brings about a fault that was not there, or hides a
// message that was sent, is not made.
func (l *Log) Fix(o Options) (*Fixed, error) {
	o.Format = l.Format
	if rest := l.Raw(); l.options.Marked && !o.AppendOnly && bytes.HasPrefix(rest, byteOrderMark) { // several marks go at once
		for bytes.HasPrefix(rest, byteOrderMark) {
			rest = rest[len(byteOrderMark):]
		}
		with := l.options
		with.Format = l.Format
		if again, err := Read(l.name, rest, with); err == nil {
			return again.Fix(o)
		}
	}
	kept, cur := l.removeMark(&o)
	var next Fixed
	next, cur = l.beginDecodedFix(kept, cur, o)
	last := cur           // the log of kept
	var held map[int]bool // units of it that a repair would take words from
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
		if f.Effect == Cosmetic || f.Open && o.Repair.Open { // what was to be left open is not left over
			continue
		}
		if f.Effect == Refused {
			if f.Instead = newSessionAdvice; held[f.unit] {
				f.Instead = heldBackAdvice
			}
		}
		kept.Left = append(kept.Left, f)
	}
	return kept, nil
}

// markRule is the damage of a byte order mark in front of a file.
const markRule = "byte-order-mark"

// passesMark is what is said of the mark where the agent does not mind it.
const readsMarkNote = "the agent still reads what stands behind it"

// unmark begins a fix: without the byte order mark, unless every byte is to stay.
func (l *Log) removeMark(o *Options) (*Fixed, *Log) {
	kept := &Fixed{Raw: l.Raw()}
	o.Marked = l.options.Marked && o.AppendOnly
	if !l.options.Marked || o.AppendOnly {
		return kept, l
	}
	e := &edits{file: l}
	e.addChange(Change{Line: 1}, wire.ActionEdit, markRule, nil, -len(byteOrderMark), "the byte order mark before the first line goes")
	kept.Changes, kept.Unmarked = e.changes, true
	bare := *l
	bare.options.Marked = false
	bare.damage = slices.DeleteFunc(slices.Clone(l.damage), func(f Finding) bool { return f.Rule == markRule })
	return kept, &bare
}

// collect asks all repairs what is to be done.
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

// repairThread repairs a thread as its format does, or as all formats in which a result is a unit.
func (e *edits) repairThread(t *Thread, o Options) error {
	if f, ok := e.file.reader.(threadRepairer); ok {
		return f.repair(e, t, o)
	}
	return repairFlat(e.file.reader.(unitWriter), e, t, o)
}

// mergeFiles lets later versions of files take the place of earlier ones.
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

// repairDamage puts newlines where they are missing and takes copies out.
func (l *Log) repairDamage(e *edits, o Options) {
	for _, f := range l.damage {
		switch f.Rule {
		case "joined-lines":
			if !o.AppendOnly {
				e.addChange(Change{Line: f.Line}, wire.ActionEdit, f.Rule, nil, 1, "a newline between two objects")
			}
		case "truncated-line":
			e.endLine = true
			e.addChange(Change{Line: f.Line}, wire.ActionEdit, f.Rule, nil, 1, "a newline behind a line that breaks off, so that nothing is appended to it")
		}
	}
	if o.AppendOnly {
		return
	}
	e.splitLines = true
	for _, u := range l.duplicates {
		e.unit(u).drop = true // whatever hangs on it hangs on the first one
		e.addChange(Change{Line: l.units[u].line}, wire.ActionDrop, "duplicate-line", nil, -l.units[u].span.Len(), "a copy of an earlier line")
	}
}

// lineOfPath returns the line that a path of a thread names, or 0.
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

// stubText words the result of a call that nobody answered.
func stubText(p wire.Repair, tr *transcript.Transcript, call transcript.BlockID) string {
	if p.Stub == nil {
		return wording.Stub
	}
	return p.Stub(tr.Exchanges()[tr.ExchangeOf(call)])
}
