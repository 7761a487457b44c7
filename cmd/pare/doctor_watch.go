package main

import (
	"time"

	"github.com/pare-llm/pare/cmd/internal/picture"
	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/internal/agentlog"
)

// recheckInterval is the pause between two looks of doctor --watch.
const recheckInterval = 3 * time.Second

// waitForRecheck waits for recheckInterval and returns true. A signal ends the program.
func waitForRecheck() bool {
	time.Sleep(recheckInterval)
	return true
}

// A watchedSession is the last known state of a session file.
type watchedSession struct {
	bytes      int64
	modified   time.Time
	isExamined bool   // the file was examined in this state
	trouble    string // the trouble that was reported; "" for none
}

// watch reports sessions that break, fill up or recover, until again returns false. A session is
// examined when it has not changed between two looks, so that a line that is being written is not
// reported as damage and a busy session costs little.
func (d *doctorRun) watch(report *picture.Doctor, again func() bool) {
	all := map[string]*watchedSession{}
	for _, t := range d.treatments {
		all[t.Path] = &watchedSession{t.Bytes, t.Modified, true, describeTrouble(t.Diagnosis)}
	}
	for _, place := range d.Sessions {
		if f := all[place.Path]; f != nil {
			f.bytes, f.modified = place.Bytes, place.Info.ModTime()
		}
	}
	screen.Fprintf(d.env.stderr, "watching %s; Ctrl-C stops\n", plural(len(all), "session"))
	for again() {
		there := map[string]bool{}
		for _, place := range agentlog.Find(d.search).Sessions {
			there[place.Path] = true
			f := all[place.Path]
			switch {
			case f == nil:
				all[place.Path] = &watchedSession{bytes: place.Bytes, modified: place.Info.ModTime()}
			case f.bytes != place.Bytes || !f.modified.Equal(place.Info.ModTime()):
				f.bytes, f.modified, f.isExamined = place.Bytes, place.Info.ModTime(), false
			case !f.isExamined:
				f.isExamined = true
				d.reportTrouble(report, f, agentlog.Examine(place))
			}
		}
		for path := range all {
			if !there[path] {
				delete(all, path)
			}
		}
	}
}

// reportTrouble reports a session if its trouble has changed.
func (d *doctorRun) reportTrouble(report *picture.Doctor, f *watchedSession, diagnosis *agentlog.Diagnosis) {
	now := describeTrouble(diagnosis)
	if now == f.trouble || diagnosis.NotSession {
		return
	}
	f.trouble = now
	report.Now = time.Now()
	if d.JSON {
		_, _ = d.env.stdout.Write(encodeLine((&treatment{Diagnosis: diagnosis}).toJSON()))
		return
	}
	_, _ = d.env.stdout.Write(report.RenderNews(diagnosis))
}

// describeTrouble returns the reason why the session of a running agent cannot continue, or soon
// cannot; "" for none. An open call at the end is still running and is no reason.
func describeTrouble(diagnosis *agentlog.Diagnosis) string {
	share, known := diagnosis.Size.Share()
	switch {
	case diagnosis.Err != nil:
		return "unreadable"
	case diagnosis.Running > agentlog.Repairs:
		return diagnosis.Running.String()
	case known && share >= picture.NearlyFull:
		return "nearly full"
	}
	return ""
}
