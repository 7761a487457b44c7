package replay_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	_ "unsafe" // for linkname

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/replay"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// Every state that a window goes on to from that of the request before is compared with the one
// that a whole climb finds while it is set, and it is told of each.
//
//go:linkname proveTrail github.com/pare-llm/pare/internal/ladder.proveTrail
var proveTrail func()

// work is a random history of an agent at work: calls alone and several at once, results of all
// lengths, also in another order than the calls, words in between, a person now and then.
func work(rnd *rand.Rand, d wire.Dialect) string {
	var all []string
	say := func(n int) string { return strings.TrimSpace(strings.Repeat("so it is ", rnd.IntN(n)+1)) }
	length := func() int {
		switch rnd.IntN(12) {
		case 0:
			return 4_000 + rnd.IntN(30_000)
		case 1, 2, 3:
			return rnd.IntN(500)
		}
		return rnd.IntN(9_000)
	}
	quote := func(s string) string { return fmt.Sprintf("%q", s) }
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	add(`{"role":"user","content":%s}`, quote("the task: "+say(40)))
	for i := range 10 + rnd.IntN(50) {
		var calls, results []string
		for k := range 1 + rnd.IntN(8)/6 + rnd.IntN(8)/7 {
			id, args := fmt.Sprintf("c%d_%d", i, k), fmt.Sprintf(`{"path":"f%d","text":%s}`, rnd.IntN(9), quote(strings.Repeat("w ", rnd.IntN(4)*rnd.IntN(12)/9*2_500)))
			said := quote(strings.Repeat("line of it\n", length()/11))
			if d == wire.OpenAIResponses {
				calls = append(calls, fmt.Sprintf(`{"type":"function_call","call_id":"%s","name":"read","arguments":%s}`, id, quote(args)))
				results = append(results, fmt.Sprintf(`{"type":"function_call_output","call_id":"%s","output":%s}`, id, said))
				continue
			}
			if d == wire.OpenAIChat {
				calls = append(calls, fmt.Sprintf(`{"id":"%s","type":"function","function":{"name":"read","arguments":%s}}`, id, quote(args)))
				results = append(results, fmt.Sprintf(`{"role":"tool","tool_call_id":"%s","content":%s}`, id, said))
				continue
			}
			calls = append(calls, fmt.Sprintf(`{"type":"tool_use","id":"%s","name":"read","input":%s}`, id, args))
			results = append(results, fmt.Sprintf(`{"type":"tool_result","tool_use_id":"%s","content":%s}`, id, said))
		}
		rnd.Shuffle(len(results), func(a, b int) { results[a], results[b] = results[b], results[a] })
		first := rnd.IntN(2) == 0
		if d == wire.OpenAIResponses {
			if rnd.IntN(3) == 0 {
				add(`{"type":"reasoning","id":"rs_%d","summary":[],"encrypted_content":%s}`, i, quote(say(30)))
			} else if first {
				add(`{"role":"assistant","content":%s}`, quote("I do "+say(20)))
			}
			all = append(append(all, calls...), results...)
		} else if d == wire.OpenAIChat {
			text := "null"
			if first {
				text = quote("I do " + say(20))
			}
			add(`{"role":"assistant","content":%s,"tool_calls":[%s]}`, text, strings.Join(calls, ","))
			all = append(all, results...)
		} else {
			if rnd.IntN(3) == 0 {
				calls = append([]string{`{"type":"thinking","thinking":` + quote(say(30)) + `,"signature":"c2ln"}`}, calls...)
			} else if first {
				calls = append([]string{`{"type":"text","text":` + quote("I do "+say(20)) + `}`}, calls...)
			}
			if rnd.IntN(9) == 0 {
				results = append(results, `{"type":"text","text":`+quote("by the way, "+say(20))+`}`)
			}
			add(`{"role":"assistant","content":[%s]}`, strings.Join(calls, ","))
			add(`{"role":"user","content":[%s]}`, strings.Join(results, ","))
		}
		if rnd.IntN(7) == 0 {
			add(`{"role":"assistant","content":%s}`, quote("done: "+say(60)))
			if d == wire.OpenAIChat && rnd.IntN(3) == 0 {
				add(`{"role":"system","content":%s}`, quote("mind that "+say(9)))
			}
			add(`{"role":"user","content":%s}`, quote("next: "+say(60)))
		}
	}
	if d == wire.OpenAIResponses {
		return `{"model":"gpt-5","store":false,"instructions":"be kind","input":[` + strings.Join(all, ",") + `]}`
	}
	if d == wire.OpenAIChat {
		return `{"model":"gpt-4.1","messages":[{"role":"system","content":"be kind"},` + strings.Join(all, ",") + `]}`
	}
	return `{"model":"claude-sonnet-4-5","max_tokens":99,"system":"be kind","messages":[` + strings.Join(all, ",") + `]}`
}

