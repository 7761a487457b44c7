package proxy

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/pare-llm/pare/wire"
)

// An Upstream is where requests go on to. Many goroutines may read it.
type Upstream struct {
	Name string
	URL  *url.URL
	// Private lets its name stand for an address of this machine or of a private network.
	// Where the name itself is such an address, that is allowed anyway.
	Private bool
}

// vendors are the upstreams that everybody has.
var vendors = map[string]string{
	"anthropic": "https://api.anthropic.com",
	"openai":    "https://api.openai.com",
	"gemini":    "https://generativelanguage.googleapis.com",
	"bedrock":   "https://bedrock-runtime.us-east-1.amazonaws.com",
}

// knownVendors returns the upstreams that everybody has: the vendors' own.
func knownVendors() map[string]Upstream {
	all := make(map[string]Upstream, len(vendors))
	for name, address := range vendors {
		u, err := url.Parse(address)
		if err != nil {
			panic(err) // ours
		}
		all[name] = Upstream{Name: name, URL: u}
	}
	return all
}

// ParseUpstream reads NAME=URL.
func ParseUpstream(text string) (Upstream, error) {
	name, address, ok := strings.Cut(text, "=")
	switch {
	case !ok || name == "":
		return Upstream{}, fmt.Errorf("upstream %q: expected NAME=URL", text)
	case strings.ContainsAny(name, "/?#% \t"):
		return Upstream{}, fmt.Errorf("upstream %q: its name stands in a path: it has no slash, space, ?, # or %%", name)
	}
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return Upstream{}, fmt.Errorf("upstream %s: %w", name, err)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return Upstream{}, fmt.Errorf("upstream %s: expected an http or https URL with a host, not %q", name, address)
	case u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return Upstream{}, fmt.Errorf("upstream %s: the URL has a query, a fragment or a user, which would be lost", name)
	}
	u.Path, u.RawPath = strings.TrimSuffix(u.Path, "/"), strings.TrimSuffix(u.RawPath, "/")
	return Upstream{Name: name, URL: u, Private: true}, nil
}

// A prefix is where the path of requests to an upstream begins. One that ends with a slash
// or a colon may go on, any other must end, or go on with a slash.
type pathPrefix struct{ path, upstream string }

// prefixes are the paths of the vendors' APIs.
var pathPrefixes = []pathPrefix{
	{"/v1/messages", "anthropic"},
	{"/v1/chat/completions", "openai"},
	{"/v1/responses", "openai"},
	{"/v1/conversations", "openai"},
	{"/v1beta", "gemini"},
	{"/model", "bedrock"},
}

// named is the path under which every upstream can be reached by its name.
const upstreamPathPrefix = "/u/"

// route returns where a request goes: the upstream, and what of the path goes on. An empty
// name means that nobody takes it.
func route(r *http.Request) (upstream, path string) {
	path = r.URL.EscapedPath()
	if path == "*" {
		return "", path
	}
	if rest, ok := strings.CutPrefix(path, upstreamPathPrefix); ok {
		name, rest, _ := strings.Cut(rest, "/")
		return name, "/" + rest
	}
	for _, p := range pathPrefixes {
		if rest, ok := strings.CutPrefix(path, p.path); ok && (rest == "" || rest[0] == '/') {
			return p.upstream, path
		}
	}
	return upstreamByKey(r), path
}

// byKey tells by the headers that carry keys whose request it is.
func upstreamByKey(r *http.Request) string {
	auth := r.Header.Get("Authorization")
	scheme, _, _ := strings.Cut(auth, " ")
	switch {
	case r.Header.Get("X-Api-Key") != "", r.Header.Get("Anthropic-Version") != "" && auth != "":
		return "anthropic"
	case r.Header.Get("X-Goog-Api-Key") != "":
		return "gemini"
	case strings.HasPrefix(scheme, "AWS4-"):
		return "bedrock"
	case strings.EqualFold(scheme, "Bearer"):
		return "openai"
	}
	return ""
}

// climbs reports whether a path has a segment that leads upwards: whoever sends one wants
// something that is not below the upstream.
func hasParentSegment(path string) bool {
	if !strings.Contains(path, "..") && !strings.Contains(path, "%") {
		return false
	}
	plain, err := url.PathUnescape(path)
	return err != nil || slices.ContainsFunc(strings.FieldsFunc(plain, func(c rune) bool { return c == '/' || c == '\\' }), func(s string) bool {
		s, _, _ = strings.Cut(s, ";") // servers in Java take "..;" for ".."
		return s == ".."
	})
}

