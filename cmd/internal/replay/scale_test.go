package replay_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/pare-llm/pare/cmd/internal/replay"
	"github.com/pare-llm/pare/wire"
)

// billed is a history of so many requests and a recording of it: the provider counts so many
// thousandths of what is estimated, a head beside it and, now and then, something that the file
// does not show.
func billed(t *testing.T, requests, head, permille int) (*wire.Request, *replay.Recording) {
	t.Helper()
	var b strings.Builder
	b.WriteString(`{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"begin"}`)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range requests {
		if i > 0 {
			fmt.Fprintf(&b, `,{"role":"user","content":"%s"}`, strings.Repeat("some more words ", 50+random.IntN(200)))
		}
		fmt.Fprintf(&b, `,{"role":"assistant","content":"reply %d"}`, i)
	}
	r := mustParse(t, b.String()+"]}", wire.Options{})
	plain := mustReplay(t, r, replay.Options{Policies: []replay.Policy{replay.Everything()}}).Runs[0].Steps
	n := 2 * requests
	rec := &replay.Recording{Times: make([]time.Time, n), Bills: make([]replay.Bill, n)}
	at, before := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), 0
	for k := range requests {
		at = at.Add(10 * time.Second)
		rec.Times[2*k], rec.Times[2*k+1] = at, at
		sent := head + plain[k].Sent*permille/1000
		if k%10 == 3 {
			sent += 300
		}
		rec.Bills[2*k+1] = replay.Bill{Read: min(before, sent), Written: max(sent-before, 0), Model: "a", Reply: fmt.Sprint(k)}
		before = sent
	}
	return r, rec
}

// TestScale: with a recording every request counts what was billed, a head and a factor for all of
// them explain it, and what a policy leaves out counts as much as the provider would have counted.
func TestScale(t *testing.T) {
	for _, permille := range []int{700, 1000, 1300} {
		r, rec := billed(t, 40, 30_000, permille)
		half := replay.Policy{Name: "half", Prepare: func(replay.Setting) (replay.Send, error) {
			return func(r *wire.Request) (*wire.Request, error) {
				body := strings.ReplaceAll(string(r.Raw()), "some more words some more words ", "some more words ")
				return wire.Parse([]byte(body), wire.Options{Dialect: r.Dialect, Model: r.Model()})
			}, nil
		}}
		o := replay.Options{Policies: []replay.Policy{replay.Everything(), half}}
		plain := mustReplay(t, r, o)
		o.Recording = rec
		res := mustReplay(t, r, o)
		for k, s := range res.Runs[0].Steps {
			bill := rec.Bills[2*k+1]
			if s.Sent != bill.Read+bill.Written || s.Read != bill.Read {
				t.Errorf("request %d: %d tokens, %d read; billed %d and %d", k, s.Sent, s.Read, bill.Read+bill.Written, bill.Read)
			}
		}
		b := res.Bills
		if b.Requests != 40 || math.Abs(float64(b.Fitted)/float64(b.Sent)-1) > 0.02 || b.Median > 5 || b.Counted != b.Read || math.Abs(b.Paid/b.Money-1) > 0.001 {
			t.Errorf("%d/1000: %+v", permille, b)
		}
		saved := func(res *replay.Result) float64 { return float64(res.Runs[0].Sent - res.Runs[1].Sent) }
		if got := saved(res) / saved(plain); math.Abs(got-float64(permille)/1000) > 0.02 {
			t.Errorf("%d/1000: what is left out counts %.3f", permille, got)
		}
	}
}

// TestBreaks: a cache that was not read although it lived is told with its cause and its place, and
// costs every policy as much.
func TestBreaks(t *testing.T) {
	for _, x := range []struct {
		cause string
		make  func(rec *replay.Recording)
	}{
		{replay.ByPrefix, func(*replay.Recording) {}},
		{replay.ByModel, func(rec *replay.Recording) {
			for i := 41; i < len(rec.Bills); i++ {
				rec.Bills[i].Model = "b"
			}
		}},
		{replay.ByPause, func(rec *replay.Recording) {
			for i := 40; i < len(rec.Times); i++ {
				rec.Times[i] = rec.Times[i].Add(6 * time.Minute)
			}
		}},
	} {
		r, rec := billed(t, 40, 30_000, 900)
		b := &rec.Bills[41] // of the request in front of message 41, the 21st
		b.Read, b.Written = 12_000, b.Read+b.Written-12_000
		x.make(rec)
		res := mustReplay(t, r, replay.Options{Policies: []replay.Policy{replay.Everything()}, Recording: rec})
		if len(res.Breaks) != 1 {
			t.Fatalf("%s: %+v", x.cause, res.Breaks)
		}
		got, before := res.Breaks[0], rec.Bills[39]
		if got.Request != 21 || got.Cause != x.cause || got.Read != 12_000 || got.Again != before.Read+before.Written-12_000 || got.Money <= 0 {
			t.Errorf("%s: %+v", x.cause, got)
		}
		if s := res.Runs[0].Steps[20]; s.Read != 12_000 || s.Written != b.Written {
			t.Errorf("%s: %+v", x.cause, s)
		}
	}
}

// TestResultsInsideReplies: an agent that runs calls while the model goes on writes down their
// results in the middle of the reply. Nothing was sent there.
func TestResultsInsideReplies(t *testing.T) {
	body := `{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"go"},
		{"role":"assistant","content":[{"type":"tool_use","id":"a1","name":"Read","input":{"file_path":"a.go"}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"a1","content":"text"}]},
		{"role":"assistant","content":[{"type":"tool_use","id":"b1","name":"Read","input":{"file_path":"b.go"}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"b1","content":"text"}]},
		{"role":"assistant","content":"done"}]}`
	r := mustParse(t, body, wire.Options{})
	rec := &replay.Recording{Times: make([]time.Time, 6), Bills: make([]replay.Bill, 6)}
	for i, reply := range []string{1: "m1", 3: "m1", 5: "m2"} {
		rec.Bills[i].Reply = reply
	}
	o := replay.Options{Policies: []replay.Policy{replay.Everything()}}
	apart := mustReplay(t, r, o)
	o.Recording = rec
	res := mustReplay(t, r, o)
	if apart.Requests != 3 || res.Requests != 2 || res.Calls != 2 {
		t.Errorf("%d and %d requests, %d calls", apart.Requests, res.Requests, res.Calls)
	}
	if got, want := res.Runs[0].Steps[0].Output, apart.Runs[0].Steps[0].Output+apart.Runs[0].Steps[1].Output; got != want {
		t.Errorf("the first reply has %d tokens, not %d", got, want)
	}
}
