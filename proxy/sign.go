package proxy

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A signature is the content of an AWS Authorization header.
type signature struct {
	key     string   // the access key
	scope   string   // day/region/service/aws4_request
	headers []string // signed headers, in lower case
	mac     string   // in hexadecimal
}

const signing = "AWS4-HMAC-SHA256"

// signatureOf parses the signature of a request; ok is false if there is none.
func signatureOf(h http.Header) (s signature, ok bool) {
	rest, ok := strings.CutPrefix(firstValue(h, "Authorization"), signing+" ")
	if !ok {
		return s, false
	}
	for part := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "Credential":
			s.key, s.scope, _ = strings.Cut(value, "/")
		case "SignedHeaders":
			s.headers = strings.Split(value, ";")
		case "Signature":
			s.mac = value
		}
	}
	return s, s.key != "" && strings.Count(s.scope, "/") == 3 && len(s.headers) > 0
}

// isSigned reports whether a request has an AWS signature that covers its body.
func isSigned(h http.Header) bool {
	return strings.HasPrefix(firstValue(h, "Authorization"), "AWS4-") && firstValue(h, contentHash) != unsigned
}

const (
	contentHash   = "X-Amz-Content-Sha256"
	unsigned      = "UNSIGNED-PAYLOAD"
	amzDate       = "X-Amz-Date"
	signedService = "bedrock"
	// clockSkew is how far the date of a signature may be off, as AWS has it.
	clockSkew = 5 * time.Minute
)

var regionForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z]{2,4}(-[a-z]+)+-[0-9]{1,2}$`) })

// wellFormed reports whether the signature is unambiguous, recent, for Bedrock, and covers all
// headers that AWS interprets.
func (s *signature) wellFormed(h http.Header, now time.Time) bool {
	for _, name := range []string{"Authorization", amzDate} {
		if len(h[name]) != 1 {
			return false
		}
	}
	auth := h["Authorization"][0]
	for _, part := range []string{"Credential=", "SignedHeaders=", "Signature="} {
		if strings.Count(auth, part) != 1 {
			return false
		}
	}
	for name, values := range h {
		name = strings.ToLower(name)
		if !strings.HasPrefix(name, "x-amz-") {
			continue
		}
		// The hash of the body is signed in any case.
		if len(values) != 1 || !slices.Contains(s.headers, name) && name != strings.ToLower(contentHash) {
			return false
		}
	}
	at, err := time.Parse("20060102T150405Z", h[amzDate][0])
	if err != nil || at.Sub(now).Abs() > clockSkew {
		return false
	}
	scope := strings.Split(s.scope, "/")
	return scope[0] == at.Format("20060102") && regionForm().MatchString(scope[1]) && scope[2] == signedService && scope[3] == "aws4_request" &&
		slices.Contains(s.headers, "host") && slices.Contains(s.headers, strings.ToLower(amzDate)) &&
		slices.IsSorted(s.headers) && !slices.ContainsFunc(s.headers, func(name string) bool { return name == "" || name != strings.ToLower(name) }) && len(slices.Compact(slices.Clone(s.headers))) == len(s.headers)
}

// compute returns the signature of a request whose body has a hash and a length.
func (s *signature) compute(req *http.Request, hash string, length int64, secret string) []byte {
	canonical := sha256.Sum256([]byte(s.canonical(req, length, hash)))
	text := signing + "\n" + req.Header.Get(amzDate) + "\n" + s.scope + "\n" + hex.EncodeToString(canonical[:])
	key := []byte("AWS4" + secret)
	for part := range strings.SplitSeq(s.scope, "/") {
		key = mac(key, part)
	}
	return mac(key, text)
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// A signer signs requests for a client that has proved to know the secret of its access key.
type signer struct {
	signature
	secret string
}

// signer returns the signer for a client's request whose body has a hash, or nil. The secret is
// only used to verify the client's signature until that has succeeded.
func (t *Transport) signer(came *http.Request, hash string, length int64) *signer {
	s, ok := signatureOf(came.Header)
	if !ok || t.Secret == nil || !s.wellFormed(came.Header, t.clock()) {
		return nil
	}
	if told := firstValue(came.Header, contentHash); told == unsigned {
		hash = unsigned
	} else if told != "" && told != hash {
		return nil
	}
	given, err := hex.DecodeString(s.mac)
	if err != nil {
		return nil
	}
	secret, ok := t.secret(came, s.key)
	if !ok || !hmac.Equal(given, s.compute(came, hash, length, secret)) {
		return nil
	}
	return &signer{s, secret}
}

func (t *Transport) clock() time.Time {
	if t.now == nil {
		return time.Now()
	}
	return t.now()
}

// clientRequestOf returns the request as the client signed it.
func (t *Transport) clientRequestOf(req *http.Request) *http.Request {
	if t.clientRequest == nil {
		return req
	}
	return t.clientRequest
}

func hashOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// sign replaces the signature of a request whose host or body has changed. Date, scope and the
// list of signed headers stay.
func (s *signer) sign(req *http.Request, body []byte) {
	hash := hashOf(body)
	switch req.Header.Get(contentHash) {
	case "":
	case unsigned:
		hash = unsigned
	default:
		req.Header.Set(contentHash, hash)
	}
	s.signHash(req, hash, int64(len(body)))
}

// signHash signs a request whose body has a hash and a length.
func (s *signer) signHash(req *http.Request, hash string, length int64) {
	req.Header.Set("Authorization", signing+" Credential="+s.key+"/"+s.scope+", SignedHeaders="+strings.Join(s.headers, ";")+
		", Signature="+hex.EncodeToString(s.compute(req, hash, length, s.secret)))
}

// signUnread signs a request whose body is not read, if its headers contain the hash of the body.
// The provider verifies the hash.
func (t *Transport) signUnread(out, in *http.Request) bool {
	told, length := firstValue(in.Header, contentHash), max(in.ContentLength, 0)
	if told == "" {
		return false
	}
	if by := t.signer(t.clientRequestOf(in), told, length); by != nil {
		by.signHash(out, told, length)
	}
	return true
}

// sendUninspected sends a request that is not inspected. It signs the request again if possible,
// because the host has changed. A body without a hash in the headers is read for it; a body that
// is too large for that is sent with the old signature.
func (t *Transport) sendUninspected(req *http.Request) (*http.Response, error) {
	if _, ok := signatureOf(req.Header); !ok || t.Secret == nil {
		return t.base().RoundTrip(req)
	}
	out := req.WithContext(req.Context())
	out.Header = req.Header.Clone()
	if t.signUnread(out, req) {
		return t.base().RoundTrip(out)
	}
	b, rest, err := readBody(req.Context(), req.Body, req.ContentLength, t.maxBody(), memoryClaim{budget: t.budget, client: t.client})
	if err != nil {
		req.Body.Close()
		return nil, &BodyError{err}
	}
	if rest != nil {
		out.Body, out.GetBody = rest, nil
		return t.base().RoundTrip(out)
	}
	b.hold()
	defer b.release()
	if req.Body != nil {
		req.Body.Close()
	}
	out.Header.Del("Expect") // it has been met: the body is here
	out.ContentLength, out.TransferEncoding = int64(len(b.buf)), nil
	out.GetBody = func() (io.ReadCloser, error) { return b.reader(b.buf), nil }
	out.Body, _ = out.GetBody()
	if by := t.signer(t.clientRequestOf(req), hashOf(b.buf), int64(len(b.buf))); by != nil {
		by.sign(out, b.buf)
	}
	return t.base().RoundTrip(out)
}

// canonical returns the canonical form of a request.
func (s *signature) canonical(req *http.Request, length int64, hash string) string {
	var b strings.Builder
	b.WriteString(req.Method + "\n")
	b.WriteString(escapePath(req.URL.EscapedPath()) + "\n")
	b.WriteString(canonicalQuery(req.URL.RawQuery) + "\n")
	for _, name := range s.headers {
		var value string
		switch name {
		case "host":
			if value = req.Host; value == "" {
				value = req.URL.Host
			}
		case "content-length":
			value = strconv.FormatInt(length, 10)
		default:
			values := slices.Clone(req.Header.Values(name))
			for i, v := range values {
				values[i] = strings.Join(strings.Fields(v), " ")
			}
			value = strings.Join(values, ",")
		}
		b.WriteString(name + ":" + value + "\n")
	}
	b.WriteString("\n" + strings.Join(s.headers, ";") + "\n" + hash)
	return b.String()
}

// escapePath escapes an escaped path again, as all AWS services but S3 require.
func escapePath(path string) string {
	if path == "" {
		return "/"
	}
	const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/"
	var b strings.Builder
	for i := range len(path) {
		if c := path[i]; strings.IndexByte(plain, c) >= 0 {
			b.WriteByte(c)
		} else {
			b.WriteString("%" + strings.ToUpper(hex.EncodeToString([]byte{c})))
		}
	}
	return b.String()
}

// canonicalQuery sorts and escapes query parameters as AWS does.
func canonicalQuery(raw string) string {
	q, err := url.ParseQuery(raw)
	if err != nil {
		return raw
	}
	for _, v := range q {
		slices.Sort(v)
	}
	return strings.ReplaceAll(q.Encode(), "+", "%20")
}
