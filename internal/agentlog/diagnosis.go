package agentlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pare-llm/pare/internal/atomicfile"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A Diagnosis is the result of examining a session. It references no bytes of the file, so that a
// program can hold many.
type Diagnosis struct {
	Place
	Project  string // the working folder; "" if unknown
	Modified time.Time
	// Messages, Calls and Results count the parts that the agent would send.
	Messages, Calls, Results int
	Faults                   []Fault
	Title                    string // the first text of the user
	Size                     Size   // of the sent part, as far as it had to be counted
	Remedy                   Remedy // against the faults
	Expectation
	ReadFailure
	recordedID string // of the session, if its agent resumes it by that id
}

// An Expectation is the expected result of resuming a session.
type Expectation struct {
	Outlook Outlook
	Running Outlook // the same if the agent runs and calls at the end are still open
	Cause   string  // the reason for the outlook, in plain words
	Version string  // of the agent; "" if unknown
	// The recorded version of the agent on which the outlook is based; "" if none.
	RecordedVersion string
}

// A ReadFailure is the reason why a session cannot be read. Its zero value means that it can.
type ReadFailure struct {
	Err        error
	NotSession bool // the file is not a session
	Empty      bool // because it is still empty
	OtherFile  bool // because it is another kind of file
}

// A Fault is a finding that references no bytes of its file.
type Fault struct {
	Rule    string `json:"rule"`
	File    string `json:"file,omitempty"` // the file of a folder
	Line    int    `json:"line"`
	Message string `json:"message"`
	Effect  Effect `json:"effect"`
}

// Faults copies findings without references to their file.
func Faults(found []Finding) []Fault {
	all := make([]Fault, 0, len(found))
	for _, f := range found {
		// Clone, because the strings of a finding may share the bytes of the file.
		all = append(all, Fault{f.Rule, strings.Clone(f.File), f.Line, strings.Clone(f.Message), f.Effect})
	}
	return all
}

// Refusals returns the number of faults that keep a session from being resumed.
func Refusals(all []Fault) (n int) {
	for _, f := range all {
		if f.Effect == Refused {
			n++
		}
	}
	return n
}

// Broken reports whether the session cannot be resumed properly. A session that its agent repairs
// itself is not broken.
func (d *Diagnosis) Broken() bool { return d.Outlook > Repairs }

// Unreadable returns the reason why the session cannot be read, without its name, or "".
func (d *Diagnosis) Unreadable() string {
	var path *fs.PathError
	switch {
	case errors.As(d.Err, &path):
		return path.Err.Error()
	case d.Err != nil:
		return d.Err.Error()
	}
	return ""
}

func Examine(x Place) (d *Diagnosis) {
	d = &Diagnosis{Place: x, Modified: x.Info.ModTime()}
	// A panic in one session must not affect the others.
	defer func() {
		if p := recover(); p != nil {
			d.Err = fmt.Errorf("pare has met a bug of its own: %v", p)
		}
	}()
	l, err := x.Open(Options{})
	if err != nil {
		d.Err, d.NotSession, d.Empty = err, errors.Is(err, ErrFormat), errors.Is(err, errEmpty)
		return d
	}
	if d.Err = l.unreadableError(); d.Err != nil {
		return d
	}
	if l.holdsNoRecord() {
		d.Err, d.NotSession, d.OtherFile = ErrFormat, true, true
		return d
	}
	if _, newest := l.Newest(); newest != nil {
		d.Modified = newest.ModTime()
	}
	d.Bytes = int64(len(l.Raw()))
	d.Project = x.Project(l.Raw())
	d.Messages, d.Calls, d.Results = l.Count()
	found := l.Check(wire.CheckOptions{})
	d.Faults, d.Remedy = Faults(found), l.Remedy(found)
	d.addOutlook(l.Log, found)
	if l.Format == GeminiCLI {
		d.recordedID = l.headID()
	}
	return d
}

// errEmpty is the error for a session without any messages yet.
var errEmpty = fmt.Errorf("%w: the file is empty", ErrFormat)

