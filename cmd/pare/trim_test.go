package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/internal/atomicfile"
	"github.com/pare-llm/pare/internal/trial"
)

// TestTrimNamesTheLeastLimit trims to the named minimum and to one less.
func TestTrimNamesTheLeastLimit(t *testing.T) {
	all := zoo(t)
	for i, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			for j, unit := range []string{"tokens", "messages", "exchanges", "turns"} {
				if (i+j)%2 == 0 || trial.Soak() {
					testMinimum(t, all[name], unit)
				}
			}
		})
	}
}

func testMinimum(t *testing.T, z zooCase, unit string) {
	trim := func(limit int) (int, string, string) {
		return program(strings.NewReader(z.body()), "trim", "--json", "--as", z.Dialect, fmt.Sprintf("--max-%s=%d", unit, limit))
	}
	status, out, errs := trim(1)
	if status != statusTooSmall {
		return
	}
	var e windowErrorJSON
	d := json.NewDecoder(strings.NewReader(errs))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil || d.More() || out != "" {
		t.Fatalf("%s: %v in %s, with output %q", unit, err, errs, out)
	}
	if e.Error != "window too small" || string(e.Unit) != unit || e.Limit != 1 || e.Minimum < 2 || e.Source != "" || e.Line != 0 {
		t.Errorf("%s: %s", unit, errs)
	}
	if status, out, _ := trim(e.Minimum - 1); status != statusTooSmall || out != "" {
		t.Errorf("%s: %d is enough already, the minimum is said to be %d", unit, e.Minimum-1, e.Minimum)
	}
	status, out, errs = trim(e.Minimum)
	if status > statusFindings {
		t.Fatalf("%s: the minimum, %d, does not do: %s", unit, e.Minimum, errs)
	}
	if now, report, _ := program(strings.NewReader(out), "check", "--json", "--as", z.Dialect); now != status {
		t.Errorf("%s: trim ended in status %d, check of its result in %d:\n%s", unit, status, now, report)
	}
}

func bulk(last string) string {
	line := `{"model":"gpt-4.1","messages":[{"role":"user","content":"` + strings.Repeat("x", 50_000) + `"}]}` + "\n"
	return strings.Repeat(line, atomicfile.MaxHeld/len(line)+10) + last
}

func TestTrimAllOrNothing(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	fits := bulk(`{"messages":[{"role":"user","content":"hi"}]}` + "\n")
	status, out, errs := program(strings.NewReader(fits), "trim", "--max-messages", "2")
	if status != statusClean || out != fits {
		t.Errorf("status %d, %d bytes of %d: %s", status, len(out), len(fits), errs)
	}
	talk := `{"messages":[{"role":"system","content":"s"},{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`
	status, out, errs = program(strings.NewReader(bulk(talk)), "trim", "--max-messages", "2")
	if status != statusTooSmall || out != "" || !strings.Contains(errs, "nothing was written") {
		t.Errorf("status %d, %d bytes: %s", status, len(out), errs)
	}
	if left, _ := os.ReadDir(folder); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestFullOutputIsReported(t *testing.T) {
	for _, args := range []string{"--help", "--version", "fix --help", "explain", "check --json", "fix", "completion bash"} {
		var errs bytes.Buffer
		status := run(&environment{args: strings.Fields(args), stdin: strings.NewReader(bulk("")), stdout: fullFile{}, stderr: &errs, getenv: func(string) string { return "" }})
		if want := "pare: write standard output: no space left on device\n"; status != statusInvalid || errs.String() != want {
			t.Errorf("%s: status %d: %s", args, status, errs.String())
		}
	}
}

type fullFile struct{}

func (fullFile) Write([]byte) (int, error) {
	return 0, &fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}
}

func TestTrimReportsBrokenOutput(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	var errs bytes.Buffer
	receipt := filepath.Join(folder, "r.jsonl")
	status := run(&environment{args: []string{"trim", "--max-messages", "2", "--receipt", receipt}, stdin: strings.NewReader(bulk("")), stdout: broken{}, stderr: &errs, getenv: func(string) string { return "" }})
	if status != statusInvalid || !strings.Contains(errs.String(), "write standard output: full") {
		t.Errorf("status %d: %s", status, errs.String())
	}
	if left, _ := os.ReadDir(folder); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestArchiveKeepsBytes(t *testing.T) {
	for _, name := range []string{"prune-me.json", "clean-openai-chat.json"} {
		file := filepath.Join(t.TempDir(), "a.jsonl")
		status, _, errs := program(nil, "trim", "--max-exchanges", "1", "--min-keep", "1", "--archive", file, filepath.Join("../../examples", name))
		if status != statusClean {
			t.Fatalf("%s: status %d: %s", name, status, errs)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			var item struct {
				ID, Path string
				Exact    []byte
				Raw      json.RawMessage
			}
			if err := json.Unmarshal(line, &item); err != nil {
				t.Fatalf("%v in %s", err, line)
			}
			raw := item.Exact
			if raw == nil {
				raw = item.Raw
			}
			if !(archive.Item{ID: item.ID, Raw: raw}).Genuine() || item.Path == "" && !bytes.HasPrefix(raw, []byte(`{"pare_index":`)) {
				t.Errorf("the bytes do not have the id: %s", line)
			}
			var one, two any
			if json.Unmarshal(raw, &one) != nil || json.Unmarshal(item.Raw, &two) != nil || fmt.Sprint(one) != fmt.Sprint(two) {
				t.Errorf("exact is something else: %s", line)
			}
		}
	}
}
