// Command pare finds, in the history that an agent is about to send to a language
// model, every fault that the provider would refuse, repairs it, takes out what is
// useless, and makes it fit.
//
// There is one file per command. What they share: [world] is everything outside
// the program, input.go finds transcripts and stream.go reads them, pipeline.go works on
// them on all cores and hands the outcomes back in the order of the input. The
// commands that report differ in their teller alone: reporting.go runs it. The commands
// that change transcripts differ in their [task]: change.go runs it, changer.go makes it
// work on each transcript, output.go writes what comes of it, and roles.go sees to it that
// no two roles meet in one file. Agents' session files are
// documents of their own kind: session.go recognises and reads them, and the files
// beside it check, repair and show them; package agentlog finds them, and tells which are in use.
package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"os/signal"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/cmd/internal/source"
	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/internal/atomicfile"
	"github.com/pare-llm/pare/internal/hosts"
	"github.com/pare-llm/pare/internal/suggest"
)

// The exit status. Of several the highest counts.
const (
	statusClean    = 0 // clean, or done
	statusFindings = 1
	statusInvalid  = 2 // wrong usage, unreadable or invalid input
	statusTooSmall = 3 // the window is too small for what must be kept

	statusInterrupted = 130 // as shells have it
)

// A world is everything outside the program, so that a test can be one.
type environment struct {
	args           []string
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	files          atomicfile.Files // those of this run
	memory         source.Memory
	log            *slog.Logger           // set when the flags are known
	logOutput      *logWriter             // where it goes
	signals        chan os.Signal         // that end the program, until a command sees to them itself
	onDial         func(string)           // is called with the address of each connection of pare run; nil: nothing is
	configDir      func() (string, error) // the parent of the folder of the user configuration; nil: there is none
	recheck        func() bool            // waits until what is watched is looked at again; nil: some seconds, for ever
}

// ownSignals leaves signals, from now on, to the command that calls it.
func (env *environment) releaseSignals() {
	if env.signals != nil {
		signal.Stop(env.signals)
	}
}

func main() { runProcess(nil) }

// runProcess is the program. It ends the process.
func runProcess(dialing func(string)) {
	env := &environment{args: os.Args[1:], stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, configDir: os.UserConfigDir, onDial: dialing}
	env.signals = make(chan os.Signal, 1)
	signal.Notify(env.signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-env.signals
		env.files.Clear()
		os.Exit(statusInterrupted)
	}()
	os.Exit(run(env))
}

// A command is what the command line selects. It returns the exit status.
type command interface{ run(*environment) int }

