package paretest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// A Recorded is a request as a [Mock] recorded it: a line of JSON. It is a value. Many
// goroutines may read it.
type Recorded struct {
	Method string `json:"method"`
	Path   string `json:"path"` // with its query, but for a key
	// Header has everything but what keeps a secret.
	Header http.Header `json:"headers"`
	Body   []byte      `json:"body"` // as it came; base64 in JSON
}

// secrets are the headers that are not recorded.
var secrets = []string{
	"Authorization", "Proxy-Authorization", "Cookie", "X-Api-Key", "Api-Key", "X-Goog-Api-Key", "X-Amz-Security-Token", "Ocp-Apim-Subscription-Key",
}

// recordLine writes a request as a line of JSON.
func recordLine(r *http.Request, body []byte) []byte {
	header := r.Header.Clone()
	for _, s := range secrets {
		header.Del(s)
	}
	path := r.URL.EscapedPath()
	if q := withoutKey(r.URL.RawQuery); q != "" {
		path += "?" + q
	}
	line, err := json.Marshal(Recorded{Method: r.Method, Path: path, Header: header, Body: body})
	if err != nil {
		panic(err) // strings and bytes only
	}
	return append(line, '\n')
}

// withoutKey returns a query without the members that keep a secret, the rest as it was
// written.
func withoutKey(query string) string {
	if query == "" {
		return ""
	}
	kept := strings.Split(query, "&")
	n := 0
	for _, pair := range kept {
		name, _, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(name); err == nil {
			name = plain
		}
		switch strings.ToLower(name) {
		case "key", "api_key", "api-key", "access_token", "x-amz-signature", "x-amz-security-token":
			continue
		}
		kept[n] = pair
		n++
	}
	return strings.Join(kept[:n], "&")
}

func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}
