package agentconf

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Surroundings is everything outside of the agent that decides which hosts it uses.
type Surroundings struct {
	Getenv func(name string) string
	Folder string // in which the agent starts
	Home   string
	// IsTrusted reports whether the user has accepted this content of a file of the project.
	IsTrusted func(path string, content []byte) bool
	// IsDead reports whether nothing listens at a base URL.
	IsDead func(baseURL string) bool
}

// A Command is an agent with its arguments.
type Command struct {
	Name string // of the program, without its folder
	Args []string
}

// A Route sends the requests for one provider to the host that the agent is configured with.
type Route struct {
	Upstream string // the name in the path of the proxy: /u/NAME
	URL      string
	IsVendor bool // it is the default host of a vendor, not one that is configured
}

// A Launch is an agent with its routes. The zero value has none.
type Launch struct {
	Routes []Route
	// Notes are sentences about providers that the agent reaches by itself.
	Notes []string

	command Command
	parts   []part
	getenv  func(string) string
	bedrock bool // requests to Bedrock have an upstream on the command line
}

// An Override points an agent at the proxy.
type Override struct {
	Env   []Variable
	Args  []string // all arguments of the agent
	Files []File   // in the folder that was given; they must exist while the agent runs
}

// A Variable of the environment of the agent.
type Variable struct{ Name, Value string }

// A File is a file that an agent needs to find the proxy.
type File struct{ Path, Text string }

// An UntrustedError is returned for a file of the project that names a host and that the user
// has not accepted.
type UntrustedError struct{ Agent, Path, URL string }

func (e *UntrustedError) Error() string {
	return fmt.Sprintf("%s sends the requests of %s to %s, and the file is not trusted", e.Path, e.Agent, e.URL)
}

// A DeadError is returned for a base URL at which nothing listens.
type DeadError struct{ Source, URL string }

func (e *DeadError) Error() string {
	return fmt.Sprintf("%s is %s, and nothing listens there", e.Source, e.URL)
}

// An endpoint is one provider of an agent and the base URL that the agent uses for it.
type endpoint struct {
	provider string // as the agent names it
	upstream string // the name of the route
	base     setting
	// version is the end of the base URL that the agent expects after the host of the vendor.
	version string
	// related are variables by which other programs choose the host of the same vendor.
	related []string
	// alone is the reason why the agent must reach this provider by itself.
	alone string
}

// A part is one agent, or one program that the command may start, with its endpoints.
type part struct {
	agent *agent
	reading
	bases map[string]string // by provider: the path at the proxy, or "" if it is left alone
}

// Read finds the routes of a command. Upstreams in given are configured on the command line and
// replace the hosts that the agent is configured with. The error is an [*UntrustedError], a
// [*DeadError] or an error that names the file that cannot be read.
func Read(s Surroundings, c Command, given []string) (*Launch, error) {
	l := &Launch{command: c, getenv: s.Getenv, bedrock: slices.Contains(given, "bedrock")}
	agents, named := agentsFor(c.Name)
	for _, a := range agents {
		r := &reader{Surroundings: s, command: c, given: given}
		p := part{agent: a, reading: a.read(r), bases: map[string]string{}}
		if r.err != nil && named {
			return nil, r.err
		}
		if r.err != nil {
			l.note("%s is left alone: %v", a.title, r.err)
			continue
		}
		for _, e := range p.endpoints {
			path, err := l.route(s, a, e, given)
			if err != nil && (named || isDeadVariable(err)) {
				return nil, err
			}
			if err != nil {
				l.note("%s is left alone: %v", cmpOr(e.base.source, e.provider), err)
			}
			p.bases[e.provider] = path
		}
		l.parts = append(l.parts, p)
	}
	return l, nil
}

// route adds the route of an endpoint to l and returns the path at the proxy; "" if the provider
// is left alone.
func (l *Launch) route(s Surroundings, a *agent, e endpoint, given []string) (string, error) {
	if slices.Contains(given, e.upstream) {
		return "/u/" + e.upstream + e.version, nil
	}
	if e.alone != "" {
		l.note("%s of %s is left alone: %s", e.provider, a.title, e.alone)
		return "", nil
	}
	if err := e.base.check(s, a); err != nil {
		return "", err
	}
	if e.base.source == "" {
		return l.routeToVendor(s, a, e)
	}
	if err := checkForwardable(e.base.url); err != nil {
		l.note("%s of %s is left alone: %s: %v", e.provider, a.title, e.base.source, err)
		return "", nil
	}
	return "/u/" + l.addRoute(a, Route{e.upstream, strings.TrimRight(e.base.url, "/"), false}), nil
}

