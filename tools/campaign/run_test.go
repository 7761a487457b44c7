package main

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// TestHiredVerdict checks that a client under pare run must pass through it, end well, and
// send everything that it sends without it.
func TestHiredVerdict(t *testing.T) {
	whole := &resumption{marks: []string{"prompt 1: run", "reply 1: done", "prompt 2: read"}}
	before := &resumption{marks: []string{"prompt 2: read", "reply 1: done"}}
	w := sends(whole, before)
	sent := []byte(`{"messages":[]}`)
	for want, r := range map[string]*resumption{
		"clean 2/2":    {body: sent, out: "done\npare: 1 request, nothing to repair\n", marks: []string{"prompt 2: read", "reply 1: done"}},
		"disorder 2/2": {body: sent, out: "pare: 1 request, nothing to repair", marks: []string{"reply 1: done", "prompt 2: read"}},
		"1/2":          {body: sent, out: "done\npare: 1 request, nothing to repair\n", marks: []string{"prompt 2: read"}},
		"nothing":      {out: "pare: 1 request, nothing to repair"},
		"past Pare: pare: no request came through": {body: sent, out: "pare: no request came through"},
		"past Pare: done":                          {body: sent, out: "done\n"},
		"exit status 3: pare: 1 request":           {body: sent, out: "pare: 1 request", status: errors.New("exit status 3")},
	} {
		if got := r.pareRunVerdict(w); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestHired checks that no client reaches the stand-in by a setting that pare run cannot know.
func TestHired(t *testing.T) {
	for _, c := range append(allClients(), kilo()) {
		c.argv = []string{"/clients/node", "/clients/node_modules/@scope/cli.js"}
		h := c.forPareRun()
		if h.setup == nil {
			continue
		}
		for name, text := range h.setup("/home", "ADDRESS") {
			named := map[string]string{".codex/config.toml": "openai_base_url = ", ".pi/agent/models.json": `"anthropic":{"baseUrl":`, ".config/opencode/opencode.json": `"anthropic":{"options":{"baseURL":`, ".config/kilo/kilo.json": `"anthropic":{"options":{"baseURL":`}
			if strings.Contains(text, "ADDRESS") && !(named[name] != "" && strings.Contains(text, named[name])) {
				t.Errorf("%s: %s names the stand-in: %s", c.name, name, text)
			}
		}
	}
}

// TestLeft checks that changes of a client's settings by the client are no trace of Pare, and
// that an address other than the stand-in's is.
func TestLeft(t *testing.T) {
	s := seat{dir: t.TempDir()}
	c := &campaign{client: &client{setup: func(_, url string) map[string]string { return map[string]string{"settings": url} }}, url: "http://127.0.0.1:22"}
	for want, files := range map[string][2]string{
		"":                                   {"of the client at 127.0.0.1:11", "of the client at 127.0.0.1:22"},
		"changed: settings":                  {"one", "another"},
		"changed: settings has 127.0.0.1:33": {"at 127.0.0.1:11", "at 127.0.0.1:33"},
	} {
		for i, dir := range []string{filepath.Join(s.dir, "held"), s.home()} {
			if err := write(dir, map[string]string{"settings": files[i]}); err != nil {
				t.Fatal(err)
			}
		}
		if got := c.leftovers(s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
