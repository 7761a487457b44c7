package caddy

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// TestHandler lets Caddy load a Caddyfile and sends a broken history through it.
func TestHandler(t *testing.T) {
	seen := make(chan string, 1)
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen <- string(body)
		io.WriteString(w, `{}`)
	}))
	defer upstream.Close()
	read := new(Handler)
	if err := read.UnmarshalCaddyfile(caddyfile.NewTestDispenser(fmt.Sprintf("pare {\n upstream anthropic %s\n}", upstream.URL))); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(read)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := caddy.NewContext(caddy.Context{Context: t.Context()})
	defer cancel()
	made, err := ctx.LoadModuleByID("http.handlers.pare", raw)
	if err != nil {
		t.Fatal(err)
	}
	handler := made.(caddyhttp.MiddlewareHandler)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := handler.ServeHTTP(w, r, nil); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	const broken = `{"model":"claude-opus-4-8","max_tokens":9,"messages":[{"role":"user","content":"a"},` +
		`{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Read","input":{}}]},{"role":"user","content":"b"}]}`
	resp, err := http.Post(server.URL+"/v1/messages", "application/json", strings.NewReader(broken))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got := <-seen; !strings.Contains(got, `"tool_result"`) || resp.Header.Get("Pare-Changes") != "1" {
		t.Errorf("%s\n%v", got, resp.Header)
	}
}

func TestCaddyfile(t *testing.T) {
	for _, text := range []string{"pare {\n upstreams x\n}", "pare {\n upstream x\n}"} {
		if err := new(Handler).UnmarshalCaddyfile(caddyfile.NewTestDispenser(text)); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
	ctx, cancel := caddy.NewContext(caddy.Context{Context: t.Context()})
	defer cancel()
	if _, err := ctx.LoadModuleByID("http.handlers.pare", []byte(`{"upstreams":{"x":"ftp://y"}}`)); err == nil {
		t.Error("an upstream that is no web address is taken")
	}
}
