package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func talk(turns int) string {
	var b strings.Builder
	b.WriteString(`{"model":"gpt-4.1","messages":[`)
	for i := range turns {
		if i > 0 {
			b.WriteByte(',')
		}
		text := strings.Repeat("so it is and not otherwise ", 10)
		fmt.Fprintf(&b, `{"role":"user","content":"Question %d: %s"},{"role":"assistant","content":"Answer %d: %s"}`, i, text, i, text)
	}
	return b.String() + "]}"
}

func TestCompactAsksEndpoint(t *testing.T) {
	for api, reply := range map[string]string{
		"openai":    `{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"They agreed on everything."}}]}`,
		"anthropic": `{"type":"message","role":"assistant","stop_reason":"end_turn","content":[{"type":"text","text":"They agreed on everything."}]}`,
	} {
		var asked, key string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			asked, key = string(body), r.Header.Get("Authorization")+r.Header.Get("X-Api-Key")
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, reply)
		}))
		defer server.Close()
		var out, errs bytes.Buffer
		status := run(&environment{
			args:  []string{"compact", "--endpoint", server.URL, "--api", api, "--summary-model", "small", "--key-env", "MY_KEY", "--min-keep", "2"},
			stdin: strings.NewReader(talk(8)), stdout: &out, stderr: &errs,
			getenv: func(name string) string { return map[string]string{"MY_KEY": "sesame"}[name] },
		})
		if status != statusClean || !strings.Contains(out.String(), "They agreed on everything.") || strings.Contains(out.String(), "Question 5") {
			t.Errorf("%s: status %d: %s%s", api, status, out.String(), errs.String())
		}
		if !strings.Contains(asked, `"small"`) || !strings.Contains(asked, "Question 5") || !strings.HasSuffix(key, "sesame") {
			t.Errorf("%s: asked %s with key %q", api, asked, key)
		}
	}
}

func TestCompactStopsAtTimeout(t *testing.T) {
	done := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-done }))
	defer server.Close()
	defer close(done)
	in := talk(8)
	status, out, errs := program(strings.NewReader(in), "compact", "--endpoint", server.URL, "--summary-model", "m", "--min-keep", "2", "--timeout", "50ms")
	if status != statusFindings || out != in || !strings.Contains(errs, "did not answer within 50ms") || !strings.Contains(errs, "--timeout gives more time") {
		t.Errorf("status %d: %s", status, errs)
	}
}

// TestCompactOfZooIsClean compacts every incident; the result must not have more findings than the
// input.
func TestCompactOfZooIsClean(t *testing.T) {
	for name, z := range zoo(t) {
		for _, how := range [][]string{{"--by", "extract"}, {"--summary", "s"}, {"--summary", "s", "--fold-task"}} {
			args := append([]string{"compact", "--json", "--inside", "--min-keep", "1", "--as", z.Dialect}, how...)
			status, out, errs := program(strings.NewReader(z.body()), args...)
			if status > statusFindings {
				continue // unreadable
			}
			if out == z.body() {
				continue // unchanged
			}
			if now, report, _ := program(strings.NewReader(out), "check", "--json", "--as", z.Dialect); now != status {
				t.Errorf("%s, %v: compact ended in status %d (%s), check of its result in %d:\n%s", name, how, status, errs, now, report)
			}
		}
	}
}
