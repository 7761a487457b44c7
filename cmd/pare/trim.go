package main

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/internal/config"
	"github.com/pare-llm/pare/wire"
)

type trimCmd struct {
	MaxTokens     *tokenLimit `placeholder:"N|P%" help:"At most N tokens, of the whole request (50k and 1M are numbers, too), or P % of what the model's window has room for besides the reply. Default, without any limit: 100%."`
	MaxMessages   *int        `placeholder:"N" help:"At most N messages."`
	MaxExchanges  *int        `placeholder:"N" help:"The last N exchanges: calls with their results."`
	MaxTurns      *int        `placeholder:"N" help:"At most N turns; a turn starts with a message of the user, and the first one always stays."`
	MinKeep       *int        `placeholder:"N" help:"Never cut into the last N messages: every byte of them stays."`
	keepFlags     `embed:""`
	stableFlags   `embed:""`
	countingFlags `embed:""`
	Summarize     bool   `help:"Replace what is dropped by a summary, as [compact] of the configuration says; without one, by excerpts, without a model."`
	Archive       string `placeholder:"FILE" help:"Keep what is removed in FILE, a JSON line each; placeholders name the line. Existing lines are kept."`
	ruleFlags     `embed:""`
	lineFlags     `embed:""`
	changeFlags   `embed:""`
}

// keepFlags select the order in which trim drops messages, and the messages that stay.
type keepFlags struct {
	Order     string   `enum:",oldest,middle,priority" default:"" placeholder:"oldest|middle|priority" help:"What is dropped first: oldest (default), middle (start and end stay longest) or priority."`
	Priority  []string `sep:"none" placeholder:"TOOL=N" help:"With --order priority: the rank of a tool, a glob; the lowest go first, tools without one have 0. May be repeated, the first that matches counts."`
	Unpin     []string `enum:"system,task,newest" placeholder:"PIN" help:"Allow dropping what normally stays: system (the system prompt), task (the user's first message), newest (the last turn)."`
	Recent    *int     `placeholder:"N" help:"Do not clear the results of the last N exchanges; they are dropped only after all older ones. Default: 8."`
	AllowTiny bool     `help:"Let the window be smaller than the smallest exchange."`
	Unmarked  bool     `help:"Leave out the mark that shows the model where something was dropped."`
}

// stableFlags configure a window that is trimmed rarely, so that prompt caches keep working.
type stableFlags struct {
	Low   string `placeholder:"N|P%" help:"When the limit is exceeded, trim to N tokens, or P % of the limit, and change nothing until it is exceeded again, so that the requests of a growing transcript start with the same bytes."`
	Cache bool   `help:"Also trim earlier when that pays off at the model's cache prices. Without --low, the low mark is 50%."`
	Cold  bool   `help:"The provider's cache has expired, as after a long pause: clear the results that will hardly be needed again, even if the transcript fits. Without --low, the low mark is 50%."`
}

// Help returns the detailed help of the command.
func (c *trimCmd) Help() string {
	return `For example:

    pare trim request.json                        fit the window of its model
    pare trim --max-tokens 50000 request.json -o small.json
    pare trim --in-place session.jsonl            shorten a session that is full
    pare trim --max-exchanges 20 --min-keep 6 --dry-run request.json
    pare trim --max-tokens 100000 --low 50% --archive removed.jsonl --in-place requests/

A transcript is repaired as by pare fix and, if it does not fit then, made smaller, only
as far as needed; one that fits, and has no fault, comes back byte for byte. Old results are cleared first, then huge ones
shortened, exchanges dropped, turns dropped. Pairs stay whole. The system prompt, the
first message of the user and the newest turn stay. --rules, --keep-recent, --config
or a pare.toml in this folder let the rules of pare prune go first; what they protect
stays. A limit on the command line replaces all limits of the configuration; any other
flag replaces its own key alone. --summarize puts a summary in the place of what is dropped.

The session file of an agent is shortened, too: Claude Code, Codex, pi and Gemini CLI get a
compaction of their own appended, and every line that was there stays; the list of Cline is
written anew. Without a limit, a session that is full gets half of the room that its model's
window has, or what --low says; one that is not full is left alone. With --in-place the
original becomes FILE.bak, and pare undo FILE restores it.

If what must be kept does not fit, the status is 3, the least limit that would do is
named, and nothing is written: no file, and no line of a batch on standard output,
whichever of its transcripts it is.`
}

