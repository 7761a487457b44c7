package screen

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// hostileNames are names of files that a shell or a terminal would act upon.
var hostileNames = []string{
	"a;touch PWN;.jsonl", "a b.jsonl", "it's.jsonl", `say "hi".jsonl`, "$(touch PWN).jsonl", "`touch PWN`.jsonl", "a\ntouch PWN\n.jsonl", "a\ttab.jsonl",
	"\x1b[2J\x07.jsonl", "-rf", "--help", "~", "~root", "=ls", "a=~", "*", "?", "[a-z].jsonl", "{a,b}", "a&touch PWN&", "a|touch PWN", "a>PWN", "#a", "!!", "a\\", `\`, "%s%n.jsonl", "50%\n.jsonl",
	"-x\x01.jsonl", "'\x01'.jsonl", "Größe 文件 🙂.jsonl", "\u202egnp.jsonl", "\xff\xfe.jsonl", "a\u2028b",
}

// TestCommandWordsReachTheProgram runs commands in every shell of this machine: each word arrives as it is, on
// a line that has no control character, and nothing else is run.
func TestCommandWordsReachTheProgram(t *testing.T) {
	for _, shell := range []string{"sh", "dash", "bash", "zsh", "ksh", "busybox"} {
		program, err := exec.LookPath(shell)
		if err != nil {
			continue
		}
		dir := t.TempDir()
		for _, name := range hostileNames {
			command := NewCommand("printf", `%s\0`).Words(name+"x", name)
			if strings.ContainsFunc(command.String(), func(r rune) bool { return r < ' ' || r == 0x7f || r == 0x202e }) {
				t.Errorf("%q is printed with control characters: %q", name, command)
			}
			args := []string{"-c", command.String()}
			if shell == "busybox" {
				args = append([]string{"sh"}, args...)
			}
			cmd := exec.Command(program, args...)
			cmd.Dir = dir
			out, err := cmd.Output()
			if want := name + "x\x00" + name + "\x00"; err != nil || string(out) != want {
				t.Errorf("%s: %s passes %q, want %q (%v)", shell, command, out, want, err)
			}
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s: commands have created %v", shell, left)
		}
	}
}

// TestCommandFilesAreAddressed reads files by commands: a name that looks like a flag or begins with a tilde
// is that of a file, from the folder and from the home folder.
func TestCommandFilesAreAddressed(t *testing.T) {
	dir := t.TempDir()
	for _, name := range hostileNames {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, command := range []Command{NewCommand("cat").Files(name), NewCommand("cat").HomeFile(name), NewCommand("cat").Input(name)} {
			cmd := exec.Command("sh", "-c", NewCommand("true").Then(command).String())
			cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
			if out, err := cmd.CombinedOutput(); err != nil || string(out) != name {
				t.Errorf("%s reads %q, want %q (%v)", command, out, name, err)
			}
		}
	}
}

func TestWindowsWordsAreSafeInBothShells(t *testing.T) {
	for word, want := range map[string]string{
		`C:\Users\ann\s.jsonl`: `C:\Users\ann\s.jsonl`, `C:\my files\`: `"C:\my files\\"`, "a&calc": `"a&calc"`, "a;calc": `"a;calc"`, "it's": `"it's"`, "文件": `"文件"`,
		"%PATH%": unquotable, "$(calc)": unquotable, "`calc`": unquotable, `a"b`: unquotable, "a“b": unquotable, "a\nb": unquotable, "": `""`,
	} {
		if got := windowsWord(word); got != want {
			t.Errorf("windowsWord(%q) = %s, want %s", word, got, want)
		}
	}
}
