package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pare-llm/pare/cmd/internal/agentconf"
	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/cmd/internal/serve"
	"github.com/pare-llm/pare/proxy"
)

type runCmd struct {
	Upstream    []string `sep:"none" placeholder:"NAME=URL" help:"Where requests go: anthropic, openai, gemini, bedrock, or a name of your own, reached at /u/NAME/. May be repeated. Default: the hosts that the agent is configured with."`
	Prune       bool     `help:"Let the rules of the configuration remove what is useless from every request, not only from those that do not fit. While the provider's cache is warm that costs more than it saves: see --cold."`
	Cold        bool     `help:"Save money where that is free: shorten results as they arrive, and clear what will hardly be needed again whenever the provider's cache is cold. Default: what the configuration says."`
	Report      string   `type:"path" placeholder:"FILE" help:"Write what was done to each request that was changed, healed or refused, as JSON lines, when the command has ended."`
	PrintEnv    bool     `help:"Run nothing: print the variables for a shell, for a pare serve that listens at --listen."`
	Listen      string   `default:"127.0.0.1:8811" placeholder:"HOST:PORT" help:"With --print-env: where pare serve listens. Default: 127.0.0.1:8811."`
	Command     []string `arg:"" optional:"" passthrough:"" placeholder:"COMMAND" help:"The agent and its arguments."`
	configFlags `embed:""`
}

// Help returns the detailed help of the command.
func (c *runCmd) Help() string {
	return `For example:

    pare run -- claude
    pare run -- codex exec "fix the tests"
    pare run --print-env                      the variables, for a shell

The proxy does what pare serve does, for as long as the agent runs, and for it alone. Only the
agent is pointed at the proxy, so that nothing has to be set up and nothing is left behind.
The exit status is that of the agent, or 128 and the number of the signal that ended it. While
the agent runs, Pare prints nothing. The last line on standard error says what was done.

Pare forwards the requests for each provider to the host that the agent itself would use. For
claude, codex, gemini, qwen, opencode, kilo, pi and goose it reads their settings files; for any other
command, the variables that vendors and agents use, such as ANTHROPIC_BASE_URL. A file of the
project counts if you have accepted it with pare trust. If the host does not answer, the
request fails; no other host is tried. Requests to Bedrock are left alone unless --upstream bedrock=URL is given.`
}

func (c *runCmd) run(env *environment) int {
	if c.PrintEnv {
		return c.printEnv(env)
	}
	if len(c.Command) > 0 && c.Command[0] == "--" {
		c.Command = c.Command[1:]
	}
	if len(c.Command) == 0 {
		return env.failUsage(hintedError{errors.New("which command?"), "name the agent: pare run -- claude"}, "run")
	}
	program, err := exec.LookPath(c.Command[0])
	if err != nil {
		return env.fail(err.Error(), "give the name or the path of a program, as in: pare run -- claude")
	}
	launch, status := c.findHosts(env, agentconf.Command{Name: filepath.Base(program), Args: c.Command[1:]})
	if status != statusClean {
		return status
	}
	s := serveCmd{Upstream: c.Upstream, NoStore: true, Store: env.getenv("PARE_STORE"), Prune: c.Prune, Cold: c.Cold, configFlags: c.configFlags}
	options, used, status := s.serverOptions(env, "run")
	if status != statusClean {
		return status
	}
	options.Tokens = nil // tokens are for clients on other machines; the agent has none
	options.OverHTTP = true
	options.Dialing = env.onDial
	if err := addRoutes(&options, launch.Routes); err != nil {
		return env.fail(err.Error(), "correct the base URL")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return env.fail(err.Error(), "")
	}
	for _, note := range launch.Notes {
		screen.Fprintf(env.stderr, "pare: %s\n", note)
	}
	if used != "" {
		screen.Fprintf(env.stderr, "pare: configured by %s\n", used)
	}
	server := serve.New(options)
	if isTerminal(env.stderr) {
		screen.Fprintf(env.stderr, "pare: the live page is http://%s%s\n", listener.Addr().String(), server.Page())
	}
	env.logOutput.hold() // the agent owns the terminal while it runs
	serve.RedirectLog(env.log)
	ctx, end := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, listener, time.Second, nil) }()
	status, err = c.startAgent(env, program, launch, "http://"+listener.Addr().String())
	end()
	<-served
	env.logOutput.release()
	if err != nil {
		return env.fail(err.Error(), "")
	}
	return c.printSummary(env, server.Watch(), status)
}

