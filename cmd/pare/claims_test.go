//go:build unix

package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pare-llm/pare/internal/atomicfile"
)

func tree(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			b = []byte("→ nothing")
		}
		all[path] = d.Type().String() + string(b)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestOneFileHasOneRole tries all ways in which two flags can name the same file. Nothing may be
// written then.
func TestOneFileHasOneRole(t *testing.T) {
	const trim = "trim --max-messages 1 "
	for _, c := range []struct{ args, want string }{
		{"fix -i s.json --receipt s.json.bak", "--receipt s.json.bak and the backup of s.json"},
		{"fix -i s.json --receipt ./s.json.bak", "--receipt ./s.json.bak and the backup of s.json"},
		{"fix -i s.json --receipt sub/../s.json.bak.1", "--receipt sub/../s.json.bak.1 and the backup of s.json"},
		{"fix -i link.json --receipt s.json.bak", "--receipt s.json.bak and the backup of link.json"},
		{"fix -i link.json --receipt s.json", "--receipt s.json and the input link.json"},
		{"fix -i s.json --receipt hard.json", "--receipt hard.json and the input s.json"},
		{"fix -i s.json --dry-run --receipt s.json", "--receipt s.json and the input s.json"},
		{"fix s.json -o o.json --receipt o.json", "-o o.json and --receipt o.json"},
		{"fix s.json -o o.json --receipt ./o.json", "-o o.json and --receipt ./o.json"},
		{"fix s.json -o o.json --receipt dangling", "-o o.json and --receipt dangling"},
		{"fix s.json -o sub/o.json --receipt folder/o.json", "-o sub/o.json and --receipt folder/o.json"},
		{trim + "s.json -o o.json --archive ./o.json", "-o o.json and --archive ./o.json"},
		{trim + "s.json --receipt r --archive sub/../r", "--receipt r and --archive sub/../r"},
		{trim + "s.json --archive s.json", "--archive s.json and the input s.json"},
		{trim + "-i s.json --archive s.json.bak", "--archive s.json.bak and the backup of s.json"},
		{trim + "a.json --archive old.jsonl -o hard.jsonl", "-o hard.jsonl and --archive old.jsonl"},
		{"compact s.json --archive link.json", "--archive link.json and the input s.json"},
		{"compact s.json --summary-file sum.txt -o sum.txt", "-o sum.txt"},
		{"fix -i a.json b.json --receipt b.json", "--receipt b.json and the input b.json"},
		{"fix -i s.json hard.json", "the input s.json and the input hard.json"},
		{"fix -i sub --receipt sub/in.json", "--receipt sub/in.json and the input sub/in.json"},
		{"fix -i sub --receipt folder/in.json.bak", "--receipt folder/in.json.bak and the backup of sub/in.json"},
		{"fix -i twins", "the input twins/1.json and the input twins/2.json"},
		{"view s.json -o s.json", "-o s.json and the input s.json"},
		{"view link.json -o ./s.json", "-o ./s.json and the input link.json"},
		{"fix s.json -o s.json", "-o s.json and the input s.json"},
		{"fix s.json -o hard.json", "-o hard.json and the input s.json"},
		{"replay --html s.json s.json", "--html s.json and the input s.json"},
		{"replay --html sub/in.json sub", "--html sub/in.json and the input sub/in.json"},
		{"prune s.json -o pare.toml", "the configuration pare.toml and -o pare.toml"},
		{"prune s.json --receipt ./pare.toml", "the configuration pare.toml and --receipt ./pare.toml"},
		{"prune --config sub/c.toml s.json --receipt folder/c.toml", "the configuration sub/c.toml and --receipt folder/c.toml"},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Chdir(t.TempDir())
			for _, folder := range []string{"sub", "twins"} {
				if err := os.Mkdir(folder, 0o777); err != nil {
					t.Fatal(err)
				}
			}
			for name, text := range map[string]string{
				"s.json": faulty, "a.json": faulty, "b.json": faulty, "sub/in.json": faulty, "twins/1.json": faulty,
				"sum.txt": "what was said", "pare.toml": "keep_recent = 3\n", "sub/c.toml": "keep_recent = 3\n", "old.jsonl": "",
			} {
				if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for _, err := range []error{
				os.Symlink("s.json", "link.json"), os.Link("s.json", "hard.json"), os.Link("old.jsonl", "hard.jsonl"),
				os.Symlink("o.json", "dangling"), os.Symlink("sub", "folder"), os.Link("twins/1.json", "twins/2.json"),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
			before := tree(t)
			status, out, errs := program(strings.NewReader(""), strings.Fields(c.args)...)
			if status != statusInvalid || out != "" || !strings.Contains(errs, c.want) || !strings.Contains(errs, "are the same file") {
				t.Errorf("status %d\n%s%s", status, out, errs)
			}
			after := tree(t)
			for name, text := range before {
				if after[name] != text {
					t.Errorf("%s was changed", name)
				}
				delete(after, name)
			}
			for name := range after {
				t.Errorf("%s was made", name)
			}
		})
	}
}

