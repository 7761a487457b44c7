package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/pare-llm/pare/cmd/internal/picture"
	"github.com/pare-llm/pare/cmd/internal/source"
	"github.com/pare-llm/pare/cmd/internal/tables"
	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/internal/suggest"
)

type doctorCmd struct {
	Agent []string `placeholder:"NAME" help:"Only the sessions of this agent: ${agents}. May be repeated."`
	Since string   `placeholder:"TIME" help:"Only sessions that were used in this time, such as 36h, 7d or 4w."`
	All   bool     `help:"Leave nothing out: check archived sessions and those of sub-agents, too, and list everything."`
	Fix   bool     `help:"Repair broken sessions: each change is shown first, and made if you agree. The original becomes FILE.bak."`
	Yes   bool     `short:"y" help:"With --fix: repair every broken session without asking."`
	Watch bool     `help:"Then follow the agents that run: a session that breaks, is nearly full, or is well again is shown, until Ctrl-C."`
	Home  string   `placeholder:"DIR" help:"The home folder to look in. Default: yours, or what the variables of the agents say."`
	JSON  bool     `name:"json" help:"Print one JSON object per session."`
	Color string   `enum:"auto,always,never" default:"auto" help:"When to use colour: auto (default), always or never."`
}

// Help returns the detailed help of the command.
func (c *doctorCmd) Help() string {
	return `For example:

    pare doctor                                   check the sessions of all agents
    pare doctor --fix                             and repair what is broken, asking each time
    pare doctor --agent claude-code --since 7d --fix --yes
    pare doctor --watch --since 1h                follow the agents that run
    pare doctor --json | jq -r 'select(.findings != []) | .path'

The folders in which the agents keep their sessions are found, and every session is
checked for what would make the provider refuse it when it is resumed. Nothing is
changed without --fix. Close the agent before you repair its session: one that it may
still be writing to is left alone. pare undo reverts a repair.

A session is listed if it cannot be resumed (✗), if it can but the agent then has
forgotten something (!), if it is longer than the window of its model (▣), or if it is
damaged in a way that was not recorded for this version of the agent (?). --fix shortens
a session that is too long, as pare trim does. What the agent repairs itself is listed and
repaired with --all only.

--json prints {"agent","project","title","outlook","path","messages","calls","results","findings":
[{"rule","line","message","effect"}],"bytes","modified"}; with --fix --yes also "repaired",
"backup" and "remaining", the findings that stay. "outlook" is resumes, repairs (the agent does
it itself), unknown, forgets, full or unusable; the last four count as broken. It comes from
recorded runs of the agents, by version. A session that cannot be read has "error".

A base URL in the environment (ANTHROPIC_BASE_URL, …) that points at a port of this
machine on which nothing is listening is named, too.

The status is 0 if all is well, 1 if a session is broken and was not repaired, 2 if a
session or a folder could not be read.`
}

func (c *doctorCmd) run(env *environment) int {
	since, err := c.checkFlags()
	if err != nil {
		return env.failUsage(err, "doctor")
	}
	search, err := c.buildSearch(env, since)
	if err != nil {
		return env.failUsage(err, "doctor")
	}
	if c.Home == "" {
		warnDeadBaseURLs(env)
	}
	r := &doctorRun{doctorCmd: c, env: env, home: picture.Home{Dir: search.Home, Tilde: c.Home == "" && runtime.GOOS != "windows"}, search: search, Found: agentlog.Find(search), now: time.Now()}
	for i := range r.Sessions {
		r.Sessions[i].Client = installedVersion(search.Getenv, r.Sessions[i].Agent.Name)
	}
	if c.Home != "" {
		r.home.Flag = []string{"--home", search.Home}
	}
	return r.run()
}

