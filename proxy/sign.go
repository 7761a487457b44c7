package proxy

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A signature is what the Authorization of a request to AWS says.
type signature struct {
	key     string   // whose it is
	scope   string   // day/region/service/aws4_request
	headers []string // that are signed, by their names in lower case
}

const signing = "AWS4-HMAC-SHA256"

// signatureOf reads the signature of a request; ok is false if it has none.
func signatureOf(h http.Header) (s signature, ok bool) {
	rest, ok := strings.CutPrefix(first(h, "Authorization"), signing+" ")
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
		}
	}
	return s, s.key != "" && strings.Count(s.scope, "/") == 3 && len(s.headers) > 0
}

// sign puts another signature in the place of the one that a request has: its host, and
// maybe its body, are not those that were signed. What is signed stays what it was, and so
// do date and scope.
func (s *signature) sign(req *http.Request, body []byte, secret string) {
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:])
	switch req.Header.Get(contentHash) {
	case "":
	case unsigned:
		hash = unsigned
	default:
		req.Header.Set(contentHash, hash)
	}
	s.signHash(req, hash, int64(len(body)), secret)
}

// signHash signs a request whose body has a hash and a length.
func (s *signature) signHash(req *http.Request, hash string, length int64, secret string) {
	canonical := sha256.Sum256([]byte(s.canonical(req, length, hash)))
	text := signing + "\n" + req.Header.Get("X-Amz-Date") + "\n" + s.scope + "\n" + hex.EncodeToString(canonical[:])
	key := []byte("AWS4" + secret)
	for part := range strings.SplitSeq(s.scope, "/") {
		key = mac(key, part)
	}
	req.Header.Set("Authorization", signing+" Credential="+s.key+"/"+s.scope+", SignedHeaders="+strings.Join(s.headers, ";")+
		", Signature="+hex.EncodeToString(mac(key, text)))
}

const (
	contentHash = "X-Amz-Content-Sha256"
	unsigned    = "UNSIGNED-PAYLOAD"
)

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// signTold signs a request whose body stays what it is, if its headers tell the hash of it.
func (s *signature) signTold(req *http.Request, secret string) bool {
	told := req.Header.Get(contentHash)
	if told != "" {
		s.signHash(req, told, max(req.ContentLength, 0), secret)
	}
	return told != ""
}

// pass sends on what is not looked at. It goes to another host than it was signed for, so it
// is signed again, too, if that can be. A body whose hash nobody has told is read for it; one
// that is too large for that goes on as it came.
func (t *Transport) pass(req *http.Request) (*http.Response, error) {
	s, ok := signatureOf(req.Header)
	if !ok {
		return t.base().RoundTrip(req)
	}
	secret, ok := t.secret(s.key)
	if !ok {
		return t.base().RoundTrip(req)
	}
	out := req.WithContext(req.Context())
	out.Header = req.Header.Clone()
	if s.signTold(out, secret) {
		return t.base().RoundTrip(out)
	}
	if req.Body == nil || req.Body == http.NoBody {
		s.sign(out, nil, secret)
		return t.base().RoundTrip(out)
	}
	room, err := t.room.take(req.Context(), min(req.ContentLength, t.maxBody()), t.maxBody())
	if err != nil {
		return nil, err
	}
	defer room.free()
	body, err := io.ReadAll(io.LimitReader(req.Body, t.maxBody()+1))
	if err != nil {
		req.Body.Close()
		return nil, &BodyError{err}
	}
	if int64(len(body)) > t.maxBody() {
		out.Body, out.GetBody = joined{io.MultiReader(bytes.NewReader(body), req.Body), req.Body}, nil
		return t.base().RoundTrip(out)
	}
	req.Body.Close()
	out.Header.Del("Expect") // it has been met: the body is here
	out.ContentLength, out.TransferEncoding = int64(len(body)), nil
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	out.Body, _ = out.GetBody()
	s.sign(out, body, secret)
	return t.base().RoundTrip(out)
}

// canonical writes a request as it is signed.
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

// escapePath escapes a path that is escaped already once more, as all services but S3 have
// it.
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

// canonicalQuery sorts the parameters of a query and escapes them as AWS does.
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
