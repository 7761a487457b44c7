package replay_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/cmd/internal/replay"
	"github.com/pare-llm/pare/rules"
)

// TestShorten: what is shortened as it arrives is never written to the cache again, and costs less; a
// name that is left out and listed counts as seen, a line that is left out and edited does not.
func TestShorten(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[{"role":"user","content":"go"}`)
	long := strings.Repeat(`plain words\n`, 400)
	for i := range 12 {
		said := long + fmt.Sprintf(`the line %d\nwas frob_%d\n`, i, i) + long
		fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"tool_use","id":"c%d","name":"Bash","input":{"command":"make"}}]}`, i)
		fmt.Fprintf(&b, `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"c%d","content":"%s"}]}`, i, said)
	}
	b.WriteString(`,{"role":"assistant","content":[{"type":"tool_use","id":"n","name":"Bash","input":{"command":"frob_3"}}]}`)
	b.WriteString(`,{"role":"user","content":[{"type":"tool_result","tool_use_id":"n","content":"ok"}]}`)
	b.WriteString(`,{"role":"assistant","content":[{"type":"tool_use","id":"e","name":"Edit","input":{"file_path":"a","old_string":"the line 7","new_string":"x"}}]}`)
	b.WriteString(`,{"role":"user","content":[{"type":"tool_result","tool_use_id":"e","content":"ok"}]}]}`)
	r, err := pare.Parse([]byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	res := mustReplay(t, r, replay.Options{Policies: []replay.Policy{replay.Everything(), replay.Shorten(rules.Oversized{})}})
	all, got := res.Runs[0].Totals, res.Runs[1].Totals
	if got.Rewrites != 0 || got.Money > all.Money/2 || got.Unseen != 0 || got.Blind != 1 || got.Refused != 0 {
		t.Errorf("%+v\nfor everything: %+v", got, all)
	}
}