// checkFlags returns the parsed --since. The error is wrong usage.
func (c *doctorCmd) checkFlags() (since time.Duration, err error) {
	for i, name := range c.Agent {
		if c.Agent[i], err = resolveAgentName(name); err != nil {
			return 0, err
		}
	}
	switch {
	case c.Yes && !c.Fix:
		return 0, hintedError{errors.New("--yes is for --fix"), "pare doctor --fix --yes repairs everything"}
	case c.Watch && c.Fix:
		return 0, hintedError{errors.New("--watch only looks: sessions of agents that run are not repaired"), "end the agent, then pare doctor --fix"}
	case c.JSON && c.Fix && !c.Yes:
		return 0, hintedError{errors.New("--json leaves no way to ask"), "add --yes to repair without asking, or omit --json"}
	case c.Since == "":
		return 0, nil
	}
	since, ok := parseAge(c.Since)
	if !ok {
		return 0, hintedError{fmt.Errorf("--since is a time, not %q", c.Since), "for example --since 36h, --since 7d or --since 4w"}
	}
	return since, nil
}

// resolveAgentName returns the name of the agent that has this name or starts with it.
func resolveAgentName(name string) (string, error) {
	names := agentlog.AgentNames()
	var begin []string
	for _, n := range names {
		if n == strings.ToLower(name) {
			return n, nil
		}
		if name != "" && strings.HasPrefix(n, strings.ToLower(name)) {
			begin = append(begin, n)
		}
	}
	if len(begin) == 1 {
		return begin[0], nil
	}
	return "", hintedError{fmt.Errorf("unknown agent %q; the agents are %s", name, strings.Join(names, ", ")), suggest.Sentence(name, names)}
}

// parseAge parses a duration that may also be in days (d) or weeks (w).
func parseAge(s string) (time.Duration, bool) {
	const day = 24 * time.Hour
	for _, u := range []struct {
		name string
		is   time.Duration
	}{{"d", day}, {"w", 7 * day}} {
		if number, ok := strings.CutSuffix(s, u.name); ok {
			n, err := strconv.ParseFloat(number, 64)
			return time.Duration(n * float64(u.is)), err == nil && n > 0 && n < 1e5
		}
	}
	d, err := time.ParseDuration(s)
	return d, err == nil && d > 0
}

// buildSearch returns the folders to search. Variables that name folders are ignored with --home,
// because they belong to the user of this machine.
func (c *doctorCmd) buildSearch(env *environment, since time.Duration) (agentlog.Search, error) {
	search := agentlog.Search{Home: c.Home, Getenv: env.getenv, Agents: c.Agent, IncludeSecondary: c.All}
	search.Databases = func(a *agentlog.Agent, path string) ([]agentlog.Place, error) { return tables.Places(a, path, c.All) }
	if c.Home != "" {
		search.Getenv = nil
		if st, err := os.Stat(c.Home); err != nil || !st.IsDir() {
			return search, fmt.Errorf("--home must be a folder, and %s is not one", c.Home)
		}
	}
	if search.Home == "" {
		search.Home = cmp.Or(env.getenv("HOME"), env.getenv("USERPROFILE"))
	}
	if search.Home == "" {
		return search, hintedError{errors.New("the environment does not say where your home folder is"), "name it: pare doctor --home DIR"}
	}
	if abs, err := filepath.Abs(search.Home); err == nil {
		search.Home = abs
	}
	if since > 0 {
		search.Since = time.Now().Add(-since)
	}
	return search, nil
}

// A doctorRun is one run of pare doctor.
type doctorRun struct {
	*doctorCmd
	*agentlog.Found
	env        *environment
	search     agentlog.Search
	home       picture.Home
	now        time.Time
	treatments []*treatment

	emptySessions int      // the number of session files without messages
	strayFiles    []string // files in session folders that are not sessions
}

func (d *doctorRun) run() int {
	if err := d.examine(); err != nil {
		return d.env.failOutput(err)
	}
	report := &picture.Doctor{
		Style: d.env.newStyle(d.env.stdout, d.Color), Notes: palette(d.env.wantsColor(d.env.stderr, d.Color)),
		Now: d.now, All: d.All, Home: d.home,
	}
	if !d.JSON {
		var all []*agentlog.Diagnosis
		for _, t := range d.treatments {
			all = append(all, t.Diagnosis)
		}
		if _, err := d.env.stdout.Write(report.Render(all)); err != nil {
			return d.env.failOutput(err)
		}
		if d.Fix {
			d.repairAll(report)
		}
	}
	d.printNotes()
	if d.Watch {
		again := d.env.recheck
		if again == nil {
			again = waitForRecheck
		}
		d.watch(report, again)
	}
	return d.status()
}

