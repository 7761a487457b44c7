package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/wire"
)

// deepseek is a random history that DeepSeek takes or not: refusals, reasoning, calls,
// prefixes.
func deepseek(seed uint64) string {
	rnd := rand.New(rand.NewPCG(seed, 10))
	all := []string{`{"role":"user","content":"task"}`}
	for i := range 3 + rnd.IntN(8) {
		switch rnd.IntN(9) {
		case 0:
			all = append(all, fmt.Sprintf(`{"role":"assistant","content":null,"refusal":"no %d"}`, i))
		case 1:
			all = append(all, fmt.Sprintf(`{"role":"assistant","content":"a %d"}`, i))
		case 2:
			all = append(all, fmt.Sprintf(`{"role":"assistant","content":"","refusal":"no %d","tool_calls":[{"id":"c%d","type":"function","function":{"name":"f","arguments":"{}"}}]}`, i, i),
				fmt.Sprintf(`{"role":"tool","tool_call_id":"c%d","content":"r"}`, i))
		case 3:
			all = append(all, fmt.Sprintf(`{"role":"assistant","content":null,"reasoning_content":"t","tool_calls":[{"id":"c%d","type":"function","function":{"name":"f","arguments":"{}"}}]}`, i),
				fmt.Sprintf(`{"role":"tool","tool_call_id":"c%d","content":"r"}`, i))
		case 4:
			all = append(all, fmt.Sprintf(`{"role":"assistant","content":[{"type":"refusal","refusal":"no %d"}]}`, i))
		case 5:
			all = append(all, fmt.Sprintf(`{"role":"assistant","content":null,"refusal":"no %d","tool_calls":[{"id":"c%d","type":"function","function":{"name":"f","arguments":"{}"}}]}`, i, i),
				fmt.Sprintf(`{"role":"tool","tool_call_id":"c%d","content":"r"}`, i))
		case 6:
			all = append(all, fmt.Sprintf(`{"role":"assistant","content":[{"type":"text","text":"t"},{"type":"refusal","refusal":"no %d"}],"tool_calls":[{"id":"c%d","type":"function","function":{"name":"f","arguments":"{}"}}]}`, i, i),
				fmt.Sprintf(`{"role":"tool","tool_call_id":"c%d","content":"r"}`, i))
		default:
			all = append(all, fmt.Sprintf(`{"role":"user","content":"u %d"}`, i))
		}
	}
	return `{"model":"deepseek-reasoner","messages":[` + strings.Join(all, ",") + `]}`
}

// TestWindowsStayClean checks that a window makes no rejected request of a clean one.
func TestWindowsStayClean(t *testing.T) {
	clean := 0
	for seed := range uint64(3000) {
		body := deepseek(seed)
		r := reading(t, wire.OpenAIChat, []byte(body))
		if len(r.Check(wire.CheckOptions{})) > 0 {
			continue
		}
		clean++
		for n := 1; n < len(r.Transcript().Messages()); n++ {
			for _, free := range []pare.Pin{0, pare.PinTask | pare.PinNewest} {
				to := func(n int) (*pare.Plan, error) {
					return planner.Trim(context.Background(), r, pare.Window{Messages: n, AllowTiny: true, Unpin: free}, pare.Options{})
				}
				plan, err := to(n)
				var small *pare.WindowTooSmall
				if errors.As(err, &small) {
					if _, err := to(small.Minimum); err != nil || small.Minimum <= n {
						t.Fatalf("seed %d, %d messages: the minimum %d fails: %v\n%s", seed, n, small.Minimum, err, body)
					}
					if small.Minimum > n+1 {
						if _, err := to(small.Minimum - 1); err == nil {
							t.Fatalf("seed %d, %d messages: one less than the minimum %d works\n%s", seed, n, small.Minimum, body)
						}
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				if len(plan.Remaining()) > 0 {
					t.Fatalf("seed %d, %d messages: %v\n%s\n%s", seed, n, plan.Remaining(), body, plan.Result().Raw())
				}
			}
		}
	}
	if clean < 100 {
		t.Errorf("only %d clean histories", clean)
	}
}
