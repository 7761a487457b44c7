package dialect

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// rulesFound are the rows that a request breaks under some conditions, in order.
func rulesFound(t *testing.T, body string, sent Conditions) (rows []string) {
	t.Helper()
	r, err := Parse([]byte(body), Options{Conditions: sent})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Check(CheckOptions{}) {
		rows = append(rows, f.Source)
	}
	return rows
}

func TestRulesDependOnAPIVersion(t *testing.T) {
	const document = `{"type":"document","source":{"type":"text","media_type":"text/plain","data":"x"}}`
	const cited = `{"type":"text","text":"as said","citations":[{"type":"char_location","cited_text":"x","document_index":0,"document_title":"d","start_char_index":0,"end_char_index":1}]}`
	body := func(head, user, assistant string) string {
		return `{"model":"claude-sonnet-4-6",` + head + `"max_tokens":9,"messages":[{"role":"user","content":[` + user + `]},{"role":"assistant","content":[` + assistant + `]},{"role":"user","content":"go on"}]}`
	}
	const text = `{"type":"text","text":"hi"}`
	for _, c := range []struct{ body, row string }{
		{body(`"temperature":1.0,`, text, text), "anthropic/sampling-removed"},
		{body(`"top_p":0.9,`, text, text), "anthropic/sampling-removed"},
		{body(`"top_k":4,`, text, text), "anthropic/sampling-removed"},
		{body(``, text, document), "anthropic/assistant-document"},
		{body(``, cited, text), "anthropic/user-citations"},
		{body(`"temperature":null,`, document, cited), ""},
		{body(``, `{"type":"text","text":"hi","citations":[]}`, text), ""},
	} {
		for version, applies := range map[string]bool{"": false, "2023-06-01": false, "2026-10-20": false, "2026-10-21": true, "2027-01-01": true, "latest": false} {
			got := rulesFound(t, c.body, Conditions{Version: version})
			if applies && c.row != "" && !slices.Equal(got, []string{c.row}) || (!applies || c.row == "") && got != nil {
				t.Errorf("version %q: %s: found %q", version, c.body, got)
			}
		}
		r, err := Parse([]byte(c.body), Options{Conditions: Conditions{Version: "2026-10-21"}})
		if err != nil {
			t.Fatal(err)
		}
		m, err := r.repair(Repair{}, CheckOptions{})
		if err != nil {
			t.Fatal(err)
		}
		// A parameter can go, what documents and citations say cannot.
		if repaired := len(m.Left) == 0; repaired != (c.row == "" || c.row == "anthropic/sampling-removed") {
			t.Errorf("%s: left %v", c.body, m.Left)
		}
		_, messages, _ := strings.Cut(c.body, `"messages":`)
		if !strings.HasSuffix(string(m.Request.Raw()), messages) {
			t.Errorf("%s: the messages are changed: %s", c.body, m.Request.Raw())
		}
	}
	// Other vendors of the same shape have versions of their own.
	if got := rulesFound(t, strings.Replace(body(`"temperature":1,`, text, text), "claude-sonnet-4-6", "deepseek-v4-pro", 1), Conditions{Version: "2026-10-21"}); got != nil {
		t.Errorf("deepseek: %q", got)
	}
}

func TestRulesDependOnBetasPathAndThread(t *testing.T) {
	const summary = `{"model":"claude-opus-5-5",BETAS"max_tokens":9,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"compaction","content":"so far"}]},{"role":"user","content":"go on"}]}`
	const thread = `{"model":"claude-opus-5-5",BETAS"max_tokens":9,"thread":{"type":"create"},"messages":[{"role":"user","content":"hi"}]}`
	none, other := ``, `"betas":["other-2026-01-01"],`
	for _, c := range []struct {
		name, body, betas string
		sent              Conditions
		want              string
	}{
		{"nothing is known", summary, none, Conditions{}, ""},
		{"not in the body", summary, other, Conditions{}, "anthropic/beta-block-without-header"},
		{"in the header", summary, other, Conditions{Betas: "a-1, compact-2026-01-12"}, ""},
		{"not in the header", summary, none, Conditions{Betas: "a-1", AllBetas: true}, "anthropic/beta-block-without-header"},
		{"not in what is known of the header", summary, none, Conditions{Betas: "a-1"}, ""},
		{"thread, nothing is known", thread, none, Conditions{}, ""},
		{"thread without its beta", thread, none, Conditions{AllBetas: true}, "anthropic/thread-beta"},
		{"thread with its beta", thread, none, Conditions{Betas: "message-threads-2026-08-12", AllBetas: true}, ""},
		{"thread that is counted", thread, none, Conditions{Path: "/v1/messages/count_tokens"}, "anthropic/thread-counted"},
		{"thread with context edits", strings.Replace(thread, "BETAS", `BETAS"context_management":{"edits":[]},`, 1), none, Conditions{}, "anthropic/thread-context-edits"},
	} {
		if got := strings.Join(rulesFound(t, strings.Replace(c.body, "BETAS", c.betas, 1), c.sent), " "); got != c.want {
			t.Errorf("%s: found %q, not %q", c.name, got, c.want)
		}
	}
}

// TestEnvelopeHasConditions: recorders write headers in several ways.
func TestEnvelopeHasConditions(t *testing.T) {
	want := Conditions{Path: "https://api.anthropic.com/v1/messages", Version: "2026-10-21", Betas: "a-1,b-2", AllBetas: true}
	const body = `{"model":"claude-opus-5-5","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`
	for _, recorded := range []string{
		`{"url":"https://api.anthropic.com/v1/messages?beta=true","headers":{"Anthropic-Version":"2026-10-21","anthropic-beta":"a-1,b-2"},"body":` + body + `}`,
		`{"request":{"url":"https://api.anthropic.com/v1/messages","headers":[{"name":"anthropic-version","value":"2026-10-21"},{"name":"anthropic-beta","value":"a-1,b-2"}],"body":` + body + `},"response":{"headers":{"anthropic-version":"1"}}}`,
		`{"uri":"https://api.anthropic.com/v1/messages","body":` + body + `,"request_headers":{"anthropic-version":["2026-10-21"],"anthropic-beta":["a-1","b-2"]}}`,
	} {
		e := Unwrap([]byte(recorded))
		if e.Conditions != want || string(e.Body) != body {
			t.Errorf("%s: %+v", recorded, e.Conditions)
		}
	}
	header := http.Header{}
	header.Set("anthropic-version", "2026-10-21")
	header.Add("anthropic-beta", "a-1")
	header.Add("anthropic-beta", "b-2")
	if got := ReadConditions("https://api.anthropic.com/v1/messages?beta=true", header); got != want {
		t.Errorf("%+v", got)
	}
	if got := (Conditions{Version: "2023-06-01"}).or(want); got.Version != "2023-06-01" || got.Betas != want.Betas || got.Path != want.Path {
		t.Errorf("Or: %+v", got)
	}
}
