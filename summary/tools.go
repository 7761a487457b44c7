package summary

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// An act is what a call does, as far as its name and its arguments tell.
type act struct {
	tool    string
	touches []touch
	command string // what it runs
	todos   []todo
	asks    string // a question to the user
	target  string // what tells it from other calls of the tool: a path, a command, a pattern
}

// A touch is what happens to a file.
type touch struct{ path, how string }

// A todo is an entry of a list of things to do.
type todo struct{ text, status string }

// The usual names of arguments, in the order in which they are tried.
var (
	pathNames = []string{
		"file_path", "filePath", "path", "absolute_path", "target_file", "notebook_path", "notebookPath", "relative_path",
		"relative_workspace_path", "filename", "file_name", "fileName", "file",
	}
	commandNames = []string{"command", "cmd", "script", "code", "commands", "chars"}
	patchNames   = []string{"input", "patch", "patchText", "diff"}
	targetNames  = []string{"pattern", "query", "url", "prompt", "description", "name"}
	todoNames    = []string{"todos", "plan", "todoList", "todo_list", "items", "tasks"}
	askNames     = []string{"question", "questions", "prompt", "message"}
)

// Words in the names of tools. Edits come first: search_and_replace is none of the
// searches, and a todo that is written is no file.
var (
	todoWords   = []string{"todo", "todos", "plan"}
	askWords    = []string{"ask", "question"}
	deleteWords = []string{"delete", "remove"}
	editWords   = []string{"edit", "editor", "replace", "patch", "diff", "insert", "multiedit", "reapply", "append"}
	lookWords   = []string{"search", "grep", "glob", "find", "list", "ls", "dir", "web", "fetch"}
	writeWords  = []string{"write", "create", "save"}
	readWords   = []string{"read", "view", "open", "cat"}
)

// editorCommands are those of editors that do several things.
var editorCommands = map[string]string{
	"view": "read", "read": "read", "create": "written", "write": "written", "str_replace": "edited", "insert": "edited", "undo_edit": "edited", "edit_file": "edited",
}

// actOf reads a call.
func actOf(t *transcript.Transcript, call transcript.BlockID) act {
	args := readArguments(t, call)
	a := act{tool: t.Block(call).Tool}
	words := wordsOf(a.tool)
	is := func(list []string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(list, w) })
	}
	path := args.first(pathNames)
	a.target = path
	switch {
	case is(todoWords):
		a.todos = args.todos()
		return a
	case is(askWords):
		a.asks = args.question()
		return a
	}
	if how := editorCommands[args.text("command")]; how != "" && path != "" {
		a.touches = []touch{{path, how}}
		return a
	}
	if files := patched(args); len(files) > 0 {
		a.touches, a.target = files, files[0].path
		return a
	}
	how := ""
	switch {
	case is(deleteWords):
		how = "deleted"
	case is(editWords):
		how = "edited"
	case is(lookWords):
	case is(writeWords):
		how = "written"
	case is(readWords):
		how = "read"
	}
	if how != "" && path != "" {
		a.touches = []touch{{path, how}}
		return a
	}
	if a.command = args.command(); a.command != "" {
		a.target = a.command
	}
	if a.target == "" {
		a.target = args.first(targetNames)
	}
	return a
}

// wordsOf splits a tool's name: mcp__files__read_file, NotebookEdit, read-file. What
// stands in front of a double underscore names the server.
func wordsOf(tool string) []string {
	if i := strings.LastIndex(tool, "__"); i >= 0 {
		tool = tool[i+2:]
	}
	var words []string
	from := 0
	cut := func(to int) {
		if w := strings.Trim(tool[from:to], "_-. /"); w != "" {
			words = append(words, strings.ToLower(w))
		}
		from = to
	}
	lower := false
	for i, c := range tool {
		if c == '_' || c == '-' || c == '.' || c == ' ' || c == '/' || unicode.IsUpper(c) && lower {
			cut(i)
		}
		lower = unicode.IsLower(c)
	}
	cut(len(tool))
	return words
}

// arguments are those of one call.
type arguments struct {
	raw  []byte // an object, or the text of a tool that takes one
	list []jsonspan.Member
}

func readArguments(t *transcript.Transcript, call transcript.BlockID) arguments {
	a := arguments{raw: wire.Arguments(t, call)}
	a.list = jsonspan.Members(a.raw, jsonspan.Span{End: len(a.raw)})
	return a
}

// value returns an argument as it is written; nil if there is none.
func (a *arguments) value(name string) []byte {
	for i := len(a.list) - 1; i >= 0; i-- {
		if k := a.list[i].Key; string(jsonspan.Decode(nil, a.raw[k.Start:k.End])) == name {
			return a.raw[a.list[i].Value.Start:a.list[i].Value.End]
		}
	}
	return nil
}

// text returns an argument that is a string, or "".
func (a *arguments) text(name string) string {
	v := a.value(name)
	if len(v) < 2 || v[0] != '"' {
		return ""
	}
	return string(jsonspan.Decode(nil, v[1:len(v)-1]))
}

