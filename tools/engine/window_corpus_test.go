package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/corpus"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// recordings are the requests that were really sent, and the sessions of agents as the
// requests that they would have become.
func recordings(t testing.TB) []corpus.Body {
	t.Helper()
	var all []corpus.Body
	for _, r := range corpus.Requests(t) {
		all = append(all, r.Body)
	}
	return append(all, corpus.Sessions(t)...)
}

// whole parses and repairs a recorded request. It returns nil for a request that cannot be
// repaired, or that continues a conversation on the server.
func whole(t testing.TB, c corpus.Body) *wire.Request {
	t.Helper()
	r, err := wire.Parse(c.Raw, wire.Options{Model: c.Model})
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	fixed, err := planner.Repair(context.Background(), r, pare.Options{})
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	if dialect.Delta(r) != "" || len(fixed.Remaining()) > 0 || len(r.Transcript().Messages()) == 0 {
		return nil
	}
	return fixed.Result()
}

// TestWindowCorpus: real histories, every unit, a spread of limits: within and clean, or
// the exact minimum; a larger limit keeps a superset; a second run changes nothing.
func TestWindowCorpus(t *testing.T) {
	all := recordings(t)
	n := min(trial.Histories(120), len(all))
	tried, trims, tooSmall := 0, 0, 0
	// A stride that is prime to their number: those tried come from everywhere.
	stride := 787
	for len(all)%stride == 0 {
		stride++
	}
	for i := range n {
		c := all[i*stride%len(all)]
		r := whole(t, c)
		if r == nil {
			continue
		}
		tried++
		for _, u := range units {
			a, b := spread(t, c.Name, r, u)
			trims, tooSmall = trims+a, tooSmall+b
		}
	}
	t.Logf("%d of %d recordings, %d windows, %d of them too small", tried, len(all), trims, tooSmall)
	if tried < n/2 || tooSmall == trims {
		t.Errorf("%d of %d recordings, %d windows, %d of them too small: the test is too easy", tried, n, trims, tooSmall)
	}
}

