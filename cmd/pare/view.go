package main

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/cmd/internal/picture"
	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/cmd/internal/source"
	"github.com/pare-llm/pare/cmd/internal/ui"
	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/internal/atomicfile"
	"github.com/pare-llm/pare/internal/fullness"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

type viewCmd struct {
	Path      string `arg:"" optional:"" name:"file" help:"A request body, a list of messages, JSON lines or an agent's session file, also as .gz or .zst; - is standard input (the default)."`
	Plan      string `enum:"none,fix,prune,trim,compact" default:"none" help:"Also show what pare fix, prune, trim or compact would do: none (default), or one of them."`
	Output    string `short:"o" placeholder:"FILE" help:"Write the page to FILE. Default: standard output or, if that is a terminal, a new file, which opens in the browser where there is a desktop."`
	Text      bool   `help:"Draw it in the terminal instead."`
	Serve     bool   `help:"Show it live on a local port, and follow the file as it changes."`
	Port      int    `placeholder:"N" help:"The port for --serve. Default: any that is free."`
	Line      *int   `placeholder:"N" help:"Which line of JSON lines to show. Default: the first."`
	Thread    string `placeholder:"NAME" help:"Which thread of a session file to show. Default: all, the main one first."`
	As        string `placeholder:"DIALECT" help:"Read as ${dialects}. Default: detected."`
	Profile   string `placeholder:"NAME" help:"The vendor whose rules apply. Default: derived from the model, else the dialect's own."`
	Model     string `placeholder:"NAME" help:"The model, where neither the body nor its URL names one."`
	MaxSize   string `placeholder:"SIZE" help:"The largest unpacked size of a .gz or .zst file, such as 500MB or 4GB. Default: 1GB."`
	Strict    bool   `help:"Also report what any vendor would refuse."`
	Advice    bool   `help:"Also report what is accepted but costs quality or money."`
	ruleFlags `embed:""`
	Color     string `enum:"auto,always,never" default:"auto" help:"When to use colour: auto (default), always or never."`
}

// Help returns the detailed help of the command.
func (c *viewCmd) Help() string {
	return `For example:

    pare view request.json -o page.html
    pare view --plan fix --text request.json
    pare view --serve session.jsonl

The page is one file that needs no other and no network: the conversation as a
timeline, calls and results joined by arcs, faults in the provider's words, and each
block as wide as its tokens; of a session file also the times, the models and what
the replies cost. Keys: ? lists them. With --serve it is at a local address
that other machines cannot reach. --rules, --keep-recent and --config are those of
the command that --plan names.`
}

func (c *viewCmd) run(env *environment) int {
	v, err := c.checkFlags(env)
	if err != nil {
		return env.failUsage(err, "view")
	}
	if v.plan, err = c.buildPlanner(env); err != nil {
		return statusInvalid // buildPlanner has printed the error
	}
	if err := c.claimFiles(env); err != nil {
		return env.failUsage(err, "view")
	}
	if c.Serve {
		return v.servePage()
	}
	threads, from, fault := v.loadThreads()
	if fault != nil {
		return v.failUnreadable(from, fault)
	}
	if c.Text {
		style := env.newStyle(env.stdout, c.Color)
		text := slices.Concat(threads[0].sketch(style), formatOtherThreads(style, threads))
		return env.writeOutput(text)
	}
	return v.writePage(buildPage(threads))
}

// openInput returns the input for the path. The error is wrong usage.
func (c *viewCmd) openInput(env *environment) (*source.Input, error) {
	return (&inputFlags{Paths: []string{c.Path}, MaxSize: c.MaxSize}).openInput(env)
}

// A viewRun is one run of pare view.
type viewRun struct {
	*viewCmd
	env     *environment
	options wire.Options
	plan    sessionPlanner // nil with --plan none
}

