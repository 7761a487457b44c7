package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/pare-llm/pare/internal/atomicfile"
	"github.com/pare-llm/pare/internal/trial"
)

// TestFixOfZooIsClean fixes every incident twice; the second run must change nothing.
func TestFixOfZooIsClean(t *testing.T) {
	all := zoo(t)
	for i, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			for j, policy := range [][]string{nil, {"--orphan-call", "drop", "--orphan-result", "drop"}} {
				if j == 0 || i%3 == 0 || trial.Soak() {
					testFix(t, all[name], policy)
				}
			}
		})
	}
}

func testFix(t *testing.T, z zooCase, policy []string) {
	as := append([]string{"--json", "--as", z.Dialect}, policy...)
	found, _, _ := program(strings.NewReader(z.body()), "check", "--json", "--as", z.Dialect)
	status, fixed, errs := program(strings.NewReader(z.body()), append([]string{"fix"}, as...)...)
	if found == statusClean && fixed != z.body() {
		t.Errorf("it has no fault, but came back as\n%s", fixed)
	}
	_, again, _ := program(strings.NewReader(z.body()), append([]string{"fix", "-n"}, as...)...)
	if !json.Valid([]byte(again)) {
		t.Errorf("the plan is not JSON: %s", again)
	}
	switch status {
	case statusClean:
		if errs != "" {
			t.Errorf("status 0, but %s", errs)
		}
	case statusFindings:
		var left remainingJSON
		if err := json.Unmarshal([]byte(errs), &left); err != nil || len(left.Left) == 0 {
			t.Errorf("status 1 without naming what is left: %s", errs)
		}
	default:
		t.Fatalf("status %d: %s", status, errs)
	}
	if now, report, _ := program(strings.NewReader(fixed), "check", "--json", "--as", z.Dialect); now != status {
		t.Errorf("fix ended in status %d, check of its result in %d:\n%s", status, now, report)
	}
	if _, twice, _ := program(strings.NewReader(fixed), append([]string{"fix"}, as...)...); twice != fixed {
		t.Errorf("a second fix changes\n%s\nto\n%s", fixed, twice)
	}
}

func TestFixKeepsOrderInLittleMemory(t *testing.T) {
	const lines, size = 2000, 40_000
	text := strings.Repeat("x", size)
	r, w := io.Pipe()
	go func() {
		b := bufio.NewWriter(w)
		for i := range lines {
			fault := ""
			if i%3 == 0 {
				fault = `,{"type":"function_call_output","call_id":"call_x","output":"` + text[:1000*(i%40)] + `"}`
			}
			fmt.Fprintf(b, `{"input":[{"role":"user","content":"%d %s"}%s]}`+"\n", i, text, fault)
		}
		b.Flush()
		w.Close()
	}()
	before := heap()
	watched := &watch{r: r}
	var errs bytes.Buffer
	out := &lineCheck{t: t}
	status := run(&environment{args: []string{"fix", "--jobs", "2"}, stdin: watched, stdout: out, stderr: &errs, getenv: func(string) string { return "" }})
	if status != statusClean || out.lines != lines {
		t.Fatalf("status %d, %d lines: %s", status, out.lines, errs.String())
	}
	if !strings.HasPrefix(errs.String(), "2000 transcripts: 1333 unchanged, 667 changed") {
		t.Error(errs.String())
	}
	if most := int64(watched.peak) - int64(before); most > 40<<20 {
		t.Errorf("the heap grew by %d MB", most>>20)
	}
}

type lineCheck struct {
	t     *testing.T
	rest  []byte
	lines int
}

func (c *lineCheck) Write(p []byte) (int, error) {
	c.rest = append(c.rest, p...)
	for {
		line, rest, ok := bytes.Cut(c.rest, []byte{'\n'})
		if !ok {
			return len(p), nil
		}
		if want := fmt.Sprintf(`{"input":[{"role":"user","content":"%d x`, c.lines); !bytes.HasPrefix(line, []byte(want)) || bytes.Contains(line, []byte("call_x")) {
			c.t.Fatalf("line %d is %.80s", c.lines, line)
		}
		c.lines++
		c.rest = append(c.rest[:0], rest...)
	}
}

const faulty = `{"input":[{"role":"user","content":"hi"},{"type":"function_call_output","call_id":"call_x","output":"1"}]}`

type brokenFile struct {
	file                      atomicfile.File
	room                      int
	failSync, failClose, mode bool
}

var errBroken = &fs.PathError{Op: "write", Path: "hidden", Err: syscall.ENOSPC}

func (f *brokenFile) Write(p []byte) (int, error) {
	if f.room >= 0 && len(p) > f.room {
		n, _ := f.file.Write(p[:f.room])
		f.room = 0
		return n, errBroken
	}
	if f.room >= 0 {
		f.room -= len(p)
	}
	return f.file.Write(p)
}

