package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// longOutputs are items and blocks with room for a long text that a server wrote, or that is
// encrypted.
var longOutputs = []struct {
	name string
	d    wire.Dialect
	item string
}{
	{"mcp output", wire.OpenAIResponses, `{"type":"mcp_call","id":"mcp_1","name":"f","server_label":"s","arguments":"{}","output":%q}`},
	{"mcp error", wire.OpenAIResponses, `{"type":"mcp_call","id":"mcp_1","name":"f","server_label":"s","arguments":"{}","error":%q}`},
	{"interpreter logs", wire.OpenAIResponses, `{"type":"code_interpreter_call","id":"ci_1","code":"print(1)","container_id":"cntr_1","outputs":[{"type":"logs","logs":%q}]}`},
	{"omitted thinking", wire.Anthropic, `{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":%q},{"type":"text","text":"ok"}]}`},
	{"thought signature", wire.Gemini, `{"role":"model","parts":[{"text":"ok","thoughtSignature":%q}]}`},
}

// TestWindowSeesLongOutputsOfServers: a long output of a server, or a long signature, leaves the
// request when it does not fit, or the error is that the window is too small.
func TestWindowSeesLongOutputsOfServers(t *testing.T) {
	long := strings.Repeat("line 1\n", 3000)
	for _, c := range longOutputs {
		t.Run(c.name, func(t *testing.T) {
			item := fmt.Sprintf(c.item, long)
			for _, newest := range []bool{false, true} {
				all := []string{said(c.d, true, "TASK"), item}
				if !newest {
					all = append(all, said(c.d, true, "NEWEST"))
				}
				body := map[wire.Dialect]string{wire.Anthropic: `{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[%s]}`, wire.Gemini: `{"contents":[%s]}`, wire.OpenAIResponses: `{"model":"gpt-5","input":[%s]}`}[c.d]
				r, err := wire.Parse(fmt.Appendf(nil, body, strings.Join(all, ",")), wire.Options{Dialect: c.d})
				if err != nil {
					t.Fatal(err)
				}
				counter := tokens.For("gpt-5")
				if n := r.Tokens(counter); n < len(long)/8 {
					t.Errorf("%d bytes count as %d tokens", len(long), n)
				}
				p := &pare.Policy{Window: &pare.Window{Tokens: 1500}, Counter: func(string) (wire.Counter, error) { return counter, nil }}
				plan, err := p.Plan(context.Background(), r)
				var small *pare.WindowTooSmall
				switch {
				case errors.As(err, &small):
				case err != nil:
					t.Error(err)
				case plan.Result().Tokens(counter) > 1500 || strings.Contains(string(plan.Result().Raw()), "line 1"):
					t.Errorf("newest %t: the output stays: %d tokens", newest, plan.Result().Tokens(counter))
				}
				if small != nil && !newest {
					t.Errorf("an old turn cannot go: %v", err)
				}
			}
		})
	}
}
