package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/pare-llm/pare/store"
)

// tokenHeader carries the token of a client. Authorization belongs to the vendors. It is
// never sent on.
const tokenHeader = "Pare-Token"

// A gate lets in who has a token. Without any, it is open: only this machine can reach it.
type gate struct {
	sums atomic.Pointer[[][sha256.Size]byte]
}

func (g *gate) set(tokens []string) {
	sums := make([][sha256.Size]byte, len(tokens))
	for i, t := range tokens {
		sums[i] = sha256.Sum256([]byte(t))
	}
	g.sums.Store(&sums)
}

// shut reports whether a token is needed.
func (g *gate) shut() bool { return len(*g.sums.Load()) > 0 }

// opens compares a token with all there are, and in constant time, so that nobody learns
// how close a guess was.
func (g *gate) opens(token string) bool {
	given, ok := sha256.Sum256([]byte(token)), 0
	for _, sum := range *g.sums.Load() {
		ok |= subtle.ConstantTimeCompare(given[:], sum[:])
	}
	return ok == 1
}

// proxied reports whether a request to a vendor may pass, and for whom, and takes the token
// off it.
func (g *gate) proxied(r *http.Request) (scope string, ok bool) {
	given := r.Header[tokenHeader] // whose name is written as the map has it
	delete(r.Header, tokenHeader)
	if !g.shut() {
		return "", true
	}
	token := ""
	if len(given) > 0 {
		token = given[0]
	}
	return scopeOf(token), g.opens(token)
}

// scopeOf is the name in a token.
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

// own lets requests to /pare/ pass that have a token: in a header, or in a cookie, which a
// browser gets by opening /pare/?token=… once.
func (g *gate) own(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.shut() || r.URL.Path == healthz || g.opens(r.Header.Get(tokenHeader)) {
			next.ServeHTTP(w, r)
			return
		}
		if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && g.opens(token) {
			next.ServeHTTP(w, r)
			return
		}
		if c, err := r.Cookie(cookie); err == nil && g.opens(c.Value) {
			next.ServeHTTP(w, r)
			return
		}
		if token := r.URL.Query().Get(tokenKey); r.Method == http.MethodGet && g.opens(token) {
			http.SetCookie(w, &http.Cookie{Name: cookie, Value: token, Path: "/pare/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
			http.Redirect(w, r, r.URL.Path, http.StatusSeeOther) // the token is not to stay in the address
			return
		}
		w.Header().Set("WWW-Authenticate", "Bearer")
		problem(w, http.StatusUnauthorized, "unauthorized", "a token is missing or unknown: send "+tokenHeader+" or Authorization: Bearer …")
	})
}

// scope says which sessions a request may use: those of the name in its token, or, without
// tokens, those without a scope, from this machine.
func (g *gate) scope(r *http.Request) (string, bool) {
	if !g.shut() {
		return "", store.Local(r)
	}
	token := r.Header.Get(tokenHeader)
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); token == "" && ok {
		token = bearer
	}
	if c, err := r.Cookie(cookie); token == "" && err == nil {
		token = c.Value
	}
	return scopeOf(token), g.opens(token)
}
