package proxy

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
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
	rest, ok := strings.CutPrefix(h.Get("Authorization"), signing+" ")
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
	case "", unsigned:
	default:
		req.Header.Set(contentHash, hash)
	}
	if req.Header.Get(contentHash) == unsigned {
		hash = unsigned
	}
	canonical := sha256.Sum256([]byte(s.canonical(req, len(body), hash)))
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

// canonical writes a request as it is signed.
func (s *signature) canonical(req *http.Request, length int, hash string) string {
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
			value = strconv.Itoa(length)
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
