package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// requests lists the bodies that an agent would have sent on its way to this history:
// one wherever the model's turn begins, and the last.
func requests(t testing.TB, r *wire.Request) []*wire.Request {
	t.Helper()
	msgs := r.Transcript().Messages()
	var all []*wire.Request
	for i, m := range msgs {
		if i == 0 || m.Role != transcript.Assistant || msgs[i-1].Turn == m.Turn {
			continue
		}
		var later []transcript.BlockID
		for b := int(m.First); b < len(r.Transcript().Blocks()); b++ {
			later = append(later, transcript.BlockID(b))
		}
		sub, _, err := dialect.Rewrite(r, later, nil)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, sub)
	}
	return append(all, r)
}

// shared is how many bytes two bodies begin with in common, from the list on.
func shared(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// TestStableWindow checks a growing history: until the limit is passed, each request begins with
// the bytes of the previous one; every request is valid and within the limit, and the result
// depends only on the history.
func TestStableWindow(t *testing.T) {
	trims, holds := 0, 0
	for seed := range uint64(historyCount(t) / 100) {
		s := histories.Random(seed, histories.GenOptions{Turns: int(seed%3)*6 + 1, Steps: 12})
		d := wire.Dialects()[seed%5]
		body := s.Render(d, histories.RenderOptions{})
		r, err := wire.Parse(body, wire.Options{Dialect: d})
		if err != nil {
			t.Fatal(err)
		}
		if fixed, err := planner.Repair(context.Background(), r, pare.Options{}); err != nil || len(fixed.Remaining()) > 0 {
			continue
		} else {
			r = fixed.Result()
		}
		total := r.Tokens(quarters{})
		w := pare.Window{Tokens: total * 2 / 3, Low: total / 3}
		name := fmt.Sprintf("seed %d, %s", seed, d)
		var before *pare.Plan
		for i, q := range requests(t, r) {
			if fixed, err := planner.Repair(context.Background(), q, pare.Options{}); err != nil || !fixed.Empty() {
				before = nil
				continue // a cut of the test's making, not an agent's request
			}
			plan, err := planner.Trim(context.Background(), q, w, pare.Options{Counter: quarters{}})
			if small := (*pare.WindowTooSmall)(nil); errors.As(err, &small) {
				before = nil
				continue
			}
			if err != nil {
				t.Fatalf("%s, request %d: %v", name, i, err)
			}
			if n := plan.Result().Tokens(quarters{}); n > w.Tokens || len(plan.Remaining()) > 0 {
				t.Fatalf("%s, request %d: %d tokens, left %v", name, i, n, plan.Remaining())
			}
			if before != nil {
				a, b := before.Result().Raw(), plan.Result().Raw()
				if len(plan.Batches()) == len(before.Batches()) {
					holds++
					// All but the closing bracket and what stands behind the list.
					end := len(a) - (len(body) - bytes.LastIndexByte(body, ']')) - 2
					if shared(a, b) < min(end, listEnd(before.Result())) {
						t.Fatalf("%s, request %d: the prefix changed at %d of %d without a batch\n%s\n%s", name, i, shared(a, b), len(a), a, b)
					}
				} else {
					trims++
				}
			}
			before = plan
		}
	}
	if trims < 10 || holds < 10*trims/10 {
		t.Fatalf("only %d trims and %d holds", trims, holds)
	}
	t.Logf("%d trims, %d requests between them", trims, holds)
}

// listEnd is where the last message of a request ends.
func listEnd(r *wire.Request) int {
	msgs := r.Transcript().Messages()
	return msgs[len(msgs)-1].Span.End
}

// TestStableMinimum: the minimum of a stable window is exact too.
func TestStableMinimum(t *testing.T) {
	for seed := range uint64(historyCount(t) / 50) {
		d, body, did := history(seed)
		r, err := wire.Parse(body, wire.Options{Dialect: d})
		if err != nil {
			t.Fatal(err)
		}
		trim := func(limit int) error {
			_, err := planner.Trim(context.Background(), r, pare.Window{Tokens: limit, Low: (limit + 1) / 2}, pare.Options{Counter: quarters{}})
			return err
		}
		var small *pare.WindowTooSmall
		if !errors.As(trim(2), &small) {
			continue
		}
		if err := trim(small.Minimum); err != nil {
			t.Errorf("seed %d, %s, %v: the minimum %d fails: %v", seed, d, did, small.Minimum, err)
		}
		if trim(small.Minimum-1) == nil {
			t.Errorf("seed %d, %s, %v: one less than the minimum %d works", seed, d, did, small.Minimum)
		}
	}
}

// paysAfter are prices at which rewriting pays after so many requests, whatever is removed.
type paysAfter int

func (p paysAfter) PaysAfter(int, int) int { return int(p) }

// TestTrimEarlierWhenItPays checks that a window that trims when that pays waits until the number
// of requests is four times the number after which it pays.
func TestTrimEarlierWhenItPays(t *testing.T) {
	var b strings.Builder
	b.WriteString(`user "the task"`)
	for i := range 60 {
		fmt.Fprintf(&b, ` | call c%d Read file%d | result c%d "output %d %s"`, i, i, i, i, strings.Repeat("lorem ", 200))
	}
	r := reading(t, wire.Anthropic, histories.MustParse(b.String()).Render(wire.Anthropic, histories.RenderOptions{}))
	for _, n := range []int{4, 10, 15, 16} {
		plan, err := planner.Trim(context.Background(), r, pare.Window{Tokens: 1 << 20, LowPercent: 50, Cache: paysAfter(n)}, pare.Options{Counter: quarters{}})
		if err != nil {
			t.Fatal(err)
		}
		all := plan.Batches()
		if 4*n > 60 {
			if len(all) > 0 {
				t.Errorf("pays after %d: trimmed at %d messages", n, all[0].Messages)
			}
			continue
		}
		// Request k ends with the result of exchange k-1.
		if want := 2*(4*n) - 1; len(all) == 0 || all[0].Messages != want || all[0].Forced {
			t.Errorf("pays after %d: %+v, want the first at %d messages", n, all, want)
		}
	}
}
