package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pare-llm/pare/agentlog"
	"github.com/pare-llm/pare/internal/picture"
	"github.com/pare-llm/pare/wire"
)

// A diagnosis is what is known of a session once it was read. It keeps no byte of the
// file, so that there may be many.
type diagnosis struct {
	agentlog.Place
	project  string // the folder that was worked in; "" if nothing tells
	modified time.Time
	counts   picture.Counts // of what would be sent
	faults   []fault
	remedy   func(command string) string // of one that is ill: what to do, if command fixes
	err      error                       // why it cannot be read
	foreign  bool                        // it is no session at all

	mended bool
	backup string
	left   []fault // what could not be repaired
	why    string  // it was not mended
}

// A fault is one finding, for --json and for the list.
type fault struct {
	Rule    string          `json:"rule"`
	File    string          `json:"file,omitempty"` // where a session has many
	Line    int             `json:"line"`
	Message string          `json:"message"`
	Effect  agentlog.Effect `json:"effect"`
}

func faultsOf(found []agentlog.Finding) []fault {
	all := make([]fault, 0, len(found))
	for _, f := range found {
		// Clones, because the strings of a finding may be bytes of the file.
		all = append(all, fault{f.Rule, strings.Clone(f.File), f.Line, strings.Clone(f.Message), f.Effect})
	}
	return all
}

// broken reports whether the session cannot be resumed as it should be, as it is now.
func (d *diagnosis) broken() bool {
	if d.mended {
		return refusals(d.left) > 0
	}
	return d.ill()
}

// ill reports whether the session could not be resumed as it should be when it was read.
func (d *diagnosis) ill() bool { return refusals(d.faults) > 0 }

// refusals counts the faults that keep a session from being resumed.
func refusals(all []fault) (n int) {
	for _, f := range all {
		if f.Effect == agentlog.Refused {
			n++
		}
	}
	return n
}

// diagnose reads and checks a session.
func diagnose(x agentlog.Place) (d *diagnosis) {
	d = &diagnosis{Place: x, modified: x.Info.ModTime()}
	// A bug that one session meets must not cost the others.
	defer func() {
		if p := recover(); p != nil {
			d.err = fmt.Errorf("pare has met a bug of its own: %v", p)
		}
	}()
	l, err := x.Open(agentlog.Options{})
	if err != nil {
		d.foreign = errors.Is(err, agentlog.ErrFormat)
		d.err = err
		return d
	}
	_, newest := l.Newest()
	d.modified = newest.ModTime()
	d.Bytes = int64(len(l.Raw()))
	d.project = x.Project(l.Raw())
	d.counts = picture.CountSession(l.Log)
	found := l.Check(wire.CheckOptions{})
	d.faults = faultsOf(found)
	if agentlog.Broken(found) {
		d.remedy = func(command string) string { return command }
		if what := remedyFor(l.Log, found, "\x00"); what != "to fix it: \x00" {
			d.remedy = func(command string) string { return strings.ReplaceAll(what, "\x00", command) }
		}
	}
	return d
}
