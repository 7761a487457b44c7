package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/pare-llm/pare/internal/trial"
)

func TestDoctorKeepsLinesWrittenAtTheQuestion(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, ".claude", "projects", "-work", "0a1b2c3d-0000-4000-8000-000000000000.jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	aged(t, path, []byte(interrupted))
	terminal, console := openTerminal(t)
	output := make(chan string)
	go func() {
		var all bytes.Buffer
		isAnswered := false
		buf := make([]byte, 4096)
		for {
			n, err := console.Read(buf)
			all.Write(buf[:n])
			if !isAnswered && strings.Contains(all.String(), "repair it?") {
				isAnswered = true
				holdOpen(t, path)
				fmt.Fprintln(console, "y")
			}
			if err != nil {
				output <- all.String()
				return
			}
		}
	}()
	run(&environment{args: []string{"doctor", "--home", home, "--fix"}, stdin: terminal, stdout: &bytes.Buffer{}, stderr: terminal, getenv: func(string) string { return "" }})
	terminal.Close()
	if text := <-output; !strings.Contains(text, "has it open for writing") {
		t.Errorf("doctor does not report the agent:\n%s", text)
	}
	wantOnly(t, path, interrupted)
}

func openTerminal(t *testing.T) (terminal, console *os.File) {
	t.Helper()
	console, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no pseudo-terminals: ", err)
	}
	t.Cleanup(func() { console.Close() })
	var number, unlocked int32
	for request, value := range map[uintptr]*int32{syscall.TIOCGPTN: &number, syscall.TIOCSPTLCK: &unlocked} {
		if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, console.Fd(), request, uintptr(unsafe.Pointer(value))); e != 0 {
			t.Fatal(e)
		}
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return terminal, console
}

func TestFixKeepsLinesOfAnotherProcess(t *testing.T) {
	const line = `{"type":"mode","mode":"plan","sessionId":"s"}`
	replaced := 0
	for i := range trial.Size(12) {
		path := filepath.Join(t.TempDir(), "x.jsonl")
		aged(t, path, []byte(interrupted))
		agent := exec.Command("sh", "-c", `sleep "$1"; echo "$2" >> "$3"`, "sh", fmt.Sprintf("0.%03d", i*5), line, path)
		if err := agent.Start(); err != nil {
			t.Fatal(err)
		}
		status, _, errs := program(nil, "fix", "--in-place", "--force", path)
		if err := agent.Wait(); err != nil {
			t.Fatal(err)
		}
		session, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if status == statusClean {
			replaced++
		}
		if !bytes.Contains(session, []byte(line)) && !(status != statusClean && strings.Contains(errs, "its lines are in")) {
			t.Errorf("the line is lost, status %d: %s", status, errs)
		}
	}
	t.Logf("replaced: %d", replaced)
}

func TestFixChecksEachFileForItsAgent(t *testing.T) {
	folder := t.TempDir()
	first, second := filepath.Join(folder, "a.jsonl"), filepath.Join(folder, "b.jsonl")
	aged(t, first, []byte(interrupted))
	aged(t, second, []byte(interrupted))
	env := &environment{args: []string{"fix", "--in-place", first, second}, stdin: strings.NewReader(""), stdout: &bytes.Buffer{}, getenv: func(string) string { return "" }}
	var errs bytes.Buffer
	env.stderr = &errs
	isOpen := false
	env.files.Step = func(op, path string) error {
		if !isOpen && op == "create" && strings.Contains(path, "b.jsonl") {
			isOpen = true
			holdOpen(t, second)
		}
		return nil
	}
	if status := run(env); status != statusInvalid || !strings.Contains(errs.String(), "has it open for writing") {
		t.Errorf("status %d: %s", status, errs.String())
	}
	if got, err := os.ReadFile(second); err != nil || string(got) != interrupted {
		t.Errorf("the file was replaced: %v", err)
	}
}
