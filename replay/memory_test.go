package replay_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/benchdata"
	recorded "github.com/pare-llm/pare/internal/corpus"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/replay"
	"github.com/pare-llm/pare/wire"
)

// TestMemory: what is remembered from request to request changes nothing but time. Each
// request is sent a second time by somebody who reads its bytes and knows nothing else.
func TestMemory(t *testing.T) {
	sent, changed := 0, 0
	walk := func(name string, r *wire.Request, limits ...int) {
		o := wire.Options{Dialect: r.Dialect, Profile: r.Profile.Name, Model: r.Model(), Structural: len(r.Check(wire.CheckOptions{})) == 0}
		var policies []replay.Policy
		counts := make([][2]int, 0, 8)
		for _, text := range []string{"sliding", "trim", "trim:low", "trim:cache,recent=3", "prune", "trim:low=30%,rules", "trim:cache,rules"} {
			p, err := replay.ParsePolicy(text, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			counts = append(counts, [2]int{})
			count := &counts[len(counts)-1]
			policies = append(policies, replay.Policy{Name: p.Name, Prepare: func(s replay.Setting) (replay.Send, error) {
				send, err := p.Prepare(s)
				if err != nil {
					return nil, err
				}
				return func(q *wire.Request) (*wire.Request, error) {
					out, err := send(q)
					anew, wrong := wire.Parse(slices.Clone(q.Raw()), o)
					if wrong != nil {
						return nil, wrong
					}
					fresh, wrong := p.Prepare(s)
					if wrong != nil {
						return nil, wrong
					}
					want, wrong := fresh(anew)
					if count[0]++; fmt.Sprint(err) != fmt.Sprint(wrong) {
						return nil, fmt.Errorf("%v; without memory %v", err, wrong)
					}
					if err == nil && !bytes.Equal(out.Raw(), want.Raw()) {
						return nil, fmt.Errorf("sent\n%s\nwithout memory\n%s", out.Raw(), want.Raw())
					}
					if err == nil && out != q {
						count[1]++
					}
					return out, err
				}, nil
			}})
		}
		for _, limit := range limits {
			if _, err := replay.Replay(r, replay.Options{Limit: replay.Amount{Percent: limit}, Policies: policies}); err != nil {
				t.Fatalf("%s, limit %d %%: %v", name, limit, err)
			}
		}
		for _, c := range counts {
			sent, changed = sent+c[0], changed+c[1]
		}
	}
	n := uint64(trial.Size(20))
	randoms(t, n, func(name string, r *wire.Request) { walk(name, r, 50) })
	for _, kind := range []benchdata.Shape{benchdata.Messages, benchdata.Chat, benchdata.Responses} {
		walk(fmt.Sprint(kind), mustParse(t, string(benchdata.Dense(kind, 40_000)), wire.Options{}), 30)
	}
	walk("talk", mustParse(t, talk(), wire.Options{}), 50, 20)
	most := trial.Size(5_000)
	for _, x := range recorded.Requests(t) {
		if r, err := wire.Parse(x.Raw, wire.Options{}); err == nil && len(x.Raw) < most && len(r.Transcript().Messages()) > 4 {
			walk(x.Name, r, 40)
		}
	}
	t.Logf("%d requests sent, %d of them changed", sent, changed)
	if changed < sent/10 {
		t.Errorf("only %d of %d requests are changed", changed, sent)
	}
}

// talk is a history with everything that a window pins wherever it stands: people and the system
// speak again and again, and summaries stand for what is gone. Results have all sizes.
func talk() string {
	var b strings.Builder
	b.WriteString(`{"model":"gpt-4.1","messages":[{"role":"system","content":"Be brief."}`)
	for i := range 14 {
		said := "go on"
		if i%7 == 3 {
			said = pare.SummaryBegin + "\nwhat was before\n" + pare.SummaryEnd
		}
		fmt.Fprintf(&b, `,{"role":"user","content":%q}`, said)
		if i%5 == 4 {
			b.WriteString(`,{"role":"system","content":"Be brief, again."}`)
		}
		for j := range 1 + i%3 {
			fmt.Fprintf(&b, `,{"role":"assistant","content":null,"tool_calls":[{"id":"c%d_%d","type":"function","function":{"name":"bash","arguments":"{\"command\":\"%s\"}"}}]}`, i, j, strings.Repeat("x", 10+i%4/3*9000))
			fmt.Fprintf(&b, `,{"role":"tool","tool_call_id":"c%d_%d","content":%q}`, i, j, strings.Repeat("line of text\n", []int{5, 50, 700, 2000}[(i+j)%4]))
		}
		fmt.Fprintf(&b, `,{"role":"assistant","content":"done %d"}`, i)
	}
	return b.String() + "]}"
}
