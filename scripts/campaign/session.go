package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/pare-llm/pare/wire"
)

// A seat is a home and a folder to work in, below one folder.
type seat struct{ dir, cwd string }

func (s seat) home() string { return filepath.Join(s.dir, "home") }

// place is a new folder.
func (c *campaign) place() string {
	dir, err := os.MkdirTemp("", "pare-campaign-")
	if err != nil {
		fail(err)
	}
	return dir
}

// hold lets the client hold a session.
func (c *campaign) hold(steps []step) (s seat, err error) {
	dir := c.place()
	s = seat{dir, filepath.Join(dir, "work")}
	if err := write(s.cwd, map[string]string{"a.txt": "contents alpha\n", "b.txt": "contents beta\n"}); err != nil {
		return s, err
	}
	for i, st := range steps {
		api, err := newStandIn(c.client, s.cwd)
		if err != nil {
			return s, err
		}
		model := c.models[0]
		if st.other {
			model = c.models[1]
		}
		prompt := fmt.Sprintf("prompt %d: %s", i+1, st.order)
		args := c.begin(prompt, model)
		if file := c.newest(s); i > 0 && file != "" {
			args = c.resumed(prompt, model, c.id(file))
		}
		out, err := c.start(s, api, args, st.end)
		api.server.Close()
		if len(api.sent()) == 0 {
			return s, fmt.Errorf("prompt %d is not sent: %v %s", i+1, err, out)
		}
	}
	if c.newest(s) == "" {
		return s, errors.New("no session file is written")
	}
	return s, nil
}

