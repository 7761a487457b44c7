//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pare-llm/pare/cmd/internal/trust"
	"github.com/pare-llm/pare/internal/trial"
)

type dialSource string

const (
	fromNothing     dialSource = "nothing"
	fromVariable    dialSource = "variable"
	fromForeign     dialSource = "variable of other programs"
	fromUser        dialSource = "file of the user"
	fromTrusted     dialSource = "file of the project, trusted"
	fromUntrusted   dialSource = "file of the project, not trusted"
	fromChangedFile dialSource = "file of the project, changed since it was trusted"
	fromArgument    dialSource = "argument"
)

type dialCase struct {
	agent  *dialAgent
	source dialSource
	fault  string
}

var dialFaults = []string{"refuses", "has no address", "speaks no TLS", "hangs, then closes", "redirects to a vendor", "answers 503"}

func dialCases() (all []dialCase) {
	for i := range dialAgents {
		a := &dialAgents[i]
		has := map[dialSource]bool{
			fromNothing: true, fromVariable: a.variable != "", fromForeign: a.foreign != "", fromUser: a.user != "",
			fromTrusted: a.project != "", fromUntrusted: a.project != "", fromChangedFile: a.project != "", fromArgument: a.args != nil,
		}
		for _, source := range []dialSource{fromNothing, fromVariable, fromForeign, fromUser, fromTrusted, fromUntrusted, fromChangedFile, fromArgument} {
			for _, fault := range dialFaults {
				if has[source] && (source != fromNothing || fault == dialFaults[0]) {
					all = append(all, dialCase{a, source, fault})
				}
			}
		}
	}
	return all
}

func TestRunDialsOnlyConfiguredHosts(t *testing.T) {
	inside, isClosed := isolated(t)
	if !isClosed {
		t.Log("no network namespace without a route: the system does not permit it; the recorder in Pare decides alone")
	}
	lab := newDialLab(t, inside)
	cases := dialCases()
	step := trial.SparseStride(9)
	run, foreign := 0, 0
	for i := 0; i < len(cases); i += step {
		run++
		t.Run(fmt.Sprintf("%s/%s/%s", cases[i].agent.name, cases[i].source, cases[i].fault), func(t *testing.T) {
			foreign += lab.check(t, cases[i])
		})
	}
	t.Logf("%d of %d cases; hosts dialed and not configured: %d; attempts to leave the namespace: %s", run, len(cases), foreign, lab.attempts())
}

type dialLab struct {
	inside func(func())
	bases  map[string]string
	bin    string
	before string

	mu   sync.Mutex
	came []string
}

func newDialLab(t *testing.T, inside func(func())) *dialLab {
	l := &dialLab{inside: inside, bases: map[string]string{}, bin: t.TempDir()}
	for _, fault := range dialFaults {
		var listener net.Listener
		var err error
		inside(func() { listener, err = net.Listen("tcp", "127.0.0.1:0") })
		if err != nil {
			t.Fatal(err)
		}
		l.bases[fault] = "http://" + listener.Addr().String() + "/gw"
		switch fault {
		case "refuses":
			listener.Close()
			continue
		case "has no address":
			listener.Close()
			l.bases[fault] = "http://gate.invalid:8080/gw"
			continue
		}
		if fault == "speaks no TLS" {
			l.bases[fault] = "https://" + listener.Addr().String() + "/gw"
		}
		server := &http.Server{Handler: l.handler(fault), ErrorLog: log.New(io.Discard, "", 0)}
		go server.Serve(listener)
		t.Cleanup(func() { server.Close() })
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range dialAgents {
		if err := os.Symlink(self, filepath.Join(l.bin, a.program)); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
	}
	inside(func() { l.before = unreachable() })
	return l
}

func (l *dialLab) handler(fault string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		l.mu.Lock()
		l.came = append(l.came, r.URL.Path+" "+r.Header.Get("X-Api-Key"))
		l.mu.Unlock()
		switch fault {
		case "redirects to a vendor":
			w.Header().Set("Location", openaiVendor+"/v1/responses")
			w.WriteHeader(http.StatusTemporaryRedirect)
		case "answers 503":
			http.Error(w, "not now", http.StatusServiceUnavailable)
		default:
			time.Sleep(50 * time.Millisecond)
			panic(http.ErrAbortHandler)
		}
	})
}

func (l *dialLab) takeRequests() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	came := l.came
	l.came = nil
	return came
}

type dialResult struct {
	status  int
	text    string
	dialed  []string
	looked  []string
	arrived []string
}

