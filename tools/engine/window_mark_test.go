package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/wire"
)

// marksIn returns the number of marks in a request, and checks that none of them counts as text of
// the user.
func marksIn(t *testing.T, r *wire.Request) (n int) {
	t.Helper()
	tr := r.Transcript()
	for _, m := range tr.Messages() {
		for b := m.First; b < m.End; b++ {
			if text := tr.Bytes(tr.Block(b).Body); bytes.Contains(text, []byte(wording.LeftOut)) {
				n += bytes.Count(text, []byte(wording.LeftOut))
				if m.Speaks && m.End == m.First+1 && len(text) <= len(wording.LeftOut)+2 {
					t.Errorf("%s: a mark is taken for a person's words", r.Raw())
				}
			}
		}
	}
	return n
}

// TestWindowMarksLostContent checks that a window that drops exchanges or turns puts in one mark,
// within the limit, in every dialect, and that a second window adds no second mark.
func TestWindowMarksLostContent(t *testing.T) {
	marked, tried := 0, 0
	for seed := range uint64(max(historyCount(t)/100, 60)) {
		d, body, _ := history(seed)
		r := reading(t, d, body)
		size := r.Tokens(quarters{})
		var small *pare.WindowTooSmall
		if _, err := planner.Trim(context.Background(), r, pare.Window{Tokens: 1}, pare.Options{Counter: quarters{}}); !errors.As(err, &small) {
			continue
		}
		most := 3 * (len(wording.LeftOut)/4 + 8) // what a mark may cost, whatever is put around it
		for _, limit := range []int{small.Minimum, small.Minimum + most, (small.Minimum + size) / 2, size - 1} {
			w := pare.Window{Tokens: max(limit, small.Minimum)}
			plan, err := planner.Trim(context.Background(), r, w, pare.Options{Counter: quarters{}})
			if err != nil {
				t.Fatalf("seed %d, %s: %v", seed, d, err)
			}
			lost := false
			for _, c := range plan.WindowSteps() {
				lost = lost || c.Name == "drop-exchanges" || c.Name == "drop-turns"
			}
			out := plan.Result()
			n := marksIn(t, out)
			if out.Tokens(quarters{}) > w.Tokens || n > 1 || n == 1 && !lost {
				t.Errorf("seed %d, %s, %d tokens: %d marks in %d tokens, lost: %t\n%s", seed, d, limit, n, out.Tokens(quarters{}), lost, out.Raw())
			}
			if lost && limit >= small.Minimum+most && len(plan.Remaining()) == 0 {
				if tried++; n == 1 {
					marked++
				}
			}
			receipts := strings.Count(plan.String(), "left-out")
			if receipts != n {
				t.Errorf("seed %d, %s: %d marks, %d receipts", seed, d, n, receipts)
			}
			if again, err := planner.Trim(context.Background(), out, pare.Window{Tokens: max(small.Minimum, w.Tokens*3/4)}, pare.Options{Counter: quarters{}}); err == nil && marksIn(t, again.Result()) > 1 {
				t.Errorf("seed %d, %s: marks are stacked\n%s", seed, d, again.Result().Raw())
			}
			w.Unmarked = true
			if bare, err := planner.Trim(context.Background(), r, w, pare.Options{Counter: quarters{}}); err != nil || marksIn(t, bare.Result()) > 0 {
				t.Errorf("seed %d, %s: unmarked: %v", seed, d, err)
			}
		}
	}
	t.Logf("%d of %d windows that drop something are marked", marked, tried)
	if tried < 30 || marked < tried*19/20 {
		t.Errorf("only %d of %d windows are marked", marked, tried)
	}
}

// TestMarkIsStable checks that requests between two trims of a stable window begin with the same
// bytes, including the mark.
func TestMarkIsStable(t *testing.T) {
	for _, d := range wire.Dialects() {
		r := talkOf(t, d, 30)
		w := pare.Window{Tokens: r.Tokens(quarters{}) / 4}
		w.Low = w.Tokens / 2
		last, batches, same := []byte(nil), 0, 0
		for i, q := range requests(t, r) {
			plan, err := planner.Trim(context.Background(), q, w, pare.Options{Counter: quarters{}})
			if err != nil {
				t.Fatalf("%s, request %d: %v", d, i, err)
			}
			out := plan.Result()
			n := len(out.Transcript().Messages())
			now := out.Raw()[:out.Transcript().Messages()[n-1].Span.End]
			if last != nil && len(plan.Batches()) == batches && marksIn(t, out) == 1 {
				if same++; !bytes.HasPrefix(now, last) {
					t.Fatalf("%s, request %d does not begin with the one before:\n%s\n%s", d, i, last, now)
				}
			}
			last, batches = bytes.Clone(now), len(plan.Batches())
		}
		if same < 5 {
			t.Errorf("%s: only %d requests with a mark go on from the one before", d, same)
		}
	}
}

// TestMarkIsNotUserText checks that the mark is neither the task nor a message or turn of the user,
// alone or before other text.
func TestMarkIsNotUserText(t *testing.T) {
	for text, speaks := range map[string]bool{wording.LeftOut: false, wording.LeftOut + "\n\ngo on": true, " " + wording.LeftOut: false, "he wrote " + wording.LeftOut: true} {
		r := parsed(t, fmt.Sprintf(`{"model":"gpt-5.2","messages":[{"role":"user","content":"task"},{"role":"assistant","content":"yes"},{"role":"user","content":%q}]}`, text))
		if got := r.Transcript().Messages()[2].Speaks; got != speaks {
			t.Errorf("%q: a person speaks: %t", text, got)
		}
	}
}
