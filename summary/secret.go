package summary

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
)

// secrets takes what must not be seen out of texts that a server has a hand in: it may
// answer with the key in its text, in its reason phrase, or in a header.
type secrets struct{ spellings *regexp.Regexp } // nil: there are none

// secretsOf are the key and whatever a URL has of the kind.
func secretsOf(key string, u *url.URL) secrets {
	all := []string{key}
	if u.User != nil {
		password, _ := u.User.Password()
		all = append(all, password, u.User.String())
		if password != "" {
			all = append(all, u.User.Username()+":"+password)
		} else {
			all = append(all, u.User.Username()) // some APIs take the key for a name
		}
	}
	for _, values := range u.Query() {
		all = append(all, values...)
	}
	var patterns []string
	seen := map[string]bool{"": true}
	for _, s := range all {
		if seen[s] {
			continue
		}
		seen[s] = true
		raw := []byte(s)
		patterns = append(patterns, anySpelling(s))
		for _, packed := range []string{base64.RawStdEncoding.EncodeToString(raw), base64.RawURLEncoding.EncodeToString(raw)} {
			patterns = append(patterns, anySpelling(packed)+"(?:=|%3[dD])*")
		}
	}
	if patterns == nil {
		return secrets{}
	}
	spellings := regexp.MustCompile(strings.Join(patterns, "|"))
	spellings.Longest()
	return secrets{spellings}
}

// anySpelling is a pattern of a text in which any sign may be escaped: for JSON, also within
// a string of JSON, for a URL, or for HTML. Who escapes which signs differs.
func anySpelling(text string) string {
	var b strings.Builder
	for _, r := range text {
		fmt.Fprintf(&b, `(?:\\*%s|\\+u(?i:%04x)|&#0*%d;|&#[xX]0*(?i:%x);|(?i:`, regexp.QuoteMeta(string(r)), r, r, r)
		for _, c := range []byte(string(r)) {
			fmt.Fprintf(&b, "%%%02x", c)
		}
		b.WriteByte(')')
		if r == ' ' {
			b.WriteString(`|\+`)
		}
		b.WriteByte(')')
	}
	return b.String()
}

// hide is a text without secrets. It comes before any shortening: a part of a key is a
// secret, too.
func (s secrets) hide(text string) string {
	if s.spellings == nil {
		return text
	}
	return s.spellings.ReplaceAllLiteralString(text, "[key]")
}

// wrap is an error whose sentence has no secrets.
func (s secrets) wrap(err error) error {
	if err == nil {
		return nil
	}
	return &discreet{s.hide(err.Error()), err}
}

type discreet struct {
	text string
	err  error
}

func (d *discreet) Error() string { return d.text }

// Is finds the kind of an error; the error itself nobody gets to print.
func (d *discreet) Is(target error) bool { return errors.Is(d.err, target) }

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().IsLoopback()
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}
