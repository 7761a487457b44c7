package main

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/internal/hosts"
)

// A command is the part of the command line that the user has selected. run returns the exit
// status.
type command interface{ run(*environment) int }

// commandLine lists all commands for kong, which creates a parser from the fields and their tags.
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

	Recall  recallCmd  `cmd:"" group:"sessions" help:"Print what was removed from a conversation, by the handle in its placeholder."`
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

// commandGroups are the headings of the command list, in the order of the help.
var commandGroups = []kong.Group{
	{Key: "look", Title: "Look at a transcript:"},
	{Key: "fix", Title: "Fix it:"},
	{Key: "shrink", Title: "Make it smaller:"},
	{Key: "sessions", Title: "Sessions of agents:"},
	{Key: "proxy", Title: "Serve:"},
	{Key: "setup", Title: "Set up:"},
}

const description = "Pare cuts LLM conversations down to size and never breaks a pair."

// introduction is the output of pare without arguments.
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

const helpFooter = `
To begin with: pare doctor looks at the sessions of your agents, pare check FILE at one file.
Read more: man pare, https://github.com/pare-llm/pare/tree/main/docs
`

// partialCommandLine returns the part of the command line struct that args need: the command that
// they begin with, or no command if they are --version. Kong takes longer to read all commands
// than pare takes to fix a small transcript.
func partialCommandLine(args []string) any {
	all := reflect.TypeFor[commandLine]()
	var fields []reflect.StructField
	isPartial := slices.Equal(args, []string{"--version"})
	for i := range all.NumField() {
		field := all.Field(i)
		_, isCommand := field.Tag.Lookup("cmd")
		isSelected := isCommand && len(args) > 0 && args[0] == strings.ToLower(field.Name)
		isPartial = isPartial || isSelected
		if isSelected || !isCommand {
			fields = append(fields, field)
		}
	}
	if !isPartial {
		return &commandLine{}
	}
	return reflect.New(reflect.StructOf(fields)).Interface()
}

// newParser returns a parser for all commands.
func newParser(env *environment, exit func(int)) *kong.Kong {
	return buildParser(&commandLine{}, env, exit)
}

// buildParser returns a parser for the fields of target, which is a *commandLine or a part of it.
func buildParser(target any, env *environment, exit func(int)) *kong.Kong {
	parser, err := kong.New(target,
		kong.Name("pare"),
		kong.Description(description),
		kong.ExplicitGroups(commandGroups),
		kong.Writers(env.stdout, env.stderr),
		kong.Vars{
			"version":  "pare " + version(),
			"agents":   strings.Join(agentlog.AgentNames(), ","),
			"dialects": joinWithOr(dialectNames()),
			"hosts":    joinWithOr(hosts.Names()),
			"inputs":   "request bodies, lists of messages, JSON lines, or the session files of agents",
		},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100, FlagsLast: true}),
		kong.Help(printHelp),
		kong.Exit(exit),
		kong.KindMapper(reflect.String, kong.MapperFunc(decodeString)),
		kong.KindMapper(reflect.Int, kong.MapperFunc(decodeInt)),
		kong.KindMapper(reflect.Float64, kong.MapperFunc(decodeFloat)),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(decodeDuration)))
	if err != nil {
		panic(err) // target is one of our own structs
	}
	return parser
}

// printHelp prints the help of a command, or of pare with a footer.
func printHelp(options kong.HelpOptions, ctx *kong.Context) error {
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil || ctx.Selected() != nil {
		return err
	}
	_, err := screen.Fprint(ctx.Stdout, screen.Text(helpFooter))
	return err
}

// commandPath returns the full name of a command, such as "session show".
func commandPath(node *kong.Node) string {
	name := node.Name
	for parent := node.Parent; parent.Parent != nil; parent = parent.Parent {
		name = parent.Name + " " + name
	}
	return name
}
