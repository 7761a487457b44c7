package atomicfile

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/pare-llm/pare/internal/fault"
)

// An agent writes to a session as agents do. It acts between any two steps of a run, and remembers
// every line that it has written. An open has two parts, the look at the name and the open of the
// file that it led to, and a run may take steps in between.
type agent struct {
	t       *testing.T
	path    string
	rand    *rand.Rand
	lines   []string // written in full
	held    *os.File // nil: the agent has no file open
	half    string   // the rest of a line that is half written to held
	found   *os.File // the file that an open has found; nil: no open is under way
	goesOn  bool     // the open is followed by the end of a line, which is not closed
	count   int
	renames bool
	trace   *[]string // of the whole simulation
	rest    int       // how many steps of a run pass between two of the agent's, on average
}

// step lets the agent do something, or nothing.
func (a *agent) step() {
	if a.rand.IntN(a.rest) > 0 {
		return
	}
	switch n := a.rand.IntN(12); {
	case a.found != nil:
		a.finishOpen()
	case a.held != nil && a.half != "":
		a.write(a.half)
		a.half = ""
	case a.held != nil && n < 5:
		a.write(a.line() + "\n")
	case a.held != nil && n < 7:
		line := a.line()
		a.write(line[:len(line)/2])
		a.half = line[len(line)/2:] + "\n"
	case a.held != nil && n < 9:
		a.rewrite()
	case a.held != nil:
		a.close()
	case n < 7:
		a.beginOpen(n < 3)
	case n < 8 && a.renames:
		a.rename()
	}
}

// line returns a new line.
func (a *agent) line() string {
	a.count++
	return fmt.Sprintf(`{"agent":%d,"text":"%s"}`, a.count, strings.Repeat("x", a.rand.IntN(20)))
}

// write writes to the file that the agent has open, and notes the line that is complete by that.
func (a *agent) write(text string) {
	if _, err := a.held.WriteString(text); err != nil {
		a.t.Fatal(err)
	}
	if !strings.HasSuffix(text, "\n") {
		return
	}
	data, err := os.ReadFile(fmt.Sprintf("/proc/self/fd/%d", a.held.Fd()))
	if err != nil {
		a.t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	a.lines = append(a.lines, lines[len(lines)-1])
	a.note("writes to %s", a.held)
}

// note adds an event to the trace.
func (a *agent) note(format string, args ...any) {
	for i, arg := range args {
		if file, ok := arg.(*os.File); ok {
			args[i], _ = os.Readlink(fmt.Sprintf("/proc/self/fd/%d", file.Fd()))
		}
	}
	*a.trace = append(*a.trace, fmt.Sprintf("agent %d: "+format, append([]any{a.count}, args...)...))
}

func (a *agent) beginOpen(goesOn bool) {
	const pathOnly = 0x200000 // O_PATH
	fd, err := syscall.Open(a.path, pathOnly|syscall.O_CLOEXEC, 0)
	if err != nil {
		a.t.Fatal(err)
	}
	a.found, a.goesOn = os.NewFile(uintptr(fd), a.path), goesOn
	a.note("finds the file")
	if a.rand.IntN(2) == 0 {
		a.finishOpen()
	}
}

// finishOpen opens the file that was found. While a run has a lease on it, the open waits.
func (a *agent) finishOpen() {
	fd, err := syscall.Open(fmt.Sprintf("/proc/self/fd/%d", a.found.Fd()), syscall.O_RDWR|syscall.O_APPEND|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		a.note("waits")
		return
	}
	if err != nil {
		a.t.Fatal(err)
	}
	a.found.Close()
	a.found, a.held = nil, os.NewFile(uintptr(fd), a.path)
	if !a.goesOn {
		a.write(a.line() + "\n")
		a.close()
	}
}

// rewrite writes the file that the agent has open anew, as it has it in memory.
func (a *agent) rewrite() {
	data, err := os.ReadFile(fmt.Sprintf("/proc/self/fd/%d", a.held.Fd()))
	if err != nil {
		a.t.Fatal(err)
	}
	if err := a.held.Truncate(0); err != nil {
		a.t.Fatal(err)
	}
	a.note("truncates %s", a.held)
	a.write(a.memory(data))
}

// rename replaces the file. A program that does so has no file open.
func (a *agent) rename() {
	data, err := os.ReadFile(a.path)
	if err != nil {
		a.t.Fatal(err)
	}
	text := a.memory(data)
	must(a.t, os.WriteFile(a.path+".tmp", []byte(text), 0o600))
	must(a.t, os.Rename(a.path+".tmp", a.path))
	a.lines = append(a.lines, lastLine(text))
	a.note("renames")
}

// memory returns what a program knows of a session: the lines of data, its own, and a new one.
func (a *agent) memory(data []byte) string {
	var b strings.Builder
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, `{"base":`) {
			b.WriteString(line)
		}
	}
	for _, line := range a.lines {
		b.WriteString(line + "\n")
	}
	b.WriteString(a.line() + "\n")
	return b.String()
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	return lines[len(lines)-1]
}

