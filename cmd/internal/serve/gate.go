package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/pare-llm/pare/store/storehttp"
)

// tokenHeader carries the token of a client, because Authorization belongs to the vendors. It is
// never forwarded.
const tokenHeader = "Pare-Token"

// A gate checks tokens. Without configured tokens only this machine can reach the server, and
// only pages that show requests need a token: the token of this run, which other users do not
// know.
type gate struct {
	runToken string // the token of this run
	keys     atomic.Pointer[tokenSet]
}

type tokenSet struct {
	areConfigured bool // configured by the operator
	sums          [][sha256.Size]byte
	revoked       chan struct{} // closed when another set replaces this one
}

func (g *gate) set(tokens []string) {
	k := &tokenSet{areConfigured: len(tokens) > 0, revoked: make(chan struct{})}
	if !k.areConfigured {
		tokens = []string{g.runToken}
	}
	for _, t := range tokens {
		k.sums = append(k.sums, sha256.Sum256([]byte(t)))
	}
	was := g.keys.Load()
	if was != nil && was.areConfigured == k.areConfigured && slices.Equal(was.sums, k.sums) {
		return // open streams continue
	}
	g.keys.Store(k)
	if was != nil {
		close(was.revoked)
	}
}

// requiresToken reports whether every request needs a token.
func (g *gate) requiresToken() bool { return g.keys.Load().areConfigured }

// isValid compares a token with all valid ones in constant time, so that the duration does not
// reveal how similar a guess is.
func (g *gate) isValid(token string) bool {
	given, ok := sha256.Sum256([]byte(token)), 0
	for _, sum := range g.keys.Load().sums {
		ok |= subtle.ConstantTimeCompare(given[:], sum[:])
	}
	return ok == 1
}

// authorizeProxied reports whether a request to a vendor is allowed, and its scope. It removes
// the token from the request.
func (g *gate) authorizeProxied(r *http.Request) (scope string, ok bool) {
	given := r.Header[tokenHeader] // whose name is written as the map has it
	delete(r.Header, tokenHeader)
	if !g.requiresToken() {
		return "", true
	}
	token := ""
	if len(given) > 0 {
		token = given[0]
	}
	return scopeOf(token), g.isValid(token)
}

// scopeOf returns the name in a token.
func scopeOf(token string) string {
	name, _, named := strings.Cut(token, ":")
	if !named {
		return ""
	}
	return name
}

const (
	cookie   = "pare-token"
	healthz  = "/pare/healthz"
	tokenKey = "token"
)

// needsToken reports whether a local path needs a token. Without configured tokens these are the
// paths that show requests, but not calls, sessions and metrics.
func (g *gate) needsToken(path string) bool {
	switch {
	case path == healthz:
		return false
	case g.requiresToken():
		return true
	case path == "/pare/metrics":
		return false
	case strings.HasPrefix(path, "/pare/v1/"):
		return path == "/pare/v1/requests" || path == "/pare/v1/events" || strings.HasPrefix(path, "/pare/v1/receipts/")
	}
	return true
}

// requireToken wraps the handler of local paths: it requires a token in a header or in a cookie.
// A browser gets the cookie when it opens /pare/?token=… once.
func (g *gate) requireToken(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		gone := g.keys.Load().revoked // before the token is looked at
		if !g.needsToken(r.URL.Path) || g.isValid(tokenOf(r)) {
			if isStream(r) { // the stream ends when its token is revoked
				ctx, end := Until(r.Context(), gone)
				defer end()
				r = r.WithContext(ctx)
			}
			next.ServeHTTP(w, r)
			return
		}
		if token := r.URL.Query().Get(tokenKey); r.Method == http.MethodGet && g.isValid(token) {
			http.SetCookie(w, &http.Cookie{Name: cookie, Value: token, Path: "/pare/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
			http.Redirect(w, r, r.URL.Path, http.StatusSeeOther) // the token is not to stay in the address
			return
		}
		w.Header().Set("WWW-Authenticate", "Bearer")
		hint := "send " + tokenHeader + " or Authorization: Bearer …"
		if !g.requiresToken() {
			hint += " with the token that is in the address of the live page, which was printed at the start"
		}
		writeProblem(w, http.StatusUnauthorized, "unauthorized", "a token is missing or unknown: "+hint)
	})
}

// tokenOf returns the token of a request, or "".
func tokenOf(r *http.Request) string {
	if token := r.Header.Get(tokenHeader); token != "" {
		return token
	}
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return token
	}
	if c, err := r.Cookie(cookie); err == nil {
		return c.Value
	}
	return ""
}

// readScope returns the scope whose requests the sender of a local request may see.
func (g *gate) readScope(r *http.Request) string {
	if !g.requiresToken() {
		return ""
	}
	return scopeOf(tokenOf(r))
}

// scope returns the scope whose sessions a request may use. Without configured tokens it is the
// empty scope, for this machine only.
func (g *gate) scope(r *http.Request) (string, bool) {
	if !g.requiresToken() {
		return "", storehttp.IsLocal(r)
	}
	token := tokenOf(r)
	return scopeOf(token), g.isValid(token)
}