// start runs the client once.
func (c *campaign) start(s seat, api *standIn, args []string, end ending) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), c.each)
	defer cancel()
	if c.setup != nil {
		if err := write(s.home(), c.setup(s.home(), api.url)); err != nil {
			return "", err
		}
	}
	argv := append(slices.Clone(c.argv), args...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = s.cwd
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.home(), "TMPDIR=" + s.dir, "LANG=C.UTF-8", "SHELL=/bin/sh", "NO_PROXY=127.0.0.1"}
	for _, e := range c.env {
		cmd.Env = append(cmd.Env, strings.ReplaceAll(strings.ReplaceAll(e, "URL", api.url), "=HOME", "="+s.home()))
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	group := func(sig syscall.Signal) error { return syscall.Kill(-cmd.Process.Pid, sig) }
	cmd.Cancel = func() error { return group(syscall.SIGKILL) }
	cmd.WaitDelay = 3 * time.Second
	if err := cmd.Start(); err != nil {
		return "", err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	if end != ends {
		for asked := true; asked; {
			select {
			case order := <-api.asked:
				if order != "sleep" && order != "slow" {
					continue
				}
				time.Sleep(2 * time.Second) // the tool runs now, the file is written
				if end == interrupted {
					_ = group(syscall.SIGINT)
					time.Sleep(2 * time.Second)
				}
				_ = group(syscall.SIGKILL)
			case err := <-done:
				return out.String(), err
			}
		}
	}
	err := <-done
	_ = group(syscall.SIGKILL) // whoever of its group is left
	return out.String(), err
}

// newest is the session file that was written last.
func (c *campaign) newest(s seat) (newest string) {
	files, _ := filepath.Glob(filepath.Join(s.home(), c.sessions))
	var at time.Time
	for _, f := range files {
		if st, err := os.Stat(f); err == nil && !st.ModTime().Before(at) {
			newest, at = f, st.ModTime()
		}
	}
	return newest
}

// copyTo copies the seat's home; the folder to work in stays, for sessions name it.
func (s seat) copyTo(dir string) string {
	if err := os.CopyFS(filepath.Join(dir, "home"), os.DirFS(s.home())); err != nil {
		fmt.Fprintln(os.Stderr, "campaign:", err) // sockets and the like
	}
	_ = filepath.WalkDir(s.home(), func(path string, d os.DirEntry, err error) error {
		if info, e := d.Info(); err == nil && e == nil { // the newest is found by its time
			rel, _ := filepath.Rel(s.home(), path)
			_ = os.Chtimes(filepath.Join(dir, "home", rel), info.ModTime(), info.ModTime())
		}
		return nil
	})
	return dir
}

// A resumption is what came of resuming a session.
type resumption struct {
	dir   string
	body  []byte // the first request; nil: none
	found []wire.Finding
	err   error
	marks []string // what the request holds of the session
	left  []string // what the file held, when the client found it
	out   string
}

// resume lets the client go on with a copy of a session that something was done to.
func (c *campaign) resume(held seat, do func(dir string)) *resumption {
	r := &resumption{dir: held.copyTo(c.place())}
	s := seat{r.dir, held.cwd}
	if do != nil {
		do(r.dir)
	}
	r.left = marksIn(c.stored(s))
	file := c.newest(s)
	api, err := newStandIn(c.client, s.cwd)
	if err != nil {
		fail(err)
	}
	r.out, _ = c.start(s, api, c.resumed("prompt 90: thanks", c.models[0], c.id(file)), ends)
	api.server.Close()
	if sent := api.sent(); len(sent) > 0 {
		r.body = sent[len(sent)-1]
		for _, b := range sent { // a client may compact first: what it says of the session comes last
			if bytes.Contains(b, []byte("prompt 90: ")) {
				r.body = b
				break
			}
		}
		r.marks = marksIn(r.body)
		req, err := wire.Parse(r.body, wire.Options{Dialect: c.dialect})
		if r.err = err; err == nil {
			r.found = req.Check(wire.CheckOptions{})
		}
	}
	return r
}

// stored are the bytes of the session.
func (c *campaign) stored(s seat) []byte {
	if c.doctor == "" {
		data, _ := os.ReadFile(c.newest(s))
		return data
	}
	var all []byte
	files, _ := filepath.Glob(filepath.Join(s.home(), c.sessions))
	for _, f := range files {
		data, _ := os.ReadFile(f)
		all = append(append(all, data...), '\n')
	}
	return all
}

// repair lets pare repair the session, and returns what it says.
func (c *campaign) repair(dir string) string {
	s := seat{dir: dir}
	args := []string{"fix", "--in-place", "--force", c.newest(s)}
	if c.doctor != "" {
		args = []string{"doctor", "--fix", "--yes", "--force", "--agent", c.doctor, "--home", s.home()}
	}
	out, _ := exec.Command(c.pare, args...).CombinedOutput()
	return string(out)
}

// marks are the words by which a text of the conversation is known.
var marks = regexp.MustCompile(`prompt [1-8]: [a-z]+|reply [1-8]: done|contents alpha|contents beta|output [1-8] of the program\b`)

// echoed are commands, which have the words of their outputs.
var echoed = regexp.MustCompile(`echo output [1-8] of the program`)

func marksIn(text []byte) (all []string) {
	for _, m := range marks.FindAll(echoed.ReplaceAll(text, nil), -1) {
		if !slices.Contains(all, string(m)) {
			all = append(all, string(m))
		}
	}
	return all
}

// both lists what is in two lists.
func both(a, b []string) (all []string) {
	for _, m := range a {
		if slices.Contains(b, m) {
			all = append(all, m)
		}
	}
	return all
}

// verdict says in a few words what the client sent of what it should have.
func (r *resumption) verdict(want []string) string {
	switch {
	case r.body == nil:
		return "sends nothing: " + oneLine(r.out)[:min(80, len(oneLine(r.out)))]
	case r.err != nil:
		return "refused: " + oneLine(r.err.Error())
	case len(r.found) > 0:
		return fmt.Sprintf("refused: %s, %d of %d texts", r.found[0].Rule, len(both(want, r.marks)), len(want))
	case len(both(want, r.marks)) < len(want):
		return fmt.Sprintf("forgets %d of %d texts", len(want)-len(both(want, r.marks)), len(want))
	}
	return fmt.Sprintf("clean, %d of %d texts", len(want), len(want))
}

func (r *resumption) clean(want []string) bool {
	return r.body != nil && r.err == nil && len(r.found) == 0 && len(both(want, r.marks)) == len(want)
}
