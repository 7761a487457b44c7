package proxy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/rules"
)

// TestArrive: results are shortened in the first request that has them and in the same way in all that
// follow, also after a restart, and in requests that only ask how large they are; nothing that was
// sent is sent in other bytes.
func TestArrive(t *testing.T) {
	rule, err := rules.Oversized{Arrival: true}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	pipeline, err := pare.Compile(append(rules.Standard(), rule)...)
	if err != nil {
		t.Fatal(err)
	}
	body := func(n int) string {
		var b strings.Builder
		b.WriteString(`{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[{"role":"user","content":"go"}`)
		for i := range n {
			fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"tool_use","id":"c%d","name":"Bash","input":{"command":"make"}}]}`, i)
			fmt.Fprintf(&b, `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"c%d","content":"%s"}]}`, i, strings.Repeat(fmt.Sprintf("ok case_%d\\n", i), 500*(i%2)+5))
		}
		return b.String() + "]}"
	}
	start := func() *Transport {
		return &Transport{PlanTime: -1, Policy: &pare.Policy{Rules: pipeline, Window: Default().Window}, Conversations: &Conversations{}}
	}
	p := &provider{refuses: func(string) string { return "" }}
	tr, before := start(), ""
	for n := 1; n <= 16; n++ {
		if n == 9 {
			tr = start()
		}
		tr.Base = p
		got, _ := p.ask(t, tr, "/v1/messages", body(n))
		sent := strings.TrimSuffix(got[0], "]}")
		if !strings.HasPrefix(sent, before) || strings.Count(sent, "left out here by oversized") != n/2 {
			t.Fatalf("request %d: %.3000s", n, sent)
		}
		before = sent
		asked, _ := p.ask(t, tr, "/v1/messages/count_tokens", body(n))
		if asked[0] != got[0] {
			t.Errorf("request %d: another body is counted than is sent", n)
		}
	}
}
