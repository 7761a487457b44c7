package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/cmd/internal/serve"
	"github.com/pare-llm/pare/cmd/internal/source"
	"github.com/pare-llm/pare/internal/config"
	"github.com/pare-llm/pare/proxy"
)

type serveCmd struct {
	Listen      string        `default:"127.0.0.1:8811" placeholder:"HOST:PORT" help:"Where to listen: HOST:PORT, or a port of this machine; 0 picks a free one. Default: 127.0.0.1:8811."`
	Upstream    []string      `sep:"none" placeholder:"NAME=URL" help:"Where requests go: anthropic, openai, gemini, bedrock, or a name of your own, reached at /u/NAME/. May be repeated. Default: the vendors' own."`
	Store       string        `placeholder:"DSN" env:"PARE_STORE" help:"The store of sessions: a file, or postgres://… . Default: pare.db in the user's data folder."`
	NoStore     bool          `help:"Keep no sessions."`
	Compact     *int          `name:"compact-above" placeholder:"N" help:"Summarize sessions with more than N tokens beyond their last summary, in the background. Default: never."`
	Resting     *int          `name:"compact-resting" placeholder:"N" help:"Summarize sessions with more than N tokens beyond their last summary, too, that rest until the provider's cache is about to expire. Default: never."`
	Prune       bool          `help:"Let the rules of the configuration remove what is useless from every request, not only from those that do not fit. While the provider's cache is warm that costs more than it saves: see --cold."`
	Cold        bool          `help:"Save money where that is free: shorten results as they arrive, and clear what will hardly be needed again whenever the provider's cache is cold. Default: what the configuration says."`
	Remember    bool          `help:"Keep the conversations that pass as sessions of the store, with their replies; pare session list shows them. Keys and headers are never kept."`
	MaxBody     string        `placeholder:"SIZE" help:"The largest request to inspect; larger ones pass through unchanged. Default: 64MB."`
	TokenFile   string        `type:"path" placeholder:"FILE" help:"A file of tokens, one per line; clients must send one as Pare-Token. PARE_TOKENS adds more. Required if other machines can reach the address."`
	Host        []string      `placeholder:"NAME" help:"Another host name under which Pare's own pages may be opened. May be repeated."`
	Grace       time.Duration `default:"30s" placeholder:"TIME" help:"How long requests under way may take after Ctrl-C or SIGTERM; a second one ends them at once. Default: 30s."`
	configFlags `embed:""`

	requiresToken bool // clients must send a token
}

func (*serveCmd) listensFirst() {}

// Help returns the detailed help of the command.
func (c *serveCmd) Help() string {
	return `For example:

    pare serve
    pare serve --upstream deepseek=https://api.deepseek.com

Point a client at it: ANTHROPIC_BASE_URL=http://127.0.0.1:8811, or
OPENAI_BASE_URL=http://127.0.0.1:8811/v1. Requests go on to the vendors with their own
keys. A history that the provider would refuse is repaired on the way, one that is too
large is made to fit; everything else passes through unchanged. Headers of the reply say
what was done, and the live page, whose address is printed, shows it. SIGHUP reads the
configuration again.`
}

