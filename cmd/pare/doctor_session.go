package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pare-llm/pare/agentlog"
	"github.com/pare-llm/pare/wire"
)

// A diagnosis is what is known of a session once it was read. It keeps no byte of the
// file, so that there may be many.
type diagnosis struct {
	agentlog.Place
	project  string // the folder that was worked in; "" if nothing tells
	modified time.Time
	tally    agentlog.Tally
	faults   []fault
	err      error // why it cannot be read
	foreign  bool  // it is no session at all

	mended bool
	backup string
	left   []fault // what could not be mended
	why    string  // it was not mended
}

// A fault is one finding, for --json and for the list.
type fault struct {
	Rule    string `json:"rule"`
	File    string `json:"file,omitempty"` // where a session has many
	Line    int    `json:"line"`
	Message string `json:"message"`
}

func faultsOf(found []agentlog.Finding) []fault {
	all := make([]fault, 0, len(found))
	for _, f := range found {
		// Clones, because the strings of a finding may be bytes of the file.
		all = append(all, fault{f.Rule, strings.Clone(f.File), f.Line, strings.Clone(f.Message)})
	}
	return all
}

// broken reports whether the session has faults that are still there.
func (d *diagnosis) broken() bool {
	if d.mended {
		return len(d.left) > 0
	}
	return len(d.faults) > 0
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
	d.tally = l.Tally()
	d.faults = faultsOf(l.Check(wire.CheckOptions{}))
	return d
}