// examine checks all sessions on all cores. At most one session per core is in memory.
func (d *doctorRun) examine() error {
	if len(d.Sessions) == 0 {
		return nil
	}
	input := &source.Input{Stdin: d.env.stdin}
	for _, place := range d.Sessions {
		input.Paths = append(input.Paths, place.Path)
	}
	bar := startProgress(d.env, input, newRunTotals("finding"))
	defer bar.stop()
	jobs := runtime.GOMAXPROCS(0)
	produce := func(emit func(agentlog.Place) bool) {
		for _, place := range d.Sessions {
			if !emit(place) {
				return
			}
		}
	}
	work := func(place agentlog.Place) *agentlog.Diagnosis {
		defer func() { input.Read.Add(place.Bytes) }()
		defer d.env.memory.Frugal(int(place.Bytes))()
		return agentlog.Examine(place)
	}
	source.Work(jobs, 16*jobs, produce, work, func(diagnosis *agentlog.Diagnosis) bool {
		if diagnosis.Empty {
			d.emptySessions++
		}
		if diagnosis.OtherFile {
			d.strayFiles = append(d.strayFiles, diagnosis.Path)
		}
		if diagnosis.NotSession {
			return true
		}
		t := &treatment{Diagnosis: diagnosis}
		d.treatments = append(d.treatments, t)
		return bar.print([]outcome{d.buildOutcome(t)})
	})
	return bar.err
}

// buildOutcome returns the outcome of a session, and with --json its report. With --fix it repairs
// the session first.
func (d *doctorRun) buildOutcome(t *treatment) (out outcome) {
	for _, f := range t.Faults {
		if f.Effect == agentlog.Refused && t.Broken() {
			out.rules = append(out.rules, f.Rule)
		}
	}
	if !d.JSON {
		return out
	}
	if d.Fix && d.shouldRepair(t) {
		d.repairSession(t, func(*agentlog.RepairPlan) bool { return true })
	}
	out.out = encodeLine(t.toJSON())
	return out
}

// status returns the exit status.
func (d *doctorRun) status() int {
	status := statusClean
	if len(d.Failed) > 0 {
		status = statusInvalid
	}
	for _, t := range d.treatments {
		switch {
		case t.Err != nil:
			status = statusInvalid
		case t.isBroken():
			status = max(status, statusFindings)
		}
	}
	return status
}

// A diagnosisJSON is the output of --json for a session.
type diagnosisJSON struct {
	Agent    string `json:"agent"`
	Project  string `json:"project"`
	Title    string `json:"title"`
	Outlook  string `json:"outlook"`
	Path     string `json:"path"`
	Messages int    `json:"messages"`
	Calls    int    `json:"calls"`
	Results  int    `json:"results"`

	Findings  []agentlog.Fault `json:"findings"`
	Bytes     int64            `json:"bytes"`
	Modified  string           `json:"modified"`
	Repaired  *bool            `json:"repaired,omitempty"`
	Reason    string           `json:"why,omitempty"` // the session was not repaired
	Backup    string           `json:"backup,omitempty"`
	Remaining []agentlog.Fault `json:"remaining,omitempty"`
	Error     string           `json:"error,omitempty"`
}

func (t *treatment) toJSON() diagnosisJSON {
	j := diagnosisJSON{
		Agent: t.Agent.Name, Project: t.Project, Title: t.Title, Outlook: t.Outlook.String(), Path: t.Path,
		Messages: t.Messages, Calls: t.Calls, Results: t.Results,
		Findings: append([]agentlog.Fault{}, t.Faults...), Bytes: t.Bytes, Modified: t.Modified.UTC().Format(time.RFC3339),
		Reason: t.reason, Backup: t.backup, Remaining: t.remaining,
	}
	if t.isRepaired || t.reason != "" {
		j.Repaired = &t.isRepaired
	}
	if j.Error = t.Unreadable(); j.Error != "" {
		j.Outlook = agentlog.Unusable.String()
	}
	return j
}