// TestSeparateFilesDoNotClash tries names that look alike but are different files.
func TestSeparateFilesDoNotClash(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("sub", 0o777); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{
		"fix s.json -o sub/s.json --receipt sub/s.json.bak", "fix -i s.json s.json ./s.json --receipt sub/r", "fix s.json -o s.json.bak",
		"fix s.json -o /dev/null --receipt /dev/null", "trim --max-messages 2 s.json -o o --receipt r --archive a",
	} {
		if err := os.WriteFile("s.json", []byte(faulty), 0o644); err != nil {
			t.Fatal(err)
		}
		if status, _, errs := program(strings.NewReader(""), strings.Fields(args)...); status != statusClean {
			t.Errorf("%s: status %d: %s", args, status, errs)
		}
	}
}

func TestRedirectedStreamsAreClaimed(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	open := func(name string, flag int) *os.File {
		t.Helper()
		f, err := os.OpenFile(name, flag, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	write("s.json", faulty)
	write("r", "")
	for _, c := range []struct {
		args    string
		in, out *os.File
		want    string
	}{
		{args: "fix s.json", out: open("s.json", os.O_APPEND|os.O_WRONLY), want: "standard output and the input s.json"},
		{args: "check s.json", out: open("s.json", os.O_RDWR), want: "standard output and the input s.json"},
		{args: "view s.json", out: open("s.json", os.O_RDWR), want: "standard output and the input s.json"},
		{args: "count --json", in: open("s.json", os.O_RDONLY), out: open("s.json", os.O_RDWR), want: "standard output and standard input"},
		{args: "fix -o s.json", in: open("s.json", os.O_RDONLY), want: "-o s.json and standard input"},
		{args: "fix s.json --receipt r", out: open("r", os.O_RDWR), want: "--receipt r and standard output"},
	} {
		var stdin io.Reader = strings.NewReader("")
		if c.in != nil {
			stdin = c.in
		}
		var stdout io.Writer = io.Discard
		if c.out != nil {
			stdout = c.out
		}
		var errs bytes.Buffer
		status := run(&environment{args: strings.Fields(c.args), stdin: stdin, stdout: stdout, stderr: &errs, getenv: os.Getenv})
		if status != statusInvalid || !strings.Contains(errs.String(), c.want+" are the same file") {
			t.Errorf("%s: status %d: %s", c.args, status, errs.String())
		}
		if got, _ := os.ReadFile("s.json"); string(got) != faulty {
			t.Fatalf("%s has changed the input", c.args)
		}
	}
	// A report in the folder that it is about is not a part of the report.
	if err := os.Mkdir("sub", 0o777); err != nil {
		t.Fatal(err)
	}
	write("sub/s.json", faulty)
	write("sub/report", "{}\n{}\n")
	report := open("sub/report", os.O_APPEND|os.O_WRONLY)
	var errs bytes.Buffer
	status := run(&environment{args: []string{"check", "--json", "sub"}, stdin: strings.NewReader(""), stdout: report, stderr: &errs, getenv: os.Getenv})
	if status != statusFindings || !strings.Contains(errs.String(), "skipped sub/report: standard output is written to it") {
		t.Errorf("status %d: %s", status, errs.String())
	}
}

func TestOutputIsAsPrivateAsTheInput(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o022))
	for _, c := range []struct {
		args string
		made []string
	}{
		{"fix s.json -o o.json --receipt r.jsonl", []string{"o.json", "r.jsonl"}},
		{"trim --max-messages 2 s.json -o o.json.gz --archive a.jsonl", []string{"o.json.gz", "a.jsonl"}},
		{"view s.json -o p.html", []string{"p.html"}},
		{"replay --html p.html s.json", []string{"p.html"}},
		{"replay --html p.html .", []string{"p.html"}},
		{"fix -i . --receipt r.jsonl", []string{"r.jsonl", "s.json", "s.json.bak"}},
	} {
		for mode, want := range map[os.FileMode]os.FileMode{0o600: 0o600, 0o640: 0o640, 0o644: 0o644} {
			t.Chdir(t.TempDir())
			if err := os.WriteFile("s.json", []byte(faulty), mode); err != nil {
				t.Fatal(err)
			}
			if status, _, errs := program(strings.NewReader(""), strings.Fields(c.args)...); status != statusClean {
				t.Fatalf("%s: status %d: %s", c.args, status, errs)
			}
			for _, name := range c.made {
				st, err := os.Stat(name)
				if err != nil {
					t.Error(err)
				} else if st.Mode().Perm() != want {
					t.Errorf("%s: %s is %o, want %o", c.args, name, st.Mode().Perm(), want)
				}
			}
		}
	}
}

func TestPipeAsConfigIsRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := syscall.Mkfifo("pare.toml", 0o600); err != nil {
		t.Skip("no pipes with names here:", err)
	}
	for _, args := range []string{"prune", "trim", "rules", "rules --check", "replay", "view --plan prune"} {
		status, _, errs := program(strings.NewReader(faulty), strings.Fields(args)...)
		if status != statusInvalid || !strings.Contains(errs, "pare.toml: it is not a regular file") {
			t.Errorf("%s: status %d: %s", args, status, errs)
		}
	}
}

