package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

type served struct {
	cmd    *exec.Cmd
	stderr *said
	read   chan struct{}
}

type serving struct{ running sync.Map }

func (s *serving) listen(ts *testscript.TestScript, _ bool, args []string) {
	if runtime.GOOS == "windows" {
		ts.Fatalf("servers are stopped by a signal")
	}
	cmd := exec.Command(os.Args[0], args[2:]...)
	cmd.Args[0] = args[1] // testscript selects the command by this name
	cmd.Path = lookUp(ts, args[1])
	cmd.Dir, cmd.Env = ts.MkAbs("."), environ(ts)
	stderr, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	lines := bufio.NewReader(stderr)
	first, err := lines.ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(first), "pare: listening on ")
	if err != nil || !ok {
		rest, _ := io.ReadAll(lines)
		cmd.Wait()
		ts.Fatalf("the first line is %q: %v\n%s", first, err, rest)
	}
	ts.Setenv(args[0], url)
	v := &served{cmd, new(said), make(chan struct{})}
	go func() {
		io.Copy(v.stderr, lines)
		close(v.read)
	}()
	s.running.Store(ts.Name()+args[0], v)
	ts.Defer(func() {
		if v.cmd.ProcessState == nil {
			v.cmd.Process.Kill()
			v.cmd.Wait()
		}
	})
}

func (s *serving) end(ts *testscript.TestScript, _ bool, args []string) {
	started, _ := s.running.Load(ts.Name() + args[0])
	v := started.(*served)
	ts.Check(v.cmd.Process.Signal(syscall.SIGTERM))
	<-v.read
	ts.Check(v.cmd.Wait())
	write(ts, args[1], []byte(v.stderr.String()))
}

func (s *serving) reload(ts *testscript.TestScript, _ bool, args []string) {
	started, _ := s.running.Load(ts.Name() + args[0])
	v := started.(*served)
	from := len(v.stderr.String())
	ts.Check(v.cmd.Process.Signal(syscall.SIGHUP))
	for !strings.Contains(v.stderr.String()[from:], args[1]) {
		select {
		case <-v.read:
			ts.Fatalf("nobody said %q: %s", args[1], v.stderr.String()[from:])
		default:
			time.Sleep(10 * time.Millisecond)
		}
	}
}

type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func post(ts *testscript.TestScript, _ bool, args []string) {
	r, err := http.NewRequest(http.MethodPost, args[1], strings.NewReader(ts.ReadFile(args[2])))
	ts.Check(err)
	r.Header.Set("Content-Type", "application/json")
	for _, h := range args[4:] {
		name, value, ok := strings.Cut(h, ": ")
		if !ok {
			ts.Fatalf("%q is no header", h)
		}
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(r)
	ts.Check(err)
	defer answer.Body.Close()
	var out bytes.Buffer
	ts.Check(answer.Header.Write(&out))
	out.WriteString("\n")
	_, err = io.Copy(&out, answer.Body)
	ts.Check(err)
	write(ts, args[3], out.Bytes())
	if got := strings.Fields(answer.Status)[0]; got != args[0] {
		ts.Fatalf("status %s, want %s:\n%s", got, args[0], &out)
	}
}

func lookUp(ts *testscript.TestScript, name string) string {
	for dir := range strings.SplitSeq(ts.Getenv("PATH"), string(os.PathListSeparator)) {
		path := dir + string(os.PathSeparator) + name
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			return path
		}
	}
	ts.Fatalf("no %s in PATH", name)
	return ""
}

func environ(ts *testscript.TestScript) []string {
	var all []string
	for _, name := range []string{"PATH", "HOME", "WORK", "TMPDIR", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"} {
		if v := ts.Getenv(name); v != "" {
			all = append(all, name+"="+v)
		}
	}
	return all
}
