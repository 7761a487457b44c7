package summary_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/pare-llm/pare/summary"
	"github.com/pare-llm/pare/wire"
)

// raw answers every connection with these bytes.
func raw(t *testing.T, answer string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if r, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				r.Body.Close()
			}
			fmt.Fprint(c, answer)
			c.Close()
		}
	}()
	return l.Addr().String()
}

// ask wants an error of an endpoint, and returns its sentence.
func ask(t *testing.T, o summary.EndpointOptions) string {
	t.Helper()
	o.Model = "m"
	s, err := summary.Endpoint(o)
	if err == nil {
		_, err = s(context.Background(), removed(t, []byte(`[{"role":"user","content":"hi"}]`), wire.OpenAIChat, 0))
	}
	if err == nil {
		t.Fatal("no error")
	}
	return err.Error()
}

// TestDefectR6Key: wherever a server puts the key, it does not come back in an error, whole
// or in part.
func TestDefectR6Key(t *testing.T) {
	const key = "sk-ant-api03-very/secret+key=="
	const password = "p@ss word"
	for name, answer := range map[string]string{
		"reason phrase":        "HTTP/1.1 401 no such key " + key + "\r\nContent-Length: 0\r\n\r\n",
		"long reason phrase":   "HTTP/1.1 403 " + strings.Repeat("x", 70) + key + "\r\nContent-Length: 0\r\n\r\n",
		"body":                 "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n\r\n{\"error\":\"bad key " + key + "\"}",
		"body, at the edge":    "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n\r\n" + strings.Repeat("y", 285) + key,
		"body, escaped":        "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n\r\n" + url.QueryEscape(key),
		"body, JSON":           "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n\r\n{\"e\":\"" + strings.ReplaceAll(key, "/", `\/`) + "\"}",
		"body, JSON in JSON":   "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n\r\n{\"e\":\"" + strings.ReplaceAll(key, "/", `\\\/`) + "\"}",
		"body, all escaped":    "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n\r\n{\"e\":\"" + strings.NewReplacer("+", `\u002B`, "-", `\u002d`, "=", `\u003d`).Replace(key) + "\"}",
		"body, HTML":           "HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\n\r\n<b>" + strings.NewReplacer("+", "&#43;", "/", "&#x2F;").Replace(key) + "</b>",
		"body, lower case":     "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n\r\n" + strings.NewReplacer("+", "%2b", "/", "%2f").Replace(key),
		"content type":         "HTTP/1.1 200 OK\r\nContent-Type: text/" + strings.ReplaceAll(key, "/", "-") + key + "\r\n\r\nx",
		"password":             "HTTP/1.1 401 " + password + "\r\nContent-Length: 0\r\n\r\n",
		"no HTTP":              "Bearer " + key + "\r\n\r\n",
		"redirect":             "HTTP/1.1 302 Found\r\nLocation: http://example.com/?k=" + key + "\r\nContent-Length: 0\r\n\r\n",
		"no JSON":              "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + key,
		"success, other reply": "HTTP/1.1 200 " + key + "\r\nContent-Type: text/plain\r\n\r\n" + key,
		"header":               "HTTP/1.1 200 OK\r\n" + key + "\r\n\r\n",
	} {
		where := raw(t, answer)
		for _, api := range []string{"openai", "anthropic"} {
			o := summary.EndpointOptions{URL: "http://" + where + "?token=" + url.QueryEscape(key), API: api, Key: key}
			if name == "password" {
				o = summary.EndpointOptions{URL: "http://" + url.UserPassword("user", password).String() + "@" + where, API: api}
			}
			got := ask(t, o)
			for _, part := range []string{key, key[:20], url.QueryEscape(key), password, "secret"} {
				if strings.Contains(got, part) {
					t.Errorf("%s: %q is in %s", name, part, got)
				}
			}
		}
	}
}

// TestDefectR6Text: what is no text is refused, not made readable.
func TestDefectR6Text(t *testing.T) {
	reply := func(text string) string {
		return `{"choices":[{"message":{"content":"` + text + `"},"finish_reason":"stop"}]}`
	}
	for _, text := range []string{"caf\xe9", "\xff\xfe", "ok \xed\xa0\x80", `half \ud83d pair`, `\udc00`, `\ud83d\ud83d\ude00`, "cut \xf0\x9f\x98", `\\\ud83d`} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, reply(text))
		}))
		got := ask(t, summary.EndpointOptions{URL: s.URL})
		if !strings.Contains(got, "no text") {
			t.Errorf("%q: %s", text, got)
		}
		s.Close()
	}
	for _, text := range []string{`fine \ud83d\ude00 😀`, `C:\\ud83d`, `\u00e9\n`} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, reply(text))
		}))
		ends, err := summary.Endpoint(summary.EndpointOptions{URL: s.URL, Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ends(context.Background(), removed(t, []byte(`[{"role":"user","content":"hi"}]`), wire.OpenAIChat, 0)); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		s.Close()
	}
}

// TestDefectR6PlainHTTP: nothing goes to another machine unencrypted unless that is asked for.
func TestDefectR6PlainHTTP(t *testing.T) {
	for where, refused := range map[string]bool{
		"http://127.0.0.1:1": false, "http://localhost:1": false, "http://LOCALHOST:1": false, "http://[::1]:1": false, "http://127.9.9.9": false, "http://api.localhost": false, "http://[::ffff:127.0.0.1]:1": false,
		"https://example.com": false, "http://example.com": true, "http://192.168.1.5:8080": true, "http://localhost.example.com": true, "http://10.0.0.1": true, "http://127.0.0.1.example.com": true,
		"http://[2001:db8::1]": true, "HTTP://EXAMPLE.COM": true, "http://user:pw@example.com": true, "http://0.0.0.0:1": true,
	} {
		_, err := summary.Endpoint(summary.EndpointOptions{URL: where, Model: "m", Key: "k"})
		if errors.Is(err, summary.ErrPlainHTTP) != refused {
			t.Errorf("%s: %v", where, err)
		}
		if _, err := summary.Endpoint(summary.EndpointOptions{URL: where, Model: "m", Key: "k", PlainHTTP: true}); err != nil {
			t.Errorf("%s, asked for: %v", where, err)
		}
	}
}
