package summary

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/netip"
	"net/url"
	"strings"
)

// secrets takes what must not be seen out of texts that a server has a hand in: it may
// answer with the key in its text, in its reason phrase, or in a header.
type secrets struct{ spellings *strings.Replacer }

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
	var pairs []string
	seen := map[string]bool{"": true}
	for _, s := range all {
		quoted, _ := json.Marshal(s)
		for _, spelling := range []string{
			s, url.QueryEscape(s), url.PathEscape(s), strings.Trim(string(quoted), `"`),
			base64.StdEncoding.EncodeToString([]byte(s)), base64.RawStdEncoding.EncodeToString([]byte(s)), base64.URLEncoding.EncodeToString([]byte(s)),
		} {
			if !seen[spelling] {
				seen[spelling] = true
				pairs = append(pairs, spelling, "[key]")
			}
		}
	}
	return secrets{strings.NewReplacer(pairs...)}
}

// hide is a text without secrets. It comes before any shortening: a part of a key is a
// secret, too.
func (s secrets) hide(text string) string { return s.spellings.Replace(text) }

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
