package main

import (
	"errors"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/pare-llm/pare/cmd/internal/agentconf"
	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/cmd/internal/serve"
	"github.com/pare-llm/pare/proxy"
)

// newSurroundings returns the variables, folders and files that decide which hosts an agent uses.
func (env *environment) newSurroundings() (agentconf.Surroundings, error) {
	folder, err := os.Getwd()
	if err != nil {
		return agentconf.Surroundings{}, err
	}
	home := env.getenv("HOME")
	if home == "" {
		home, err = os.UserHomeDir()
	}
	return agentconf.Surroundings{Getenv: env.getenv, Folder: folder, Home: home, IsTrusted: env.isTrusted, IsDead: isDeadAddress}, err
}

// findHosts returns the hosts that the agent is configured with. If the status is not statusClean,
// it has printed an error.
func (c *runCmd) findHosts(env *environment, command agentconf.Command) (*agentconf.Launch, int) {
	s, err := env.newSurroundings()
	if err != nil {
		return nil, env.fail(err.Error(), "set HOME to your home folder")
	}
	var given []string
	for _, flag := range c.Upstream {
		name, _, _ := strings.Cut(flag, "=")
		given = append(given, name)
	}
	launch, err := agentconf.Read(s, command, given)
	var untrusted *agentconf.UntrustedError
	var gone *agentconf.DeadError
	switch {
	case err == nil:
		return launch, statusClean
	case errors.As(err, &untrusted):
		return nil, env.fail(err.Error(), "read the file; to accept its current content: "+screen.NewCommand("pare", "trust").Files(untrusted.Path).String())
	case errors.As(err, &gone):
		return nil, env.fail(err.Error(), "start the server at this address, or remove "+gone.Source+"; Pare sends the requests to no other host")
	}
	return nil, env.fail(err.Error(), "correct the file: Pare forwards requests only to the hosts that the agent is configured with")
}

// addRoutes adds the routes of an agent to the upstreams of a server and removes the vendors'
// default upstreams. It modifies o.
func addRoutes(options *serve.Options, routes []agentconf.Route) error {
	options.OnlyUpstreams = true
	for _, r := range routes {
		u, err := proxy.ParseUpstream(r.Upstream + "=" + r.URL)
		if err != nil {
			return err
		}
		u.Private = !r.IsVendor // a vendor's host name must not resolve to a private network
		options.Upstreams[r.Upstream] = u
	}
	return nil
}

// setVariables returns the environment env with new values for some variables.
func setVariables(env []string, set []agentconf.Variable) (all []string) {
	replaced := map[string]bool{}
	for _, v := range set {
		replaced[v.Name] = true
		all = append(all, v.Name+"="+v.Value)
	}
	for _, line := range env {
		if name, _, _ := strings.Cut(line, "="); !replaced[name] {
			all = append(all, line)
		}
	}
	return all
}

// isDeadAddress reports whether an address is on this machine and nothing listens there.
func isDeadAddress(address string) bool {
	u, err := url.Parse(address)
	if err != nil || !isLoopback(u.Hostname()) {
		return false
	}
	port := u.Port()
	if port == "" {
		port = u.Scheme
	}
	c, err := net.DialTimeout("tcp", net.JoinHostPort(u.Hostname(), port), time.Second)
	if err == nil {
		c.Close()
	}
	return err != nil
}
