package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/config"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

type trimCmd struct {
	MaxTokens    *int `placeholder:"N" help:"At most N tokens, of the whole request. Default, without any limit: what the model's window has room for beside the reply."`
	MaxMessages  *int `placeholder:"N" help:"At most N messages."`
	MaxExchanges *int `placeholder:"N" help:"The last N exchanges: calls with their results."`
	MaxTurns     *int `placeholder:"N" help:"At most N turns; a turn begins where a person speaks, and the first message of the user, which stays, is one."`
	MinKeep      int  `placeholder:"N" help:"Never cut into the last N messages: every byte of them stays."`
	keeping      `embed:""`
	stable       `embed:""`
	counting     `embed:""`
	Archive      string `placeholder:"FILE" help:"Keep what is taken out in FILE, a JSON line each; placeholders name the line. What the file holds already stays."`
	ruleset      `embed:""`
	changing     `embed:""`
}

// keeping is the flags that say what goes first, and what stays although it is old.
type keeping struct {
	Order     string   `enum:"oldest,middle,priority" default:"oldest" help:"What goes first: oldest (default), middle (the beginning and the end stay longest) or priority."`
	Priority  []string `sep:"none" placeholder:"TOOL=N" help:"With --order priority: the rank of a tool, a glob; the lowest go first, tools without one have 0. May be repeated, the first that matches counts."`
	Unpin     []string `enum:"system,task,newest" placeholder:"PIN" help:"Let go of what stays otherwise: system (what the system says), task (the first message of the user), newest (the last turn)."`
	Recent    int      `placeholder:"N" help:"The results of the last N exchanges are not cleared; they go with their exchanges, when all older ones are gone. Default: 8."`
	AllowTiny bool     `help:"Let the window be smaller than the smallest exchange."`
}

// stable is the flags of a window that is trimmed rarely.
type stable struct {
	Low   string `placeholder:"N|P%" help:"When the limit of tokens is passed, trim to N tokens, or P % of the limit, and leave the transcript alone until it is passed again: requests of a growing transcript begin with the same bytes."`
	Cache bool   `help:"Trim earlier, too, when that pays at the prices of the model's cache. Without --low, the low mark is 50%."`
}

// Help is the page's first paragraph.
func (c *trimCmd) Help() string {
	return `For example:

    pare trim request.json                        fit the window of its model
    pare trim --max-tokens 50000 request.json -o small.json
    pare trim --max-exchanges 20 --min-keep 6 --dry-run request.json
    pare trim --max-tokens 100000 --low 50% --archive removed.jsonl --in-place sessions/

A transcript is mended as by pare fix and, if it does not fit then, made smaller, only
as far as needed; one that fits, and has no fault, comes back byte for byte. Old results are cleared first, then huge ones
shortened, exchanges dropped, turns dropped. Pairs stay whole. The system prompt, the
first message of the user and the newest turn stay. --rules, --keep-recent, --config
or a pare.toml in this folder let the rules of pare prune go first; what they protect
stays.

If what must be kept does not fit, the status is 3, the least limit that would do is
named, and nothing is written: no file, and no line of a batch on standard output,
whichever of its transcripts it is.`
}

func (c *trimCmd) run(w *world) int {
	if err := c.check(); err != nil {
		return w.usage(err, "trim")
	}
	o, rules, status := c.configure(w)
	if status != statusClean {
		return status
	}
	win, err := c.window()
	if err != nil {
		return w.usage(err, "trim")
	}
	win.Rules = rules
	return c.changing.run(w, task{
		command: "trim", whole: true, archive: c.Archive,
		plan:   func(r *wire.Request) (*pare.Plan, error) { return c.plan(r, win, o) },
		tokens: func(r *wire.Request) int { return c.weigh(r, c.Model) },
	})
}

// check is wrong usage that kong could not see.
func (c *trimCmd) check() error {
	return cmp.Or(
		positive("--max-tokens", c.MaxTokens), positive("--max-messages", c.MaxMessages),
		positive("--max-exchanges", c.MaxExchanges), positive("--max-turns", c.MaxTurns),
		notNegative("--min-keep", c.MinKeep), c.keeping.check(), c.checkStable(), c.counting.check(c.Model),
	)
}

func (k *keeping) check() error {
	switch {
	case k.Order == "priority" && len(k.Priority) == 0:
		return hinted{errors.New("--order priority needs the ranks of some tools"), "for example --priority 'Read*=-1' --priority Edit=5"}
	case k.Order != "priority" && len(k.Priority) > 0:
		return hinted{errors.New("--priority is for another order"), "give --order priority with it"}
	}
	return notNegative("--recent", k.Recent)
}

func (c *trimCmd) checkStable() error {
	if c.Cache && c.Low == "" {
		c.Low = "50%"
	}
	switch {
	case c.Low == "":
		return nil
	case c.MaxTokens == nil && (c.MaxMessages != nil || c.MaxExchanges != nil || c.MaxTurns != nil):
		return hinted{errors.New("--low and --cache are about a limit of tokens, and there is none"), "give --max-tokens with them"}
	case c.Order != "oldest":
		return fmt.Errorf("--low and --cache go from the oldest on; they cannot be used with --order %s", c.Order)
	}
	limit := math.MaxInt / 100
	if c.MaxTokens != nil {
		limit = *c.MaxTokens
	}
	_, err := c.mark(limit)
	return err
}

