package serve_test

import (
	"encoding/json"
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
	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/store"
	"github.com/pare-llm/pare/wire"
)

var named = regexp.MustCompile(`; archived as (pare-[0-9a-f]{32})`)

// fetches is a model that fetches the first thing that is gone, and then says what it got.
func fetches(r *wire.Request) paretest.Reply {
	for _, x := range r.Transcript().Exchanges() {
		if x.Tool == "pare_recall" && len(x.Results) > 0 {
			return paretest.Reply{Text: "It says: " + r.Text(x.Results[0])}
		}
	}
	h := named.FindSubmatch(r.Raw())
	if h == nil || !strings.Contains(string(r.Raw()), `"pare_recall"`) {
		return paretest.Reply{Text: "Nothing is gone."}
	}
	return paretest.Reply{Calls: []paretest.ToolCall{{Tool: "pare_recall", Arguments: fmt.Sprintf(`{"handle":%q}`, h[1])}}}
}

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

// TestRecall: what a model fetched is in the record, in the receipt, in the metrics and on the
// live page; the configuration switches it on and off while the server runs.
func TestRecall(t *testing.T) {
	const window = "[window]\ntokens = 6000\nlow = '90%'\n"
	m := &paretest.Mock{Reply: fetches}
	o := to(t, m.ServeHTTP)
	o.Settings = settings(t, window+"[recall]\n")
	at, s, _ := start(t, o)
	resp, reply := send(t, "POST", at+"/v1/messages", long())
	if resp.StatusCode != 200 || !strings.Contains(reply, "It says: line of part") || strings.Contains(reply, "pare_recall") || resp.Header.Get("Pare-Recalls") != "1" {
		t.Fatalf("%d, %v: %s", resp.StatusCode, resp.Header, reply)
	}
	_, receipt := send(t, "GET", at+"/pare/v1/receipts/"+resp.Header.Get("Pare-Receipt"), "")
	var rec proxy.Record
	if err := json.Unmarshal([]byte(receipt), &rec); err != nil || len(rec.Recalls) != 1 || rec.Recalls[0].Answer != "found" || strings.Contains(receipt, "line of part") {
		t.Errorf("%v: %s", err, receipt)
	}
	if _, text := send(t, "GET", at+"/pare/metrics", ""); !strings.Contains(text, "pare_recalls_total{answer=\"found\"} 1\n") {
		t.Error(text)
	}
	if traffic := s.Watch().Traffic(0); traffic.Totals.Recalls["found"] != 1 || traffic.Requests[0].Recalls != 1 {
		t.Errorf("%+v", traffic)
	}
	s.Set(settings(t, window))
	if _, reply := send(t, "POST", at+"/v1/messages", long()); !strings.Contains(reply, "Nothing is gone.") {
		t.Error(reply)
	}
	s.Set(settings(t, window+"[recall]\nmax_bytes = 256\n"))
	if _, reply := send(t, "POST", at+"/v1/messages", long()); !strings.Contains(reply, "give offset 256 for more") {
		t.Error(reply)
	}
}

// TestRecallFlag: without a configuration the option alone switches it on.
func TestRecallFlag(t *testing.T) {
	m := &paretest.Mock{Reply: fetches}
	o := to(t, m.ServeHTTP)
	o.Settings, o.Recall = settings(t, "[window]\ntokens = 6000\nlow = '90%'\n"), true
	at, _, _ := start(t, o)
	if _, reply := send(t, "POST", at+"/v1/messages", long()); !strings.Contains(reply, "It says: line of part") {
		t.Error(reply)
	}
}

// TestRecallOfSessions: what a window of the store has cleared can be fetched by the client
// whose session it is, and by nobody else; a store that is down is no error.
func TestRecallOfSessions(t *testing.T) {
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
	m := &paretest.Mock{Reply: fetches}
	o := to(t, m.ServeHTTP)
	o.Store, o.Recall, o.Tokens = st, true, []string{"ann:0123456789abcdef", "bob:0123456789abcdef"}
	at, _, end := start(t, o)
	body := fmt.Sprintf(`{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":"[pare: result of Read (9 bytes) cleared to fit the window; archived as %s] and?"}]}`, item.ID)
	for _, c := range []struct{ who, want string }{{"ann", "from long ago"}, {"bob", "Nothing was removed"}} {
		resp, reply := send(t, "POST", at+"/v1/messages", body, "Pare-Token", c.who+":0123456789abcdef")
		if resp.StatusCode != http.StatusOK || !strings.Contains(reply, c.want) {
			t.Errorf("%s: %d: %s", c.who, resp.StatusCode, reply)
		}
	}
	st.Close()
	resp, reply := send(t, "POST", at+"/v1/messages", body, "Pare-Token", "ann:0123456789abcdef")
	if resp.StatusCode != http.StatusOK || !strings.Contains(reply, "cannot be fetched at the moment") {
		t.Errorf("%d: %s", resp.StatusCode, reply)
	}
	end()
}
