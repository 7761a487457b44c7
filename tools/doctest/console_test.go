package doctest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pare-llm/pare/internal/trial"
)

// notRunAtMost bounds the blocks that no test runs. Raise it only for one that cannot be run.
const notRunAtMost = 6 // the newest is a server that runs until it is stopped

// A step is a command of a console block with its expected output.
type step struct {
	command string
	want    []string
}

// TestConsoleBlocksPrintTheirOutput runs every console block.
func TestConsoleBlocksPrintTheirOutput(t *testing.T) {
	trial.Long(t, "runs every console block of the documentation")
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash to run console blocks with")
	}
	bin := t.TempDir()
	build := exec.Command("go", "build", "-o", bin, "./cmd/pare")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	ran, notRun := 0, 0
	for _, p := range pages(t) {
		blocks := p.blocks(t)
		changed := false
		for _, b := range slices.Backward(blocks) { // from the end, so that places stay right
			if b.notRun != "" {
				notRun++
				t.Logf("%s:%d: not run: %s", p.name, b.first, b.notRun)
			}
			if b.lang != "console" || b.notRun != "" {
				continue
			}
			ran++
			t.Run(fmt.Sprintf("%s:%d", p.name, b.first), func(t *testing.T) {
				changed = b.run(t, shell, bin) || changed
			})
		}
		if changed {
			p.write(t)
		}
	}
	t.Logf("%d blocks ran, %d cannot be run", ran, notRun)
	if ran < 10 || notRun > notRunAtMost {
		t.Errorf("%d blocks ran, %d were not run; at most %d may be", ran, notRun, notRunAtMost)
	}
}

// run runs a block, compares, and reports whether it wrote the page anew.
func (b *block) run(t *testing.T, shell, bin string) bool {
	t.Helper()
	steps := b.steps(t)
	if _, err := exec.LookPath("jq"); err != nil && strings.Contains(strings.Join(b.text, " "), "jq ") {
		t.Skip("jq is not installed")
	}
	outs := b.execute(t, shell, bin, steps)
	var lines []string
	wrong := false
	for i, s := range steps {
		lines = append(lines, "$ "+s.command)
		if matches(s.want, outs[i]) {
			lines = append(lines, s.want...)
			continue
		}
		wrong = true
		lines = append(lines, outs[i]...)
		if !*update {
			t.Errorf("%s:%d: $ %s\nprints\n%s\nthe page says\n%s", b.page.name, b.first, s.command,
				strings.Join(outs[i], "\n"), strings.Join(s.want, "\n"))
		}
	}
	if !wrong || !*update {
		return false
	}
	b.replace(lines)
	return true
}

// steps splits a block into commands. A line that ends with a backslash continues.
func (b *block) steps(t *testing.T) []step {
	t.Helper()
	var steps []step
	goesOn := false
	for _, line := range b.body() {
		command, isCommand := strings.CutPrefix(line, "$ ")
		switch {
		case goesOn:
			steps[len(steps)-1].command += "\n" + line
		case isCommand:
			steps = append(steps, step{command: command})
		case len(steps) == 0:
			t.Fatalf("%s:%d: a console block begins with a command", b.page.name, b.first)
		default:
			steps[len(steps)-1].want = append(steps[len(steps)-1].want, line)
		}
		goesOn = strings.HasSuffix(line, "\\") && (isCommand || goesOn)
	}
	return steps
}

const (
	mark     = "\x01done\x01"
	ranFirst = "\x01ready\x01"
)

// execute runs the steps one after the other in one shell and returns the output of each.
func (b *block) execute(t *testing.T, shell, bin string, steps []step) [][]string {
	t.Helper()
	dir, home := b.prepareFolders(t)
	var script strings.Builder
	script.WriteString("exec 2>&1 </dev/null\n")
	for _, first := range b.setup {
		fmt.Fprintf(&script, "%s || exit 99\n", first)
	}
	fmt.Fprintf(&script, "printf '%s'\n", ranFirst)
	for _, s := range steps {
		// The status of a command is there for the next one.
		fmt.Fprintf(&script, "%s\n__status=$?; printf '%s'; (exit $__status)\n", s.command, mark)
	}
	cmd := exec.Command(shell, "-c", script.String())
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + home, "LC_ALL=C.UTF-8", "TZ=UTC", "USER=ada"}
	out, _ := cmd.CombinedOutput() // the status of the last command is part of the story
	setup, printed, ok := bytes.Cut(out, []byte(ranFirst))
	if !ok {
		t.Fatalf("%s:%d: what runs first failed:\n%s", b.page.name, b.first, setup)
	}
	// Folders are printed as a reader would see them.
	printed = bytes.ReplaceAll(printed, []byte(home), []byte("~"))
	printed = bytes.ReplaceAll(printed, []byte(dir), []byte("."))
	parts := strings.Split(string(printed), mark)
	if len(parts) != len(steps)+1 {
		t.Fatalf("%s:%d: the shell ended after %d of %d commands:\n%s", b.page.name, b.first, len(parts)-1, len(steps), printed)
	}
	outs := make([][]string, len(steps))
	for i := range steps {
		if text := strings.TrimSuffix(parts[i], "\n"); text != "" {
			outs[i] = strings.Split(text, "\n")
		}
	}
	return outs
}

// prepareFolders makes the folder in which a block runs, and a home. All files are three days old.
func (b *block) prepareFolders(t *testing.T) (dir, home string) {
	t.Helper()
	base := t.TempDir()
	dir, home = filepath.Join(base, "work"), filepath.Join(base, "home")
	for from, to := range map[string]string{filepath.Join(root, "examples"): filepath.Join(dir, "examples"), "testdata/home": home} {
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range b.files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	then := time.Now().Add(-73 * time.Hour)
	err := filepath.WalkDir(base, func(name string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(name, then, then)
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir, home
}

// matches reports whether the output is the expected one. A line "…" of the page matches any
// number of lines.
func matches(want, got []string) bool {
	for i, line := range want {
		if line == "…" {
			for skip := 0; skip <= len(got)-i; skip++ {
				if matches(want[i+1:], got[i+skip:]) {
					return true
				}
			}
			return false
		}
		if i >= len(got) || got[i] != line {
			return false
		}
	}
	return len(want) == len(got)
}