// serverOptions returns the options of the server and the configuration files that were used. If
// the status is not statusClean, it has printed an error; command is the command whose help it
// names.
func (c *serveCmd) serverOptions(env *environment, command string) (options serve.Options, used string, status int) {
	options = serve.Options{Upstreams: make(map[string]proxy.Upstream), Version: version(), Log: env.log, Prune: c.Prune, Remember: c.Remember, Hosts: c.Host, Secret: serve.Secrets(env.getenv)}
	for _, text := range c.Upstream {
		u, err := proxy.ParseUpstream(text)
		if err != nil {
			return options, "", env.failUsage(err, command)
		}
		if _, twice := options.Upstreams[u.Name]; twice {
			return options, "", env.failUsage(fmt.Errorf("--upstream %s is given twice: requests to it could go to one only", u.Name), command)
		}
		options.Upstreams[u.Name] = u
	}
	if err := cmp.Or(c.parseMaxBody(&options), checkPositive("--compact-above", c.Compact), checkPositive("--compact-resting", c.Resting)); err != nil {
		return options, "", env.failUsage(err, command)
	}
	if c.Compact != nil {
		options.CompactAbove = int64(*c.Compact)
	}
	if c.NoStore && c.Store != env.getenv("PARE_STORE") { // --no-store overrides the environment
		return options, "", env.failUsage(errors.New("--store and --no-store contradict each other"), command)
	}
	if c.NoStore && c.Remember {
		return options, "", env.failUsage(errors.New("--remember and --no-store contradict each other"), command)
	}
	if used, status = c.configure(env, &options); status != statusClean {
		return options, used, status
	}
	var err error
	if options.Tokens, err = c.readTokens(env); err != nil {
		return options, used, env.failUsage(err, command)
	}
	return options, used, statusClean
}

func (c *serveCmd) run(env *environment) int {
	options, used, status := c.serverOptions(env, "serve")
	if status != statusClean {
		return status
	}
	c.requiresToken = len(options.Tokens) > 0
	var err error
	if options.Traces, err = serve.NewTraces(env.getenv, options.Log); err != nil {
		return env.failUsage(err, "serve")
	}
	if options.Traces != nil {
		defer options.Traces.Close()
	}
	note, err := c.openStore(env, &options)
	if err != nil {
		return env.fail(err.Error(), "name another one with --store, or give --no-store")
	}
	if options.Store != nil {
		defer options.Store.Close()
	}
	upkeep, err := c.startCompaction(options)
	if err != nil {
		return env.fail(err.Error(), "omit --compact-above and --compact-resting, or name a store with --store")
	}
	defer upkeep()
	listener, err := serve.Listen(normalizeAddress(c.Listen), env.getenv)
	if err != nil {
		return env.fail(err.Error(), listenHint(err))
	}
	if !serve.Local(listener.Addr()) && len(options.Tokens) == 0 {
		listener.Close()
		return env.fail("other machines can reach "+listener.Addr().String()+", and no token is required",
			"listen on 127.0.0.1, or give --token-file FILE or PARE_TOKENS")
	}
	// From here on, signals shut the server down gracefully.
	ctx, cut, done := env.notifyShutdown()
	defer done()
	serve.Steady(env.getenv, env.log)
	s := serve.New(options)
	env.printListening(listener.Addr())
	if serve.Local(listener.Addr()) {
		printExports(env, listener.Addr())
	}
	if isTerminal(env.stderr) || !c.requiresToken { // the address contains a token that is valid for this run
		screen.Fprintf(env.stderr, "pare: the live page is http://%s%s\n", listener.Addr().String(), s.Page())
	}
	if used != "" {
		screen.Fprintf(env.stderr, "pare: configured by %s\n", used)
	}
	if note != "" {
		screen.Fprintf(env.stderr, "pare: %s\n", note)
	}
	if s.Remembers() {
		screen.Fprintf(env.stderr, "pare: conversations are remembered, with their replies: pare session list shows them\n")
	}
	return c.serve(ctx, cut, env, s, listener)
}

// printExports prints the variables that point clients at the server.
func printExports(env *environment, a net.Addr) {
	for _, c := range [][2]string{{"ANTHROPIC_BASE_URL", ""}, {"OPENAI_BASE_URL", "/v1"}, {"GOOGLE_GEMINI_BASE_URL", ""}} {
		screen.Fprintf(env.stderr, "      export %s=http://%s%s\n", c[0], a.String(), c[1])
	}
}

