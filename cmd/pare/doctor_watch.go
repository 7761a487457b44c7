package main

import (
	"time"

	"github.com/pare-llm/pare/cmd/internal/picture"
	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/internal/agentlog"
)

const recheckInterval = 3 * time.Second

// everyFew waits until sessions are to be looked at again. It never says that it is enough: a signal
// ends the program.
func waitForRecheck() bool {
	time.Sleep(recheckInterval)
	return true
}

// A followed is a session that is watched.
type watchedSession struct {
	bytes      int64
	modified   time.Time
	isExamined bool   // it was examined as it is now
	trouble    string // what is wrong with it; "": nothing
}

// watch tells of sessions that break or fill up, and of those that are well again, until again says
// that it is enough. A session is read when nobody has written to it from one look to the next, so
// that one in the middle of a line is not called broken, and one that grows fast costs little.
func (d *doctorRun) watch(v *picture.Doctor, again func() bool) {
	all := map[string]*watchedSession{}
	for _, t := range d.treatments {
		all[t.Path] = &watchedSession{t.Bytes, t.Modified, true, describeTrouble(t.Diagnosis)}
	}
	for _, x := range d.Sessions {
		if f := all[x.Path]; f != nil {
			f.bytes, f.modified = x.Bytes, x.Info.ModTime()
		}
	}
	screen.Fprintf(d.w.stderr, "watching %s; Ctrl-C stops\n", plural(len(all), "session"))
	for again() {
		there := map[string]bool{}
		for _, x := range agentlog.Find(d.search).Sessions {
			there[x.Path] = true
			f := all[x.Path]
			switch {
			case f == nil:
				all[x.Path] = &watchedSession{bytes: x.Bytes, modified: x.Info.ModTime()}
			case f.bytes != x.Bytes || !f.modified.Equal(x.Info.ModTime()):
				f.bytes, f.modified, f.isExamined = x.Bytes, x.Info.ModTime(), false
			case !f.isExamined:
				f.isExamined = true
				d.reportTrouble(v, f, agentlog.Examine(x))
			}
		}
		for path := range all {
			if !there[path] {
				delete(all, path)
			}
		}
	}
}

// follow tells what has become of a session, if that is news.
func (d *doctorRun) reportTrouble(v *picture.Doctor, f *watchedSession, diagnosis *agentlog.Diagnosis) {
	now := describeTrouble(diagnosis)
	if now == f.trouble || diagnosis.NotSession {
		return
	}
	f.trouble = now
	v.Now = time.Now()
	if d.JSON {
		_, _ = d.w.stdout.Write(encodeLine((&treatment{Diagnosis: diagnosis}).toJSON()))
		return
	}
	_, _ = d.w.stdout.Write(v.News(diagnosis))
}

// trouble is what keeps a session whose agent is running from going on, or soon will. A call at its end
// is still running, so that is none.
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
