package main

import (
	"time"

	"github.com/pare-llm/pare/cmd/internal/picture"
	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/internal/agentlog"
)

const watchEvery = 3 * time.Second

// everyFew waits until sessions are to be looked at again. It never says that it is enough: a signal
// ends the program.
func everyFew() bool {
	time.Sleep(watchEvery)
	return true
}

// A followed is a session that is watched.
type followed struct {
	bytes  int64
	at     time.Time
	looked bool   // it was examined as it is now
	told   string // what is wrong with it; "": nothing
}

// watch tells of sessions that break or fill up, and of those that are well again, until again says
// that it is enough. A session is read when nobody has written to it from one look to the next, so
// that one in the middle of a line is not called broken, and one that grows fast costs little.
func (r *rounds) watch(v *picture.Doctor, again func() bool) {
	all := map[string]*followed{}
	for _, d := range r.all {
		all[d.Path] = &followed{d.Bytes, d.Modified, true, trouble(d.Diagnosis)}
	}
	for _, x := range r.Sessions {
		if f := all[x.Path]; f != nil {
			f.bytes, f.at = x.Bytes, x.Info.ModTime()
		}
	}
	screen.Fprintf(r.w.stderr, "watching %s; Ctrl-C stops\n", plural(len(all), "session"))
	for again() {
		there := map[string]bool{}
		for _, x := range agentlog.Find(r.search).Sessions {
			there[x.Path] = true
			f := all[x.Path]
			switch {
			case f == nil:
				all[x.Path] = &followed{bytes: x.Bytes, at: x.Info.ModTime()}
			case f.bytes != x.Bytes || !f.at.Equal(x.Info.ModTime()):
				f.bytes, f.at, f.looked = x.Bytes, x.Info.ModTime(), false
			case !f.looked:
				f.looked = true
				r.follow(v, f, agentlog.Examine(x))
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
func (r *rounds) follow(v *picture.Doctor, f *followed, d *agentlog.Diagnosis) {
	now := trouble(d)
	if now == f.told || d.Foreign {
		return
	}
	f.told = now
	v.Now = time.Now()
	if r.JSON {
		_, _ = r.w.stdout.Write(encode((&treated{Diagnosis: d}).json()))
		return
	}
	_, _ = r.w.stdout.Write(v.News(d))
}

// trouble is what keeps a session whose agent is running from going on, or soon will. A call at its end
// is still running, so that is none.
func trouble(d *agentlog.Diagnosis) string {
	share, known := d.Size.Share()
	switch {
	case d.Err != nil:
		return "unreadable"
	case d.Running > agentlog.Repairs:
		return d.Running.String()
	case known && share >= picture.NearlyFull:
		return "nearly full"
	}
	return ""
}
