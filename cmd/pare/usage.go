package main

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/internal/suggest"
)

// A hintedError is an error with advice for the user.
type hintedError struct {
	error
	hint string
}

// A usageError is wrong usage that is found only after a transcript was read.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// reportParseError prints an error of the parser with the help page to read, and returns the exit
// status.
func (env *environment) reportParseError(err error) int {
	help := "pare --help"
	var selected *kong.Node
	if parseErr, ok := errors.AsType[*kong.ParseError](err); ok && parseErr.Context != nil {
		selected = parseErr.Context.Selected()
	}
	if selected != nil {
		help = "pare " + commandPath(selected) + " --help"
	}
	// An optional choice has "" as a value, which users do not need to know.
	message := strings.Replace(err.Error(), `must be one of "",`, "must be one of ", 1)
	if rest, ok := strings.CutPrefix(message, "unknown flag "); ok {
		flag, _, _ := strings.Cut(rest, ",")
		return env.reportUnknownFlag(flag, help, selected)
	}
	if arg, ok := strings.CutPrefix(message, "unexpected argument "); ok {
		return env.fail(message, argumentHint(arg, help))
	}
	return env.fail(message, "see "+help)
}

// reportUnknownFlag prints which command has the flag, or the most similar flag of the selected
// command, which may be nil.
func (env *environment) reportUnknownFlag(flag, help string, selected *kong.Node) int {
	problem := "unknown flag " + flag
	if hint := removedFlags[flag]; hint != "" {
		return env.fail(flag+" was removed", hint)
	}
	if owner := env.findFlagOwner(flag, help); owner != "" {
		return env.fail(problem, "that is a flag of "+owner+": see "+owner+" --help")
	}
	if similar := nearestFlag(flag, selected); similar != "" {
		problem += ", did you mean " + similar + "?"
	}
	return env.fail(problem, "see "+help+"; a name that begins with - goes after --, as in: pare COMMAND -- -NAME")
}

// argumentHint returns advice about an argument that is no command, or that the command does not
// take.
func argumentHint(arg, help string) string {
	check := screen.NewCommand("pare", "check").Files(arg).String()
	switch {
	case help == "pare --help" && commandSynonyms[arg] != "":
		return "that is pare " + commandSynonyms[arg] + "; see " + help
	case help == "pare --help" && isRegularFile(arg):
		return "which command? " + check + " says what is wrong with it"
	case help == "pare doctor --help" && isRegularFile(arg):
		return "pare doctor finds the sessions itself; for one file: " + check
	}
	return "see " + help
}

// removedFlags maps flags of earlier versions to a hint at their successors.
var removedFlags = map[string]string{
	"--recall": "write [archive] with file = \"removed.jsonl\" to pare.toml; agents then read what was removed with pare recall",
}

// commandSynonyms maps names that other programs use to the command that does the same.
var commandSynonyms = map[string]string{
	"repair": "fix", "validate": "check", "lint": "check", "restore": "undo", "revert": "undo", "show": "view",
	"summarize": "compact", "proxy": "serve", "tokens": "count", "shrink": "trim", "cut": "trim", "sessions": "session list",
}

// nearestFlag returns the flag of a command that is most similar to the given one, or "".
func nearestFlag(flag string, selected *kong.Node) string {
	const shortFlag = len("-x") // a different letter is not a typing error
	if len(flag) <= shortFlag || selected == nil {
		return ""
	}
	var names []string
	for _, group := range selected.AllFlags(true) {
		for _, f := range group {
			names = append(names, "--"+f.Name)
		}
	}
	return suggest.Nearest(flag, names)
}

// flagOwners are the commands that findFlagOwner searches, in this order.
var flagOwners = []string{"trim", "prune", "fix", "check", "count", "compact", "view", "doctor", "serve", "run", "replay", "mock", "split"}

// findFlagOwner returns the command that has a flag, or "". It skips the command of the help page.
func (env *environment) findFlagOwner(flag, help string) string {
	commands := newParser(env, nil).Model.Children
	for _, name := range flagOwners {
		i := slices.IndexFunc(commands, func(n *kong.Node) bool { return n.Name == name })
		hasFlag := slices.ContainsFunc(commands[i].Flags, func(f *kong.Flag) bool { return "--"+f.Name == flag })
		if hasFlag && !strings.HasPrefix(help, "pare "+name+" ") {
			return "pare " + name
		}
	}
	return ""
}

// failUsage prints wrong usage of a command, and returns the exit status.
func (env *environment) failUsage(err error, command string) int {
	hint := "see pare " + command + " --help"
	if hinted, ok := errors.AsType[hintedError](err); ok && hinted.hint != "" {
		hint = hinted.hint
	}
	return env.fail(err.Error(), hint)
}

// fail prints a problem and the next step, which may be empty. It returns the exit status.
func (env *environment) fail(problem, hint string) int {
	screen.Fprintf(env.stderr, "pare: %s\n", problem)
	if hint != "" {
		screen.Fprintf(env.stderr, "      %s\n", hint)
	}
	return statusInvalid
}

// writeOutput writes text to standard output and returns the exit status.
func (env *environment) writeOutput(text []byte) int {
	if _, err := env.stdout.Write(text); err != nil {
		return env.failOutput(err)
	}
	return statusClean
}

// failOutput prints that standard output could not be written, and returns the exit status.
func (env *environment) failOutput(err error) int { return env.fail(outputProblem(err), "") }

// outputProblem describes an error of standard output.
func outputProblem(err error) string {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err // the path is /dev/stdout
	}
	return "write standard output: " + err.Error()
}