type commandLine struct {
	Check   checkCmd   `cmd:"" group:"look" help:"Report everything that the provider would refuse."`
	Fix     fixCmd     `cmd:"" group:"fix" help:"Repair what the provider would refuse, and write the transcript."`
	Undo    undoCmd    `cmd:"" group:"fix" help:"Restore a file that was changed in place: its newest backup becomes the file again."`
	Prune   pruneCmd   `cmd:"" group:"shrink" help:"Repair, then remove what the rules find useless."`
	Trim    trimCmd    `cmd:"" group:"shrink" help:"Make a transcript fit a window of tokens, messages, exchanges or turns."`
	Split   splitCmd   `cmd:"" group:"shrink" help:"Find the cut for a compaction: where a transcript can be divided without breaking a pair."`
	Count   countCmd   `cmd:"" group:"look" help:"Count the tokens of transcripts, and show what they are spent on."`
	Compact compactCmd `cmd:"" group:"shrink" help:"Replace the older part of a transcript by a summary."`
	Replay  replayCmd  `cmd:"" group:"shrink" help:"Replay stored transcripts request by request: what each policy would have sent, and what it would have cost."`
	Shorten shortenCmd `cmd:"" group:"shrink" help:"Shorten what a tool says before a model reads it: a filter, or a hook of an agent."`
	Rules   rulesCmd   `cmd:"" group:"shrink" help:"List the rules of prune in their order, or check a configuration."`
	View    viewCmd    `cmd:"" group:"look" help:"Show a conversation in a browser, or as a picture in the terminal."`
	Explain explainCmd `cmd:"" group:"look" help:"Explain a word of a report, or an error of a provider: what it means, how it is repaired."`
	Doctor  doctorCmd  `cmd:"" group:"sessions" help:"Find the sessions of the agents on this machine, check them all, and offer to repair what is broken."`

	Session sessionCmd `cmd:"" group:"sessions" help:"Keep sessions in a store: import, show, revert, fork, search, and write the request to send."`

	Run   runCmd   `cmd:"" group:"proxy" help:"Start an agent with a proxy of its own, which repairs its requests and makes them fit."`
	Serve serveCmd `cmd:"" group:"proxy" help:"Run a local proxy that repairs every request on its way to the provider, and makes it fit."`
	Mock  mockCmd  `cmd:"" group:"proxy" help:"Run a fake provider for tests on a local port, as strict as the real ones."`

	Lines      linesCmd      `cmd:"" group:"setup" help:"Answer the calls of a program in another language, a line of JSON for each."`
	Init       initCmd       `cmd:"" group:"setup" help:"Write a commented pare.toml with every option and its default."`
	Trust      trustCmd      `cmd:"" group:"setup" help:"Accept the sensitive settings of a pare.toml, or end the trust."`
	Completion completionCmd `cmd:"" group:"setup" help:"Print the completions for a shell: bash, zsh or fish."`
	Man        manCmd        `cmd:"" group:"setup" help:"Write the man pages."`

	Log     string      `placeholder:"LEVEL" help:"What to write to standard error about the run: debug, info, warn (default) or error. Default: what PARE_LOG says."`
	Version versionFlag `help:"Print the version and exit."`
}

const description = "Pare cuts LLM conversations down to size and never breaks a pair."

// doors is what pare says on its own: where people come in.
const introduction = `Pare repairs, shortens and shows the conversations of LLM agents.

My agent's session is dead, or its API says 400:
    pare doctor                 find the sessions on this machine, check and repair them
    pare check FILE             the same for one request or session file

Keep it from happening, in front of any client:
    pare run -- claude          any agent, for as long as it runs
    pare serve                  then: export ANTHROPIC_BASE_URL=http://127.0.0.1:8811

In my own program:
    fixed, plan, err := pare.Fix(body)             Go
    pare fix --lines                               any language, over a pipe

pare --help lists all commands. Docs: https://github.com/pare-llm/pare/tree/main/docs
`

// run is the whole program.
func run(env *environment) int {
	if len(env.args) == 0 {
		return env.writeOutput([]byte(introduction))
	}
	env.args = normalizeArgs(env.args)
	return env.run(buildParser(partialCommandLine(env.args), env, nil))
}

// asFlags lets pare help, pare help COMMAND, pare version and pare -v mean the flags: it is how
// other programs are asked.
func normalizeArgs(args []string) []string {
	switch {
	case len(args) == 1 && args[0] == "--lines":
		return []string{"lines"}
	case len(args) > 0 && args[0] == "help":
		return append(slices.Clone(args[1:]), "--help")
	case len(args) == 1 && slices.Contains([]string{"version", "-v", "-V", "-version"}, args[0]):
		return []string{"--version"}
	}
	return args
}

