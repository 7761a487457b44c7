package main

import (
	"net/netip"
	"net/url"

	"github.com/pare-llm/pare/cmd/internal/screen"
)

// baseURLVariables are the variables that point clients at a proxy.
var baseURLVariables = []string{
	"ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "OPENAI_API_BASE", "GOOGLE_GEMINI_BASE_URL", "GEMINI_BASE_URL", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
}

// warnDeadBaseURLs prints the variables that name a port of this machine at which nothing listens.
// Every request of the agent fails then, whatever its sessions contain.
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