func (c *trimCmd) run(env *environment) int {
	if err := c.checkFlags(); err != nil {
		return env.failUsage(err, "trim")
	}
	conf, used, status := c.load(env, c.JSON)
	if status != statusClean {
		return status
	}
	if err := c.applyTo(conf); err != nil {
		return env.failUsage(err, "trim")
	}
	policy, status := env.compile(conf, used)
	if status != statusClean {
		return status
	}
	if err := cmp.Or(c.changeFlags.applyTo(policy), c.countingFlags.checkModel(c.Model)); err != nil {
		return env.failUsage(err, "trim")
	}
	if used == "" && len(c.Rules) == 0 && c.KeepRecent == nil {
		policy.Rules = nil // rules run only if the user or the configuration selects them
	}
	policy.Model = c.Model
	fits := ""
	if c.MaxTokens == nil && policy.Window != nil && policy.Window.ModelTokens {
		fits = "it fits the window of its model; --max-tokens N makes it smaller"
	}
	policy.SkipTokenCounts = !c.DryRun && c.Receipt == "" // token counts are only shown in these outputs
	return c.changeFlags.run(env, task{
		command: "trim", allOrNothing: true, lines: &c.lineFlags, archive: archiveFile(conf), relaxations: listRelaxations(policy, conf), fitsNote: fits,
		plan:          c.MaxTokens.wrapPlanner(policy, checkLowMark(policy, c.coldPlanner(policy))),
		sessionRepair: newSessionRepair(policy), planSession: c.sessionPlanner(policy),
		countTokens: func(req *wire.Request) int { return c.countTokens(req, c.Model) },
	})
}

// coldPlanner returns a planner for policy. With --cold it plans as if the prompt cache had
// expired.
func (c *trimCmd) coldPlanner(policy *pare.Policy) planner {
	if !c.Cold {
		return newPlanner(policy)
	}
	return func(req *wire.Request) (*pare.Plan, error) {
		cold, w := *policy, *policy.Window
		w.Cold = []int{len(req.Transcript().Messages())}
		cold.Window = &w
		return newPlanner(&cold)(req)
	}
}

// sessionPlanner returns the planner for session files. Without a limit, a full session is
// shortened to half of the room in its window, so that the agent can continue for a while; other
// sessions stay as they are.
func (c *trimCmd) sessionPlanner(policy *pare.Policy) sessionPlanner {
	if policy.Window == nil || !policy.Window.ModelTokens {
		return planEachRequest(newPlanner(policy))
	}
	target := policy.Window.LowPercent
	if policy.Window.Low > 0 {
		target = max(policy.Window.Low, 100)
	}
	return func(thread *agentlog.Thread, s agentlog.Size) (*pare.Plan, error) {
		if limit, _ := s.Limits(); limit == 0 { // the model is not known: the planner returns the error
			return newPlanner(policy)(thread.Request)
		}
		return agentlog.RescueWith(thread, s, *policy, target)
	}
}

// listRelaxations returns the flags and settings that would let a window drop more messages.
func listRelaxations(policy *pare.Policy, conf *config.Config) (ways []string) {
	var pins []string
	for _, pin := range []struct {
		name string
		of   pare.Pin
	}{{"system", pare.PinSystem}, {"task", pare.PinTask}, {"newest", pare.PinNewest}} {
		if policy.Window.Unpin&pin.of == 0 {
			pins = append(pins, pin.name)
		}
	}
	if len(pins) > 0 {
		ways = append(ways, "--unpin "+strings.Join(pins, ","))
	}
	if policy.Window.MinKeep > 0 {
		ways = append(ways, "a smaller --min-keep")
	}
	runs := func(rule string) bool {
		return policy.Rules != nil && slices.ContainsFunc(policy.Rules.Rules(), func(r pare.Rule) bool { return r.Name == rule })
	}
	if runs("recency") {
		ways = append(ways, "a smaller --keep-recent")
	}
	if runs("protect") {
		ways = append(ways, "less in [pin]")
	}
	for _, e := range conf.Expressions {
		if e.Action == "protect" && runs(e.Name) {
			ways = append(ways, "the rule "+e.Name)
		}
	}
	if len(conf.Constraints) > 0 {
		ways = append(ways, "fewer constraints")
	}
	if !policy.Window.AllowTiny {
		ways = append(ways, "--allow-tiny")
	}
	return ways
}