// run runs the program with a parser, which may have parsed before.
func (env *environment) run(p *kong.Kong) int {
	env.args = env.markSessionID(p, env.args)
	exit := -1
	// Kong would leave the process after --help; here it only leaves a note.
	p.Stdout, p.Stderr, p.Exit = env.stdout, env.stderr, func(code int) { exit = code }
	ctx, err := p.Parse(env.args)
	if exit >= 0 {
		return exit
	}
	var full *fs.PathError
	switch {
	case errors.As(err, &full) && full.Op == "write": // the help, or the version
		return env.failOutput(err)
	case err != nil:
		return env.reportParseError(err)
	}
	if err := env.startLog(p.Model.Target.FieldByName("Log").String()); err != nil {
		return env.failUsage(err, commandPath(ctx))
	}
	asked := ctx.Selected().Target.Addr().Interface().(command)
	if _, ok := asked.(serverCommand); ok {
		env.logOutput.hold()
		defer env.logOutput.release() // it may never have listened
	}
	env.log.Debug("run", "version", version(), "command", ctx.Command())
	return asked.run(env)
}

// grammarFor is as much of the grammar as a command line needs: that of its command, if it
// begins with one, and no command where only the version is asked for. Kong takes longer to
// read all of them than a small transcript takes.
func partialCommandLine(args []string) any {
	whole := reflect.TypeFor[commandLine]()
	var fields []reflect.StructField
	found := slices.Equal(args, []string{"--version"})
	for i := range whole.NumField() {
		f := whole.Field(i)
		_, isCommand := f.Tag.Lookup("cmd")
		asked := isCommand && len(args) > 0 && args[0] == strings.ToLower(f.Name)
		found = found || asked
		if asked || !isCommand {
			fields = append(fields, f)
		}
	}
	if !found {
		return &commandLine{}
	}
	return reflect.New(reflect.StructOf(fields)).Interface()
}

// newParser makes a parser of the whole grammar.
func newParser(env *environment, exit func(int)) *kong.Kong {
	return buildParser(&commandLine{}, env, exit)
}

func buildParser(grammar any, env *environment, exit func(int)) *kong.Kong {
	parser, err := kong.New(grammar, kong.Name("pare"), kong.Description(description), kong.ExplicitGroups(commandGroups),
		kong.Writers(env.stdout, env.stderr), kong.Vars{"version": "pare " + version(), "agents": strings.Join(agentlog.AgentNames(), ","), "dialects": joinWithOr(dialectNames()), "hosts": joinWithOr(hosts.Names()), "inputs": "request bodies, lists of messages, JSON lines, or the session files of agents"},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100, FlagsLast: true}),
		kong.Help(printHelp), kong.Exit(exit), kong.KindMapper(reflect.String, kong.MapperFunc(decodeString)),
		kong.KindMapper(reflect.Int, kong.MapperFunc(decodeInt)),
		kong.KindMapper(reflect.Float64, kong.MapperFunc(decodeFloat)), kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(decodeDuration)))
	if err != nil {
		panic(err) // the grammar is ours
	}
	return parser
}

// asGiven takes an argument byte for byte. Kong would send it through JSON, and a file whose
// name is not UTF-8 could not be named.
func decodeString(ctx *kong.DecodeContext, target reflect.Value) error {
	text, err := popValue(ctx)
	if err != nil {
		return err
	}
	target.SetString(text)
	return nil
}

// popText takes the value of a flag or argument. No flag begins with a digit, so that -1 is a
// value, which the command may refuse.
func popValue(ctx *kong.DecodeContext) (string, error) {
	t := ctx.Scan.Pop()
	text := t.String()
	switch {
	case t.IsEOL():
		return "", errors.New("a value is missing")
	case !t.IsValue() && !(len(text) > 1 && '0' <= text[1] && text[1] <= '9'):
		return "", fmt.Errorf("a value is missing: %s is taken for a flag, unless it is joined with =", text)
	}
	return text, nil
}

// number reads a number, one below zero too.
func decodeFloat(ctx *kong.DecodeContext, target reflect.Value) error {
	text, err := popValue(ctx)
	if err != nil {
		return err
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return fmt.Errorf("expected a number, not %q", text)
	}
	target.SetFloat(n)
	return nil
}