// spread tries limits between nothing and all.
func spread(t *testing.T, name string, r *wire.Request, u string) (trims, tooSmall int) {
	t.Helper()
	total := size(u, r)
	o := pare.Options{Counter: quarters{}}
	var smaller *pare.Plan
	var limits []int
	for _, share := range []int{1, 5, 15, 40, 70, 95, 100} {
		limits = append(limits, max(1, total*share/100))
	}
	for _, l := range slices.Compact(limits) {
		plan, err := planner.Trim(context.Background(), r, window(u, l), o)
		trims++
		var small *pare.WindowTooSmall
		if errors.As(err, &small) {
			tooSmall++
			if tooSmall > 1 {
				continue
			}
			if _, err := planner.Trim(context.Background(), r, window(u, small.Minimum), o); err != nil || small.Minimum <= l {
				t.Fatalf("%s: %s %d: the minimum %d fails: %v", name, u, l, small.Minimum, err)
			}
			if _, err := planner.Trim(context.Background(), r, window(u, small.Minimum-1), o); small.Minimum > 1 && err == nil {
				t.Fatalf("%s: %s %d: one less than the minimum %d works", name, u, l, small.Minimum)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %s %d: %v", name, u, l, err)
		}
		if n := size(u, plan.Result()); n > l || len(plan.Remaining()) > 0 {
			t.Fatalf("%s: %s %d: %d are left, and %v", name, u, l, n, plan.Remaining())
		}
		fresh, err := wire.Parse(plan.Result().Raw(), wire.Options{Dialect: r.Dialect, Model: r.Model()})
		if err != nil {
			t.Fatalf("%s: %s %d: %v", name, u, l, err)
		}
		if f := fresh.Check(wire.CheckOptions{}); len(f) > 0 {
			t.Fatalf("%s: %s %d: refused: %s at %s", name, u, l, f[0].Rule, f[0].Path)
		}
		if smaller != nil {
			superset(t, fmt.Sprintf("%s: %s %d", name, u, l), smaller, plan)
		}
		smaller = plan
		if again, err := planner.Trim(context.Background(), plan.Result(), window(u, l), o); err != nil || !again.Empty() {
			t.Fatalf("%s: %s %d: a second run: %v\n%s", name, u, l, err, again)
		}
	}
	return trims, tooSmall
}

// TestStableCorpus checks recorded sessions, request by request: between trims, each request begins
// with the bytes of the previous one, so that the provider's cache keeps nearly all of it.
func TestStableCorpus(t *testing.T) {
	all := recordings(t)
	const perSession = 40 // requests; more say the same
	budget := max(trial.Histories(10), 6)
	taken := make(map[string]int)
	var stable, naive share
	sessions := 0
	for _, c := range all {
		file, _, _ := strings.Cut(c.Name, " ")
		kind := c.Group
		if len(c.Raw) < 30_000 || len(c.Raw) > 2<<20 || taken[file] >= 2 || taken[kind+"/"] >= 6 || sessions >= budget {
			continue
		}
		r := whole(t, c)
		if r == nil {
			continue
		}
		sent := sessionRequests(t, r, perSession)
		if len(sent) < 8 {
			continue
		}
		taken[file]++
		taken[kind+"/"]++
		sessions++
		total := r.Tokens(realCounter)
		high := total * 2 / 5
		a := grow(t, c.Name, sent, pare.Window{Tokens: high, Low: high / 2})
		b := grow(t, c.Name, sent, pare.Window{Tokens: high})
		t.Logf("%3.0f %% stay cached, %3.0f %% if each request is trimmed by itself: %s (%d KB, %d requests, %d batches)", 100*a.of(), 100*b.of(), c.Name, len(c.Raw)>>10, len(sent), a.batches)
		stable, naive = stable.plus(a), naive.plus(b)
	}
	t.Logf("%d sessions: %.1f %% stay cached, %.1f %% if each request is trimmed by itself", sessions, 100*stable.of(), 100*naive.of())
	if sessions < 4 || stable.of() < 0.8 || naive.of() > stable.of()-0.1 {
		t.Errorf("%d sessions, %.2f of the bytes stay cached, %.2f without a low mark", sessions, stable.of(), naive.of())
	}
}

// realCounter counts a string the same however it is escaped, as the replay of earlier
// requests needs it.
var realCounter = tokens.For("claude-sonnet-4-5")

// A share is how many of the bytes that could have been cached were.
type share struct{ kept, could, batches int }

func (s share) of() float64 { return float64(s.kept) / float64(max(s.could, 1)) }
func (s share) plus(o share) share {
	return share{s.kept + o.kept, s.could + o.could, s.batches + o.batches}
}

// sessionRequests lists at most n of the requests that led to a history: neighbours,
// from its second half, where a window is full.
func sessionRequests(t *testing.T, r *wire.Request, n int) []*wire.Request {
	t.Helper()
	var sent []*wire.Request
	blocks := r.Transcript().Blocks()
	for _, end := range requestEnds(r, n) {
		var later []transcript.BlockID
		for b := int(end); b < len(blocks); b++ {
			later = append(later, transcript.BlockID(b))
		}
		q, _, err := dialect.Rewrite(r, later, nil)
		if err != nil {
			t.Fatal(err)
		}
		if fixed, err := planner.Repair(context.Background(), q, pare.Options{}); err == nil && fixed.Empty() {
			sent = append(sent, q)
		}
	}
	return sent
}

// requestEnds lists where the last n requests of a history ended: wherever a turn of the
// model begins, and at the end.
func requestEnds(r *wire.Request, n int) (ends []transcript.BlockID) {
	msgs := r.Transcript().Messages()
	for i, m := range msgs {
		if i > 0 && m.Role == transcript.Assistant && msgs[i-1].Turn != m.Turn {
			ends = append(ends, m.First)
		}
	}
	ends = append(ends, transcript.BlockID(len(r.Transcript().Blocks())))
	return ends[max(len(ends)-n, 0):]
}

// grow trims each request and counts the bytes that it begins with in common with the
// one before.
func grow(t *testing.T, name string, sent []*wire.Request, w pare.Window) (s share) {
	t.Helper()
	var before *pare.Plan
	for i, q := range sent {
		plan := madeToFit(t, fmt.Sprintf("%s, request %d", name, i), q, w)
		if plan == nil {
			before = nil
			continue
		}
		if before != nil {
			a, b := before.Result(), plan.Result()
			end := listEnd(a)
			got := min(shared(a.Raw(), b.Raw()), end)
			s.kept, s.could = s.kept+got, s.could+end
			if w.Low > 0 && len(plan.Batches()) == len(before.Batches()) && got < end-1 { // the last bracket of a message may be opened again
				t.Fatalf("%s, request %d: the prefix changed at %d of %d without a batch\n%.300s\n%.300s", name, i, got, end, a.Raw()[max(got-60, 0):], b.Raw()[max(got-60, 0):])
			}
		}
		before, s.batches = plan, len(plan.Batches())
	}
	return s
}

// madeToFit is the plan that makes a request fit; nil if nothing does.
func madeToFit(t *testing.T, name string, q *wire.Request, w pare.Window) *pare.Plan {
	t.Helper()
	plan, err := planner.Trim(context.Background(), q, w, pare.Options{Counter: realCounter})
	if small := (*pare.WindowTooSmall)(nil); errors.As(err, &small) {
		return nil
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if n := plan.Result().Tokens(realCounter); n > w.Tokens || len(plan.Remaining()) > 0 {
		t.Fatalf("%s: %d tokens, left %v", name, n, plan.Remaining())
	}
	return plan
}
