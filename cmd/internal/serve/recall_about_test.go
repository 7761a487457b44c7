package serve_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/pare-llm/pare/paretest"
	"github.com/pare-llm/pare/store"
	"github.com/pare-llm/pare/wire"
)

// asks is a model that looks for words in earlier conversations, and then says what it got.
func asks(r *wire.Request) paretest.Reply {
	for _, x := range r.Transcript().Exchanges() {
		if x.Tool == "pare_recall" && len(x.Results) > 0 {
			return paretest.Reply{Text: "It says: " + r.Text(x.Results[0])}
		}
	}
	if !strings.Contains(string(r.Raw()), `"pare_recall"`) {
		return paretest.Reply{Text: "No tool."}
	}
	return paretest.Reply{Calls: []paretest.ToolCall{{Tool: "pare_recall", Arguments: `{"handle":"about expiring tokens"}`}}}
}

// TestRecallAbout: a model finds what its own scope has said in earlier conversations, and nothing
// of another scope, and nothing at all where conversations are not remembered.
func TestRecallAbout(t *testing.T) {
	st, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "pare.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	r, err := wire.Parse([]byte(`{"model":"claude-opus-4-6","messages":[{"role":"user","content":"Tokens expire after nine minutes."}]}`), wire.Options{Dialect: wire.Anthropic})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Remember(t.Context(), store.RecordedExchange{Scope: "ann", Request: r}); err != nil {
		t.Fatal(err)
	}
	for _, remember := range []bool{true, false} {
		o := to(t, (&paretest.Mock{Reply: asks}).ServeHTTP)
		o.Settings = settings(t, "[window]\ntokens = 6000\nlow = '90%'\n")
		o.Store, o.Recall, o.Remember, o.Tokens = st, true, remember, []string{"ann:0123456789abcdef", "bob:0123456789abcdef"}
		at, _, end := start(t, o)
		for _, who := range []string{"ann", "bob"} {
			_, reply := send(t, "POST", at+"/v1/messages", long(), "Pare-Token", who+":0123456789abcdef")
			if found := strings.Contains(reply, "after nine minutes"); found != (remember && who == "ann") || !strings.Contains(reply, "It says") {
				t.Errorf("remember %v, %s: %s", remember, who, reply)
			}
		}
		end()
	}
}
