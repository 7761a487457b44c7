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

// A Diagnosis is what is known of a session once it was read. It keeps no byte of the
// file, so that there may be many. Many goroutines may read it.
type Diagnosis struct {
	Place
	Project  string // the folder that was worked in; "" if nothing tells
	Modified time.Time
	// How much would be sent.
	Messages, Calls, Results int
	Faults                   []Fault
	Title                    string  // what the user said first
	Outlook                  Outlook // what happens when it is resumed
	Running                  Outlook // the same if the agent runs, and calls at the end are still open
	Cause                    string  // of that, as people would say it
	Version                  string  // of the agent; "" if it is not known
	Recorded                 string  // the version of the agent whose resumptions the outlook comes from; "": none
	Size                     Size    // of what is sent, as far as it had to be counted
	Remedy                   Remedy  // against the faults
	Err                      error   // why it cannot be read
	Foreign                  bool    // it is no session at all
	Empty                    bool    // because nothing is in it yet
	Other                    bool    // because somebody has put another file where sessions are
	recordedID               string  // of the session, if its agent resumes it by that
}

// A Fault is a finding without the file it was made in. Many goroutines may read it.
type Fault struct {
	Rule    string `json:"rule"`
	File    string `json:"file,omitempty"` // where a session has many
	Line    int    `json:"line"`
	Message string `json:"message"`
	Effect  Effect `json:"effect"`
}

// Faults are findings without the file they were made in.
func Faults(found []Finding) []Fault {
	all := make([]Fault, 0, len(found))
	for _, f := range found {
		// Clones, because the strings of a finding may be bytes of the file.
		all = append(all, Fault{f.Rule, strings.Clone(f.File), f.Line, strings.Clone(f.Message), f.Effect})
	}
	return all
}

// Refusals counts the faults that keep a session from being resumed.
func Refusals(all []Fault) (n int) {
	for _, f := range all {
		if f.Effect == Refused {
			n++
		}
	}
	return n
}

// Broken reports whether the session cannot be resumed as it should be. One that its agent repairs
// itself can.
func (d *Diagnosis) Broken() bool { return d.Outlook > Repairs }

// Unreadable says why the session cannot be read, without its name; "": it can.
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

// Examine reads and checks a session.
func Examine(x Place) (d *Diagnosis) {
	d = &Diagnosis{Place: x, Modified: x.Info.ModTime()}
	// A bug that one session meets must not cost the others.
	defer func() {
		if p := recover(); p != nil {
			d.Err = fmt.Errorf("pare has met a bug of its own: %v", p)
		}
	}()
	l, err := x.Open(Options{})
	if err != nil {
		d.Err, d.Foreign, d.Empty = err, errors.Is(err, ErrFormat), errors.Is(err, errEmpty)
		return d
	}
	if d.Err = l.unreadableError(); d.Err != nil {
		return d
	}
	if l.holdsNoRecord() {
		d.Err, d.Foreign, d.Other = ErrFormat, true, true
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

// errBlank is the error for a session that was begun, and nothing said yet.
var errEmpty = fmt.Errorf("%w: the file is empty", ErrFormat)

// illegible says why nothing at all of the file can be read: then there is no session to
// judge, which is not the same as one without faults.
func (l *Log) unreadableError() error {
	if len(l.units) > 0 || !slices.ContainsFunc(l.damage, func(f Finding) bool { return f.Rule == "unreadable" }) {
		return nil
	}
	if err := jsonspan.Valid(l.raw); err != nil {
		return err
	}
	return errors.New(damageRules["unreadable"].message)
}

// Count counts what would be sent if the session went on, as it is stored: messages, and the
// calls and results of the caller's tools.
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

// A Remedy is what helps against the findings of a session. Many goroutines may read it.
type Remedy struct {
	Full    bool   // the session is longer than the window of its model: it has to be shortened
	Needed  bool   // something else keeps the session from being resumed
	Fixes   bool   // a repair changes something about that
	Leaves  bool   // and does not do away with all of it
	Instead string // what to do about what it leaves
}

// Remedy tells what helps against findings.
func (l *Log) Remedy(found []Finding) Remedy {
	r := Remedy{Full: slices.ContainsFunc(found, func(f Finding) bool { return f.Rule == OverWindow })}
	if !slices.ContainsFunc(found, func(f Finding) bool { return f.Effect == Refused && f.Rule != OverWindow }) {
		return r
	}
	r.Needed, r.Fixes = true, true
	fixed, err := l.Fix(Options{})
	if err != nil || !Broken(fixed.Left) {
		return r
	}
	r.Fixes, r.Leaves = len(fixed.Changes) > 0, true
	for _, f := range fixed.Left {
		if f.Effect == Refused {
			r.Instead = strings.Clone(f.Instead)
		}
	}
	return r
}

// A RepairPlan is what is about to be done to a session. It is not for use by several
// goroutines at once.
type RepairPlan struct {
	session *Stored
	Fixed   *Fixed
}

// ErrNoRemedy says that nothing can be done about a session.
var ErrNoRemedy = errors.New("what is wrong with it cannot be fixed: go on in a new session, or go back to a copy of the file from before")

// Treat reads a session again and repairs it, in memory, unless somebody may be writing to it.
func (x Place) Treat(busy *Busy) (*RepairPlan, error) {
	l, err := x.Open(Options{})
	if err != nil {
		return nil, err
	}
	if err := busy.Why(l.Newest()); err != nil {
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

// A Difference is a file before and after a repair. Many goroutines may read it.
type Difference struct {
	Path          string
	Before, After []byte
}

// Differences are the files that a repair changes.
func (t *RepairPlan) Differences() (all []Difference) {
	for _, f := range t.session.Replacements(t.Fixed) {
		before := t.session.Raw()
		if len(t.Fixed.Files) > 0 {
			before, _ = os.ReadFile(f.Path) // a new one has none
		}
		all = append(all, Difference{f.Path, before, f.Raw})
	}
	return all
}

// Replace replaces the files, each as a whole, and returns them.
func (t *RepairPlan) Replace(files *atomicfile.Files) ([]Rewritten, error) {
	out := Writer{Files: files}
	defer out.Discard() // does nothing to what is committed
	for _, f := range t.session.Replacements(t.Fixed) {
		if err := out.Stage(f); err != nil {
			return nil, err
		}
	}
	return out.Commit()
}
