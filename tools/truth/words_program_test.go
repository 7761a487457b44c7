package truth

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/wire"
)

// program is the command line, built once for all tests of this package.
func program(t *testing.T) string {
	t.Helper()
	trial.Long(t, "builds the program and runs it on folders")
	exe, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

var built = sync.OnceValues(func() (string, error) {
	exe := filepath.Join(os.TempDir(), fmt.Sprintf("pare-words-%d", os.Getpid()))
	if out, err := exec.Command("go", "build", "-o", exe, "../../cmd/pare").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	builtFile = exe
	return exe, nil
})

// builtFile is removed by TestMain.
var builtFile string

// runProgram runs the program and returns its output; an exit status is not an error.
func runProgram(t *testing.T, exe string, args ...string) (stdout, stderr []byte) {
	t.Helper()
	cmd := exec.Command(exe, args...)
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Env = &out, &err, []string{"HOME=" + t.TempDir(), "PATH=/nowhere"}
	var status *exec.ExitError
	if e := cmd.Run(); e != nil && !errors.As(e, &status) {
		t.Fatal(e)
	}
	return out.Bytes(), err.Bytes()
}

// TestFixOfFolderKeepsWords checks fix --in-place FOLDER with one file per document. Files that are
// not requests stay unchanged; changed files have receipts.
func TestFixOfFolderKeepsWords(t *testing.T) {
	t.Parallel()
	exe := program(t)
	sum := newLedger()
	all := shapes()
	const batch = 500
	fix := doors()[0]
	n, changed := trial.Size(200), 0
	for from := 0; from < n; from += batch {
		folder := t.TempDir()
		var docs []*document
		for i := from; i < min(from+batch, n); i++ {
			d := makeDocument(all, trial.FirstSeed()+uint64(i))
			if stopsRun(&fix, d) {
				continue
			}
			d.file = filepath.Join(folder, fmt.Sprint(i), d.fileName())
			keepFile(t, d.file, d.raw())
			docs = append(docs, d)
		}
		receipt := filepath.Join(t.TempDir(), "receipts.jsonl")
		runProgram(t, exe, "fix", "--in-place", "--force", "--receipt", receipt, folder)
		by := readReceipts(t, receipt)
		in := door{name: "fix --in-place FOLDER", let: nobody, repairs: true, pass: func(d *document, raw []byte) result {
			return readOutcome(t, d, raw, by[d.file])
		}}
		for _, d := range docs {
			changed += int(sum.judge(d, &in).state / repaired)
		}
	}
	if changed < n/10 {
		t.Errorf("only %d files of %d were changed", changed, n)
	}
	sum.tell(t)
}

// stopsRun reports whether no file of a run is written because this file is not valid JSON for
// the program. In a folder, files that are not requests are skipped.
func stopsRun(fix *door, d *document) bool {
	res, err := fix.through(d, d.raw())
	return err != nil || res.err != nil && (d.lines || !errors.Is(res.err, wire.ErrNotRequest))
}

// TestDoctorKeepsWords checks doctor --fix --yes on sessions of agents. It writes the same as a
// fix of the file, whose receipts count for it.
func TestDoctorKeepsWords(t *testing.T) {
	t.Parallel()
	exe := program(t)
	sum := newLedger()
	var all []*shape
	for _, s := range shapes() {
		if home[s.name] != "" {
			all = append(all, s)
		}
	}
	folder := t.TempDir()
	var docs []*document
	for i := range trial.Size(120) {
		d := makeDocument(all, trial.FirstSeed()+uint64(i))
		d.file = filepath.Join(folder, fmt.Sprintf(home[d.shape.name], i))
		keepFile(t, d.file, d.raw())
		docs = append(docs, d)
	}
	said, _ := runProgram(t, exe, "doctor", "--fix", "--yes", "--all", "--json", "--home", folder)
	if found := bytes.Count(said, []byte("\n")); found < len(docs)/2 {
		t.Errorf("the doctor looked at %d of %d sessions", found, len(docs))
	}
	doctor := door{name: "doctor --fix", let: nobody, repairs: true, pass: func(d *document, raw []byte) result {
		format, _ := agentlog.Detect(d.file, raw)
		fixed := throughSession(d, raw, format, nil)
		return readOutcome(t, d, raw, fixed.changes)
	}}
	for _, d := range docs {
		sum.judge(d, &doctor)
	}
	sum.tell(t)
}

// home lists the places where agents keep their sessions; a number replaces the id.
var home = map[string]string{
	"claude code":        ".claude/projects/-home-dev-project/a1b2c3d4-1111-4000-8000-%012d.jsonl",
	"codex":              ".codex/sessions/2026/11/01/rollout-2026-11-01T09-59-00-a1b2c3d4-1111-4000-8000-%012d.jsonl",
	"gemini cli":         ".gemini/tmp/project/chats/session-2026-11-01T09-59-%08d.jsonl",
	"pi":                 ".pi/agent/sessions/--home-dev-project--/2026-11-01T09-59-00-000Z_%08d.jsonl",
	"goose":              ".local/share/goose/sessions/2026110_%06d.jsonl",
	"qwen code":          ".qwen/projects/-home-dev-project/chats/a1b2c3d4-1111-4000-8000-%012d.jsonl",
	"copilot":            ".copilot/session-state/a1b2c3d4-%d/events.jsonl",
	"continue":           ".continue/sessions/a1b2c3d4-%d.json",
	"cline, api history": ".cline/data/tasks/%d/api_conversation_history.json",
	"cline, messages":    ".cline/data/sessions/%[1]d/%[1]d.messages.json",
}

func keepFile(t *testing.T, name string, raw []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	old := time.Unix(1_700_000_000, 0) // no agent is writing to it
	if err := os.Chtimes(name, old, old); err != nil {
		t.Fatal(err)
	}
}

// readOutcome returns the outcome of a file: the result if it was changed, with the backup as the
// original.
func readOutcome(t *testing.T, d *document, raw []byte, changes []change) result {
	t.Helper()
	out, err := os.ReadFile(d.file)
	if err != nil {
		t.Fatal(err)
	}
	res := result{out: out, state: clean, calls: -1, changes: slices.Clone(changes)}
	if bytes.Equal(out, raw) {
		return res
	}
	res.state = repaired
	if kept, err := os.ReadFile(d.file + ".bak"); err != nil || !bytes.Equal(kept, raw) {
		t.Errorf("%s was changed, and its backup is not the original: %v", d.file, err)
	}
	_, session := agentlog.Detect(d.file, raw)
	return located(d, res, session)
}

// located gives the paths of receipts as the program writes them the place in the document.
func located(d *document, res result, session bool) result {
	for i := range res.changes {
		c := &res.changes[i]
		if session && len(c.path) > 0 && c.path[0] != anywhere {
			c.path = append([]string{anywhere}, c.path[min(2, len(c.path)):]...)
		} else if d.root.kind == 'a' && !d.lines && len(c.path) > 0 && c.path[0] != anywhere {
			c.path = c.path[1:]
		}
		if !d.lines {
			c.line = 0
		}
		if len(c.path) > 0 && c.path[0] != anywhere {
			c.path = append(envelope(d, c), c.path...)
		}
	}
	return res
}

// envelope returns the prefix of the path to the request, because receipts of the program
// leave it out.
func envelope(d *document, c *change) (prefix []string) {
	root := d.root
	if d.lines && c.line > 0 && c.line <= len(root.vals) {
		root = root.vals[c.line-1]
	}
	for root.kind == 'o' && root.get(c.path[0]) == nil {
		inner := slices.IndexFunc(root.vals, func(v *node) bool { return v.kind == 'o' && holdsKey(v, c.path[0]) })
		if inner < 0 {
			return nil
		}
		prefix, root = append(prefix, root.keys[inner]), root.vals[inner]
	}
	return prefix
}

func holdsKey(n *node, key string) (found bool) {
	n.walk(func(n *node) { found = found || n.get(key) != nil })
	return found
}

// readReceipts reads a file of receipts, by source.
func readReceipts(t *testing.T, name string) map[string][]change {
	t.Helper()
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := map[string][]change{}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var one struct {
			Action, Rule, Path, Reason, Source string
			IDs                                []string
			Line                               int
		}
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			t.Fatal(err)
		}
		c := change{action: one.Action, rule: one.Rule, line: one.Line, ids: one.IDs, reason: one.Reason}
		if one.Path != "" {
			c.path = strings.Split(one.Path, ".")
		}
		all[one.Source] = append(all[one.Source], c)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestLinesKeepWords: fix --lines answers each line with one, and writes receipts.
func TestLinesKeepWords(t *testing.T) {
	t.Parallel()
	exe := program(t)
	sum := newLedger()
	var docs []*document
	var in bytes.Buffer
	all := slices.DeleteFunc(shapes(), func(s *shape) bool { return s.lines })
	for i := range trial.Size(240) {
		d := makeDocument(all, trial.FirstSeed()+uint64(i))
		docs = append(docs, d)
		in.Write(append(d.raw(), '\n'))
	}
	receipt := filepath.Join(t.TempDir(), "receipts.jsonl")
	cmd := exec.Command(exe, "fix", "--lines", "--receipt", receipt)
	cmd.Stdin, cmd.Env = &in, []string{"HOME=" + t.TempDir()}
	var status *exec.ExitError
	out, err := cmd.Output()
	if err != nil && !errors.As(err, &status) {
		t.Fatal(err)
	}
	answers := bytes.Split(bytes.TrimSuffix(out, []byte("\n")), []byte("\n"))
	if len(answers) != len(docs) {
		t.Fatalf("%d lines, %d answers", len(docs), len(answers))
	}
	by := map[int][]change{}
	for _, some := range readReceipts(t, receipt) {
		for _, c := range some {
			by[c.line] = append(by[c.line], c)
		}
	}
	for i, d := range docs {
		lines := door{name: "fix --lines", let: nobody, repairs: true, pass: func(d *document, raw []byte) result {
			if bytes.HasPrefix(answers[i], []byte(`{"error":`)) {
				return result{out: raw}
			}
			return located(d, result{out: answers[i], state: repaired, calls: -1, changes: slices.Clone(by[i+1])}, false)
		}}
		d.file = "line" // not shrunk, because it ran in another process
		sum.judge(d, &lines)
	}
	sum.tell(t)
}
