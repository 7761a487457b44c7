package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
)

// scripts runs the commands of the command line's test scripts, each script in a folder with
// its files. The expectations of a script are ignored, because only the difference between the
// binaries counts.
func (c *collector) scripts(dir, examples string) error {
	names, err := filepath.Glob(filepath.Join(dir, "*.txt*"))
	if err != nil {
		return err
	}
	shared := map[string][]byte{}
	found, err := filepath.Glob(filepath.Join(examples, "*.*"))
	if err != nil {
		return err
	}
	for _, name := range found {
		if shared["examples/"+filepath.Base(name)], err = os.ReadFile(name); err != nil {
			return err
		}
	}
	for _, name := range names {
		a, err := txtar.ParseFile(name)
		if err != nil {
			return err
		}
		t := &testCase{input: "script/" + filepath.Base(name), files: map[string][]byte{}}
		for _, f := range a.Files {
			t.files[filepath.Clean(f.Name)] = f.Data
			t.size += len(f.Data)
			ext := filepath.Ext(f.Name)
			if ext == ".json" || ext == ".jsonl" {
				c.take(t.input+"/"+f.Name, "in"+ext, f.Data)
			}
		}
		for file, data := range shared {
			t.files[file] = data
		}
		t.steps = scriptSteps(string(a.Comment))
		if slices.ContainsFunc(t.steps, func(s step) bool { return s.do == nil }) {
			c.cases = append(c.cases, t)
		}
	}
	return nil
}

// scriptSteps reads the lines that run pare or handle files. The first step names the case, so
// files are handled after the first run at the earliest.
func scriptSteps(comment string) []step {
	var all []step
	stdin := ""
	for _, line := range strings.Split(comment, "\n") {
		words := splitWords(strings.ReplaceAll(strings.ReplaceAll(line, "$EXAMPLES", "examples"), "$WORK/", ""))
		switch {
		case len(words) < 2 || strings.Contains(line, "--serve") || strings.Contains(line, "$"):
		case words[0] == "stdin":
			stdin = words[1]
		case slices.Contains([]string{"cp", "rm", "mv", "mkdir"}, words[0]):
			all = append(all, step{label: "files", do: words})
		case len(words) > 3 && words[0] == "status" && words[2] == "pare":
			all = append(all, step{label: "script " + strings.Join(words[3:], " "), args: words[3:], stdin: stdin})
			stdin = ""
		}
	}
	return all
}

// splitWords splits a line of a script: single quotes hold blanks.
func splitWords(line string) []string {
	var words []string
	var b strings.Builder
	open, some := false, false
	for _, r := range line {
		switch {
		case r == '\'':
			open, some = !open, true
		case r == ' ' && !open:
			if some {
				words = append(words, b.String())
			}
			b.Reset()
			some = false
		case r == '#' && !some && !open:
			return words
		default:
			b.WriteRune(r)
			some = true
		}
	}
	if some {
		words = append(words, b.String())
	}
	return words
}

// home runs doctor on a home folder with the sessions of the corpus.
func (c *collector) home(corpus string) error {
	places := map[string]string{
		"claude_code":   "home/.claude/projects/-home-ann-shop/%d.jsonl",
		"codex_rollout": "home/.codex/sessions/2026/01/02/rollout-%d.jsonl",
		"gemini_cli":    "home/.gemini/tmp/p/chats/session-%d.json",
		"pi_session":    "home/.pi/agent/sessions/--home-ann--/%d.jsonl",
		"cline":         "home/.config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/%d/api_conversation_history.json",
		"goose":         "home/.local/share/goose/sessions/%d.jsonl",
	}
	files := map[string][]byte{"home/.claude/projects/-home-ann-shop/torn.jsonl": []byte("{\"type\":\"user\",\"uu")}
	size := 0
	for kind, place := range sorted(places) {
		names, err := filepath.Glob(filepath.Join(corpus, kind, "*"))
		if err != nil {
			return err
		}
		for i, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			if data = unpack(data); len(data) < 4<<20 {
				files[fmt.Sprintf(place, i)] = data
				size += len(data)
			}
		}
	}
	for _, line := range []string{
		"doctor", "doctor --json", "doctor --all --json", "doctor --agent claude-code --since 7d", "doctor --fix", "doctor --fix --yes ; doctor --json ; doctor --fix --yes",
		"doctor --fix --yes --json ; undo home/.claude/projects/-home-ann-shop/0.jsonl",
	} {
		t := command(line).on(input{name: "a home"})
		t.files, t.size = files, size
		c.cases = append(c.cases, t)
	}
	return nil
}
