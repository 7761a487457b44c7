package main

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/pare-llm/pare/cmd/internal/picture"
	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/cmd/internal/source"
	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/internal/fullness"
	"github.com/pare-llm/pare/internal/hosts"
	"github.com/pare-llm/pare/internal/plain"
	"github.com/pare-llm/pare/internal/suggest"
	"github.com/pare-llm/pare/wire"
)

// inputFlags are the flags of all commands that read transcripts.
type inputFlags struct {
	Paths       []string        `arg:"" optional:"" name:"path" help:"Files, folders, or - for standard input (the default): ${inputs}, also as .gz or .zst."`
	As          string          `placeholder:"DIALECT" help:"Read as ${dialects}, or as the list of a program: ${hosts}. Default: detected."`
	Profile     string          `placeholder:"NAME" help:"The vendor whose rules apply. Default: derived from the model, else the dialect's own."`
	Model       string          `placeholder:"NAME" help:"The model, where neither the body nor its URL names one. It overrides the model for counting and window size."`
	Jobs        *int            `placeholder:"N" help:"Transcripts to work on at the same time. Default: one per core."`
	acceptHosts bool            // the command also reads the message lists of programs
	hostShape   string          // the program that --as names; "" for none
	conditions  wire.Conditions // the request headers that --header gives
	MaxSize     string          `placeholder:"SIZE" help:"The largest unpacked size of a .gz or .zst file, such as 500MB or 4GB. Default: 1GB."`
}

// openInput returns the input that the arguments name. The error is wrong usage.
func (f *inputFlags) openInput(env *environment) (*source.Input, error) {
	input := newInput(env, f.Paths)
	if f.MaxSize == "" {
		return input, nil
	}
	var err error
	if input.MaxSize, err = source.ParseSize(f.MaxSize); err != nil {
		return nil, fmt.Errorf("--max-size: %w", err)
	}
	return input, nil
}

// newInput returns an input for paths, or for standard input if there are none.
func newInput(env *environment, paths []string) *source.Input {
	if len(paths) == 0 {
		paths = []string{source.Stdin}
	}
	return &source.Input{Paths: paths, Stdin: env.stdin, Files: &env.files}
}

// printSkipped prints which files were skipped, and why.
func printSkipped(w io.Writer, s source.Skipped) {
	printOthers(w, s.Others)
	if s.Empty > 0 {
		screen.Fprintf(w, "pare: skipped %s in folders that %s empty\n", plural(s.Empty, "file"), isAre(s.Empty))
	}
	if s.Foreign > 0 {
		screen.Fprintf(w, "pare: skipped %s in folders that %s not JSON\n", plural(s.Foreign, "file"), isAre(s.Foreign))
	}
	if s.Packed > 0 {
		screen.Fprintf(w, "pare: skipped %s in folders: only .json, .jsonl and .ndjson are unpacked unless they are named\n", plural(s.Packed, "packed file"))
	}
	for _, name := range s.Own {
		screen.Fprintf(w, "pare: skipped %s: standard output is written to it\n", name)
	}
	if s.Again > 0 {
		screen.Fprintf(w, "pare: skipped %s: named before, or a link leads there\n", plural(s.Again, "file"))
	}
	if s.Backups > 0 {
		screen.Fprintf(w, "pare: skipped %s in folders, made by --in-place\n", plural(s.Backups, "backup"))
	}
}

// maxListedOthers is the number of skipped files of one kind that are listed by name.
const maxListedOthers = 5

// printOthers prints the JSON files in folders that are not transcripts. Of many files of the same
// kind, such as those in node_modules, it names only the first.
func printOthers(w io.Writer, others []source.Other) {
	kinds := map[string][]source.Other{}
	var order []string
	for _, o := range others {
		kind := "JSON, but no conversation"
		var unread *agentlog.UnreadError
		if errors.As(o.Why, &unread) {
			kind = unread.Error()
		}
		if kinds[kind] == nil {
			order = append(order, kind)
		}
		kinds[kind] = append(kinds[kind], o)
	}
	for _, kind := range order {
		if all := kinds[kind]; len(all) > maxListedOthers {
			screen.Fprintf(w, "pare: skipped %s such as %s: %s\n", plural(len(all), "file"), all[0].Path, kind)
			continue
		}
		for _, o := range kinds[kind] {
			screen.Fprintf(w, "pare: skipped %s: %s\n", o.Path, o.Why)
		}
	}
}

// finishStatus returns the status of totals, or an error if folders contain no transcript: a script
// that checks a folder expects that something was checked.
func (env *environment) finishStatus(input *source.Input, totals *runTotals) int {
	if totals.transcripts > 0 || totals.status != statusClean || !input.Many() {
		return totals.status
	}
	return env.fail("nothing to read in "+strings.Join(input.Paths, " and "), "no file there holds a request, a list of messages or a session of an agent; pare doctor finds the sessions of agents")
}