func (f *brokenFile) Sync() error {
	if f.failSync {
		return errBroken
	}
	return f.file.Sync()
}

func (f *brokenFile) Close() error {
	err := f.file.Close()
	if f.failClose {
		return errBroken
	}
	return err
}

func (f *brokenFile) Chmod(m fs.FileMode) error {
	if f.mode {
		return errBroken
	}
	return f.file.Chmod(m)
}

// TestFailedInPlaceKeepsTheFile fails every step of --in-place.
func TestFailedInPlaceKeepsTheFile(t *testing.T) {
	trial.Long(t, "runs the program for each thing that can fail")
	batch := strings.Repeat(faulty+"\n", 3000)
	cases := map[string]func(atomicfile.File) (atomicfile.File, error){
		"no room":     func(f atomicfile.File) (atomicfile.File, error) { return &brokenFile{file: f, room: 0}, nil },
		"little room": func(f atomicfile.File) (atomicfile.File, error) { return &brokenFile{file: f, room: 70_000}, nil },
		"almost room": func(f atomicfile.File) (atomicfile.File, error) {
			return &brokenFile{file: f, room: len(batch) + 1000}, nil
		},
		"sync": func(f atomicfile.File) (atomicfile.File, error) {
			return &brokenFile{file: f, room: -1, failSync: true}, nil
		},
		"close": func(f atomicfile.File) (atomicfile.File, error) {
			return &brokenFile{file: f, room: -1, failClose: true}, nil
		},
		"mode": func(f atomicfile.File) (atomicfile.File, error) {
			return &brokenFile{file: f, room: -1, mode: true}, nil
		},
		"read-only folder": func(f atomicfile.File) (atomicfile.File, error) {
			return nil, &fs.PathError{Op: "open", Path: "hidden", Err: syscall.EACCES}
		},
	}
	for name, spoil := range cases {
		for kind, content := range map[string]string{"batch": batch, "document": faulty} {
			if name == "little room" || name == "almost room" {
				if content = batch; kind == "document" {
					continue
				}
			}
			t.Run(name+"/"+kind, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "x.jsonl")
				if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
				var out, errs bytes.Buffer
				create := func(name string, perm fs.FileMode) (atomicfile.File, error) {
					f, err := spoil(nil)
					if err != nil {
						return nil, err
					}
					if f.(*brokenFile).file, err = atomicfile.CreateFile(name, perm); err != nil {
						t.Fatal(err)
					}
					return f, nil
				}
				status := run(&environment{args: []string{"fix", "--in-place", path}, stdout: &out, stderr: &errs, getenv: os.Getenv, files: atomicfile.Files{Create: create}})
				if status != statusInvalid || out.Len() > 0 || !strings.HasPrefix(errs.String(), "pare: write ") {
					t.Errorf("status %d: %s%s", status, out.String(), errs.String())
				}
				if strings.Contains(errs.String(), "hidden") {
					t.Errorf("it names a file that nobody knows: %s", errs.String())
				}
				wantOnly(t, path, content)
			})
		}
	}
}

