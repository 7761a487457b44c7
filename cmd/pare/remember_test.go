package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/store"
)

func TestRememberedReplyIsNoFault(t *testing.T) {
	for middle, want := range map[string]string{`"It is a heron."`: "", `[{"type":"tool_use","id":"toolu_1","name":"look","input":{}}]`: "orphan-call"} {
		dsn := filepath.Join(t.TempDir(), "pare.db")
		db, err := store.Open(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		req, err := pare.Parse([]byte(`{"model":"claude-opus-4-6","max_tokens":9,"messages":[{"role":"user","content":"Which bird is that?"},{"role":"assistant","content":` + middle + `},{"role":"user","content":"And that?"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		reply := []byte(`{"role":"assistant","content":[{"type":"tool_use","id":"toolu_2","name":"look","input":{}}]}`)
		if err := db.Remember(t.Context(), store.RecordedExchange{Request: req, Reply: [][]byte{reply}}); err != nil {
			t.Fatal(err)
		}
		all, err := db.Sessions(t.Context(), "", 2, nil)
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		db.Close()
		var out, errs bytes.Buffer
		status := run(&environment{args: []string{"session", "show", "--store", dsn, all[0].ID}, stdin: strings.NewReader(""), stdout: &out, stderr: &errs, getenv: func(string) string { return "" }})
		faults := strings.Count(out.String(), "✗ orphan") + strings.Count(out.String(), "✗ last")
		if status != statusClean || strings.Contains(out.String(), "✗") != (want != "") || want != "" && (faults != 1 || !strings.Contains(out.String(), want)) {
			t.Errorf("%s: status %d, %s%s", middle, status, out.String(), errs.String())
		}
	}
}
