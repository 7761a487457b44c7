package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
)

var shells = map[string][]string{
	"bash": {"bash", "--norc", "-c", `source "$1"; IFS=' ' read -ra COMP_WORDS <<<"${2//=/ = }"; [[ $2 == *' ' ]] && COMP_WORDS+=(""); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _pare; printf '%s\n' "${COMPREPLY[@]}"`, "bash"},
	"fish": {"fish", "--no-config", "-c", `source $argv[1]; complete -C $argv[2] | string replace -r '\t.*' '' | string replace -r '^--[a-z]+=' ''; true`},
	"zsh": {"zsh", "-f", "-c", `
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "PS1=; autoload -Uz compinit; compinit -u -D; source ${(q)1}; pare() { print -r -- \"GO\"T:\$*:END }; print REA\"DY\""
zpty -r z out '*READY*'
zpty -w -n z "$2"$'\t\n'
zpty -r z out '*GOT:*:END*'
out=${${out##*GOT:}%%:END*}
print -r -- "${${out##* }#--*=}"
zpty -d z`, "zsh"},
}

func TestCompletionsWorkInShells(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"alone.json", "two words.json"} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for shell, program := range shells {
		t.Run(shell, func(t *testing.T) {
			if _, err := exec.LookPath(shell); err != nil {
				t.Skipf("NOT TESTED: %s is not installed here, so nobody knows whether its completions work", shell)
			}
			script := filepath.Join(t.TempDir(), "pare."+shell)
			if err := os.WriteFile(script, completionFor(t, shell), 0o600); err != nil {
				t.Fatal(err)
			}
			lines := [][2]string{
				{"pare exp", "explain"},
				{"pare check --adv", "--advice"},
				{"pare check --color al", "always"},
				{"pare check --color=nev", "never"},
				{"pare check --as bed", "bedrock"},
				{"pare check alo", "alone.json"},
				{"pare fix -o alo", "alone.json"},
				{"pare fix --receipt alo", "alone.json"},
				{"pare fix --orphan-call st", "stub"},
				{"pare prune --rules over", "oversized"},
				{"pare explain displaced-res", "displaced-result"},
				{"pare doctor --agent openh", "openhands"},
				{"pare doctor --fix --agent gem", "gemini-cli"},
				{"pare completion fi", "fish"},
			}
			for i := 0; i < len(lines); i += trial.Stride(5) {
				line, want := lines[i][0], lines[i][1]
				got := complete(t, program, folder, script, line)
				if !slices.Equal(got, []string{want}) {
					t.Errorf("%s: %q, want %q", line, got, want)
				}
			}
		})
	}
}

func TestCompletionsListEveryCommand(t *testing.T) {
	for _, shell := range []string{"bash", "fish"} {
		if _, err := exec.LookPath(shell); err != nil {
			t.Logf("NOT TESTED: %s is not installed here", shell)
			continue
		}
		script := filepath.Join(t.TempDir(), "pare."+shell)
		if err := os.WriteFile(script, completionFor(t, shell), 0o600); err != nil {
			t.Fatal(err)
		}
		got := complete(t, shells[shell], t.TempDir(), script, "pare ")
		for _, n := range newParser(&environment{stdout: io.Discard, stderr: io.Discard}, nil).Model.Children {
			if !slices.Contains(got, n.Name) {
				t.Errorf("%s: %q has no %s", shell, got, n.Name)
			}
		}
		if got := complete(t, shells[shell], t.TempDir(), script, "pare trim --max-tokens "); len(got) > 0 {
			t.Errorf("%s: a number can be anything, and is completed to %q", shell, got)
		}
		if got := complete(t, shells[shell], t.TempDir(), script, "pare completion "); !slices.Equal(slices.Sorted(slices.Values(got)), []string{"bash", "fish", "zsh"}) {
			t.Errorf("%s: the shells are %q", shell, got)
		}
	}
}

func completionFor(t *testing.T, shell string) []byte {
	t.Helper()
	var out bytes.Buffer
	env := &environment{args: []string{"completion", shell}, stdout: &out, stderr: io.Discard, getenv: func(string) string { return "" }}
	if status := run(env); status != statusClean {
		t.Fatalf("status %d", status)
	}
	return out.Bytes()
}

func complete(t *testing.T, program []string, folder, script, line string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program[0], append(program[1:len(program):len(program)], script, line)...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "TERM=xterm", "HOME="+folder, "ZDOTDIR="+folder)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %q: %v", program[0], line, err)
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' || r == '\r' })
}