// parseOptions returns the parser options that the flags select. It modifies f. The error is wrong
// usage.
func (f *inputFlags) parseOptions() (wire.Options, error) {
	options := wire.Options{Profile: f.Profile, Model: f.Model, Conditions: f.conditions}
	isHost := hosts.Known(f.As)
	switch {
	case isHost && f.acceptHosts:
		f.hostShape = strings.ToLower(f.As)
	case isHost:
		return options, hintedError{fmt.Errorf("%q is the list of a program, which this command does not read", f.As), "check, count, fix, prune, trim and compact do"}
	case f.As != "":
		dialect, err := wire.ParseDialect(f.As)
		if err != nil {
			return options, f.newDialectError(err)
		}
		options.Dialect = dialect
	}
	if err := checkPositive("--jobs", f.Jobs); err != nil {
		return options, err
	}
	return options, f.checkProfile(options.Dialect)
}

// newDialectError adds advice to the error about an unknown --as.
func (f *inputFlags) newDialectError(err error) error {
	if f.acceptHosts {
		err = fmt.Errorf("%w; the lists of programs are %s", err, strings.Join(hosts.Names(), ", "))
	}
	switch strings.ToLower(f.As) {
	case "openai", "gpt", "azure":
		return hintedError{err, "OpenAI has two: give openai-chat or openai-responses, or omit --as"}
	}
	return hintedError{err, suggest.Sentence(f.As, append(dialectNames(), hosts.Names()...))}
}

// jobCount returns the number of transcripts to process at the same time.
func (f *inputFlags) jobCount() int {
	if f.Jobs == nil {
		return runtime.GOMAXPROCS(0)
	}
	return *f.Jobs
}

// checkProfile returns an error if no dialect that d can be has the profile.
func (f *inputFlags) checkProfile(d wire.Dialect) error {
	if f.Profile == "" {
		return nil
	}
	dialects := wire.Dialects()
	if d != wire.Auto {
		dialects = []wire.Dialect{d}
	}
	for _, d := range dialects {
		if _, err := wire.ResolveProfile(d, f.Profile, ""); err == nil {
			return nil
		}
	}
	names := wire.Profiles(d)
	on := ""
	if d != wire.Auto {
		on = " for " + d.String()
	}
	err := fmt.Errorf("unknown profile %q%s; the profiles are %s", f.Profile, on, strings.Join(names, ", "))
	return hintedError{err, suggest.Sentence(f.Profile, names)}
}

// An origin is the place that a transcript comes from.
type origin struct {
	source       string
	line         int                  // 0 if the transcript is the whole document
	skippedBytes int                  // before the transcript, such as a byte order mark
	prefix       []byte               // the bytes before the transcript in its line or document
	isOneOfMany  bool                 // the input has several transcripts
	isInFolder   bool                 // the file was found in a folder, not named by the user
	thread       string               // the thread of a session file; "" if it has only one
	counted      fullness.Counted     // the tokens that the API has counted for the thread
	pace         func() fullness.Pace // how fast the thread has grown; nil if that is not recorded
	host         *hosts.List          // the message list of a program; nil for other transcripts
}

// newOrigin returns the origin of a text in a chunk.
func newOrigin(chunk *source.Chunk, t source.Text, many bool) origin {
	return origin{source: chunk.Source, line: t.Line, skippedBytes: t.Lead, isOneOfMany: many || t.Line > 0, isInFolder: chunk.Found}
}

func (o origin) String() string {
	name := o.source
	if name == source.Stdin {
		name = "stdin"
	}
	switch {
	case o.line > 0:
		return fmt.Sprintf("%s:%d", name, o.line)
	case o.thread != "":
		return name + " " + o.thread
	}
	return name
}

// sessionName returns the name of a session file for reports.
func (o origin) sessionName() picture.SessionName {
	return picture.SessionName{Shown: o.String(), Path: o.source}
}

// An unreadableJSON is the output of --json for a transcript that cannot be read.
type unreadableJSON struct {
	Source string  `json:"source"`
	Line   int     `json:"line,omitempty"`
	Error  problem `json:"error"`
}

// encodeLine returns v as a line of JSON. It panics if v cannot be encoded, because callers pass
// their own types.
func encodeLine(v any) []byte {
	line, err := plain.Marshal(v)
	if err != nil {
		panic(err) // all callers pass our own types
	}
	return append(line, '\n')
}

// joinWithOr returns names as "a, b or c".
func joinWithOr(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// A parsing selects how texts become requests.
type parsing struct {
	options     wire.Options
	acceptHosts bool        // also parse the message lists of programs
	hostShape   string      // the program that --as names; "" for none
	pointer     jsonPointer // to the transcript in each text
}