// serve serves until a signal arrives, and reloads the configuration on SIGHUP.
func (c *serveCmd) serve(ctx context.Context, cut <-chan struct{}, env *environment, s *serve.Server, listener net.Listener) int {
	again := make(chan os.Signal, 1)
	signal.Notify(again, syscall.SIGHUP)
	defer signal.Stop(again)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-again:
				c.reloadConfig(env, s)
			}
		}
	}()
	if err := s.Serve(ctx, listener, c.Grace, cut); err != nil {
		return env.fail(err.Error(), "")
	}
	return statusClean
}

// reloadConfig reads the configuration and the tokens again. After an error the old ones stay.
func (c *serveCmd) reloadConfig(env *environment, s *serve.Server) {
	var options serve.Options
	const stays = "the configuration and the tokens stay as they were"
	if _, status := c.configure(env, &options); status != statusClean {
		screen.Fprintf(env.stderr, "pare: %s\n", stays) // configure has printed the reason
		return
	}
	tokens, err := c.readTokens(env)
	if err == nil && len(tokens) == 0 && c.requiresToken {
		err = errors.New("no token is left")
	}
	if err != nil {
		env.fail(err.Error(), stays)
		return
	}
	s.Set(options.Settings)
	s.SetTokens(tokens)
	screen.Fprintf(env.stderr, "pare: the configuration was read again\n")
}

// parseMaxBody sets the limit of --max-body in options.
func (c *serveCmd) parseMaxBody(options *serve.Options) (err error) {
	if c.MaxBody == "" {
		return nil
	}
	if options.MaxBody, err = source.ParseSize(c.MaxBody); err != nil {
		return fmt.Errorf("--max-body: %w", err)
	}
	return nil
}

// configure reads the configuration into options, and returns the files that were used. If the
// status is not statusClean, it has printed an error.
func (c *serveCmd) configure(env *environment, options *serve.Options) (used string, status int) {
	conf, used, status := c.load(env, true)
	if status != statusClean {
		return used, status
	}
	if c.Cold {
		conf = conf.Clone()
		conf.CutWhenFree(config.Mark{Percent: proxy.Default().Window.LowPercent})
	}
	if c.Prune {
		env.log.Warn("--prune changes what comes before what the provider has cached, which costs more than it saves: --cold cuts when that is free")
	}
	var err error
	if options.Settings, err = serve.Load(conf, env.getenv); err != nil {
		return used, env.failConfig(used, err)
	}
	return used, statusClean
}

// openStore opens the store. If the default store cannot be opened, the server runs without one and
// a note explains it.
func (c *serveCmd) openStore(env *environment, options *serve.Options) (note string, err error) {
	if c.NoStore {
		return "", nil
	}
	dsn := c.Store
	if dsn == "" {
		folder, err := dataFolder(env)
		if err != nil {
			return "no sessions are kept: " + err.Error(), nil
		}
		dsn = filepath.Join(folder, "pare.db")
	}
	options.Store, err = serve.OpenStore(context.Background(), dsn)
	if err != nil && c.Store == "" {
		return "no sessions are kept: " + err.Error(), nil
	}
	return "", err
}

// readTokens returns the tokens of clients from --token-file and PARE_TOKENS.
func (c *serveCmd) readTokens(env *environment) ([]string, error) {
	text := strings.ReplaceAll(env.getenv("PARE_TOKENS"), ",", "\n")
	if c.TokenFile != "" {
		raw, err := os.ReadFile(c.TokenFile)
		if err != nil {
			return nil, err
		}
		text += "\n" + string(raw)
	}
	var all []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		secret := line
		if _, rest, named := strings.Cut(line, ":"); named {
			secret = rest // the name is not part of the secret
		}
		if len(secret) < minTokenLength {
			return nil, fmt.Errorf("a token of %s is too easily guessed: it needs %d at least", plural(len(secret), "character"), minTokenLength)
		}
		all = append(all, line)
	}
	if c.TokenFile != "" && len(all) == 0 {
		return nil, fmt.Errorf("%s has no token in it", c.TokenFile)
	}
	return all, nil
}

// minTokenLength is the length below which a token is too easy to guess.
const minTokenLength = 16
