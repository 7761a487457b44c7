// Package guidance recognizes texts that an agent works by: instructions, skills, plans, tasks and
// to-do lists. It looks at the paths and commands of a call and at the text of its result, and at no
// name of a tool that only reads files, because every agent has other names for these.
package guidance

import (
	"path"
	"strings"

	"github.com/pare-llm/pare/internal/jsonedit"
)

// A Kind is the kind of a text that an agent works by.
type Kind string

const (
	None         Kind = ""
	Instructions Kind = "instructions"
	Skill        Kind = "skill"
	Plan         Kind = "plan"
	Task         Kind = "task"
	ToDo         Kind = "to-do list"
)

// KindOf returns the kind of text that a call shows or writes. Args are the arguments of the call as
// text or JSON, result is the text of the answer, or the beginning of it.
func KindOf(tool, args, result string) Kind {
	if showsIssue(tool) {
		return Task
	}
	if k := kindOfArguments(args); k != None {
		return k
	}
	return KindOfText(result)
}

// showsIssue reports whether a tool returns one issue or pull request.
func showsIssue(tool string) bool {
	tool = strings.ToLower(tool)
	isIssue := strings.Contains(tool, "issue") || strings.Contains(tool, "pull_request") || strings.Contains(tool, "ticket")
	shows := strings.Contains(tool, "get") || strings.Contains(tool, "read") || strings.Contains(tool, "view") || strings.Contains(tool, "show")
	return isIssue && shows
}

// kindOfArguments finds the first path or command in arguments that names a text of some kind. Members
// with the contents of a file, or with words for a search, name nothing that the call shows.
func kindOfArguments(args string) Kind {
	if !strings.HasPrefix(strings.TrimLeft(args, " \n\t"), "{") {
		return kindOfCommands(args)
	}
	for name, value := range jsonedit.All([]byte(args)) {
		if contents[name] {
			continue
		}
		if k := kindOfCommands(string(value)); k != None {
			return k
		}
	}
	return None
}

var contents = map[string]bool{
	"content": true, "contents": true, "text": true, "file_text": true, "body": true, "old_string": true, "new_string": true, "oldString": true,
	"newString": true, "old_str": true, "new_str": true, "edits": true, "diff": true, "query": true, "pattern": true, "regex": true, "prompt": true,
	"description": true, "explanation": true,
}