func (a *agent) close() {
	a.note("closes %s", a.held)
	must(a.t, a.held.Close())
	a.held = nil
}

// finish completes everything that the agent has begun.
func (a *agent) finish() {
	if a.found != nil {
		a.finishOpen()
	}
	if a.half != "" {
		a.write(a.half)
		a.half = ""
	}
	if a.held != nil {
		a.write(a.line() + "\n")
		a.close()
	}
}

// A simulation is an agent and some runs of Pare on one file.
type simulation struct {
	t       *testing.T
	agent   *agent
	source  *fault.Source
	tally   *fault.Tally
	system  system
	reports []string
}

// systems are the abilities that systems have.
func (s *simulation) systems() map[string]system {
	portable := system{exchange: renameExchange, lease: noLease, isLeaseBroken: neverBroken, writers: s.writers}
	blind := portable
	blind.writers = func(string) ([]string, bool) { return nil, false }
	plain := portable
	plain.exchange = func(string, string) error { return errors.ErrUnsupported }
	leased := thisSystem
	leased.writers = s.writers
	return map[string]system{"Linux": leased, "macOS": portable, "no list of open files": blind, "no exchange": plain}
}

func (s *simulation) writers(name string) ([]string, bool) {
	if s.agent.held == nil {
		return nil, true
	}
	open, err := s.agent.held.Stat()
	at, err2 := os.Stat(name)
	if err != nil || err2 != nil || !os.SameFile(open, at) {
		return nil, true
	}
	return []string{"agent (pid 7)"}, true
}

// repair returns the session that Pare writes, and whether there is something to write.
func repair(data []byte) (fixed []byte, isChanged bool) {
	fixed = bytes.ReplaceAll(data, []byte(`"broken"`), []byte(`"fixed"`))
	return fixed, !bytes.Equal(fixed, data)
}

// run is one run of Pare. It is killed at a step; 0: it is not.
func (s *simulation) run(isUndo bool, killedAt int) {
	n := 0
	f := Files{testSystem: &s.system}
	f.Step = func(op, path string) error {
		n++
		if killedAt > 0 && n >= killedAt {
			return fault.Err
		}
		// A rename by the agent between two steps of an exchange that is none is lost; see replace.go.
		s.agent.renames = !(op == "rename" && s.isPlain())
		*s.agent.trace = append(*s.agent.trace, fmt.Sprint("  step ", n, " ", op, " ", filepath.Base(path)))
		s.agent.step()
		if op == "wait" && s.agent.found != nil {
			s.agent.finishOpen()
		}
		return nil
	}
	note, err := s.change(&f, isUndo)
	f.Clear()
	if s.agent.found != nil { // an open ends before the next run begins, and a wait with its lease
		s.agent.finishOpen()
	}
	isKilled := killedAt > 0 && n >= killedAt
	*s.agent.trace = append(*s.agent.trace, fmt.Sprintf("run: undo %v, killed %v, %q, %v", isUndo, isKilled, note, err))
	if isKilled {
		s.tally.Count("killed", 1)
		return
	}
	if note != "" {
		s.reports = append(s.reports, note)
		s.tally.Count("notes", 1)
	}
	var stray *StrayError
	var open *OpenError
	var recovered *RecoveredError
	switch {
	case err == nil:
		s.tally.Count("replaced", 1)
		return
	case errors.As(err, &stray):
		s.tally.Count("stray", 1)
	case errors.As(err, &recovered):
		s.tally.Count("recovered", 1)
	case errors.As(err, &open):
		s.tally.Count("open", 1)
	case errors.Is(err, ErrMoved):
		s.tally.Count("moved", 1)
	default:
		s.t.Errorf("%v", err)
	}
	s.reports = append(s.reports, err.Error())
}

