package serve_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/pare-llm/pare/config"
	"github.com/pare-llm/pare/internal/serve"
)

// sameFile is a history in which one file is read again and again, between words of the model.
func sameFile(model string, reads, words int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"model":%q,"max_tokens":100,"messages":[{"role":"user","content":"watch the file"}`, model)
	for i := range reads {
		fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_%d","name":"Read","input":{"file_path":"a.go"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":%q}]}`, i, i, strings.Repeat("the same line again\n", words))
	}
	b.WriteString(`]}`)
	return b.String()
}

// TestDefectX5RulesVoteWithoutAFile: a server that nobody has configured does what one with an
// empty configuration does. Its rules vote on what is too large, and with --prune on everything.
func TestDefectX5RulesVoteWithoutAFile(t *testing.T) {
	empty, err := config.Parse("pare.toml", nil)
	if err != nil {
		t.Fatal(err)
	}
	set, err := serve.Load(empty, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		prune bool
		body  string
		rules bool
	}{
		{"small", false, sameFile("claude-2", 20, 60), false},
		{"small and pruned", true, sameFile("claude-2", 20, 60), true},
		{"too large", false, sameFile("claude-2", 40, 1000), true},
		{"too large and pruned", true, sameFile("claude-2", 40, 1000), true},
	} {
		var sent []string
		for _, set := range []*serve.Settings{nil, set} {
			o := to(t, func(w http.ResponseWriter, r *http.Request) {
				got, _ := io.ReadAll(r.Body)
				sent = append(sent, string(got))
			})
			o.Settings, o.Prune = set, tt.prune
			at, _, _ := start(t, o)
			resp, _ := send(t, "POST", at+"/v1/messages", tt.body)
			if voted := strings.Contains(resp.Header.Get("Pare-Rules"), "deduplication"); voted != tt.rules {
				t.Errorf("%s: %v", tt.name, resp.Header)
			}
		}
		if len(sent) != 2 || sent[0] != sent[1] || (sent[0] != tt.body) != tt.rules {
			t.Errorf("%s: %d bytes came, %d and %d were sent", tt.name, len(tt.body), len(sent[0]), len(sent[1]))
		}
	}
}