// kindOfCommands finds the first command in a text that shows a text of some kind. The text is a line of
// a shell, also as JSON writes it: with \n for the end of a line.
func kindOfCommands(text string) Kind {
	var words []string
	start := -1 // of a word, or -1
	for i := 0; i < len(text); i++ {
		c := text[i]
		isEscapedLine := c == '\\' && strings.HasPrefix(text[i+1:], "n")
		endsCommand := c == '\n' || c == ';' || c == '|' || c == '&' && strings.HasPrefix(text[i+1:], "&") || isEscapedLine
		if !endsCommand && !separators[c] {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 {
			words = append(words, text[start:i])
			start = -1
		}
		if isEscapedLine || c == '&' {
			i++
		}
		if !endsCommand {
			continue
		}
		if k := kindOfCommand(words); k != None {
			return k
		}
		words = words[:0]
	}
	if start >= 0 {
		words = append(words, text[start:])
	}
	return kindOfCommand(words)
}

// separators has the bytes between two words.
var separators = separatorTable()

func separatorTable() (table [256]bool) {
	for c := range table {
		table[c] = c < 0x80 && isBetweenWords(rune(c))
	}
	return table
}

// isBetweenWords reports whether a character ends a path.
func isBetweenWords(c rune) bool {
	return c <= ' ' || strings.ContainsRune("\"'`,(){}[]<>=:$\\", c)
}

// kindOfCommand is the kind of the text that a command or an argument shows.
func kindOfCommand(words []string) Kind {
	for i, word := range words {
		program := path.Base(word)
		if listsFiles[program] {
			return None // it shows names of files, or lines of many
		}
		if showsTask(program, words[i+1:]) {
			return Task
		}
		if k := KindOfPath(word); k != None {
			return k
		}
	}
	return None
}

// listsFiles has programs whose output is not the text of the files in their arguments.
var listsFiles = map[string]bool{
	"find": true, "fd": true, "ls": true, "tree": true, "grep": true, "rg": true, "wc": true, "stat": true, "test": true, "diff": true,
	"rm": true, "mv": true, "cp": true, "mkdir": true, "touch": true, "chmod": true, "echo": true,
}

// showsTask reports whether a program shows one issue, ticket or pull request.
func showsTask(program string, words []string) bool {
	if len(words) == 0 {
		return false
	}
	switch program {
	case "gh", "glab", "jira", "linear", "tea", "acli":
		isIssue := len(words) > 1 && (words[0] == "issue" || words[0] == "pr" || words[0] == "mr" || words[0] == "workitem")
		return isIssue && (words[1] == "view" || words[1] == "show")
	case "bd", "issues", "beads":
		return words[0] == "show" || words[0] == "view"
	}
	return false
}

// KindOfPath is the kind of text that a file has by its name and folder.
func KindOfPath(file string) Kind {
	file = strings.ToLower(strings.ReplaceAll(file, `\`, "/"))
	folder, base := path.Split(file)
	isText := strings.HasSuffix(base, ".md") || strings.HasSuffix(base, ".mdc") || strings.HasSuffix(base, ".txt") || strings.HasSuffix(base, ".org")
	switch {
	case base == "skill.md":
		return Skill
	case instructionFiles[base], strings.HasSuffix(base, ".instructions.md"):
		return Instructions
	case isText && (isIn(folder, ".cursor/rules") || isIn(folder, ".clinerules") || isIn(folder, ".windsurf/rules") || isIn(folder, ".claude/rules")):
		return Instructions
	case isText && (isIn(folder, "plans") || isIn(folder, ".plan")):
		return Plan
	case !isText && (path.Ext(base) != "" || folder == ""):
		return None // source code, or a word and no path
	}
	switch strings.TrimSuffix(base, path.Ext(base)) {
	case "plan", "implementation_plan", "implementation-plan", "roadmap":
		return Plan
	case "todo", "todos", "tasks", "task", "checklist":
		return ToDo
	}
	return None
}

var instructionFiles = map[string]bool{
	"claude.md": true, "claude.local.md": true, "agents.md": true, "agent.md": true, "agents.override.md": true, "gemini.md": true, "qwen.md": true,
	"copilot-instructions.md": true, ".cursorrules": true, ".windsurfrules": true, ".clinerules": true, ".goosehints": true,
}

// isIn reports whether a folder is, or is inside, one of that name.
func isIn(folder, name string) bool {
	return strings.Contains("/"+folder, "/"+name+"/")
}

const (
	// head is how many lines of a text show that it is a skill, instructions or an issue.
	head = 40
	// leastBoxes is how many boxes to tick make a list.
	leastBoxes = 3
)

// members are those of the front matter of a skill, and of the header of an issue.
var members = [5]string{"name:", "description:", "title:", "state:", "number:"}

// KindOfText is the kind of a text by its form: the front matter of a skill, the title of instructions,
// the header of an issue, or boxes to tick. Numbers of lines before each line do not matter.
func KindOfText(text string) Kind {
	lines, boxes, open := 0, 0, 0
	var matter [5]bool // members at the beginning of a line, in the order of members
	for line := range strings.Lines(text) {
		line = unnumbered(strings.TrimRight(line, "\r\n"))
		if isBox(line) {
			if boxes++; boxes >= leastBoxes {
				return ToDo
			}
		}
		if lines++; lines > head {
			continue
		}
		if line == "---" {
			open++
		}
		if isInstructionTitle(line) {
			return Instructions
		}
		for i, name := range members {
			matter[i] = matter[i] || strings.HasPrefix(line, name)
		}
		switch {
		case open > 0 && matter[0] && matter[1]:
			return Skill
		case matter[2] && matter[3] && matter[4]:
			return Task
		}
	}
	return None
}

// isBox reports whether a line of a list has a box to tick.
func isBox(line string) bool {
	line = strings.TrimLeft(line, " \t")
	item := strings.TrimLeft(line, "-*+0123456789.")
	if item == line {
		return false
	}
	line = strings.TrimLeft(item, " ")
	return strings.HasPrefix(line, "[ ] ") || strings.HasPrefix(line, "[x] ") || strings.HasPrefix(line, "[X] ")
}

// isInstructionTitle reports whether instructions for agents begin with a line.
func isInstructionTitle(line string) bool {
	if len(line) == 0 || line[0] != '#' && line[0] != 'T' && line[0] != 't' {
		return false
	}
	line = strings.ToLower(line)
	if strings.HasPrefix(line, "this file provides guidance to ") {
		return true
	}
	title, found := strings.CutPrefix(line, "# ")
	title, _, _ = strings.Cut(title, " ")
	return found && (instructionFiles[title] || line == "# repository guidelines")
}

// unnumbered is a line without the number that tools print before it.
func unnumbered(line string) string {
	if line == "" || line[0] != ' ' && (line[0] < '0' || line[0] > '9') {
		return line
	}
	rest := strings.TrimLeft(strings.TrimLeft(line, " "), "0123456789")
	if rest == strings.TrimLeft(line, " ") {
		return line
	}
	for _, sign := range []string{"→", "\t", ": ", "| ", "|"} {
		if after, found := strings.CutPrefix(rest, sign); found {
			return after
		}
	}
	return line
}