// checkFlags returns the run that the flags select. The error is wrong usage.
func (c *viewCmd) checkFlags(env *environment) (*viewRun, error) {
	if c.Path == "" {
		c.Path = source.Stdin
	}
	r := inputFlags{As: c.As, Profile: c.Profile, Model: c.Model}
	opts, err := r.parseOptions()
	if _, bad := c.openInput(env); bad != nil {
		err = bad
	}
	st, statErr := os.Stat(c.Path)
	switch {
	case err != nil:
		return nil, err
	case c.Text && c.Serve:
		return nil, errors.New("--text and --serve exclude each other")
	case c.Output != "" && (c.Text || c.Serve):
		return nil, errors.New("-o is for the page as a file; --text and --serve write none")
	case c.Serve && c.Path == source.Stdin:
		return nil, hintedError{errors.New("--serve needs a file to follow; standard input is read once"), "name the file, or omit --serve"}
	case c.Port != 0 && !c.Serve:
		return nil, errors.New("--port is for --serve")
	case c.Port < 0 || c.Port > 65535:
		return nil, fmt.Errorf("--port is 1 to 65535, not %d", c.Port)
	case c.Line != nil && *c.Line < 1:
		return nil, fmt.Errorf("--line counts from 1, not %d", *c.Line)
	case (c.Plan == "none" || c.Plan == "fix") && (len(c.Rules) > 0 || c.KeepRecent != nil || c.Config != ""):
		return nil, errors.New("--rules, --keep-recent and --config are for --plan prune, trim and compact")
	case c.Path != source.Stdin && statErr == nil && st.IsDir() && !agentlog.IsStorage(c.Path):
		return nil, hintedError{fmt.Errorf("%s is a folder", c.Path), "a page shows one conversation: name its file"}
	}
	return &viewRun{viewCmd: c, env: env, options: opts}, nil
}

// claimFiles claims the input and the output file. The error is wrong usage.
func (c *viewCmd) claimFiles(env *environment) error {
	if err := env.claimOutput("-o", c.Output); err != nil {
		return err
	}
	if c.Output == "" || c.Output == source.Stdin {
		if err := env.claimStdout(); err != nil {
			return err
		}
	}
	return env.claimInputs(newInput(env, []string{c.Path}), atomicfile.Read)
}

// buildPlanner returns the planner that --plan names, or nil. It has printed its error.
func (c *viewCmd) buildPlanner(env *environment) (sessionPlanner, error) {
	check := wire.CheckOptions{Strict: c.Strict}
	switch c.Plan {
	case "fix":
		return planEachRequest(newPlanner(&pare.Policy{Check: check})), nil
	case "none":
		return nil, nil
	}
	conf, used, err := env.loadConfig(c.Config)
	if err != nil {
		env.failConfig(used, err)
		return nil, err
	}
	trim := trimCmd{ruleFlags: c.ruleFlags}
	switch c.Plan {
	case "trim":
		err = trim.applyTo(conf)
	case "compact":
		if err = c.ruleFlags.applyTo(conf); err == nil {
			err = new(compactCmd).applyTo(env, conf)
		}
	default: // prune
		conf.Window, conf.Compact, conf.Archive = nil, nil, nil
		err = c.ruleFlags.applyTo(conf)
	}
	if err != nil {
		env.failUsage(err, "view")
		return nil, err
	}
	policy, err := conf.Policy(env.getenv)
	if err != nil {
		env.failConfig(used, err)
		return nil, err
	}
	policy.Check.Strict = policy.Check.Strict || c.Strict
	policy.Model = c.Model
	switch {
	case c.Plan == "compact":
		policy.Rules = nil // only the summarized messages are removed
	case c.Plan == "trim":
		if used == "" && len(c.Rules) == 0 && c.KeepRecent == nil {
			policy.Rules = nil // rules run only if the user or the configuration selects them
		}
		return trim.sessionPlanner(policy), nil
	}
	return planEachRequest(newPlanner(policy)), nil
}

