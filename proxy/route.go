package proxy

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/wire"
)

// An Upstream is a destination of requests.
type Upstream struct {
	Name string
	URL  *url.URL
	// Private allows addresses of this machine and of private networks. An upstream whose host is
	// such an address allows them in any case.
	Private bool
}

// vendors are the built-in upstreams.
var vendors = map[string]string{
	"anthropic": "https://api.anthropic.com",
	"openai":    "https://api.openai.com",
	"gemini":    "https://generativelanguage.googleapis.com",
	"bedrock":   "https://bedrock-runtime.us-east-1.amazonaws.com",
}

// knownVendors returns the built-in upstreams.
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

// ParseUpstream parses NAME=URL.
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

// A pathPrefix selects an upstream by the first segments of a path.
type pathPrefix struct{ path, upstream string }

// pathPrefixes are the paths of the vendors' APIs.
var pathPrefixes = []pathPrefix{
	{"/v1/messages", "anthropic"},
	{"/v1/chat/completions", "openai"},
	{"/v1/responses", "openai"},
	{"/v1/conversations", "openai"},
	{"/v1beta", "gemini"},
	{"/model", "bedrock"},
}

// upstreamPathPrefix precedes the name of an upstream in a path.
const upstreamPathPrefix = "/u/"

// route returns the upstream of a request and the path to forward. The name is "" if there is no
// upstream for it.
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

// upstreamByKey selects the upstream by the headers that carry keys.
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

// hasParentSegment reports whether a path contains "..", which would leave the upstream's path.
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

// versions are segments that can occur both at the end of an upstream's URL and at the beginning
// of a path. They are used once.
var versions = []string{"/v1", "/v1beta"}

// address returns the URL of a path at the upstream. The path keeps its escapes.
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

// A countEndpoint is a path suffix of requests that ask for the size or for a compaction of a
// history. The provider applies the same rules to them; a window does not apply. replacement is
// the suffix of the corresponding request for a reply.
type countEndpoint struct{ suffix, replacement string }

var countEndpoints = []countEndpoint{
	{suffix: "/count_tokens"}, {suffix: "/input_tokens"}, {suffix: "/compact"},
	{":countTokens", ":generateContent"}, {"%3AcountTokens", ":generateContent"}, {"/count-tokens", "/converse"},
}

// A requestPath is the information in the path of a request.
type requestPath struct {
	dialect        wire.Dialect // wire.Auto: the request is not inspected
	model          string
	isCountOnly    bool // the request asks for a count or a compaction
	isBatch        bool // the body contains many requests
	needsBodyCheck bool // only the body shows whether the model uses the dialect
}

// parseRequestPath returns the information in the path of a request.
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
	if s.dialect, s.model = dialect.BatchURL(path); s.dialect != wire.Auto {
		s.isBatch = true
		return s
	}
	if d, model := invokedModel(path); d != wire.Auto {
		s.dialect, s.model, s.needsBodyCheck = d, model, true
	}
	return s
}

// invokedModel returns the dialect and the model of a path of Bedrock's InvokeModel that names
// the model by an ARN, such as that of an inference profile.
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
