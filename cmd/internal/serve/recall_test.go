package serve_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/cmd/internal/serve"
	"github.com/pare-llm/pare/internal/config"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/paretest"
	"github.com/pare-llm/pare/store"
	"github.com/pare-llm/pare/wire"
)

// settings are those of a configuration.
func settings(t *testing.T, toml string) *serve.Settings {
	t.Helper()
	c, err := config.Parse("pare.toml", []byte(toml))
	if err != nil {
		t.Fatal(err)
	}
	s, err := serve.Load(c, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// long is a history of which a window of 6000 tokens clears something.
func long() string {
	var b strings.Builder
	b.WriteString("user \"fix the build\"\n")
	for i := range 20 {
		fmt.Fprintf(&b, "say \"I look.\" | call r%d Read part%d.go\nresult r%d %s\n", i, i, i, strings.Repeat(fmt.Sprintf("line of part %d; ", i), 60))
	}
	b.WriteString("say \"Done.\"\nuser \"and now?\"")
	return string(histories.MustParse(b.String()).Render(wire.Anthropic, histories.RenderOptions{}))
}

// recallCommand matches the command in a placeholder.
var recallCommand = regexp.MustCompile(`; pare recall (pare-[0-9a-f]{32}) prints it`)

// TestSessionsAreRecalledByTheirScopeOnly checks the HTTP address that returns what a window of the
// store has removed.
func TestSessionsAreRecalledByTheirScopeOnly(t *testing.T) {
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "pare.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	key := store.Key{Scope: "ann", ID: "a"}
	if _, err := st.Create(t.Context(), key, store.Create{Dialect: "anthropic"}); err != nil {
		t.Fatal(err)
	}
	item := archive.New("messages.0", []byte(`{"type":"text","text":"from long ago"}`))
	if err := st.Archive(key).Put(t.Context(), item); err != nil {
		t.Fatal(err)
	}
	o := to(t, (&paretest.Mock{}).ServeHTTP)
	o.Store, o.Tokens = st, []string{"ann:0123456789abcdef", "bob:0123456789abcdef"}
	at, _, end := start(t, o)
	defer end()
	recall := func(who string) (int, string) {
		resp, reply := send(t, "GET", at+"/pare/v1/recall/"+item.ID, "", "Pare-Token", who+":0123456789abcdef")
		return resp.StatusCode, reply
	}
	if status, reply := recall("ann"); status != http.StatusOK || !strings.Contains(reply, "from long ago") {
		t.Errorf("ann: %d %s", status, reply)
	}
	if status, reply := recall("bob"); status != http.StatusNotFound || strings.Contains(reply, "from long ago") {
		t.Errorf("bob: %d %s", status, reply)
	}
}