// routeToVendor is route for a provider without a configured host.
func (l *Launch) routeToVendor(s Surroundings, a *agent, e endpoint) (string, error) {
	vendor := vendorURLs[e.upstream]
	if vendor == "" {
		return "", nil
	}
	for _, name := range e.related {
		address := s.Getenv(name)
		if address == "" {
			continue
		}
		if s.IsDead(address) {
			return "", &DeadError{name, address}
		}
		if !a.generic {
			l.note("%s of %s is left alone: %s does not read %s; to send the requests there: --upstream %s=%s", e.provider, a.title, a.title, name, e.upstream, redacted(address))
		}
		return "", nil
	}
	return "/u/" + l.addRoute(a, Route{e.upstream, vendor, true}) + e.version, nil
}

// addRoute adds a route and returns its name. If another agent has a different host for the same
// vendor, the route gets a different name.
func (l *Launch) addRoute(a *agent, r Route) string {
	for _, name := range []string{r.Upstream, a.name() + "-" + r.Upstream} {
		i := slices.IndexFunc(l.Routes, func(o Route) bool { return o.Upstream == name })
		if i < 0 {
			r.Upstream = name
			l.Routes = append(l.Routes, r)
			return name
		}
		if l.Routes[i].URL == r.URL {
			return name
		}
	}
	r.Upstream += "-2"
	return l.addRoute(a, r)
}

func (l *Launch) note(format string, args ...any) {
	l.Notes = append(l.Notes, fmt.Sprintf(format, args...))
}

// KeepVendors leaves all providers alone but those whose requests go to the default host of one
// of the vendors. It modifies l.
func (l *Launch) KeepVendors(vendors []string) {
	for _, p := range l.parts {
		for _, e := range p.endpoints {
			if p.bases[e.provider] == "" || e.base.source == "" && slices.Contains(vendors, e.upstream) {
				continue
			}
			if e.base.source != "" {
				l.note("%s of %s is left alone: %s names %s", e.provider, p.agent.title, e.base.source, redacted(e.base.url))
			}
			p.bases[e.provider] = ""
		}
	}
}

// Override returns what points the agent at a proxy at the address. Files are placed in folder.
func (l *Launch) Override(address, folder string) Override {
	o := Override{Args: l.command.Args}
	redirected := false
	for _, p := range l.parts {
		bases := map[string]string{}
		for provider, path := range p.bases {
			if path != "" {
				bases[provider] = address + path
				redirected = true
			}
		}
		p.override(&o, overrideInput{bases, l.command, l.getenv, folder, p.usesVendor})
	}
	if l.bedrock {
		redirected = true
		for _, name := range relatedTo("bedrock") {
			o.Env = append(o.Env, Variable{name, address + "/u/bedrock"})
		}
	}
	if !redirected {
		return o
	}
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		if v := l.getenv(name); v != "*" {
			o.Env = append(o.Env, Variable{name, strings.TrimPrefix(v+",127.0.0.1,localhost", ",")})
		}
	}
	return o
}

// usesVendor reports whether the requests for a provider go to the default host of its vendor.
func (p part) usesVendor(provider string) bool {
	i := slices.IndexFunc(p.endpoints, func(e endpoint) bool { return e.provider == provider })
	return i >= 0 && p.endpoints[i].base.source == "" && p.bases[provider] != ""
}

// check returns an error if a setting must not be used: it comes from a file of the project that
// is not trusted, or is certain to fail.
func (b setting) check(s Surroundings, a *agent) error {
	if b.file != nil && b.file.project && !s.IsTrusted(b.file.path, b.file.content) {
		return &UntrustedError{a.title, b.file.path, redacted(b.url)}
	}
	single := b.file == nil || a.single
	if b.source != "" && single && s.IsDead(b.url) {
		return &DeadError{b.source, redacted(b.url)}
	}
	return nil
}

// checkForwardable returns an error if a proxy cannot use a base URL as it is.
func checkForwardable(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return fmt.Errorf("%q is no http or https address", redacted(address))
	case u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return fmt.Errorf("%s has a user, a query or a fragment, which a proxy cannot pass on", redacted(address))
	}
	return nil
}

// redacted returns an address without the password and the query, which may hold keys.
func redacted(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "an address that cannot be read"
	}
	u.RawQuery, u.Fragment = "", ""
	return u.Redacted()
}

func isDeadVariable(err error) bool {
	_, dead := err.(*DeadError)
	return dead
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
