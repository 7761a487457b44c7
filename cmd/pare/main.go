package main

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/pare-llm/pare/cmd/internal/source"
	"github.com/pare-llm/pare/internal/atomicfile"
)

// Exit statuses. If several apply, the process exits with the highest one.
const (
	statusClean       = 0
	statusFindings    = 1   // the provider would reject the input, or something could not be repaired
	statusInvalid     = 2   // wrong usage, or input that cannot be read
	statusTooSmall    = 3   // the window is smaller than the messages that must be kept
	statusInterrupted = 130 // 128 + SIGINT, as in shells
)

// An environment is everything that a command uses outside the program. Tests replace it.
type environment struct {
	args           []string
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	configDir      func() (string, error) // the parent of the user's configuration folder; nil: none
	files          atomicfile.Files       // the files that this run reads and writes
	memory         source.Memory
	log            *slog.Logger // set by startLog, before a command runs
	logOutput      *logWriter   // the output of log
	signals        chan os.Signal
	onDial         func(address string) // called for each connection of pare run; nil: not called
	recheck        func() bool          // waits before doctor --watch looks again; nil: waits a few seconds
}

func main() { runProcess(nil) }

// runProcess runs the program with the arguments, streams and variables of this process, and
// exits. onDial may be nil.
func runProcess(onDial func(address string)) {
	env := &environment{
		args: os.Args[1:], stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		getenv: os.Getenv, configDir: os.UserConfigDir, onDial: onDial,
		signals: make(chan os.Signal, 1),
	}
	signal.Notify(env.signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-env.signals
		env.files.Clear()
		os.Exit(statusInterrupted)
	}()
	os.Exit(run(env))
}

// releaseSignals stops the default handling of signals, so that a command can handle them itself.
func (env *environment) releaseSignals() {
	if env.signals != nil {
		signal.Stop(env.signals)
	}
}

// run executes the command line in env and returns the exit status.
func run(env *environment) int {
	if len(env.args) == 0 {
		return env.writeOutput([]byte(introduction))
	}
	env.args = normalizeArgs(env.args)
	return env.run(buildParser(partialCommandLine(env.args), env, nil))
}

// normalizeArgs returns the arguments with help, version and --lines in the form that the parser
// accepts.
func normalizeArgs(args []string) []string {
	switch {
	case len(args) == 1 && args[0] == "--lines":
		return []string{"lines"}
	case args[0] == "help":
		return append(slices.Clone(args[1:]), "--help")
	case len(args) == 1 && slices.Contains([]string{"version", "-v", "-V", "-version"}, args[0]):
		return []string{"--version"}
	}
	return args
}

// run parses env.args and runs the selected command. The parser may be used again.
func (env *environment) run(parser *kong.Kong) int {
	env.args = env.markSessionID(parser, env.args)
	exitCode, hasExited := statusClean, false
	parser.Stdout, parser.Stderr = env.stdout, env.stderr
	// Kong calls Exit after --help and expects that it does not return. Here it only sets a flag.
	parser.Exit = func(code int) { exitCode, hasExited = code, true }
	ctx, err := parser.Parse(env.args)
	if hasExited {
		return exitCode
	}
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok && pathErr.Op == "write" {
		return env.failOutput(err) // --help or --version could not be written
	}
	if err != nil {
		return env.reportParseError(err)
	}
	if err := env.startLog(parser.Model.Target.FieldByName("Log").String()); err != nil {
		return env.failUsage(err, commandPath(ctx.Selected()))
	}
	selected := ctx.Selected().Target.Addr().Interface().(command)
	if _, ok := selected.(serverCommand); ok {
		env.logOutput.hold()
		defer env.logOutput.release() // the server may fail before it listens
	}
	env.log.Debug("run", "version", version(), "command", ctx.Command())
	return selected.run(env)
}