// A shownThread is a conversation to show.
type shownThread struct {
	from        origin
	req         *wire.Request
	findings    []wire.Finding
	plan        *pare.Plan    // nil without --plan
	lineOf      func(int) int // the line of each message in a session file; nil for other transcripts
	notes       []agentlog.Note
	title       string
	agent       string
	label       string            // for a thread that is not sent: "sub-agent", or ""
	fileChanges []agentlog.Change // changes of a repair that do not concern messages
	thread      *agentlog.Thread  // nil if the transcript is not a session
	counted     fullness.Counted
}

// measure returns how full the window is.
func (t *shownThread) measure() fullness.Size {
	return fullness.Of(fullness.Question{Request: t.req, Counted: t.counted})
}

func (t *shownThread) page() *ui.Page {
	page := ui.New(t.req, ui.Options{Source: t.from.String(), Title: t.title, Agent: t.agent, Findings: t.findings, Plan: t.plan, Size: t.measure(), Line: t.lineOf, Notes: t.buildNotes()})
	for _, change := range t.fileChanges {
		at := -1
		for i := range page.Before.Messages {
			if t.lineOf != nil && change.Line > 0 && t.lineOf(i) == change.Line {
				at = i
			}
		}
		page.Changes = append(page.Changes, ui.Change{Action: string(change.Action), Rule: change.Rule, Reason: change.Reason, Path: change.Path, Message: at, Block: -1})
	}
	return page
}

// buildNotes returns the recorded time, model and usage of each message.
func (t *shownThread) buildNotes() (all []ui.Note) {
	for _, n := range t.notes {
		note := ui.Note{Model: n.Model, Summary: n.Summary}
		if !n.Time.IsZero() {
			note.Time = n.Time.UnixMilli()
		}
		if u := n.Usage; u != (tokens.Usage{}) {
			note.Usage = &ui.Usage{Input: u.Input, Read: u.Read, Written: u.Written, Output: u.Output}
			note.Dollars, _ = n.Cost(t.req.Model())
		}
		all = append(all, note)
	}
	return all
}

// sketch returns the conversation as text for the terminal.
func (t *shownThread) sketch(style picture.Style) []byte {
	return picture.Sketch{Style: style, From: t.from.String(), Request: t.req, Findings: t.findings, Page: t.page(), LineOf: t.lineOf}.Render()
}

// loadThreads reads the conversation, or the threads of a session.
func (v *viewRun) loadThreads() (threads []*shownThread, from origin, fault *problem) {
	from = origin{source: v.Path}
	// A panic must not end the server or show a stack trace to the user.
	defer func() {
		if p := recover(); p != nil {
			f := newBugProblem(p)
			fault = &f
		}
	}()
	chunk, from, err := v.readChunk()
	if err != nil {
		f := newProblem(err)
		return nil, from, &f
	}
	if chunk.Agent != agentlog.Auto {
		if threads, err = v.sessionThreads(chunk); err != nil {
			f := newProblem(err)
			return nil, from, &f
		}
	} else {
		req, _, fault := parseRequest(from, chunk.Data, v.options)
		if fault != nil {
			return nil, from, fault
		}
		threads = []*shownThread{{from: from, req: req, findings: checkRequest(req, wire.CheckOptions{Strict: v.Strict, Advice: v.Advice})}}
	}
	if v.plan != nil {
		threads = threads[:1]
		s := threads[0]
		thread := &agentlog.Thread{Name: "main", Request: s.req}
		if s.thread != nil {
			copied := *s.thread
			copied.Request, thread = s.req, &copied // the session as it is stored
		}
		if s.plan, err = v.plan(thread, s.measure()); err != nil {
			f := newProblem(err)
			return nil, from, &f
		}
	}
	return threads, from, nil
}

// failUnreadable prints why the conversation cannot be shown, and returns the exit status.
func (v *viewRun) failUnreadable(from origin, p *problem) int {
	v.env.stderr.Write(p.format(from))
	if p.hint != "" {
		screen.Fprintf(v.env.stderr, "      %s\n", p.hint)
	}
	return statusInvalid
}