// A tokenLimit is a number of tokens, or a percentage of the room in the model's window. nil means
// no limit.
type tokenLimit struct{ tokens, percent int }

// Decode parses the value of the flag.
func (l *tokenLimit) Decode(ctx *kong.DecodeContext) error {
	text, err := popValue(ctx)
	if err != nil {
		return err
	}
	number, share := strings.CutSuffix(strings.TrimSpace(text), "%")
	n, err := parseNumber(strings.TrimSpace(number))
	switch {
	case errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("%s is too large", text)
	case err != nil || share && (n < 1 || n > 100):
		return fmt.Errorf("expected a number of tokens such as 50000 or 50k, or a share such as 80%%, not %q", text)
	case share:
		l.percent = n
	default:
		l.tokens = n
	}
	return nil
}

// fixedTokens returns the number of tokens, or nil if the limit is a percentage or missing.
func (l *tokenLimit) fixedTokens() *int {
	if l == nil || l.percent > 0 {
		return nil
	}
	return &l.tokens
}

// configLimit returns the limit as the configuration expresses it.
func (l *tokenLimit) configLimit() config.Limit {
	switch {
	case l == nil:
		return 0
	case l.percent > 0:
		return config.ModelLimit
	}
	return config.Limit(l.tokens)
}

// wrapPlanner returns a planner that computes a percentage from the model of each request. It
// returns plan if the limit is not a percentage.
func (l *tokenLimit) wrapPlanner(policy *pare.Policy, plan planner) planner {
	if l == nil || l.percent == 0 {
		return plan
	}
	return func(req *wire.Request) (*pare.Plan, error) {
		room, err := findModelRoom(cmp.Or(policy.Model, req.Model()), req)
		if err != nil {
			return nil, err
		}
		part, win := *policy, *policy.Window
		win.Tokens, win.ModelTokens = max(room*l.percent/100, 1), false
		part.Window = &win
		if win.Low >= win.Tokens {
			return nil, usageError{fmt.Errorf("--low is %d: it must be less than the limit, %d tokens", win.Low, win.Tokens)}
		}
		return newPlanner(&part)(req)
	}
}

// checkLowMark returns a planner that rejects a low mark at or above the limit of the model.
func checkLowMark(policy *pare.Policy, plan planner) planner {
	return func(req *wire.Request) (*pare.Plan, error) {
		if policy.Window.ModelTokens && policy.Window.Low > 0 {
			limit, err := findModelRoom(cmp.Or(policy.Model, req.Model()), req)
			if err == nil && policy.Window.Low >= limit {
				return nil, usageError{fmt.Errorf("--low is %d: it must be less than the limit, %d tokens", policy.Window.Low, limit)}
			}
		}
		return plan(req)
	}
}

// archiveFile returns the file that keeps removed content, or "".
func archiveFile(conf *config.Config) string {
	if conf.Archive == nil {
		return ""
	}
	return conf.Archive.File
}

// checkFlags checks the flags that do not depend on the configuration.
func (c *trimCmd) checkFlags() error {
	return cmp.Or(
		checkPositive("--max-tokens", c.MaxTokens.fixedTokens()), checkPositive("--max-messages", c.MaxMessages),
		checkPositive("--max-exchanges", c.MaxExchanges), checkPositive("--max-turns", c.MaxTurns),
		checkNotNegative("--min-keep", valueOrZero(c.MinKeep)), checkNotNegative("--recent", valueOrZero(c.Recent)),
	)
}

// applyTo replaces settings of conf by the flags that are given. The error is wrong usage.
func (c *trimCmd) applyTo(conf *config.Config) error {
	var window config.Window
	if conf.Window != nil {
		window = *conf.Window
	}
	conf.Window = &window
	c.applyLimits(&window)
	if c.MinKeep != nil {
		window.MinKeep = *c.MinKeep
	}
	if c.Archive != "" {
		conf.Archive = &config.Archive{File: c.Archive}
	}
	switch {
	case c.Summarize && window.Tokens == 0 && window.Messages+window.Exchanges+window.Turns > 0:
		return hintedError{errors.New("--summarize needs a limit of tokens, to know how much room there is for a summary"), "give --max-tokens with it"}
	case !c.Summarize:
		conf.Compact = nil
	case conf.Compact == nil:
		conf.Compact = &config.Compaction{}
	}
	c.countingFlags.applyTo(conf)
	return cmp.Or(c.ruleFlags.applyTo(conf), c.keepFlags.applyTo(&window), c.stableFlags.applyTo(&window, c.MaxTokens == nil && c.hasLimit()))
}

