package serve_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/cmd/internal/serve"
	"github.com/pare-llm/pare/store"
	"github.com/pare-llm/pare/wire"
)

// line is a line of Claude Code as the Agent SDK hands it to a SessionStore.
func line(n int, side bool, message string) store.Entry {
	kind, up := "user", "null"
	if strings.Contains(message, `"assistant"`) {
		kind = "assistant"
	}
	if n > 0 {
		up = fmt.Sprintf(`"u%d"`, n-1)
	}
	raw := fmt.Sprintf("{\n \"parentUuid\":%s,\"isSidechain\":%v,\"sessionId\":\"s1\",\"version\":\"2.1.325\",\"type\":%q,\"message\":%s,\"uuid\":\"u%d\",\"timestamp\":\"2026-01-01T00:00:%02d.000Z\"}",
		up, side, kind, message, n, n)
	return store.Entry{ID: fmt.Sprintf("u%d", n), Kind: serve.KindClaude, Raw: []byte(raw)}
}

// A session that holds the transcript of an agent, and no messages, has a window: what the
// agent would send, whole pairs, within the limit; the branch that was left is not in it,
// and nothing is written.
func TestWindowOfATranscript(t *testing.T) {
	ctx := context.Background()
	st, err := serve.OpenStore(ctx, filepath.Join(t.TempDir(), "pare.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	assistant := func(block string) string {
		return `{"id":"msg","type":"message","role":"assistant","model":"claude-sonnet-4-5","stop_reason":"tool_use","usage":{"input_tokens":3},"content":[` + block + `]}`
	}
	for _, side := range []bool{false, true} {
		key := store.Key{ID: "p:s1", Path: map[bool]string{true: "subagents/a"}[side]}
		if _, err := st.Create(ctx, key, store.Create{}); err != nil {
			t.Fatal(err)
		}
		all := []store.Entry{
			line(0, side, `{"role":"user","content":"the task"}`),
			{ID: "meta", Kind: serve.KindClaude, Raw: []byte(`{"type":"summary","summary":"a title","leafUuid":"u3"}`)},
			line(1, side, assistant(`{"type":"tool_use","id":"toolu_1","name":"Read","input":{"file_path":"a.go"}}`)),
			line(2, side, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"`+strings.Repeat("package a ", 3000)+`"}]}`),
			line(3, side, assistant(`{"type":"text","text":"It is package a."}`)),
			line(4, side, `{"role":"user","content":"and b?"}`),
			line(5, side, assistant(`{"type":"tool_use","id":"toolu_2","name":"Read","input":{"file_path":"b.go"}}`)),
			{ID: "state", Kind: "state", Raw: []byte(`{"not":"a line"}`)},
		}
		if _, err := st.Append(ctx, key, store.Anywhere, all...); err != nil {
			t.Fatal(err)
		}
		for name, ask := range map[string]store.WindowOptions{
			"whole":  {},
			"small":  {Policy: &pare.Policy{Window: &pare.Window{Tokens: 2000}}},
			"framed": {Base: []byte(`{"model":"claude-opus-4-1","max_tokens":100,"system":"be brief"}`)},
		} {
			w, err := st.Window(ctx, key, ask)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			body := string(w.Body)
			r, err := wire.Parse(w.Body, wire.Options{Dialect: wire.Anthropic})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, f := range r.Check(wire.CheckOptions{}) {
				t.Errorf("%s: %s at %s", name, f.Rule, f.Path)
			}
			for _, want := range []string{"the task", "and b?", "toolu_2"} {
				if !strings.Contains(body, want) {
					t.Errorf("%s: %q is not in %.400s", name, want, body)
				}
			}
			if got := strings.Contains(body, strings.Repeat("package a ", 3000)); got != (name != "small") {
				t.Errorf("%s: the long result is there: %v", name, got)
			}
			if framed := strings.Contains(body, "be brief") && strings.Contains(body, "claude-opus-4-1"); framed != (name == "framed") {
				t.Errorf("%s: framed: %v", name, framed)
			}
			if w.Head != int64(len(all)) {
				t.Errorf("%s: head %d", name, w.Head)
			}
		}
		x, err := st.Session(ctx, key)
		if err != nil || x.Dialect != "" || x.Model != "" || x.Head != int64(len(all)) {
			t.Errorf("a window changed the session: %+v, %v", x, err)
		}
	}
	if problems, err := st.Fsck(ctx, false); err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
}
