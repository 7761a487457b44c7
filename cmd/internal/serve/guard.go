package serve

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// A hostGuard rejects local requests for a foreign host or from a foreign page: otherwise a page
// in a browser on this machine could read them, by address or by a name that was pointed here
// (DNS rebinding).
type hostGuard struct {
	hosts []string
	addr  string // the listening address, without port
}

// setAddress adds the listening address to the known hosts.
func (g *hostGuard) setAddress(a net.Addr) {
	if host, _, err := net.SplitHostPort(a.String()); err == nil {
		g.addr = host
	}
}

func (g *hostGuard) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Content-Security-Policy", "frame-ancestors 'none'")
		if !g.isKnownHost(r.Host) || !g.isSameOrigin(r) {
			writeProblem(w, http.StatusForbidden, "forbidden", "Pare's own pages are for this machine: a foreign Host or Origin")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isSameOrigin reports whether a request of a browser comes from Pare's own page.
func (g *hostGuard) isSameOrigin(r *http.Request) bool {
	for _, origin := range r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) {
			return false
		}
	}
	// Browsers say so of requests that carry no Origin, too: pictures, scripts.
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return true
	}
	return false
}

// isKnownHost reports whether a Host header names this server, with or without a port. HTTP/1.0
// clients, such as health checks, send none.
func (g *hostGuard) isKnownHost(host string) bool {
	if host == "" {
		return true
	}
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if host == "localhost" || slices.ContainsFunc(g.hosts, func(name string) bool { return strings.EqualFold(name, host) }) {
		return true
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	return ip.IsLoopback() || host == g.addr
}
