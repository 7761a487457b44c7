package ui

import (
	"bufio"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestHandler(t *testing.T) {
	page := &Page{Source: "x.json"}
	fail := false
	h := Handler(Live{Load: func() (*Page, error) {
		if fail {
			return nil, errors.New("cut off <here>")
		}
		return page, nil
	}, Version: func() string { return `v"1` }})
	ask := func(method, target, host string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(method, target, nil)
		r.Host = host
		h.ServeHTTP(w, r)
		return w
	}
	for _, host := range []string{"127.0.0.1:8080", "127.0.0.1", "localhost:1", "LOCALHOST", "[::1]:80", "[::1]"} {
		if w := ask("GET", "/", host); w.Code != 200 || !strings.Contains(w.Body.String(), "x.json") {
			t.Errorf("%s: %d", host, w.Code)
		}
	}
	for _, host := range []string{"", "evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example", "0.0.0.0", "192.168.0.1", "127.0.0.1@evil.example"} {
		if w := ask("GET", "/", host); w.Code != 403 || strings.Contains(w.Body.String(), "x.json") {
			t.Errorf("%s: %d", host, w.Code)
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "HEAD", "OPTIONS"} {
		if w := ask(method, "/", "localhost"); w.Code != 405 {
			t.Errorf("%s: %d", method, w.Code)
		}
	}
	for _, path := range []string{"/x", "/page/page.css", "/../etc/passwd"} {
		if w := ask("GET", path, "localhost"); w.Code == 200 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	w := ask("GET", "/", "localhost")
	for name, want := range map[string]string{"Content-Security-Policy": "frame-ancestors 'none'", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if w.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Error("others may read it")
	}
	if !strings.Contains(w.Body.String(), `data-version="v&#34;1"`) {
		t.Error("the page does not know its version")
	}
	fail = true
	if w := ask("GET", "/data.json", "localhost"); w.Code != 200 || !strings.Contains(w.Body.String(), `"problem":"cut off \u003chere\u003e"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := ask("GET", "/", "localhost"); w.Code != 500 {
		t.Errorf("%d", w.Code)
	}
}

func TestEvents(t *testing.T) {
	var version atomic.Value
	version.Store("1")
	server := httptest.NewServer(Handler(Live{
		Load: func() (*Page, error) { return &Page{}, nil }, Version: func() string { return version.Load().(string) }, Every: 5 * time.Millisecond,
	}))
	defer server.Close()
	res, err := http.Get(server.URL + "/events?seen=1")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	next := func() string {
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "event:") {
				return lines.Text()
			}
		}
		return "the end"
	}
	time.AfterFunc(30*time.Millisecond, func() { version.Store("2") })
	if got := next(); got != "event: change" {
		t.Error(got)
	}
	// Somebody who has seen an older version is told at once.
	again, err := http.Get(server.URL + "/events?seen=1")
	if err != nil {
		t.Fatal(err)
	}
	defer again.Body.Close()
	lines = bufio.NewScanner(again.Body)
	if got := next(); got != "event: change" {
		t.Error(got)
	}
}