// hasLimit reports whether a limit is given.
func (c *trimCmd) hasLimit() bool {
	return c.MaxTokens != nil || c.MaxMessages != nil || c.MaxExchanges != nil || c.MaxTurns != nil
}

// applyLimits replaces all limits of the configuration if a limit is given. It modifies window.
func (c *trimCmd) applyLimits(window *config.Window) {
	if !c.hasLimit() {
		return
	}
	window.Tokens, window.Messages, window.Exchanges, window.Turns = c.MaxTokens.configLimit(), valueOrZero(c.MaxMessages), valueOrZero(c.MaxExchanges), valueOrZero(c.MaxTurns)
	if c.MaxTokens == nil || c.MaxTokens.tokens > 0 && window.Low.Tokens >= c.MaxTokens.tokens {
		window.Low, window.Cache, window.Cold = config.Mark{}, false, false // these marks belong to the replaced limit
	}
}

// applyTo replaces settings of the window by the flags. It modifies window.
func (f *keepFlags) applyTo(window *config.Window) error {
	if f.Order != "" {
		window.Order = f.Order
	}
	if f.Recent != nil {
		window.Recent = *f.Recent
	}
	if len(f.Unpin) > 0 {
		window.Unpin = f.Unpin
	}
	window.AllowTiny, window.Unmarked = window.AllowTiny || f.AllowTiny, window.Unmarked || f.Unmarked
	if len(f.Priority) > 0 {
		ranks, err := parseRanks(f.Priority)
		if err != nil {
			return err
		}
		window.Priority = ranks
	}
	switch {
	case f.Order == "priority" && len(window.Priority) == 0:
		return hintedError{errors.New("--order priority needs the ranks of some tools"), "for example --priority 'Read*=-1' --priority Edit=5"}
	case window.Order != "priority" && len(f.Priority) > 0:
		return hintedError{errors.New("--priority is for another order"), "give --order priority with it"}
	case f.Order != "" && f.Order != "priority":
		window.Priority = nil // the priorities of the file belong to another order
	}
	return nil
}

// applyTo replaces settings of the window by the flags. It modifies window. lacksTokenLimit is true
// if only other limits are given.
func (f *stableFlags) applyTo(window *config.Window, tokenless bool) error {
	if f.Low == "" && !f.Cache && !f.Cold {
		return nil
	}
	switch {
	case tokenless:
		return hintedError{errors.New("--low, --cache and --cold need a limit of tokens"), "give --max-tokens with them"}
	case window.Order != "" && window.Order != "oldest":
		return fmt.Errorf("--low, --cache and --cold go from the oldest on; they cannot be used with --order %s", window.Order)
	}
	window.Cache, window.Cold = window.Cache || f.Cache, window.Cold || f.Cold
	if f.Low == "" {
		return nil
	}
	number, percent := strings.CutSuffix(strings.TrimSpace(f.Low), "%")
	n, err := strconv.Atoi(strings.TrimSpace(number))
	switch {
	case err != nil || n < 1 || percent && n > 99:
		return fmt.Errorf("--low is a number of tokens or, for example, 50%%, not %q", f.Low)
	case percent:
		window.Low = config.Mark{Percent: n}
	case window.Tokens > 0 && n >= int(window.Tokens):
		return fmt.Errorf("--low is %d: it must be less than the limit, %d tokens", n, window.Tokens)
	default:
		window.Low = config.Mark{Tokens: n}
	}
	return nil
}

// parseRanks parses flags in the form TOOL=N.
func parseRanks(flags []string) ([]config.Rank, error) {
	var all []config.Rank
	for _, f := range flags {
		i := strings.LastIndexByte(f, '=')
		n, err := strconv.Atoi(f[i+1:])
		if i < 1 || err != nil {
			return nil, hintedError{fmt.Errorf("--priority is TOOL=N, not %q", f), "for example --priority 'Read*=-1': the lowest go first"}
		}
		if _, err := path.Match(f[:i], ""); err != nil {
			return nil, fmt.Errorf("--priority %s: %q is no glob: %w", f, f[:i], err)
		}
		all = append(all, config.Rank{Tool: f[:i], Rank: n})
	}
	return all, nil
}