func (a *arguments) first(names []string) string {
	for _, n := range names {
		if s := a.text(n); strings.TrimSpace(s) != "" {
			return s
		}
	}
	return ""
}

// command returns what is run: a line, or the words of one, without the shell.
func (a *arguments) command() string {
	if s := a.first(commandNames); s != "" {
		return s
	}
	for _, n := range commandNames {
		var words []string
		if json.Unmarshal(a.value(n), &words) != nil || len(words) == 0 {
			continue
		}
		if len(words) == 3 && strings.HasPrefix(words[1], "-") && strings.HasSuffix(words[1], "c") {
			return words[2]
		}
		return strings.Join(words, " ")
	}
	return ""
}

// patchHeads are how a patch in Codex' format names its files.
var patchHeads = []struct{ head, how string }{
	{"*** Add File: ", "written"}, {"*** Update File: ", "edited"}, {"*** Delete File: ", "deleted"}, {"*** Move to: ", "written"},
}

// patched lists the files of a patch, which may be an argument, the only one, or part
// of a command.
func patched(a arguments) []touch {
	texts := []string{a.first(patchNames), a.command()}
	if len(a.list) == 0 {
		texts = append(texts, string(a.raw))
	}
	var all []touch
	for _, text := range texts {
		if !strings.Contains(text, "*** ") {
			continue
		}
		for l := range strings.Lines(text) {
			for _, p := range patchHeads {
				if name, ok := strings.CutPrefix(strings.TrimRight(l, "\r\n"), p.head); ok && strings.TrimSpace(name) != "" {
					all = append(all, touch{strings.TrimSpace(name), p.how})
				}
			}
		}
	}
	return all
}

// todos reads the list of things to do: objects with a text and a status, or lines
// with boxes.
func (a *arguments) todos() []todo {
	var all []todo
	for _, n := range todoNames {
		v := a.value(n)
		if len(v) > 0 && v[0] == '"' {
			all = append(all, boxes(a.text(n))...)
		}
		if len(v) == 0 || v[0] != '[' {
			continue
		}
		for _, e := range jsonspan.Elements(v, jsonspan.Span{End: len(v)}) {
			item := arguments{raw: v[e.Start:e.End]}
			item.list = jsonspan.Members(item.raw, jsonspan.Span{End: len(item.raw)})
			if text := item.first([]string{"content", "step", "title", "task", "text", "description", "name"}); text != "" {
				all = append(all, todo{text, item.first([]string{"status", "state"})})
			}
		}
	}
	return all
}

var box = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[-*] |\d+\. )?\[([ xX~>/-]?)\] (.+)$`)
})

// boxes reads lines such as "- [x] fix it".
func boxes(text string) []todo {
	var all []todo
	for l := range strings.Lines(text) {
		m := box().FindStringSubmatch(strings.TrimSpace(l))
		switch {
		case m == nil:
		case m[1] == "x" || m[1] == "X":
			all = append(all, todo{m[2], "done"})
		case m[1] == " " || m[1] == "":
			all = append(all, todo{m[2], ""})
		default:
			all = append(all, todo{m[2], "in progress"})
		}
	}
	return all
}

func (t todo) done() bool {
	switch strings.ToLower(t.status) {
	case "done", "completed", "complete", "cancelled", "canceled", "finished":
		return true
	}
	return false
}

// question returns what the user is asked: a text, or that of the first of a list.
func (a *arguments) question() string {
	if s := a.first(askNames); s != "" {
		return s
	}
	v := a.value("questions")
	for _, e := range jsonspan.Elements(v, jsonspan.Span{End: len(v)}) {
		item := arguments{raw: v[e.Start:e.End]}
		item.list = jsonspan.Members(item.raw, jsonspan.Span{End: len(item.raw)})
		return item.first([]string{"question", "text", "header"})
	}
	return ""
}

// idle are commands that only look around.
var idle = []string{"ls", "cat", "head", "tail", "less", "pwd", "cd", "echo", "find", "grep", "rg", "wc", "which", "tree", "sed", "awk", "file", "stat", "sleep", "true", "type", "env", "date", "nl", "sort", "printf"}

// matters reports whether a command that worked is worth telling.
func matters(command string) bool {
	for part := range strings.SplitSeq(strings.ReplaceAll(strings.ReplaceAll(command, "&&", ";"), "|", ";"), ";") {
		words := strings.Fields(part)
		for len(words) > 0 && strings.Contains(words[0], "=") {
			words = words[1:] // variables in front
		}
		switch {
		case len(words) == 0 || slices.Contains(idle, words[0]) && !slices.ContainsFunc(words, func(w string) bool { return w == "-i" || strings.HasPrefix(w, ">") }):
		case words[0] == "git" && len(words) > 1 && slices.Contains([]string{"status", "log", "diff", "show", "branch"}, words[1]):
		default:
			return true
		}
	}
	return false
}