func (l *dialLab) start(t *testing.T, c dialCase, base string) (r dialResult) {
	t.Helper()
	home, work := t.TempDir(), t.TempDir()
	dials := filepath.Join(t.TempDir(), "dials")
	env := []string{"PATH=" + l.bin + ":" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + t.TempDir(), "PARE_DIALS=" + dials, "PARE_STAND_IN=" + c.agent.name}
	args := []string{"run", "--", c.agent.program}
	put := func(path, text string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(work, c.agent.project)
	accept := func(text string) {
		if err := trust.Open(filepath.Join(home, ".config", "pare")).Add(file, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	switch c.source {
	case fromVariable:
		env = append(env, c.agent.variable+"="+base)
	case fromForeign:
		env = append(env, c.agent.foreign+"="+base)
	case fromUser:
		put(filepath.Join(home, c.agent.user), c.agent.text(base))
	case fromTrusted:
		put(file, c.agent.text(base))
		accept(c.agent.text(base))
	case fromUntrusted:
		put(file, c.agent.text(base))
	case fromChangedFile:
		put(file, c.agent.text(base))
		accept(c.agent.text("http://127.0.0.1:9"))
	case fromArgument:
		args = append(args, c.agent.args(base)...)
	}
	l.takeRequests()
	program, err := exec.LookPath("pare-recorded")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, append(args, "send")...)
	cmd.Env, cmd.Dir = env, work
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	l.inside(func() { err = cmd.Start() })
	if err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	r = dialResult{status: cmd.ProcessState.ExitCode(), text: out.String(), arrived: l.takeRequests()}
	text, _ := os.ReadFile(dials) // no file: nothing was dialed
	for line := range strings.Lines(string(text)) {
		kind, what, _ := strings.Cut(strings.TrimSpace(line), " ")
		if kind == "dial" {
			r.dialed = append(r.dialed, what)
		} else {
			r.looked = append(r.looked, what)
		}
	}
	return r
}

func (l *dialLab) check(t *testing.T, c dialCase) (foreign int) {
	base := l.bases[c.fault] + c.agent.version
	host := hostOf(base)
	if c.source == fromNothing {
		host = hostOf(c.agent.vendor)
	}
	r := l.start(t, c, base)
	for _, address := range r.dialed {
		if address != host {
			t.Errorf("pare run dials %s, and only %q is configured", address, host)
			foreign++
		}
	}
	name, _, _ := net.SplitHostPort(host)
	for _, looked := range r.looked {
		if strings.TrimSuffix(looked, ".") != name {
			t.Errorf("pare run looks up %s, and only %q is configured", looked, host)
			foreign++
		}
	}
	for _, request := range r.arrived {
		if request != "/gw"+c.agent.version+c.agent.path+" key of "+c.agent.name {
			t.Errorf("the host gets %q", request)
		}
	}
	want := c.outcome()
	if got := r.outcome(c, base); got != want {
		t.Errorf("the agent %s, want %s\n%s\ndialed %q", got, want, r.text, r.dialed)
	}
	return foreign
}

const (
	notStarted = "is not started"
	byItself   = "reaches its host by itself"
	noReply    = "gets an error that names the host"
	asItIs     = "gets the reply of the host"
	silent     = "sends nothing"
)

func (c dialCase) outcome() string {
	project := c.source == fromUntrusted || c.source == fromChangedFile
	dead := c.fault == "refuses"
	inFile := c.source == fromUser || c.source == fromTrusted
	switch {
	case c.source == fromNothing && c.agent.vendor == "":
		return silent
	case c.source == fromNothing:
		return noReply // no name resolves here
	case project && c.agent.generic, c.source == fromUser && c.agent.generic && !c.agent.many:
		return byItself
	case project, dead && !inFile, dead && inFile && !c.agent.many && !c.agent.generic:
		return notStarted
	case c.source == fromForeign:
		return byItself
	case c.fault == "redirects to a vendor" || c.fault == "answers 503":
		return asItIs
	}
	return noReply
}

func (r dialResult) outcome(c dialCase, base string) string {
	_, used, ok := strings.Cut(r.text, "base ")
	used, _, _ = strings.Cut(used, "\n")
	want := hostOf(base)
	if c.source == fromNothing {
		want = hostOf(c.agent.vendor)
	}
	named, _, _ := strings.Cut(want, ":443")
	isError := strings.Contains(r.text, "status 502") && strings.Contains(r.text, c.agent.errorKind()) && strings.Contains(r.text, `"message":"Pare `) && strings.Contains(r.text, named)
	switch {
	case !ok && r.status == 2 && strings.Contains(r.text, "pare: ") && len(r.dialed)+len(r.arrived) == 0:
		return notStarted
	case used == "" && len(r.dialed) == 0:
		return silent
	case !strings.Contains(used, "/u/") && len(r.dialed) == 0:
		return byItself
	case isError:
		return noReply
	case strings.Contains(r.text, "status 307") && strings.Contains(r.text, "location "+openaiVendor), strings.Contains(r.text, "status 503") && strings.Contains(r.text, "not now"):
		return asItIs
	}
	return "has another outcome"
}

func (a *dialAgent) errorKind() string {
	switch {
	case strings.HasSuffix(a.path, "/messages"):
		return `"type":"api_error"`
	case strings.HasSuffix(a.path, ":generateContent"):
		return `"status":"UNAVAILABLE"`
	}
	return `"type":"server_error"`
}

func hostOf(base string) string {
	u, err := url.Parse(base)
	switch {
	case err != nil || u.Host == "":
		return ""
	case u.Port() == "":
		return u.Host + ":443"
	}
	return u.Host
}

func (l *dialLab) attempts() (n string) {
	l.inside(func() { n = unreachable() })
	if n == "" {
		return "not counted"
	}
	var before, after int
	fmt.Sscan(l.before, &before)
	fmt.Sscan(n, &after)
	return fmt.Sprint(after - before)
}