// TestTrail: a window that goes on from the state of the request before comes to the state, and
// to the bytes, that it comes to when nothing is known of earlier requests, whatever the history,
// the limit and the options, stable or not.
func TestTrail(t *testing.T) {
	var proved, asked, unfit, forced, paid atomic.Int64
	proveTrail = func() { proved.Add(1) }
	defer func() { proveTrail = nil }()
	for seed := range uint64(max(20, trial.Size(36))) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		d := []wire.Dialect{wire.Anthropic, wire.OpenAIChat, wire.OpenAIResponses}[rnd.IntN(3)]
		r := mustParse(t, work(rnd, d), wire.Options{Dialect: d})
		w := pare.Window{
			Recent: rnd.IntN(12), MinKeep: max(rnd.IntN(12)-7, 0), Unpin: pare.Pin(rnd.IntN(8) * rnd.IntN(3) / 2), Archive: rnd.IntN(2) == 0, AllowTiny: rnd.IntN(2) == 0,
		}
		low := 0
		switch rnd.IntN(3) {
		case 0:
			low = 10 + rnd.IntN(80)
		case 1:
			low, w.Cache = 10+rnd.IntN(80), tokens.CacheOf("claude-sonnet-4-5")
		}
		proving := replay.Policy{Name: "proving", Prepare: func(s replay.Setting) (replay.Send, error) {
			w := w
			w.Tokens, w.Low = s.Tokens, s.Tokens*low/100
			alone := pare.Policy{Window: &w, Uncounted: true, Model: s.Model, Counter: func(string) (wire.Counter, error) { return s.Counter, nil }}
			known := alone
			known.Past = &pare.Past{Lend: true}
			return func(q *wire.Request) (*wire.Request, error) {
				asked.Add(1)
				plan, err := known.Plan(context.Background(), q)
				fresh, alone := alone.Plan(context.Background(), mustParse(t, string(q.Raw()), wire.Options{Dialect: d}))
				if err != nil || alone != nil {
					if unfit.Add(1); fmt.Sprint(err) != fmt.Sprint(alone) {
						t.Errorf("seed %d: %v, alone %v", seed, err, alone)
					}
					return q, err
				}
				if !bytes.Equal(plan.Result().Raw(), fresh.Result().Raw()) || !slices.Equal(plan.Rungs(), fresh.Rungs()) || !slices.Equal(plan.Batches(), fresh.Batches()) ||
					!reflect.DeepEqual(plan.Decisions(), fresh.Decisions()) {
					t.Errorf("seed %d: %d messages, limit %d, window %+v: the plan differs", seed, len(q.Transcript().Messages()), s.Tokens, w)
				}
				for _, b := range plan.Batches() {
					if b.Messages == len(q.Transcript().Messages()) && b.Forced {
						forced.Add(1)
					} else if b.Messages == len(q.Transcript().Messages()) {
						paid.Add(1)
					}
				}
				return plan.Result(), nil
			}, nil
		}}
		for range 3 {
			limit := replay.Amount{Percent: 1 + rnd.IntN(100)*rnd.IntN(100)/110}
			mustReplay(t, r, replay.Options{Policies: []replay.Policy{proving}, Limit: limit, Counter: letters{}})
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	t.Logf("%d requests, %d proofs, %d do not fit; %d batches that had to be, %d that paid", asked.Load(), proved.Load(), unfit.Load(), forced.Load(), paid.Load())
	if proved.Load() < asked.Load()/3 || forced.Load() == 0 || paid.Load() == 0 {
		t.Error("that is too few")
	}
}
