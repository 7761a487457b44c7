package pare_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/corpus"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// TestPast: whatever is remembered of earlier requests, each one comes out as it does when
// nothing is.
func TestPast(t *testing.T) {
	standard, err := pare.Compile(rules.Standard()...)
	if err != nil {
		t.Fatal(err)
	}
	windows := map[string]pare.Window{
		"trim": {}, "low": {LowPercent: 50}, "low, rules": {LowPercent: 60, Rules: standard}, "cache": {LowPercent: 50, Cache: tokens.CacheOf("claude-sonnet-4-5")},
		"cache, rules": {LowPercent: 40, Cache: tokens.CacheOf("claude-sonnet-4-5"), Rules: standard}, "recent": {LowPercent: 70, Recent: 1, MinKeep: 3}, "middle": {LowPercent: 50, Order: pare.MiddleOut},
	}
	changed, tried, batches := 0, 0, 0
	walk := func(name string, r *wire.Request) {
		all := requests(t, r)
		size := r.Tokens(quarters{})
		for kind, w := range windows {
			w.Tokens = max(size/3, 50)
			if w.LowPercent > 0 {
				w.Low = w.Tokens * w.LowPercent / 100
			}
			past := new(pare.Past)
			o := pare.Options{Counter: quarters{}}
			for _, i := range asSent(len(all)) {
				q := all[i]
				o.Past = nil
				fresh, err := pare.Trim(q, w, o)
				o.Past = past
				kept, again := pare.Trim(q, w, o)
				if fmt.Sprint(err) != fmt.Sprint(again) {
					t.Fatalf("%s, %s, request %d of %d: %v, with a past %v", name, kind, i, len(all), err, again)
				}
				if err != nil {
					continue
				}
				tried++
				batches = max(batches, len(kept.Batches()))
				if !fresh.Empty() {
					changed++
				}
				if !bytes.Equal(fresh.Result().Raw(), kept.Result().Raw()) || !slices.Equal(fresh.Batches(), kept.Batches()) {
					t.Fatalf("%s, %s, request %d of %d differs:\n%v\n%v", name, kind, i, len(all), fresh.Batches(), kept.Batches())
				}
				if a, b := fmt.Sprint(fresh.Changes()), fmt.Sprint(kept.Changes()); a != b {
					t.Fatalf("%s, %s, request %d of %d has other receipts", name, kind, i, len(all))
				}
			}
		}
	}
	for seed := range uint64(max(histories(t)/1000, 3)) {
		d, body, _ := history(seed)
		walk(fmt.Sprintf("seed %d, %s", seed, d), reading(t, d, body))
	}
	for _, d := range wire.Dialects() {
		walk(d.String(), talkOf(t, d, 20))
	}
	t.Run("corpus", func(t *testing.T) {
		n := 0
		for _, x := range corpus.Requests(t) {
			if len(x.Raw) > 150_000 || len(x.Raw) < 20_000 {
				continue
			}
			if r, err := wire.Parse(x.Raw, wire.Options{}); err == nil {
				walk(x.Name, r)
				if n++; n == 2 {
					break
				}
			}
		}
	})
	t.Logf("%d requests, %d of them changed, up to %d batches", tried, changed, batches)
	if changed < tried/4 || batches < 3 {
		t.Errorf("only %d of %d requests are changed, in up to %d batches", changed, tried, batches)
	}
}

// asSent are n requests as an agent may send them: some a second time, and after some it goes
// one or two back.
func asSent(n int) []int {
	var all []int
	for i := range n {
		all = append(all, i)
		switch i % 6 {
		case 1:
			all = append(all, i)
		case 3:
			all = append(all, i-1, i)
		case 5:
			all = append(all, i-2)
		}
	}
	return all
}

// TestPastTakenBack: a client takes the model's last words back and says something else. What
// a window did at the request that they answered did not lead there.
func TestPastTakenBack(t *testing.T) {
	all := []string{`{"role":"user","content":"the task"}`}
	past, batches := new(pare.Past), 0
	w := pare.Window{Tokens: 400, Low: 200}
	send := func(messages []string) {
		t.Helper()
		r, err := pare.Parse([]byte(`{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[` + strings.Join(messages, ",") + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		fresh, err := pare.Trim(r, w, pare.Options{Counter: quarters{}})
		if err != nil {
			t.Fatal(err)
		}
		kept, err := pare.Trim(r, w, pare.Options{Counter: quarters{}, Past: past})
		if err != nil {
			t.Fatal(err)
		}
		if batches += len(fresh.Batches()); !slices.Equal(fresh.Batches(), kept.Batches()) || !bytes.Equal(fresh.Result().Raw(), kept.Result().Raw()) {
			t.Errorf("%d messages: with a past %v, without %v", len(messages), kept.Batches(), fresh.Batches())
		}
	}
	for i := range 30 {
		said := strings.Repeat("so it is ", i%5*10)
		all = append(all, `{"role":"assistant","content":"I say `+said+`"}`, fmt.Sprintf(`{"role":"user","content":"%d: %s"}`, i, said))
		send(all)
		if i%3 == 0 {
			send(all)
		}
		send(append(slices.Clone(all[:len(all)-2]), `{"role":"user","content":"no, `+said+`"}`))
	}
	if batches < 100 {
		t.Errorf("only %d batches", batches)
	}
}
