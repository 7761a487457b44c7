package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// hiredKinds and hiredDamages are the defaults for clients under pare run.
var (
	pareRunKinds   = []string{"parallel calls", "killed, resumed"}
	pareRunDamages = []string{"result lost", "call lost", "torn in the result", "output lost", "call still running", "part of a call lost", "states lost", "calls lost"}
)

// forPareRun returns the client configured for the API of a vendor, which pare run supports.
// Elsewhere the campaign gives it a provider with the stand-in's address in its files.
func (c *client) forPareRun() *client {
	h := *c
	h.env = slices.Clone(c.env)
	atAnthropic := func(begin, resumed func(prompt, model string) []string) {
		h.dialect, h.say, h.small, h.models = wire.Anthropic, sayAnthropic, "", [2]string{"claude-sonnet-4-5", "claude-sonnet-4-5"}
		h.overflow = claudeCode("2").overflow
		h.env = append(h.env, "ANTHROPIC_API_KEY=sk-ant-none", "ANTHROPIC_BASE_URL=URL")
		h.begin = begin
		h.resumed = func(prompt, model, _ string) []string { return resumed(prompt, model) }
	}
	switch name, _, _ := strings.Cut(c.folder, "@"); name {
	case "codex":
		h.env = append(h.env, "OPENAI_BASE_URL=URL/v1")
		h.setup = func(_, url string) map[string]string {
			return map[string]string{
				".codex/config.toml": fmt.Sprintf("openai_base_url = \"%s/v1\"\napproval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"\n", url),
				".codex/auth.json":   `{"OPENAI_API_KEY":"none"}`,
			}
		}
	case "pi":
		modules, _, _ := strings.Cut(c.argv[1], "/@") // pare run recognizes it by name
		h.argv = []string{filepath.Join(modules, ".bin", "pi")}
		h.env = append(h.env, "PATH="+filepath.Dir(c.argv[0])+":"+os.Getenv("PATH"))
		atAnthropic(func(prompt, model string) []string {
			return []string{"--provider", "anthropic", "--model", model, "-p", prompt}
		}, func(prompt, model string) []string {
			return []string{"--provider", "anthropic", "--model", model, "--continue", "-p", prompt}
		})
		h.setup = func(_, url string) map[string]string {
			return map[string]string{".pi/agent/models.json": fmt.Sprintf(`{"providers":{"anthropic":{"baseUrl":%q}}}`, url)}
		}
	case "opencode", "kilo":
		atAnthropic(func(prompt, model string) []string {
			return []string{"run", "--model", "anthropic/" + model, prompt}
		}, func(prompt, model string) []string {
			return []string{"run", "--model", "anthropic/" + model, "--continue", prompt}
		})
		h.setup = func(_, url string) map[string]string {
			return map[string]string{".config/" + name + "/" + name + ".json": fmt.Sprintf(`{"autoupdate":false,"share":"disabled","provider":{"anthropic":{"options":{"baseURL":"%s/v1"}}}}`, url)}
		}
	case "continue":
		h.env = append(h.env, "OPENAI_BASE_URL=URL/v1")
		h.setup = func(home, _ string) map[string]string { return c.setup(home, "${{ secrets.OPENAI_BASE_URL }}") }
	}
	return &h
}

// rows returns the outcomes of sessions after a repair, or under pare run.
func (c *campaign) rows(run bool, chosen []kind, session, harm string) []row {
	if !run {
		return c.run(chosen)
	}
	if session == "" {
		chosen = pick(pareRunKinds...)
	}
	if harm == "" {
		c.damages = slices.DeleteFunc(c.damages, func(d damage) bool { return !slices.Contains(pareRunDamages, d.name) })
	}
	return c.runUnderPare(chosen)
}

// kilo returns a variant of opencode with other names. It is used for --run only.
func kilo() *client {
	c := opencodeSQL()
	c.name, c.folder, c.program = "Kilo 7.7.9", "kilo@7.7.9", []string{"node_modules/@kilocode/cli-linux-*/bin/kilo"}
	c.sessions = ".local/share/kilo/kilo.db"
	c.env = slices.Clone(c.env)
	for i, e := range c.env {
		c.env[i] = strings.Replace(e, "OPENCODE_", "KILO_", 1)
	}
	c.env = append(c.env, "KILO_DISABLE_SHARE=1", "KILO_DISABLE_SESSION_INGEST=1")
	return c
}

// runUnderPare lets the client continue damaged and overlong sessions, by itself and under pare run.
// It kills Pare in the middle and continues again, both ways.
func (c *campaign) runUnderPare(all []kind) (rows []row) {
	fmt.Printf("\n## %s\n\n", c.name)
	add := func(r row) {
		fmt.Print(r)
		rows = append(rows, r)
	}
	for _, k := range all {
		held, err := c.hold(k)
		if err != nil {
			fmt.Fprintf(os.Stderr, "campaign: %s: not held: %s\n", k.name, oneLine(err.Error()))
			add(row{session: k.name, damage: none, before: "not held", after: "not held"})
			continue
		}
		whole := c.resume(held, nil)
		for _, d := range append([]damage{{name: none}}, c.damages...) {
			hit := func(dir string) bool { return d.hit == nil || d.hit(c, dir) }
			before, after := c.resumeBothWays(held, hit)
			if before == nil {
				continue
			}
			r := row{k.name, d.name, before.verdict(newExpectation(whole, before)), after.pareRunVerdict(sends(whole, before))}
			if before.body == nil && after.body == nil {
				r.after = clean + " nothing" // requests that a client does not send cannot be repaired
			}
			add(r)
		}
		add(c.tooLong(held, whole, k))
		c.killPare(held, whole, k, add)
		c.keepFolder(held.dir, k.name, "held", false)
	}
	return rows
}

// sends returns the request of the client by itself: under pare run the same must arrive, in
// that order and clean.
func sends(whole, before *resumption) expectation {
	w := expectation{texts: intersect(before.marks, whole.marks), times: whole.times}
	w.pairs = intersect(whole.pairs, before.pairs)
	return w
}

// resumeBothWays continues a session without Pare and under pare run.
func (c *campaign) resumeBothWays(held seat, hit func(dir string) bool) (before, after *resumption) {
	if before = c.resume(held, hit); before == nil {
		return nil, nil
	}
	c.through = true
	defer func() { c.through = false }()
	return before, c.resume(held, hit)
}

// pareRunVerdict is that of a client under pare run, which has to say that it was there.
func (r *resumption) pareRunVerdict(w expectation) string {
	last := lastLine(r.out)
	switch {
	case !strings.HasPrefix(last, "pare: ") || strings.Contains(last, "no request"):
		return "past Pare: " + oneLine(last)
	case r.status != nil:
		return fmt.Sprintf("%v: %s", r.status, oneLine(r.out))
	}
	return r.verdict(w)
}

func lastLine(out string) string {
	out = strings.TrimSpace(out)
	return out[strings.LastIndexByte(out, '\n')+1:]
}

// tooLong makes the session longer than the window of its model.
func (c *campaign) tooLong(held seat, whole *resumption, k kind) row {
	m, _ := tokens.Lookup(c.models[0])
	c.window = m.Window
	defer func() { c.window = 0 }()
	pad, texts := c.padding(k, whole, m.Window)
	before, after := c.resumeBothWays(held, func(string) bool { return pad != "" && c.lengthen(held, pad, texts) })
	r := row{session: k.name, damage: overfull}
	if before == nil {
		return r
	}
	r.before, r.after = c.fitsWindow(before), c.fitsWindow(after)
	if v := after.pareRunVerdict(expectation{}); !strings.HasPrefix(v, clean) {
		r.after = v
	}
	return r
}

// fitsWindow returns whether the last request fits.
func (c *campaign) fitsWindow(r *resumption) string {
	switch sent, window := c.weigh(r); {
	case r.body == nil:
		return "nothing"
	case sent > window:
		return fmt.Sprintf("full: %d of %d tokens", sent, window)
	default:
		return fmt.Sprintf("%s %d of %d tokens", clean, sent, window)
	}
}

// killPare kills Pare while the model replies and starts the client again: under pare run, then
// without it. The client's setup must be unchanged, and its exit status that without Pare.
func (c *campaign) killPare(held seat, whole *resumption, k kind, add func(row)) {
	held.restore()
	want := newExpectation(whole, whole)
	before := c.continueSession(held, "prompt 89: slow", true, bereft)
	after := c.continueSession(held, "prompt 90: thanks", true, ends)
	killed := "asked"
	if before.body == nil {
		killed = "not asked"
	}
	add(row{k.name, "Pare killed, started with it", killed, after.pareRunVerdict(want)})
	after = c.continueSession(held, "prompt 90: thanks", false, ends)
	alone := after.verdict(want)
	if alone == whole.verdict(want) && !strings.HasPrefix(alone, clean) {
		alone = clean + " as ever: " + alone // also for an undamaged session
	}
	add(row{k.name, "Pare killed, started without it", killed, cmp.Or(c.leftovers(held), alone)})
	var status [2]string
	for i := range status {
		c.through = i == 1
		api, err := newStandIn(c.client, held.cwd)
		if err != nil {
			fail(err)
		}
		_, err = c.start(held, api, []string{"--no-such-flag-of-this-client"}, ends)
		api.server.Close()
		if status[i] = "0"; err != nil {
			var e *exec.ExitError
			if status[i] = err.Error(); errors.As(err, &e) {
				status[i] = fmt.Sprint(e.ExitCode())
			}
		}
	}
	c.through = false
	if status[0] == status[1] {
		status[1] = clean + " " + status[1]
	}
	add(row{k.name, "status of a mistake", status[0], status[1]})
}

// leftovers describes changes of the setup and files that remain, or returns "".
func (c *campaign) leftovers(s seat) string {
	if folders, _ := filepath.Glob(filepath.Join(s.dir, "pare-run-*")); len(folders) > 1 {
		return fmt.Sprintf("left behind: %d folders", len(folders))
	}
	if c.setup == nil {
		return ""
	}
	for name := range c.setup(s.home(), c.url) {
		was, _ := os.ReadFile(filepath.Join(s.dir, "held", name)) // written by the client itself
		now, _ := os.ReadFile(filepath.Join(s.home(), name))
		for _, at := range addresses.FindAll(now, -1) {
			if !strings.HasSuffix(c.url, string(at)) {
				return "changed: " + name + " has " + string(at)
			}
		}
		if !bytes.Equal(addresses.ReplaceAll(was, nil), addresses.ReplaceAll(now, nil)) {
			return "changed: " + name
		}
	}
	return ""
}

// addresses matches the addresses of stand-ins and proxies.
var addresses = regexp.MustCompile(`127\.0\.0\.1:\d+`)