// wholeNumber reads a number, one below zero too, which Kong would take for a flag: whether it
// makes sense is for the command to say.
func decodeInt(ctx *kong.DecodeContext, target reflect.Value) error {
	t := ctx.Scan.Pop()
	text := fmt.Sprint(t.Value)
	n, err := parseNumber(text)
	switch {
	case t.IsEOL():
		return errors.New("a whole number is missing")
	case errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("%s is too large", text)
	case err != nil:
		return fmt.Errorf("expected a whole number such as 50000 or 50k, not %q", text)
	}
	target.SetInt(int64(n))
	return nil
}

// parseNumber reads a whole number as people write it: 50000, 50,000, 50k, 1.5M.
func parseNumber(text string) (int, error) {
	number, unit := text, 1.0
	switch last := len(text) - 1; {
	case last < 1:
	case text[last] == 'k' || text[last] == 'K':
		number, unit = text[:last], 1e3
	case text[last] == 'm' || text[last] == 'M':
		number, unit = text[:last], 1e6
	}
	if groupedDigits.MatchString(number) {
		number = strings.ReplaceAll(number, ",", "")
	}
	if n, err := strconv.ParseInt(number, 0, strconv.IntSize); err == nil && unit == 1 || errors.Is(err, strconv.ErrRange) {
		return int(n), err
	}
	n, err := strconv.ParseFloat(number, 64)
	switch n *= unit; {
	case err != nil || unit == 1 || n != math.Trunc(n):
		return 0, strconv.ErrSyntax
	case math.Abs(n) > 1<<53:
		return 0, strconv.ErrRange
	}
	return int(n), nil
}

var groupedDigits = regexp.MustCompile(`^\d{1,3}(,\d{3})+$`)

// timeSpan reads how long something may take; less than nothing is no answer.
func decodeDuration(ctx *kong.DecodeContext, target reflect.Value) error {
	t := ctx.Scan.Pop()
	text := fmt.Sprint(t.Value)
	d, err := time.ParseDuration(text)
	switch {
	case t.IsEOL():
		return errors.New("a time is missing, such as 30s")
	case err != nil || d < 0:
		return fmt.Errorf("expected a time such as 30s, 5m or 720h, not %q", text)
	}
	target.SetInt(int64(d))
	return nil
}

// groups are what the commands are for, in the order of the grammar.
var commandGroups = []kong.Group{
	{Key: "look", Title: "Look at a transcript:"},
	{Key: "fix", Title: "Fix it:"},
	{Key: "shrink", Title: "Make it smaller:"},
	{Key: "sessions", Title: "Sessions of agents:"},
	{Key: "proxy", Title: "Serve:"},
	{Key: "setup", Title: "Set up:"},
}

const helpFooter = `
To begin with: pare doctor looks at the sessions of your agents, pare check FILE at one file.
Read more: man pare, https://github.com/pare-llm/pare/tree/main/docs
`

// help prints a page of the manual; the first one ends with where to read on.
func printHelp(o kong.HelpOptions, ctx *kong.Context) error {
	if err := kong.DefaultHelpPrinter(o, ctx); err != nil || ctx.Selected() != nil {
		return err
	}
	_, err := screen.Fprint(ctx.Stdout, screen.Text(helpFooter))
	return err
}

// commandOf names the command that was selected: session show, for example.
func commandPath(ctx *kong.Context) string {
	name := ctx.Selected().Name
	for n := ctx.Selected().Parent; n.Parent != nil; n = n.Parent {
		name = n.Name + " " + name
	}
	return name
}