// readChunk returns the document, the session, or the selected line of a batch.
func (v *viewRun) readChunk() (found source.Chunk, from origin, err error) {
	from = origin{source: v.Path}
	want := 1
	if v.Line != nil {
		want = *v.Line
	}
	batch, some, last := false, false, 0
	input, err := v.openInput(v.env)
	if err != nil {
		return found, from, err
	}
	input.Each(func(c source.Chunk) bool {
		if err = c.Err; err != nil {
			return false
		}
		if c.Line == 0 {
			found, from.skippedBytes, some = c, c.Lead, true
			return false
		}
		batch = true
		for t := range c.Texts() {
			// Without --line, the first line that is not blank is shown.
			if !t.Blank && (t.Line == want || v.Line == nil) {
				found, from.line, some = source.Chunk{Data: t.Raw}, t.Line, true
				return false
			}
			last = t.Line
		}
		return true
	})
	switch {
	case err != nil:
		return found, from, err
	case v.Line != nil && found.Agent != agentlog.Auto:
		return found, from, hintedError{errors.New("it is one session, not JSON lines of requests"), "omit --line; --thread chooses a part of it"}
	case want > 1 && !batch:
		return found, from, hintedError{errors.New("it is one document, not JSON lines"), "omit --line"}
	case batch && !some:
		return found, from, hintedError{fmt.Errorf("there is nothing in line %d", want), "the file has " + plural(last, "line")}
	case v.Thread != "" && found.Agent == agentlog.Auto:
		return found, from, hintedError{errors.New("only session files of agents have threads"), "omit --thread"}
	}
	return found, from, nil
}

// writePage writes the page to -o or standard output. On a terminal it writes a temporary file
// instead and opens it in the browser.
func (v *viewRun) writePage(page *ui.Page) int {
	switch {
	case v.Output != "" && v.Output != source.Stdin:
		if err := v.writeFile(page); err != nil {
			return v.env.fail(err.Error(), writeHint(err, false))
		}
	case v.Output == "" && isTerminal(v.env.stdout):
		f, err := os.CreateTemp("", "pare-view-*.html")
		if err == nil {
			err = errors.Join(page.WriteHTML(f), f.Close())
		}
		if err != nil {
			return v.env.fail("write a page: "+err.Error(), "give it a place: -o FILE")
		}
		screen.Fprintln(v.env.stdout, f.Name())
		v.env.openInBrowser(f.Name())
	default:
		if err := page.WriteHTML(v.env.stdout); err != nil {
			return v.env.failOutput(err)
		}
	}
	return statusClean
}

// writeFile writes the page to the file of -o atomically.
func (v *viewRun) writeFile(page *ui.Page) error {
	draft, err := newDraft(v.env, v.Output)
	if err != nil {
		return err
	}
	defer draft.Discard() // does nothing after Commit
	if err := page.WriteHTML(draft); err != nil {
		return err
	}
	return draft.Commit()
}

// servePage serves the page on the loopback address until the process is interrupted.
func (v *viewRun) servePage() int {
	if _, from, fault := v.loadThreads(); fault != nil {
		return v.failUnreadable(from, fault)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(v.Port)))
	if err != nil {
		return v.env.fail(err.Error(), "omit --port to get one that is free")
	}
	token := rand.Text()
	screen.Fprintf(v.env.stdout, "http://%s/%s/\n", listener.Addr(), token)
	screen.Fprintf(v.env.stderr, "pare: showing %s: this machine only; updates live; Ctrl-C stops\n", v.Path)
	server := &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		Handler:           ui.Handler(ui.Live{Load: v.currentPage, Version: v.fileVersion, Token: token}),
	}
	err = server.Serve(listener)
	return v.env.fail(err.Error(), "")
}

// currentPage returns the page for the current content of the file.
func (v *viewRun) currentPage() (*ui.Page, error) {
	threads, from, fault := v.loadThreads()
	if fault != nil {
		return nil, errors.New(string(bytes.TrimSpace(fault.format(from))))
	}
	return buildPage(threads), nil
}

// fileVersion returns a text that changes with the file.
func (v *viewRun) fileVersion() string {
	st, err := os.Stat(v.Path)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d %d", st.Size(), st.ModTime().UnixNano())
}
