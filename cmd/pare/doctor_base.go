package main

import (
	"net/netip"
	"net/url"

	"github.com/pare-llm/pare/cmd/internal/screen"
)

// baseURLs are the variables by which clients are pointed at a proxy.
var baseURLVariables = []string{
	"ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "OPENAI_API_BASE", "GOOGLE_GEMINI_BASE_URL", "GEMINI_BASE_URL", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
}

// deadBases names those that point at a port of this machine on which nobody listens: every
// request of the agent fails then, and not for anything in its sessions.
func warnDeadBaseURLs(env *environment) {
	for _, name := range baseURLVariables {
		address := env.getenv(name)
		u, err := url.Parse(address)
		if address == "" || err != nil || !isDeadAddress(address) {
			continue
		}
		screen.Fprintf(env.stderr, "pare: %s is %s, but nothing is listening there: unset it and start the agent by pare run, or start pare serve\n", name, u.Redacted())
	}
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