// misused reports wrong usage, with the page of the manual that helps.
func (env *environment) reportParseError(err error) int {
	help := "pare --help"
	var parse *kong.ParseError
	if errors.As(err, &parse) && parse.Context != nil && parse.Context.Selected() != nil {
		help = "pare " + commandPath(parse.Context) + " --help"
	}
	hint := "see " + help
	// A choice that need not be made has "" for none, which nobody writes.
	what := strings.Replace(err.Error(), `must be one of "",`, "must be one of ", 1)
	if rest, ok := strings.CutPrefix(what, "unknown flag "); ok {
		flag, _, _ := strings.Cut(rest, ",")
		what = "unknown flag " + flag
		switch other := env.findFlagOwner(flag, help); {
		case other != "":
			hint = "that is a flag of " + other + ": see " + other + " --help"
		default:
			if near := nearestFlag(flag, parse); near != "" {
				what += ", did you mean " + near + "?"
			}
			hint += "; a name that begins with - goes after --, as in: pare COMMAND -- -NAME"
		}
	}
	if arg, ok := strings.CutPrefix(what, "unexpected argument "); ok {
		switch meant := commandSynonyms[arg]; {
		case help == "pare --help" && meant != "":
			hint = "that is pare " + meant + "; " + hint
		case help == "pare --help" && isRegularFile(arg):
			hint = "which command? " + screen.NewCommand("pare", "check").Files(arg).String() + " says what is wrong with it"
		case help == "pare doctor --help" && isRegularFile(arg):
			hint = "pare doctor finds the sessions itself; for one file: " + screen.NewCommand("pare", "check").Files(arg).String()
		}
	}
	return env.fail(what, hint)
}

// otherNames are what other programs call what a command does.
var commandSynonyms = map[string]string{
	"repair": "fix", "validate": "check", "lint": "check", "restore": "undo", "revert": "undo", "show": "view",
	"summarize": "compact", "proxy": "serve", "tokens": "count", "shrink": "trim", "cut": "trim", "sessions": "session list",
}

// nearFlag is the flag of a command that is nearest to what was written; "": none is near.
func nearestFlag(flag string, parse *kong.ParseError) string {
	if len(flag) <= len("-x") || parse == nil || parse.Context == nil || parse.Context.Selected() == nil {
		return "" // no letter is a slip of another
	}
	var names []string
	for _, group := range parse.Context.Selected().AllFlags(true) {
		for _, f := range group {
			names = append(names, "--"+f.Name)
		}
	}
	return suggest.Nearest(flag, names)
}

// commandWith is the command that has a flag which the one with this page of help has not;
// "" if none has it.
func (env *environment) findFlagOwner(flag, help string) string {
	all := newParser(env, nil).Model.Children
	for _, name := range []string{"trim", "prune", "fix", "check", "count", "compact", "view", "doctor", "serve", "run", "replay", "mock", "split"} {
		i := slices.IndexFunc(all, func(n *kong.Node) bool { return n.Name == name })
		has := slices.ContainsFunc(all[i].Flags, func(f *kong.Flag) bool { return "--"+f.Name == flag })
		if has && !strings.HasPrefix(help, "pare "+name+" ") {
			return "pare " + name
		}
	}
	return ""
}

// usage reports wrong usage of a command that kong could not see.
func (env *environment) failUsage(err error, command string) int {
	hint := "see pare " + command + " --help"
	var h hintedError
	if errors.As(err, &h) && h.hint != "" {
		hint = h.hint
	}
	return env.fail(err.Error(), hint)
}

// fail says what is wrong and what to do next, and returns the status for it.
func (env *environment) fail(problem, hint string) int {
	screen.Fprintf(env.stderr, "pare: %s\n", problem)
	if hint != "" {
		screen.Fprintf(env.stderr, "      %s\n", hint)
	}
	return statusInvalid
}

// say writes what a command has to say to standard output, and returns the status.
func (env *environment) writeOutput(text []byte) int {
	if _, err := env.stdout.Write(text); err != nil {
		return env.failOutput(err)
	}
	return statusClean
}

// unwritten says why standard output takes no more, and returns the status for it.
func (env *environment) failOutput(err error) int { return env.fail(outputProblem(err), "") }

// unwritten is why standard output takes no more.
func outputProblem(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err // of /dev/stdout, which says no more
	}
	return "write standard output: " + err.Error()
}
