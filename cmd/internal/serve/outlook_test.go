package serve_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pare-llm/pare/cmd/internal/serve"
	"github.com/pare-llm/pare/internal/fullness"
)

// beginning is the first part of a conversation: so many messages, each of some words.
func beginning(name string, messages, words int) string {
	var list []string
	for i := range messages {
		list = append(list, fmt.Sprintf(`{"role":%q,"content":"%s, message %d %s"}`, []string{"user", "assistant"}[i%2], name, i, strings.Repeat("words of it ", words)))
	}
	return `{"model":"claude-sonnet-4-5","max_tokens":1000,"messages":[` + strings.Join(list, ",") + `]}`
}

// TestOneOutlook: the header of a reply, the record of the request, the live page and the session in
// the store say the same of a conversation.
func TestOneOutlook(t *testing.T) {
	r := learnedSync(t, filepath.Join(t.TempDir(), "pare.db"), 1, serve.Options{CompactAbove: 50_000}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, `{"type":"message","role":"assistant","content":[{"type":"text","text":"well"}],"usage":{"input_tokens":%d,"output_tokens":50}}`, len(body)/3)
	})
	at, header := r.at[0], ""
	const requests = 8
	for n := range requests {
		resp, out := send(t, "POST", at+"/v1/messages", beginning("it", 20*n+3, 10), "x-api-key", "k")
		if resp.StatusCode != 200 {
			t.Fatal(out)
		}
		header = resp.Header.Get("Pare-Window")
	}
	var seen struct {
		Requests []struct{ Fullness fullness.Outlook }
	}
	_, out := send(t, "GET", at+"/pare/v1/requests", "")
	if err := json.Unmarshal([]byte(out), &seen); err != nil || len(seen.Requests) != requests {
		t.Fatal(err, out)
	}
	last := seen.Requests[0].Fullness
	if last.Header() != header || last.RequestsLeft == nil || last.DollarsLeft == nil || last.Requests != requests-1 || last.CutAt != 200_000 {
		t.Errorf("the record says %s, the header %s", last.Header(), header)
	}
	var live struct {
		Requests []struct{ Fullness fullness.Outlook }
	}
	if _, out = send(t, "GET", at+"/pare/traffic.json", ""); json.Unmarshal([]byte(out), &live) != nil || live.Requests[requests-1].Fullness.Header() != header {
		t.Errorf("the live page says %s", out)
	}
	var list struct {
		Sessions []struct {
			ID         string
			Remembered struct {
				Requests int
				Fullness fullness.Outlook
			}
		}
	}
	for len(list.Sessions) == 0 || list.Sessions[0].Remembered.Requests < requests { // it is written behind the request
		if _, out = send(t, "GET", at+"/pare/v1/sessions", ""); json.Unmarshal([]byte(out), &list) != nil || t.Context().Err() != nil {
			t.Fatal(out)
		}
	}
	listed := list.Sessions[0].Remembered.Fullness
	var one struct{ Fullness fullness.Outlook }
	if _, out = send(t, "GET", at+"/pare/v1/sessions/"+list.Sessions[0].ID, ""); json.Unmarshal([]byte(out), &one) != nil {
		t.Fatal(out)
	}
	// The store has the last request, too, as it was counted.
	if f := one.Fullness; f.Tokens < last.Tokens*98/100 || f.Tokens > last.Tokens*102/100 || f.Room != last.Room || f.Requests != requests || f.Dollars <= last.Dollars || *f.RequestsLeft < *last.RequestsLeft-1 || *f.RequestsLeft > *last.RequestsLeft+1 {
		t.Errorf("the session says %s, the header %s", f.Header(), header)
	}
	if one.Fullness.CutAt < 50_000 || one.Fullness.CutAt > 52_000 || listed.Tokens != one.Fullness.Tokens || *listed.DollarsLeft != *one.Fullness.DollarsLeft {
		t.Errorf("listed %s, got %s", listed.Header(), one.Fullness.Header())
	}
}

// TestStopAbove: with [stop] a conversation ends above its limit, and only that one; without it, all
// go on. Turns and tokens are counted for models that nobody knows, too.
func TestStopAbove(t *testing.T) {
	const known, unknown = "claude-sonnet-4-5", "nobody-knows"
	for _, q := range []struct {
		model, conf string
		want        int
	}{
		{known, "", 6}, {known, `above = ["3 turns"]`, 2}, {known, `above = ["$0.5"]`, 2}, {known, `above = ["90%", "101000"]`, 1},
		{unknown, `above = ["3 turns"]`, 2}, {unknown, `above = ["101000"]`, 1}, {unknown, `above = ["90%", "$0.5"]`, 6},
	} {
		sent := 0
		o := to(t, func(w http.ResponseWriter, r *http.Request) {
			sent++
			io.Copy(io.Discard, r.Body)
			io.WriteString(w, `{"usage":{"input_tokens":102000,"output_tokens":50}}`)
		})
		o.Settings = settings(t, strings.Repeat("[stop]\n", min(len(q.conf), 1))+q.conf)
		at, _, _ := start(t, o)
		talk := func(name string, turns int) string { return strings.Replace(talked(name, turns), known, q.model, 1) }
		for n := range 6 {
			resp, out := send(t, "POST", at+"/v1/messages", talk("same", 1+n))
			if stopped := resp.StatusCode == http.StatusForbidden; stopped != (n >= q.want) || stopped && !strings.Contains(out, "above the limit of") {
				t.Errorf("%s, %q: request %d: %d %s", q.model, q.conf, n+1, resp.StatusCode, out)
			}
		}
		if sent != q.want {
			t.Errorf("%s, %q: %d were sent, want %d", q.model, q.conf, sent, q.want)
		}
		if resp, out := send(t, "POST", at+"/v1/messages", talk("another", 1)); resp.StatusCode != 200 {
			t.Errorf("%s, %q: another conversation: %d %s", q.model, q.conf, resp.StatusCode, out)
		}
	}
}