// unreadableError returns the reason why nothing in the file can be read, or nil. Such a file
// cannot be judged, which is different from a session without faults.
func (l *Log) unreadableError() error {
	if len(l.units) > 0 || !slices.ContainsFunc(l.damage, func(f Finding) bool { return f.Rule == "unreadable" }) {
		return nil
	}
	if err := jsonspan.Valid(l.raw); err != nil {
		return err
	}
	return errors.New(damageRules["unreadable"].message)
}

// Count returns the numbers of messages, and of calls and results of the caller's tools, that the
// agent would send.
func (l *Log) Count() (messages, calls, results int) {
	for _, t := range l.Sent() {
		tr := t.Request.Transcript()
		all := tr.Messages()[:t.Messages()]
		messages += len(all)
		for _, m := range all {
			for b := m.First; b < m.End; b++ {
				switch tr.Block(b).Kind {
				case transcript.Call:
					calls++
				case transcript.Result:
					results++
				}
			}
		}
	}
	return messages, calls, results
}

// A Remedy describes how to repair the findings of a session.
type Remedy struct {
	Full    bool   // the session exceeds the window of its model and must be shortened
	Needed  bool   // other faults keep the session from being resumed
	Fixes   bool   // Fix repairs some of them
	Leaves  bool   // Fix leaves some of them
	Instead string // advice for the remaining ones
}

// Remedy returns the remedy for findings.
func (l *Log) Remedy(found []Finding) Remedy {
	r := Remedy{Full: slices.ContainsFunc(found, func(f Finding) bool { return f.Rule == OverWindow })}
	if !slices.ContainsFunc(found, func(f Finding) bool { return f.Effect == Refused && f.Rule != OverWindow }) {
		return r
	}
	r.Needed, r.Fixes = true, true
	fixed, err := l.Fix(Options{})
	if err != nil || !Broken(fixed.Remaining) {
		return r
	}
	r.Fixes, r.Leaves = len(fixed.Changes) > 0, true
	for _, f := range fixed.Remaining {
		if f.Effect == Refused {
			r.Instead = strings.Clone(f.Instead)
		}
	}
	return r
}

// A RepairPlan is a repair that has not been written yet. It is not safe for concurrent use.
type RepairPlan struct {
	session *Stored
	Fixed   *Fixed
}

// ErrNoRemedy is returned if nothing can be done about a session.
var ErrNoRemedy = errors.New("what is wrong with it cannot be fixed: go on in a new session, or go back to a copy of the file from before")

// PlanRepair reads a session again and repairs it in memory. It returns an error if another program
// may be writing to the file.
func (x Place) PlanRepair(busy *Busy) (*RepairPlan, error) {
	l, err := x.Open(Options{})
	if err != nil {
		return nil, err
	}
	if err := busy.CheckIdle(l.Newest()); err != nil {
		return nil, err
	}
	fixed, err := l.Fix(Options{})
	if err == nil && slices.ContainsFunc(l.findOverWindow(), func(Finding) bool { return true }) {
		fixed, err = l.Shorten(Options{}, Rescue)
	}
	if err != nil {
		return nil, err
	}
	if len(fixed.Changes) == 0 {
		return nil, ErrNoRemedy
	}
	return &RepairPlan{l, fixed}, nil
}

// A Difference is a file before and after a repair.
type Difference struct {
	Path          string
	Before, After []byte
}

// Differences returns the files that the repair changes.
func (p *RepairPlan) Differences() (all []Difference) {
	for _, f := range p.session.Replacements(p.Fixed) {
		before := p.session.Raw()
		if len(p.Fixed.Files) > 0 {
			before, _ = os.ReadFile(f.Path) // empty for a new file
		}
		all = append(all, Difference{f.Path, before, f.Raw})
	}
	return all
}

// Replace writes the changed files atomically and returns them.
func (p *RepairPlan) Replace(files *atomicfile.Files) ([]Rewritten, error) {
	out := Writer{Files: files}
	defer out.Discard() // does nothing after a commit
	for _, f := range p.session.Replacements(p.Fixed) {
		if err := out.Stage(f); err != nil {
			return nil, err
		}
	}
	return out.Commit()
}