func wantOnly(t *testing.T, path, content string) {
	t.Helper()
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(files) != 1 {
		t.Errorf("%v in the folder: %v", files, err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != content {
		t.Errorf("the file was changed: %v, %d bytes", err, len(got))
	}
}

func TestFileChangedMeanwhileIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jsonl")
	if err := os.WriteFile(path, []byte(faulty), 0o644); err != nil {
		t.Fatal(err)
	}
	create := func(name string, perm fs.FileMode) (atomicfile.File, error) {
		if err := os.WriteFile(path, []byte(faulty+"\n"+faulty), 0o644); err != nil {
			t.Fatal(err)
		}
		return atomicfile.CreateFile(name, perm)
	}
	var errs bytes.Buffer
	status := run(&environment{args: []string{"fix", "--in-place", path}, stdout: io.Discard, stderr: &errs, getenv: os.Getenv, files: atomicfile.Files{Create: create}})
	if status != statusInvalid || !strings.Contains(errs.String(), "somebody else wrote to it") {
		t.Errorf("status %d: %s", status, errs.String())
	}
	wantOnly(t, path, faulty+"\n"+faulty)
}

func TestFixReportsFullDisk(t *testing.T) {
	var errs bytes.Buffer
	batch := strings.Repeat(faulty+"\n", 50_000)
	status := run(&environment{args: []string{"fix"}, stdin: strings.NewReader(batch), stdout: fullDisk{}, stderr: &errs, getenv: os.Getenv})
	if status != statusInvalid || !strings.Contains(errs.String(), "write standard output: no space left") {
		t.Errorf("status %d: %s", status, errs.String())
	}
}

func TestPanicCostsOneTranscript(t *testing.T) {
	c := &changer{} // without a planner, the changer panics
	out := c.changeText(origin{source: "x", line: 3}, []byte(faulty+"\n"), len(faulty))
	if out.status != statusFindings || string(out.out) != faulty+"\n" || !bytes.Contains(out.note, []byte("x:3: pare has met a bug")) {
		t.Errorf("%d %q %s", out.status, out.out, out.note)
	}
}

func FuzzFix(f *testing.F) {
	for _, z := range zoo(f) { // Each input is added once, because all are run before the first new input.
		if len(z.body())%2 == 0 {
			f.Add([]byte(z.body()), false, false)
		} else {
			f.Add([]byte(z.body()+"\n\r\n"+z.body()), true, true)
		}
	}
	f.Add([]byte("\xef\xbb\xbf{\"body\":{\"messages\":[{}]},\"url\":\"/models/%zz\"}"), true, false)
	f.Add([]byte(interrupted), false, false)
	f.Add([]byte("lost\"}\n"+interrupted[:len(interrupted)-9]), true, false)
	f.Add([]byte(chat), false, true)
	f.Fuzz(func(t *testing.T, in []byte, drop, strict bool) {
		args := []string{"fix", "--json"}
		if drop {
			args = append(args, "--orphan-call", "drop", "--orphan-result", "drop")
		}
		if strict {
			args = append(args, "--strict")
		}
		status, out, errs := program(bytes.NewReader(in), args...)
		if strings.Contains(errs, "bug of its own") {
			t.Fatal(errs)
		}
		if status == statusInvalid {
			if errs == "" {
				t.Error("status 2 without a word")
			}
			return
		}
		// Harmless findings that cannot be fixed are listed, too.
		harmless := strings.Contains(errs, `"effect":`) && !strings.Contains(errs, `"effect":"refused"`)
		if (status == statusClean) != (errs == "" || harmless) {
			t.Errorf("status %d: %s", status, errs)
		}
		checkArgs := []string{"check"}
		if strict {
			checkArgs = append(checkArgs, "--strict")
		}
		if found, report, _ := program(strings.NewReader(out), checkArgs...); found > status {
			t.Errorf("fix says %d, check says %d:\n%s", status, found, report)
		} else if before, report, _ := program(bytes.NewReader(in), checkArgs...); before == statusClean && report == "" && out != string(in) {
			t.Errorf("it has no fault, but came back as %q", out)
		}
		if _, twice, _ := program(strings.NewReader(out), args...); twice != out {
			t.Errorf("a second fix changes\n%q\nto\n%q", out, twice)
		}
		if plan, _, _ := program(bytes.NewReader(in), append(args, "--dry-run")...); plan != status {
			t.Errorf("status %d, of the plan %d", status, plan)
		}
	})
}

// TestUnreadableBatchIsNotBegun passes a file as standard input, which is read twice.
func TestUnreadableBatchIsNotBegun(t *testing.T) {
	bad := faulty + "\n" + faulty + "\n{\n"
	path := filepath.Join(t.TempDir(), "x.jsonl")
	if err := os.WriteFile(path, []byte(bad), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if status, out, errs := program(f, "fix"); status != statusInvalid || out != "" {
		t.Errorf("status %d: %q %s", status, out, errs)
	}
	if err := os.WriteFile(path, []byte(bad[:len(bad)-2]), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if status, out, errs := program(f, "fix"); status != statusClean || strings.Count(out, "\n") != 2 {
		t.Errorf("status %d: %q %s", status, out, errs)
	}
}

// TestByteTotalsMatchFiles compares the totals with file sizes, including line ends, blank lines
// and byte order marks.
func TestByteTotalsMatchFiles(t *testing.T) {
	const (
		broken = `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]},{"role":"user","content":"b"}]}`
		clean  = `{"messages":[{"role":"user","content":"a"}]}`
	)
	for _, body := range []string{
		broken, broken + "\n",
		broken + "\n" + clean + "\n",
		"\ufeff" + broken + "\r\n\n" + clean + "\n" + broken,
		`{"body":` + broken + "}\n\n" + `{"body":` + clean + "}\n",
	} {
		_, fixed, errs := program(strings.NewReader(body), "fix")
		_, shown, planned := program(strings.NewReader(body), "fix", "--dry-run")
		want := fmt.Sprintf("%d → %d bytes", len(body), len(fixed))
		if !strings.Contains(errs, want) || !strings.Contains(shown+planned, want) {
			t.Errorf("%q: want %s:\n%s\n%s%s", body, want, errs, shown, planned)
		}
	}
}
