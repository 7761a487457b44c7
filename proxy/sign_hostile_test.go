package proxy

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

const (
	brokenConverse = `{"messages":[{"role":"user","content":[{"text":"hi"}]},{"role":"assistant","content":[{"toolUse":{"toolUseId":"t1","name":"f","input":{}}}]},{"role":"user","content":[{"text":"and?"}]}],"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{"type":"object"}}}}]}}`
	converse       = "/model/anthropic.claude-3-haiku-20240307-v1%3A0/converse"
	embedding      = "/model/amazon.titan-embed-text-v2%3A0/invoke"
)

// signedRequest is a request to the proxy at an address, signed with a secret.
func signedRequest(t *testing.T, method, address, body, scope, secret string, at time.Time) *http.Request {
	t.Helper()
	req, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	date := at.UTC().Format("20060102T150405Z")
	req.Header.Set(amzDate, date)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", signing+" Credential=AKIA1/"+strings.Replace(scope, "DAY", date[:8], 1)+", SignedHeaders=content-type;host;x-amz-date, Signature=")
	s, ok := signatureOf(req.Header)
	if !ok {
		t.Fatal("no signature")
	}
	(&signer{s, secret}).sign(req, []byte(body))
	return req
}

// goodScope is the scope of a request to Bedrock.
const goodScope = "DAY/us-east-1/bedrock/aws4_request"

// An arrival is a request as one of the upstreams got it.
type arrival struct {
	auth, body string
	signed     bool // validly, for the upstream
}

// signingProxy is a proxy that knows a secret, and tells what reaches its upstreams, bedrock and
// third.
func signingProxy(t *testing.T) (front *httptest.Server, arrived func() arrival) {
	t.Helper()
	all := make(chan arrival, 16)
	up := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		s, ok := signatureOf(r.Header)
		valid := ok && strings.HasSuffix(r.Header.Get("Authorization"), "Signature="+hexOf(s.compute(r, hashOf(raw), int64(len(raw)), "secret")))
		all <- arrival{strings.Join(r.Header["Authorization"], "|"), string(raw), valid}
	}))
	t.Cleanup(up.Close)
	u, err := url.Parse(up.URL)
	if err != nil {
		t.Fatal(err)
	}
	h := New(Config{
		Upstreams: map[string]Upstream{"bedrock": {URL: u, Private: true}, "third": {URL: u, Private: true}}, PlanTime: -1, Secret: knowsSecret,
	})
	front = httptest.NewServer(h)
	t.Cleanup(front.Close)
	t.Cleanup(h.CloseIdle)
	return front, func() arrival { return <-all }
}

func hexOf(b []byte) string {
	const digits = "0123456789abcdef"
	var s strings.Builder
	for _, c := range b {
		s.WriteByte(digits[c>>4])
		s.WriteByte(digits[c&15])
	}
	return s.String()
}

func send(t *testing.T, req *http.Request) *http.Response {
	t.Helper()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return resp
}

// TestClientWithTheSecretIsSignedFor: a client that signs for the proxy is repaired and
// signed for at the upstream, whatever way its request takes.
func TestClientWithTheSecretIsSignedFor(t *testing.T) {
	front, arrived := signingProxy(t)
	for _, path := range []string{converse, "/u/bedrock" + converse, converse + "?b=2&a=1%20x", embedding} {
		send(t, signedRequest(t, "POST", front.URL+path, brokenConverse, goodScope, "secret", time.Now()))
		if got := arrived(); !got.signed || (got.body == brokenConverse) != strings.HasSuffix(path, embedding) {
			t.Errorf("%s: %+v", path, got)
		}
	}
	req := signedRequest(t, "GET", front.URL+"/async-invoke", "", goodScope, "secret", time.Now())
	req.Body, req.ContentLength = http.NoBody, 0
	send(t, req)
	if !arrived().signed {
		t.Error("a request without a body is not signed for")
	}
}