// mark is the low mark of a limit. Its error is wrong usage.
func (s *stable) mark(limit int) (int, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(s.Low), "%")
	n, err := strconv.Atoi(strings.TrimSpace(number))
	switch {
	case err != nil || n < 1 || percent && n > 99:
		return 0, fmt.Errorf("--low is a number of tokens or, for example, 50%%, not %q", s.Low)
	case percent:
		n = max(limit*n/100, 1)
	}
	if n >= limit {
		return 0, fmt.Errorf("--low is %d: it must be less than the limit, %d tokens", n, limit)
	}
	return n, nil
}

// configure reads the rules, if any are asked for. A status other than clean has been
// explained.
func (c *trimCmd) configure(w *world) (o pare.Options, rules *pare.Pipeline, status int) {
	conf, used, err := w.loadConfig(c.Config)
	if err != nil {
		return o, nil, w.misconfigured(used, err)
	}
	// A window has its own idea of what is recent; what the file says counts, but not the
	// default of a rule.
	silent := conf.KeepRecent == nil && conf.Standard["recency"] == nil && c.KeepRecent == nil
	if err := c.ruleset.override(conf); err != nil {
		return o, nil, w.usage(err, "trim")
	}
	if off := false; silent && len(c.Rules) == 0 {
		if conf.Standard == nil {
			conf.Standard = make(config.Tables)
		}
		conf.Standard["recency"] = &config.Table{Switch: config.Switch{Enabled: &off}}
	}
	o = conf.Options()
	if err := c.changing.override(&o); err != nil {
		return o, nil, w.usage(err, "trim")
	}
	if used == "" && len(c.Rules) == 0 && c.KeepRecent == nil {
		return o, nil, statusClean
	}
	if rules, err = conf.Pipeline(); err != nil {
		return o, nil, w.misconfigured(used, err)
	}
	if used != "" && c.Config == "" && !c.JSON {
		fmt.Fprintf(w.stderr, "pare: configured by %s\n", used)
	}
	return o, rules, statusClean
}

// window is what the flags say about every transcript.
func (c *trimCmd) window() (win pare.Window, err error) {
	for _, f := range []struct {
		limit *int
		flag  *int
	}{{&win.Tokens, c.MaxTokens}, {&win.Messages, c.MaxMessages}, {&win.Exchanges, c.MaxExchanges}, {&win.Turns, c.MaxTurns}} {
		if f.flag != nil {
			*f.limit = *f.flag
		}
	}
	win.MinKeep, win.Recent, win.AllowTiny, win.Archive = c.MinKeep, c.Recent, c.AllowTiny, c.Archive != ""
	win.Order = map[string]pare.Order{"oldest": pare.OldestFirst, "middle": pare.MiddleOut, "priority": pare.ByPriority}[c.Order]
	for _, u := range c.Unpin {
		win.Unpin |= map[string]pare.Pin{"system": pare.PinSystem, "task": pare.PinTask, "newest": pare.PinNewest}[u]
	}
	ranks, err := parseRanks(c.Priority)
	win.Priority = ranks.of
	return win, err
}

// plan fits one request.
func (c *trimCmd) plan(r *wire.Request, win pare.Window, o pare.Options) (*pare.Plan, error) {
	model := cmp.Or(c.Model, r.Model())
	var err error
	o.Uncounted = !c.DryRun && c.Receipt == "" // nobody will read it
	if o.Counter, err = c.counter(model); err != nil {
		return nil, err
	}
	if win.Tokens+win.Messages+win.Exchanges+win.Turns == 0 {
		if win.Tokens, err = windowOf(model, r); err != nil {
			return nil, err
		}
	}
	if c.Low != "" {
		if win.Low, err = c.mark(win.Tokens); err != nil {
			return nil, misuse{err}
		}
	}
	if c.Cache {
		win.Cache = tokens.CacheOf(model)
	}
	return pare.Trim(r, win, o)
}

// ranks are the priorities of tools, the first that matches counts.
type ranks []rank

type rank struct {
	glob string
	n    int
}

func parseRanks(flags []string) (ranks, error) {
	var all ranks
	for _, f := range flags {
		i := strings.LastIndexByte(f, '=')
		n, err := strconv.Atoi(f[i+1:])
		if i < 1 || err != nil {
			return nil, hinted{fmt.Errorf("--priority is TOOL=N, not %q", f), "for example --priority 'Read*=-1': the lowest go first"}
		}
		glob := flatName(f[:i])
		if _, err := path.Match(glob, ""); err != nil {
			return nil, fmt.Errorf("--priority %s: %q is no glob: %w", f, f[:i], err)
		}
		all = append(all, rank{glob, n})
	}
	return all, nil
}

// flatName makes a * stand for a slash, too: names of tools are no paths.
func flatName(s string) string { return strings.ReplaceAll(strings.ToLower(s), "/", ":") }

// of is the highest rank among the tools of an atom.
func (rs ranks) of(r *wire.Request, a transcript.AtomID) int {
	best, found := 0, false
	for _, b := range r.Transcript().Atoms()[a].Blocks {
		tool := r.Transcript().Block(b).Tool
		if tool == "" {
			continue
		}
		if n := rs.rank(tool); !found || n > best {
			best, found = n, true
		}
	}
	return best
}

func (rs ranks) rank(tool string) int {
	for _, k := range rs {
		if ok, _ := path.Match(k.glob, flatName(tool)); ok {
			return k.n
		}
	}
	return 0
}