func (s *simulation) isPlain() bool {
	return errors.Is(s.system.exchange("", ""), errors.ErrUnsupported)
}

// change reads the session and writes it, or restores the newest backup.
func (s *simulation) change(f *Files, isUndo bool) (note string, err error) {
	path := s.agent.path
	if err := f.Recover(path); err != nil {
		return "", err
	}
	was, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if err := f.step("read", path); err != nil {
		return "", err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	if all := Backups(path); isUndo && len(all) > 0 {
		backup := BackupName(path, all[0])
		old, err := os.Stat(backup)
		if err != nil || os.SameFile(old, was) || ChangedSince(was, old) {
			return "", nil
		}
		done, err := f.Restore(path, backup, was, Over{Read: &sum})
		return done.Note, err
	}
	fixed, isChanged := repair(data)
	if !isChanged {
		return "", nil
	}
	d, err := f.New(path)
	if err != nil {
		return "", err
	}
	defer d.Discard()
	if _, err := d.Write(fixed); err != nil {
		return "", err
	}
	done, err := d.CommitOver(was, Over{Backup: true, Read: &sum})
	return done.Note, err
}

// check wants every line of the agent in the session, or in a file that is reported.
func (s *simulation) check() {
	t := s.t
	data, err := os.ReadFile(s.agent.path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if !bytes.Contains(data, fmt.Appendf(nil, `{"base":%d,`, i)) {
			t.Errorf("line %d of the session is gone:\n%s", i, data)
		}
	}
	folder := filepath.Dir(s.agent.path)
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	reports := strings.Join(s.reports, "\n")
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), journalSuffix) {
			raw, err := os.ReadFile(filepath.Join(folder, e.Name()))
			must(t, err)
			reports += "\n" + string(raw)
		}
	}
	for _, line := range s.agent.lines {
		if bytes.Contains(data, []byte(line+"\n")) {
			continue
		}
		isReported := slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
			raw, err := os.ReadFile(filepath.Join(folder, e.Name()))
			return err == nil && bytes.Contains(raw, []byte(line+"\n")) && strings.Contains(reports, strings.TrimSuffix(e.Name(), asideSuffix))
		})
		if !isReported {
			t.Errorf("%s is lost\nreports: %s\nsession:\n%s", line, reports, data)
			continue
		}
		s.tally.Count("lines reported", 1)
	}
	s.tally.Count("lines", len(s.agent.lines))
}

// TestAgentLosesNoLine runs an agent and Pare on one session: every line of the agent is in the
// session afterwards, or Pare reports the file that has it.
func TestAgentLosesNoLine(t *testing.T) {
	for _, name := range []string{"Linux", "macOS", "no list of open files", "no exchange"} {
		t.Run(name, func(t *testing.T) {
			var tally fault.Tally
			folder := t.TempDir()
			fault.Run(t, 100, func(t *testing.T, source *fault.Source) {
				simulate(t, name, filepath.Join(folder, "sessions"), source, &tally)
			})
			t.Log(&tally)
		})
	}
}

func simulate(t *testing.T, name, folder string, source *fault.Source, tally *fault.Tally) {
	must(t, os.RemoveAll(folder))
	must(t, os.Mkdir(folder, 0o700))
	path := filepath.Join(folder, "s.jsonl")
	must(t, os.WriteFile(path, []byte("{\"base\":0,\"broken\"}\n{\"base\":1,\"ok\"}\n{\"base\":2,\"ok\"}\n"), 0o600))
	random := source.Rand("simulation")
	s := &simulation{t: t, source: source, tally: tally, agent: &agent{t: t, path: path, rand: source.Rand("agent"), renames: true, trace: new([]string), rest: []int{2, 6, 20}[random.IntN(3)]}}
	s.system = s.systems()[name]
	rest := s.agent.rest
	for range 1 + random.IntN(3) {
		s.agent.rest = rest
		killedAt := 0
		if random.IntN(3) == 0 {
			killedAt = 1 + random.IntN(60)
		}
		s.run(random.IntN(4) == 0, killedAt)
		for range random.IntN(4) {
			s.agent.renames, s.agent.rest = true, 2
			s.agent.step()
		}
	}
	s.agent.finish()
	s.check()
	tally.Add(source, 1)
	if t.Failed() {
		t.Log(strings.Join(*s.agent.trace, "\n"))
	}
}