// versions are segments that both the URL of an upstream may end with and a path begin
// with; they are meant once.
var versions = []string{"/v1", "/v1beta"}

// address is where a path of an upstream is. The path keeps its escapes.
func (u *Upstream) address(path string, query *url.URL) *url.URL {
	base := u.URL.EscapedPath()
	for _, v := range versions {
		if strings.HasSuffix(base, v) && strings.HasPrefix(path, v+"/") {
			base = strings.TrimSuffix(base, v)
		}
	}
	to := *u.URL
	to.RawPath = base + path
	plain, err := url.PathUnescape(to.RawPath)
	if err != nil {
		plain = to.RawPath // it came from a URL, so this cannot be
	}
	to.Path = plain
	to.RawQuery, to.ForceQuery = query.RawQuery, query.ForceQuery
	return &to
}

// private reports whether the upstream may be at an address of this machine or of a
// private network.
func (u *Upstream) private() bool {
	if u.Private {
		return true
	}
	ip, err := netip.ParseAddr(u.URL.Hostname())
	return err == nil && !public(ip)
}

// public reports whether an address is one of the internet.
func public(ip netip.Addr) bool {
	ip = ip.Unmap()
	return ip.IsGlobalUnicast() && !ip.IsPrivate() && !carrierNAT.Contains(ip) && !benchmarkRange.Contains(ip)
}

var (
	carrierNAT     = netip.MustParsePrefix("100.64.0.0/10") // behind a carrier's translation
	benchmarkRange = netip.MustParsePrefix("198.18.0.0/15")
)

// An aside is how the path of a request ends if no reply to the history is asked for, but how
// large it is, or a compaction of all of it. It is refused for the same faults, and a window is
// not for it. Of is what the path of the request for a reply has there.
type countEndpoint struct{ suffix, replacement string }

var countEndpoints = []countEndpoint{
	{suffix: "/count_tokens"}, {suffix: "/input_tokens"}, {suffix: "/compact"},
	{":countTokens", ":generateContent"}, {"%3AcountTokens", ":generateContent"}, {"/count-tokens", "/converse"},
}

// A sight is what the path of a request says about its body.
type requestPath struct {
	dialect        wire.Dialect // Auto: it is not looked at
	model          string
	isCountOnly    bool // it is only counted or compacted
	isBatch        bool // it holds many requests
	needsBodyCheck bool // only the body says whether the model speaks the dialect
}

// looksAt says what the path of a request says about its body.
func parseRequestPath(req *http.Request, to *url.URL) (s requestPath) {
	if req.Method != http.MethodPost || req.Body == nil || req.Body == http.NoBody {
		return s
	}
	path := to.EscapedPath()
	for _, a := range countEndpoints {
		if rest, ok := strings.CutSuffix(path, a.suffix); ok {
			path, s.isCountOnly = rest+a.replacement, true
			break
		}
	}
	s.dialect, s.model = wire.ParseURL(path)
	if s.model == "count-tokens" { // Vertex's own way; which model it is for is in the body
		s.model, s.isCountOnly = "", true
	}
	if s.dialect != wire.Auto {
		return s
	}
	if s.dialect, s.model = wirex.BatchURL(path); s.dialect != wire.Auto {
		s.isBatch = true
		return s
	}
	if d, model := invokedModel(path); d != wire.Auto {
		s.dialect, s.model, s.needsBodyCheck = d, model, true
	}
	return s
}

// invoked says what the model may speak that a path of Bedrock's InvokeModel names by its
// address only, as those of a profile, a copy or a share of its capacity are.
func invokedModel(path string) (wire.Dialect, string) {
	if !strings.HasSuffix(path, "/invoke") && !strings.HasSuffix(path, "/invoke-with-response-stream") {
		return wire.Auto, ""
	}
	_, rest, ok := strings.Cut(path, "/model/")
	name, _, _ := strings.Cut(rest, "/")
	if plain, err := url.PathUnescape(name); err == nil {
		name = plain
	}
	if !ok || !strings.HasPrefix(name, "arn:") {
		return wire.Auto, ""
	}
	return wire.Anthropic, name
}