// TestClientWithoutTheSecretIsNotSignedFor: the secret signs for nobody who has not proved to know it,
// for nothing but Bedrock's upstream, service and time. What came goes on as it came.
func TestClientWithoutTheSecretIsNotSignedFor(t *testing.T) {
	front, arrived := signingProxy(t)
	now := time.Now()
	good := func(path string) *http.Request {
		return signedRequest(t, "POST", front.URL+path, brokenConverse, goodScope, "secret", now)
	}
	scoped := func(scope string) *http.Request {
		return signedRequest(t, "POST", front.URL+converse, brokenConverse, scope, "secret", now)
	}
	dated := func(at time.Time) *http.Request {
		return signedRequest(t, "POST", front.URL+converse, brokenConverse, goodScope, "secret", at)
	}
	with := func(req *http.Request, change func(*http.Request)) *http.Request {
		change(req)
		return req
	}
	auth := func(change func(string) string) *http.Request {
		return with(good(converse), func(r *http.Request) { r.Header.Set("Authorization", change(r.Header.Get("Authorization"))) })
	}
	attacks := map[string]*http.Request{
		"a made-up signature":             auth(func(a string) string { return a[:len(a)-64] + strings.Repeat("ab", 32) }),
		"an empty signature":              auth(func(a string) string { return a[:len(a)-64] }),
		"no hexadecimal signature":        auth(func(a string) string { return a[:len(a)-64] + strings.Repeat("zz", 32) }),
		"half a signature":                auth(func(a string) string { return a[:len(a)-32] }),
		"another secret":                  signedRequest(t, "POST", front.URL+converse, brokenConverse, goodScope, "guess", now),
		"an empty secret":                 signedRequest(t, "POST", front.URL+converse, brokenConverse, goodScope, "", now),
		"another path":                    with(good(converse), func(r *http.Request) { r.URL.Path, r.URL.RawPath = "/model/other/converse", "" }),
		"another path, not looked at":     with(good(embedding), func(r *http.Request) { r.URL.Path, r.URL.RawPath = "/model/other/invoke", "" }),
		"a path below the name":           with(good(converse), func(r *http.Request) { r.URL.Path, r.URL.RawPath = "/u/bedrock"+r.URL.Path, "" }),
		"another query":                   with(good(converse), func(r *http.Request) { r.URL.RawQuery = "x=1" }),
		"another method":                  with(good(embedding), func(r *http.Request) { r.Method = "PUT" }),
		"another body":                    with(good(converse), func(r *http.Request) { withBody(r, strings.Replace(brokenConverse, "hi", "ho", 1)) }),
		"another body, not looked at":     with(good(embedding), func(r *http.Request) { withBody(r, `{"inputText":"other"}`) }),
		"no body":                         with(good(embedding), func(r *http.Request) { withBody(r, "") }),
		"another content type":            with(good(converse), func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }),
		"another host":                    with(good(converse), func(r *http.Request) { r.Host = "evil.example" }),
		"another hash":                    with(good(converse), func(r *http.Request) { r.Header.Set(contentHash, strings.Repeat("ab", 32)) }),
		"no hash, though it was":          with(good(converse), func(r *http.Request) { r.Header.Set(contentHash, unsigned) }),
		"a session token, unsigned":       with(good(converse), func(r *http.Request) { r.Header.Set("X-Amz-Security-Token", "x") }),
		"a target, unsigned":              with(good(converse), func(r *http.Request) { r.Header.Set("X-Amz-Target", "x") }),
		"a second date":                   with(good(converse), func(r *http.Request) { r.Header.Add(amzDate, now.UTC().Format("20060102T150405Z")) }),
		"a second date in front":          with(good(converse), func(r *http.Request) { r.Header[amzDate] = append([]string{"20150830T123600Z"}, r.Header[amzDate]...) }),
		"a second authorization":          with(good(converse), func(r *http.Request) { r.Header.Add("Authorization", "Bearer x") }),
		"a second credential":             auth(func(a string) string { return a + ", Credential=AKIA1/20150830/us-east-1/iam/aws4_request" }),
		"a second signature":              auth(func(a string) string { return a + ", Signature=00" }),
		"a date before":                   dated(now.Add(-clockSkew - time.Minute)),
		"a date to come":                  dated(now.Add(clockSkew + time.Minute)),
		"a date of another day":           scoped("20150830/us-east-1/bedrock/aws4_request"),
		"no date":                         with(good(converse), func(r *http.Request) { r.Header.Del(amzDate) }),
		"another service":                 scoped("DAY/us-east-1/iam/aws4_request"),
		"another service, not looked at":  signedRequest(t, "POST", front.URL+"/u/bedrock/", "Action=CreateUser", "DAY/us-east-1/sts/aws4_request", "secret", now),
		"no region":                       scoped("DAY//bedrock/aws4_request"),
		"a region that is a host":         scoped("DAY/evil.example/bedrock/aws4_request"),
		"another end of the scope":        scoped("DAY/us-east-1/bedrock/aws5_request"),
		"another upstream":                good("/u/third" + converse),
		"another upstream, not looked at": good("/u/third" + embedding),
		"another key":                     auth(func(a string) string { return strings.Replace(a, "AKIA1", "AKIA2", 1) }),
		"another algorithm":               auth(func(a string) string { return strings.Replace(a, signing, "AWS4-ECDSA-P256-SHA256", 1) }),
	}
	for _, headers := range []string{"content-type;x-amz-date", "content-type;host", "x-amz-date;host;content-type", "content-type;host;host;x-amz-date", "Content-Type;host;x-amz-date", ""} {
		attacks["signed headers "+headers] = resigned(t, good(converse), headers)
	}
	for name, req := range attacks {
		was := strings.Join(req.Header["Authorization"], "|")
		sent, err := req.GetBody()
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := io.ReadAll(sent)
		send(t, req)
		if got := arrived(); got.auth != was || got.body != string(raw) && req.Header.Get(contentHash) != unsigned {
			t.Errorf("%s: sent %s, %+v", name, was, got)
		}
	}
	t.Logf("%d attacks, none was signed for", len(attacks))
}

// withBody gives a request another body than it was signed with.
func withBody(r *http.Request, text string) {
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
}

// resigned signs a request with the right secret, and other headers than it should.
func resigned(t *testing.T, r *http.Request, headers string) *http.Request {
	t.Helper()
	s, _ := signatureOf(r.Header)
	s.headers = strings.Split(headers, ";")
	(&signer{s, "secret"}).sign(r, []byte(brokenConverse))
	return r
}