// startAgent runs the agent with the proxy at address and returns the agent's exit status. Files
// that point the agent at the proxy exist only while it runs.
func (c *runCmd) startAgent(env *environment, program string, launch *agentconf.Launch, address string) (int, error) {
	folder := filepath.Join(os.TempDir(), "pare-run-"+rand.Text())
	o := launch.Override(address, folder)
	if len(o.Files) > 0 {
		if err := os.Mkdir(folder, 0o700); err != nil {
			return 0, err
		}
		defer os.RemoveAll(folder)
	}
	for _, f := range o.Files {
		if err := os.WriteFile(f.Path, []byte(f.Text), 0o600); err != nil {
			return 0, err
		}
	}
	cmd := exec.Command(program, o.Args...)
	cmd.Args[0] = c.Command[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = setVariables(os.Environ(), o.Env)
	env.releaseSignals()
	return runChild(cmd)
}

// printEnv prints the variables for a shell. A proxy at --listen forwards requests to the vendors,
// so providers that are configured with another host are left out.
func (c *runCmd) printEnv(env *environment) int {
	s, err := env.newSurroundings()
	if err != nil {
		return env.fail(err.Error(), "set HOME to your home folder")
	}
	s.IsDead = func(string) bool { return false }
	address := "http://" + normalizeAddress(c.Listen)
	var out []byte
	for _, name := range []string{"", "codex"} {
		launch, err := agentconf.Read(s, agentconf.Command{Name: name}, nil)
		if err != nil {
			return env.fail(err.Error(), "correct the file")
		}
		launch.KeepVendors([]string{"anthropic", "openai", "gemini"})
		for _, note := range launch.Notes {
			screen.Fprintf(env.stderr, "pare: %s\n", note)
		}
		o := launch.Override(address, "")
		for _, v := range o.Env {
			if name == "" {
				out = screen.Appendf(out, "%s\n", screen.NewCommand("export").Assign(v.Name, v.Value))
			}
		}
		if len(o.Args) == 2 {
			codex := screen.NewCommand("codex").Words(o.Args...)
			out = screen.Appendf(out, "%s\n", screen.NewCommand("alias").Assign("codex", codex.String()))
		}
	}
	return env.writeOutput(out)
}

// printSummary prints one line about the run and writes the report. It returns status, which is
// that of the agent, unless the report cannot be written.
func (c *runCmd) printSummary(env *environment, watch *serve.Watch, status int) int {
	t := watch.Totals()
	if t.Requests == 0 {
		screen.Fprintf(env.stderr, "pare: no request came through: %s sent none, or reached the provider by itself\n", c.Command[0])
		return status
	}
	where := "pare run --report FILE writes down each change"
	if c.Report != "" {
		if err := writeReport(c.Report, watch); err != nil {
			return cmp.Or(status, env.fail(err.Error(), "the report of this run is lost"))
		}
		where = "each change is in " + c.Report
	}
	if t.Changed+t.Fitted+sumCounts(t.Healed) == 0 {
		where = ""
	}
	screen.Fprintf(env.stderr, "pare: %s\n", formatRunSummary(t, where))
	return status
}

// formatRunSummary returns the last line of pare run.
func formatRunSummary(t serve.Totals, where string) screen.Text {
	text := screen.Printf("%s", plural(int(t.Requests), "request"))
	repaired := max(t.Changed-t.Fitted, 0)
	for _, n := range []struct {
		n    int64
		what string
	}{{t.Status["0"], "without a reply"}, {repaired, "repaired"}, {t.Fitted, "made to fit"}, {sumCounts(t.Healed), "healed after a refusal"}, {t.Status["400"] + t.Status["413"] + t.Status["422"], "refused"}} {
		if n.n > 0 {
			text += screen.Printf(", %s %s", grouped(int(n.n)), n.what)
		}
	}
	if t.Changed+t.Status["0"] == 0 {
		text += ", nothing to repair"
	}
	if rules := formatTopRules(t.Rules); rules != "" {
		text += screen.Printf(" (%s)", rules)
	}
	if t.Dollars >= 0.005 {
		text += screen.Printf("; about $%.2f", t.Dollars)
	}
	if t.Spared >= 0.005 {
		text += screen.Printf(", $%.2f less by what was left out", t.Spared)
	}
	if h := t.Thrift; h != nil && h.Cut > 0 {
		text += screen.Printf("; %s shortened or cleared because that was free, %s fetched again", plural(h.Cut, "result"), grouped(h.Fetched))
		if h.Stopped > 0 {
			text += ", which is too much, so later conversations were left as they are"
		}
	}
	if where != "" {
		text += screen.Printf("; %s", where)
	}
	return text
}

// formatTopRules returns the three rules that were applied most often.
func formatTopRules(rules map[string]int64) string {
	names := slices.SortedFunc(maps.Keys(rules), func(a, b string) int {
		return cmp.Or(cmp.Compare(rules[b], rules[a]), cmp.Compare(a, b))
	})
	var said []string
	for _, name := range names[:min(len(names), 3)] {
		said = append(said, fmt.Sprintf("%s %d", name, rules[name]))
	}
	return strings.Join(said, ", ")
}

func sumCounts(by map[string]int64) (n int64) {
	for _, k := range by {
		n += k
	}
	return n
}

// writeReport writes the records of requests that were changed, healed or rejected, the oldest
// first.
func writeReport(path string, watch *serve.Watch) error {
	var out []byte
	all := watch.Last(1 << 30)
	slices.Reverse(all)
	for _, record := range all {
		if !isReportable(record) {
			continue
		}
		out = append(out, encodeLine(record)...)
	}
	return os.WriteFile(path, out, 0o600)
}

func isReportable(record *proxy.Record) bool {
	return len(record.Changes) > 0 || record.Healed != "" || record.Tried != "" || record.Status >= 400
}