func TestPipesAreNotReplaced(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := syscall.Mkfifo("s.json", 0o600); err != nil {
		t.Skip("no pipes with names here:", err)
	}
	for _, args := range []string{"fix -i s.json", "prune -i s.json", "trim -i --max-messages 3 s.json", "compact -i s.json", "fix -i . s.json"} {
		status, _, errs := program(strings.NewReader(""), strings.Fields(args)...)
		if status != statusInvalid || !strings.Contains(errs, "s.json: not a regular file, so it cannot be replaced") {
			t.Errorf("%s: status %d: %s", args, status, errs)
		}
	}
}

func TestPipesInFoldersAreSkipped(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, folder := range []string{"plain", "none/message/ses_1", "storage/message/ses_1"} {
		if err := os.MkdirAll(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(filepath.Join(folder, "a.json"), 0o600); err != nil {
			t.Skip("no pipes with names here:", err)
		}
		if err := os.Symlink("a.json", filepath.Join(folder, "link.json")); err != nil {
			t.Fatal(err)
		}
	}
	message := `{"id":"msg_1","sessionID":"ses_1","role":"user","time":{"created":1}}`
	if err := os.WriteFile("storage/message/ses_1/b.json", []byte(message), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"plain", "none", "storage"} {
		status, _, errs := program(strings.NewReader(""), "check", folder)
		if none := strings.Contains(errs, "nothing to read in "+folder); none != (folder != "storage") || !none && status > statusFindings {
			t.Errorf("%s: status %d: %s", folder, status, errs)
		}
	}
}

func TestUnwrittenOutputIsAnError(t *testing.T) {
	for _, args := range []string{"explain", "explain --json", "explain orphan-call", "explain --json orphan-call", "rules", "rules --json", "completion bash", "man", "init -"} {
		var errs bytes.Buffer
		status := run(&environment{args: strings.Fields(args), stdin: strings.NewReader(""), stdout: fullDisk{}, stderr: &errs, getenv: os.Getenv})
		if status != statusInvalid || !strings.Contains(errs.String(), "write standard output: no space left") {
			t.Errorf("%s: status %d: %s", args, status, errs.String())
		}
	}
}

func TestTwoRunsDoNotOverwriteEachOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.json")
	if err := os.WriteFile(path, []byte(faulty), 0o644); err != nil {
		t.Fatal(err)
	}
	// The second run starts and ends after the first has read everything and before it writes.
	second, first := -1, -1
	var errs bytes.Buffer
	create := func(name string, perm os.FileMode) (atomicfile.File, error) {
		if second < 0 {
			second, _, _ = program(strings.NewReader(""), "fix", "-i", path)
		}
		return atomicfile.CreateFile(name, perm)
	}
	first = run(&environment{args: []string{"fix", "-i", path}, stdout: io.Discard, stderr: &errs, getenv: os.Getenv, files: atomicfile.Files{Create: create}})
	if second != statusClean || first != statusInvalid || !strings.Contains(errs.String(), "somebody else wrote to it meanwhile") {
		t.Errorf("status %d and %d: %s", first, second, errs.String())
	}
	if got, err := os.ReadFile(path + ".bak"); err != nil || string(got) != faulty {
		t.Errorf("the backup is not the original: %v", err)
	}
	// A file that another process has locked is left alone.
	if err := os.WriteFile(path, []byte(faulty), 0o644); err != nil {
		t.Fatal(err)
	}
	held, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := syscall.Flock(int(held.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	errs.Reset()
	status := run(&environment{args: []string{"fix", "-i", path}, stdout: io.Discard, stderr: &errs, getenv: os.Getenv, files: atomicfile.Files{Patience: time.Nanosecond}})
	if status != statusInvalid || !strings.Contains(errs.String(), "another process has locked it") {
		t.Errorf("status %d: %s", status, errs.String())
	}
}

// TestManyRunsKeepEveryLine rewrites the same file from processes that do not wait for each other.
func TestManyRunsKeepEveryLine(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "s.json")
	if err := os.WriteFile(path, []byte(faulty), 0o644); err != nil {
		t.Fatal(err)
	}
	var all []*exec.Cmd
	for range 6 {
		c := exec.Command(self, "fix", "-i", path)
		c.Args[0] = "pare" // the main function of testscript dispatches on this name
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	for _, c := range all {
		if err := c.Wait(); err != nil && c.ProcessState.ExitCode() != statusInvalid {
			t.Error(err)
		}
	}
	if got, err := os.ReadFile(path + ".bak"); err != nil || string(got) != faulty {
		t.Errorf("the backup is not the original: %v", err)
	}
	if more, _ := filepath.Glob(path + ".bak.*"); len(more) > 0 {
		t.Errorf("rewritten more than once: %v", more)
	}
}
