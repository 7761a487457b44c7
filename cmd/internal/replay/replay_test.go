package replay_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/cmd/internal/replay"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// letters counts a token for each byte, and nothing for marks.
type letters struct{}

func (letters) Count(text []byte) int          { return len(text) }
func (letters) CountJSON(raw []byte) int       { return len(raw) }
func (letters) Media(string, []byte, bool) int { return 0 }
func (letters) Overhead(int, int) int          { return 0 }

func mustParse(t testing.TB, body string, o wire.Options) *wire.Request {
	t.Helper()
	r, err := wire.Parse([]byte(body), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustReplay(t testing.TB, r *wire.Request, o replay.Options) *replay.Result {
	t.Helper()
	res, err := replay.Replay(r, o)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// toy is a model that costs $1 for a million tokens of input and $5 for output.
func toy(o replay.Options) replay.Options {
	o.Counter = letters{}
	o.Models = []tokens.Model{{Prefix: "claude-toy", Window: 1000, Output: 100}}
	o.Caches = []tokens.Cache{{Prefix: "claude-toy", Read: 100, Write: 1250}}
	o.Prices = []tokens.Price{{Prefix: "claude-toy", Input: 1_000_000, Output: 5_000_000}}
	return o
}

const tiny = `{"model":"claude-toy","messages":[{"role":"user","content":"aaaaaaaaaa"},{"role":"assistant","content":"bbbbb"},
	{"role":"user","content":"cccccccccc"},{"role":"assistant","content":"ddddd"},{"role":"user","content":"eeeee"}],"max_tokens":9}`

// TestMoney: three requests of 10, 25 and 35 tokens; the second finds 10 in the
// cache and the third 25.
func TestMoney(t *testing.T) {
	res := mustReplay(t, mustParse(t, tiny, wire.Options{}), toy(replay.Options{Policies: []replay.Policy{replay.Everything()}}))
	run := res.Runs[0]
	type books struct{ sent, read, written, output int }
	var got []books
	for _, s := range run.Steps {
		got = append(got, books{s.Sent, s.Read, s.Written, s.Output})
	}
	if want := []books{{10, 0, 10, 5}, {25, 10, 15, 5}, {35, 25, 10, 0}}; !slices.Equal(got, want) {
		t.Errorf("steps %v, want %v", got, want)
	}
	if want := (0.1*35 + 1.25*35 + 5*10) / 1e6; math.Abs(run.Money-want) > 1e-15 {
		t.Errorf("money %v, want %v", run.Money, want)
	}
	if want := 0.1*35 + 1.25*35; run.Weight != want {
		t.Errorf("weight %v, want %v", run.Weight, want)
	}
	if want := (70.0 + 50) / 1e6; math.Abs(run.Uncached-want) > 1e-15 {
		t.Errorf("without a cache %v, want %v", run.Uncached, want)
	}
	if res.Limit != 900 || res.Tokens != 35 || res.Priced != 1 {
		t.Errorf("%+v", res)
	}
}

// TestMinPrefix: what is shorter than the cache takes is plain input.
func TestMinPrefix(t *testing.T) {
	o := toy(replay.Options{Policies: []replay.Policy{replay.Everything()}})
	o.Caches[0].MinPrefix = 20
	run := mustReplay(t, mustParse(t, tiny, wire.Options{}), o).Runs[0]
	if s := run.Steps; s[0].Input != 10 || s[1].Written != 25 || s[1].Read != 0 || s[2].Read != 25 || s[2].Written != 10 {
		t.Errorf("%+v", s)
	}
}

func TestSliding(t *testing.T) {
	res := mustReplay(t, mustParse(t, tiny, wire.Options{}), toy(replay.Options{Limit: replay.Amount{Tokens: 20}, Policies: []replay.Policy{replay.Everything(), replay.Sliding(0), replay.Sliding(1)}}))
	var sent, one []int
	for i := range res.Runs[1].Steps {
		sent, one = append(sent, res.Runs[1].Steps[i].Sent), append(one, res.Runs[2].Steps[i].Sent)
	}
	if want := []int{10, 15, 20}; !slices.Equal(sent, want) {
		t.Errorf("sent %v, want %v", sent, want)
	}
	if want := []int{10, 10, 5}; !slices.Equal(one, want) {
		t.Errorf("the last message %v, want %v", one, want)
	}
	if run := res.Runs[1]; run.Read != 0 || run.Rewrites != 2 || run.Changed != 2 {
		t.Errorf("%+v", run.Totals)
	}
}

// TestRefused: the naive window parts a result from its call; the model's own window
// is heeded.
func TestRefused(t *testing.T) {
	s := histories.MustParse(`user "go" | call a1 Read a.go | result a1 ` + strings.Repeat("x", 50) + ` | call b1 Read b.go | result b1 short`)
	r := mustParse(t, string(s.Render(wire.OpenAIChat, histories.RenderOptions{})), wire.Options{})
	res := mustReplay(t, r, replay.Options{Counter: letters{}, Limit: replay.Amount{Tokens: 12}, Policies: []replay.Policy{replay.Everything(), replay.Sliding(1)}})
	if run := res.Runs[1]; run.Refused != 2 || run.Reasons[0] != (replay.Reason{Rule: "orphan-result", Requests: 2}) {
		t.Errorf("%+v", run.Totals)
	}
	o := toy(replay.Options{Model: "claude-toy"})
	o.Models[0].Window = 30
	res = mustReplay(t, mustParse(t, tiny, wire.Options{}), o)
	if run := res.Runs[0]; run.Refused != 1 || run.Reasons[0].Rule != replay.OverWindow {
		t.Errorf("%+v", run.Totals)
	}
}

// hiding is a policy that hides what all results said.
func hiding(text string) replay.Policy {
	return replay.Policy{Name: "hiding", Prepare: func(replay.Setting) (replay.Send, error) {
		return func(r *wire.Request) (*wire.Request, error) {
			var edits []wire.BlockEdit
			for _, x := range r.Transcript().Exchanges() {
				for _, b := range x.Results {
					edits = append(edits, wire.BlockEdit{Block: b, Text: text})
				}
			}
			if len(edits) == 0 {
				return r, nil
			}
			r, _, err := dialect.Rewrite(r, nil, edits)
			return r, err
		}, nil
	}}
}

// TestRegret: an edit is blind if a line that it replaces was shown and is not in sight, whether
// the reading, the agent's own words or a diff showed it; a name likewise. A loss counts once: what
// is read again is in sight for a while.
func TestRegret(t *testing.T) {
	edit := `{"file_path":"a.go","old_string":"return compute(x)","new_string":"return 1"}`
	for name, x := range map[string]struct {
		read          string
		args          string
		blind, unseen int
	}{
		"reading":          {`     1→func f() {\n     2→\treturn compute(x)`, edit, 1, 0},
		"grep":             {"a.go:2:return compute(x)", edit, 1, 0},
		"diff":             {`+\treturn compute(x)`, edit, 1, 0},
		"nothing about it": {"     1→func f() {", edit, 0, 0},
		"name":             {"it is called frobCount", `{"file_path":"a.go","pattern":"frobCount"}`, 0, 1},
		"name never shown": {"it is called frob", `{"file_path":"a.go","pattern":"frobCount"}`, 0, 0},
		"patch":            {"return compute(x)", `{"command":["apply_patch","*** Begin Patch\n*** Update File: a.go\n@@\n-return compute(x)\n+return 1\n*** End Patch"]}`, 1, 0},
		"patch of another": {"return compute(y)", `{"command":["apply_patch","*** Begin Patch\n*** Update File: a.go\n@@\n-return compute(x)\n+return 1\n*** End Patch"]}`, 0, 0},
	} {
		body := `{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"go"},
			{"role":"assistant","content":[{"type":"tool_use","id":"r1","name":"Read","input":{"file_path":"a.go"}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"r1","content":"` + x.read + `"}]},
			{"role":"assistant","content":[{"type":"tool_use","id":"e1","name":"T","input":` + x.args + `}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"e1","content":"ok"}]},
			{"role":"assistant","content":[{"type":"tool_use","id":"e2","name":"T","input":` + x.args + `}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"e2","content":"ok"}]}]}`
		r := mustParse(t, body, wire.Options{})
		res := mustReplay(t, r, replay.Options{Policies: []replay.Policy{replay.Everything(), hiding("gone"), hiding("it was about frobCount")}})
		e, h, d := res.Runs[0], res.Runs[1], res.Runs[2]
		if res.Calls != 3 || e.Blind+e.Unseen+e.Missed != 0 || e.Net != e.Money {
			t.Errorf("%s: everything: %+v", name, e.Totals)
		}
		// The second edit uses what the first one showed: it stands in the agent's own call.
		if h.Blind != x.blind || h.Unseen != x.unseen || h.Missed != max(x.blind, x.unseen) {
			t.Errorf("%s: %d blind, %d unseen, %d missed", name, h.Blind, h.Unseen, h.Missed)
		}
		if (h.Net > h.Money) != (h.Missed > 0) {
			t.Errorf("%s: %v, net %v", name, h.Money, h.Net)
		}
		if d.Unseen != 0 || d.Blind != x.blind {
			t.Errorf("%s: with a digest %d blind, %d unseen", name, d.Blind, d.Unseen)
		}
	}
}

// TestRecording: the head comes from what was billed, pauses make the cache cold, and a cache that
// lives for an hour costs twice the input to write.
func TestRecording(t *testing.T) {
	body := `{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"` + strings.Repeat("hello ", 2000) + `"}`
	for i := range 6 {
		body += fmt.Sprintf(`,{"role":"assistant","content":"reply %d"},{"role":"user","content":"and %d"}`, i, i)
	}
	r := mustParse(t, body+"]}", wire.Options{})
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	rec := &replay.Recording{Times: make([]time.Time, 13), Bills: make([]replay.Bill, 13)}
	at := start
	for i := range 13 {
		if at = at.Add(time.Second); i == 4 { // in front of the third request
			at = at.Add(10 * time.Minute)
		}
		rec.Times[i] = at
		if i%2 == 1 {
			rec.Bills[i] = replay.Bill{Read: 40_000, Written: 10_000, Hour: 10_000}
		}
	}
	o := replay.Options{Policies: []replay.Policy{replay.Everything()}}
	plain := mustReplay(t, r, o)
	o.Recording = rec
	hour := mustReplay(t, r, o)
	o.Life = 5 * time.Minute
	short := mustReplay(t, r, o)
	if plain.Beside != 0 || plain.Cold != 0 || hour.Cold != 0 || short.Cold != 1 {
		t.Errorf("beside %d, cold %d, %d, %d", plain.Beside, plain.Cold, hour.Cold, short.Cold)
	}
	if got := hour.Runs[0].Steps[0].Sent; got != 50_000 || hour.Beside != got-plain.Runs[0].Steps[0].Sent {
		t.Errorf("the first request has %d tokens, %d of them beside the history", got, hour.Beside)
	}
	if plain.Cache.Write != 1250 || hour.Cache.Write != 2000 || short.Cache.Write != 1250 {
		t.Errorf("writing costs %d, %d, %d", plain.Cache.Write, hour.Cache.Write, short.Cache.Write)
	}
	for k, s := range short.Runs[0].Steps { // what the first one read was there from other sessions
		if k != 2 && s.Read < 40_000 || k == 2 && s.Read != 0 {
			t.Errorf("request %d reads %d", k, s.Read)
		}
	}
}

// TestRefusedIsNotSaved: a policy that sends what is refused has saved nothing by it.
func TestRefusedIsNotSaved(t *testing.T) {
	text := strings.Repeat("word ", 3000)
	s := histories.MustParse(`user "go" | call a1 Read a.go | result a1 "` + text + `" | call b1 Read b.go | result b1 "` + text + `" | user "thanks"`)
	r := mustParse(t, string(s.Render(wire.Anthropic, histories.RenderOptions{})), wire.Options{Model: "claude-sonnet-4-5"})
	res := mustReplay(t, r, replay.Options{Policies: []replay.Policy{replay.Everything(), replay.Sliding(1)}, Model: "claude-sonnet-4-5"})
	e, sliding := res.Runs[0], res.Runs[1]
	if sliding.Refused == 0 || sliding.Sent >= e.Sent || sliding.Money < e.Money {
		t.Errorf("%d refused, %d of %d sent, $%v of $%v", sliding.Refused, sliding.Sent, e.Sent, sliding.Money, e.Money)
	}
}

// randoms yields repaired random histories in all dialects.
func randoms(t testing.TB, n uint64, yield func(name string, r *wire.Request)) {
	for seed := range n {
		d := wire.Dialects()[seed%uint64(len(wire.Dialects()))]
		s := histories.Random(seed, histories.GenOptions{Turns: int(seed%4) + 1})
		r := mustParse(t, string(s.Render(d, histories.RenderOptions{})), wire.Options{Dialect: d, Model: histories.DefaultModel(d)})
		plan, err := planner.Repair(context.Background(), r, pare.Options{})
		if err != nil {
			t.Fatal(err)
		}
		yield(fmt.Sprintf("seed %d, %s", seed, d), plan.Result())
	}
}

// TestWalk: requests are the history's own bytes, can be read, count as was said, and
// what is wrong with them is known without reading them.
func TestWalk(t *testing.T) {
	requests := 0
	randoms(t, 400, func(name string, r *wire.Request) {
		w := replay.NewWalk(r)
		res := mustReplay(t, r, replay.Options{Policies: []replay.Policy{replay.Everything()}, Counter: letters{}})
		for k := range w.Len() {
			requests++
			q, err := w.Request(k)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			n := w.Messages(k)
			if got := len(q.Transcript().Messages()); got != n {
				t.Fatalf("%s, request %d: %d messages, want %d", name, k, got, n)
			}
			for i, m := range q.Transcript().Messages() {
				if !bytes.Equal(q.Transcript().Bytes(m.Span), r.Transcript().Bytes(r.Transcript().Messages()[i].Span)) {
					t.Fatalf("%s, request %d: message %d differs", name, k, i)
				}
			}
			step := res.Runs[0].Steps[k]
			if got := q.Tokens(letters{}); got != step.Sent || len(q.Raw()) != step.Bytes {
				t.Fatalf("%s, request %d: %d tokens in %d bytes, the books say %d in %d", name, k, got, len(q.Raw()), step.Sent, step.Bytes)
			}
			if found := q.Check(wire.CheckOptions{}); len(found) > 0 != (len(step.Refused) > 0) {
				t.Fatalf("%s, request %d: refused for %v, but check finds %v", name, k, step.Refused, found)
			}
		}
	})
	t.Logf("%d requests", requests)
}

// TestEvery: one request of so many is sent as it is sent among all, the last one always; what is
// asked again is counted for the replies to those only.
func TestEvery(t *testing.T) {
	some := 0
	randoms(t, uint64(max(10, trial.Size(40))), func(name string, r *wire.Request) {
		trim := replay.Options{Limit: replay.Amount{Percent: 50}, Policies: []replay.Policy{replay.Everything(), replay.Trim(nil, replay.TrimOptions{Stable: true})}}
		all := mustReplay(t, r, trim)
		for _, every := range []int{2, 3, 100} {
			trim.Every = every
			res, n := mustReplay(t, r, trim), all.Requests
			if want := (n + every - 1) / every; res.Requests != want || res.Every != every || res.Calls > all.Calls || res.Edits > all.Edits {
				t.Fatalf("%s, every %d of %d: %d requests, %d of %d calls", name, every, n, res.Requests, res.Calls, all.Calls)
			}
			for i, run := range res.Runs {
				for k, s := range run.Steps {
					was := all.Runs[i].Steps[n-1-(len(run.Steps)-1-k)*every]
					if some++; s.Sent != was.Sent || s.Bytes != was.Bytes || s.Changed != was.Changed || s.Output != was.Output {
						t.Fatalf("%s, every %d, %s, request %d: %+v, among all %+v", name, every, run.Policy, k, s, was)
					}
				}
			}
		}
	})
	if some < 50 {
		t.Errorf("only %d requests were compared", some)
	}
}

// TestBooks: whatever the policy, what is sent is what is read, written and plain;
// shares are shares; and pare's own policies send nothing that would be refused.
func TestBooks(t *testing.T) {
	policies := replay.Standard()
	for _, text := range []string{"trim:low=30%,recent=2", "trim:cache,recent=3,rules", "trim:rules", "sliding:messages=3"} {
		p, err := replay.ParsePolicy(text, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		policies = append(policies, p)
	}
	changed, n := 0, max(5, trial.Size(8))
	randoms(t, uint64(n), func(name string, r *wire.Request) {
		for _, limit := range []replay.Amount{{}, {Percent: 60}, {Percent: 25}} {
			res := mustReplay(t, r, replay.Options{Limit: limit, Policies: policies})
			for i, run := range res.Runs {
				sum := 0
				for k, s := range run.Steps {
					sum += s.Sent
					if s.Read+s.Written+s.Input != s.Sent || s.Cached > s.Bytes || s.Cached < 0 || s.Read < 0 {
						t.Fatalf("%s, %s, request %d: %+v", name, run.Policy, k, s)
					}
					if i == 0 && (s.Changed || s.Rewrote) || len(run.Steps) != len(res.Runs[0].Steps) {
						t.Fatalf("%s, everything, request %d: %+v", name, k, s)
					}
					own := strings.HasPrefix(run.Policy, "trim") || run.Policy == "prune"
					if own && s.Changed && len(s.Refused) > 0 {
						t.Fatalf("%s, %s, request %d of %d would be refused: %v", name, run.Policy, k, len(run.Steps), s.Refused)
					}
					if strings.HasPrefix(run.Policy, "trim") && s.Sent > res.Limit && !s.Unfit {
						t.Fatalf("%s, %s, request %d: %d tokens, the limit is %d", name, run.Policy, k, s.Sent, res.Limit)
					}
				}
				if sum != run.Sent || run.Read+run.Written+run.Input != sum || run.Missed > res.Calls || run.Blind > res.Edits {
					t.Fatalf("%s, %s: %+v", name, run.Policy, run.Totals)
				}
				changed += run.Changed
			}
		}
	})
	if changed < 5*n {
		t.Errorf("only %d requests were changed", changed)
	}
}

// TestSame: the same history gives the same result, table and page.
func TestSame(t *testing.T) {
	randoms(t, 10, func(name string, r *wire.Request) {
		var before []byte
		for range 3 {
			res := mustReplay(t, r, replay.Options{Limit: replay.Amount{Percent: 50}})
			now, err := json.Marshal(res)
			if err != nil {
				t.Fatal(err)
			}
			var page bytes.Buffer
			if err := replay.WriteHTML(&page, []*replay.Result{res, res}); err != nil {
				t.Fatal(err)
			}
			now = append(append(append(now, res.Table()...), res.Markdown()...), page.Bytes()...)
			if before != nil && !bytes.Equal(before, now) {
				t.Fatalf("%s: not the same twice", name)
			}
			before = now
		}
	})
}

// TestOdd: histories with nothing, or nearly nothing, in them.
func TestOdd(t *testing.T) {
	for _, x := range []struct {
		body     string
		dialect  wire.Dialect
		requests int
	}{
		{`{"messages":[]}`, wire.Anthropic, 0},
		{`[]`, wire.OpenAIChat, 0},
		{`{"contents":[]}`, wire.Gemini, 0},
		{`{"model":"gpt-5","input":"hello"}`, wire.OpenAIResponses, 1},
		{`{"messages":[{"role":"user","content":"hi"}]}`, wire.Anthropic, 1},
		{`{"messages":[{"role":"user","content":"hi"},{"role":"user","content":"there"}]}`, wire.Anthropic, 1},
		{`{"messages":[{"role":"assistant","content":"hi"}]}`, wire.Anthropic, 0},
		{`{"messages":[{"role":"system","content":"hi"},{"role":"assistant","content":"hi"}]}`, wire.OpenAIChat, 1},
		{`{"messages":"nothing"}`, wire.Anthropic, 0},
		{`{"messages":[1,null,{}],"messages":[{"role":"user","content":""}]}`, wire.Anthropic, 1},
	} {
		r := mustParse(t, x.body, wire.Options{Dialect: x.dialect})
		res := mustReplay(t, r, replay.Options{})
		if res.Requests != x.requests || len(res.Runs) != len(replay.Standard()) {
			t.Errorf("%s: %d requests, %d runs", x.body, res.Requests, len(res.Runs))
		}
		res.Table()
		sum := replay.Sum("all", []*replay.Result{res, res})
		if sum.Requests != 2*res.Requests || sum.Histories != 2 {
			t.Errorf("%s: sum %+v", x.body, sum)
		}
		var page bytes.Buffer
		if err := replay.WriteHTML(&page, []*replay.Result{res}); err != nil {
			t.Errorf("%s: %v", x.body, err)
		}
	}
	if err := replay.WriteHTML(&bytes.Buffer{}, nil); err != nil {
		t.Error(err)
	}
	if got := replay.Sum("none", nil).Table(); !strings.Contains(got, "0 histories") {
		t.Errorf("%q", got)
	}
}

// TestPage: the page refers to nothing outside and runs nothing.
func TestPage(t *testing.T) {
	res := mustReplay(t, mustParse(t, tiny, wire.Options{}), toy(replay.Options{Limit: replay.Amount{Percent: 50}}))
	res.Source = `<script>alert("x")</script>.json`
	var page bytes.Buffer
	if err := replay.WriteHTML(&page, []*replay.Result{res}); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<script", "http", "src=", "url(", "@import", "href"} {
		if strings.Contains(page.String(), bad) {
			t.Errorf("the page has %q in it", bad)
		}
	}
	for _, tag := range []string{"svg", "figure", "table", "tr", "polyline", "polygon", "div"} {
		open, shut := strings.Count(page.String(), "<"+tag+" ")+strings.Count(page.String(), "<"+tag+">"), strings.Count(page.String(), "</"+tag+">")
		if open != shut || open == 0 {
			t.Errorf("%d <%s>, %d ends", open, tag, shut)
		}
	}
	if !strings.Contains(page.String(), "color-scheme: light dark") || strings.Contains(page.String(), "NaN") {
		t.Error("no dark page, or no numbers")
	}
}

func TestParsePolicy(t *testing.T) {
	for _, text := range []string{"everything", "sliding", "sliding:messages=20", "trim", "trim:low", "trim:cache", "trim:low=30%", "trim:low=8000,cache,recent=8,rules", "trim:recent=2,rules", "prune", "shorten", "shorten:max=2048,read=4096", "trim:cold,shorten,max=2048", "shorten:read=-1"} {
		p, err := replay.ParsePolicy(text, nil, nil)
		if err != nil || p.Name != text {
			t.Errorf("%s: %q, %v", text, p.Name, err)
		}
	}
	for _, text := range []string{"", "trm", "trim:", "trim:,", "trim:low=", "trim:low=0", "trim-each", "rules", "trim:nocache", "trim:low=101%", "trim:recent=x", "sliding:low=3", "prune:recent=3", "everything:rules", "shorten:cold", "shorten:max=x", "trim:read=0"} {
		if text == "trim:" {
			continue // nothing is asked for
		}
		if p, err := replay.ParsePolicy(text, nil, nil); err == nil {
			t.Errorf("%s is taken for %s", text, p.Name)
		}
	}
}

// TestFailing: the error of a policy names it, and the request.
func TestFailing(t *testing.T) {
	broken := errors.New("broken")
	late := replay.Policy{Name: "late", Prepare: func(replay.Setting) (replay.Send, error) {
		n := 0
		return func(r *wire.Request) (*wire.Request, error) {
			if n++; n > 1 {
				return nil, broken
			}
			return r, nil
		}, nil
	}}
	_, err := replay.Replay(mustParse(t, tiny, wire.Options{}), replay.Options{Policies: []replay.Policy{late}})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "policy late, request 2 of 3") {
		t.Errorf("%v", err)
	}
	early := replay.Policy{Name: "early", Prepare: func(replay.Setting) (replay.Send, error) { return nil, broken }}
	if _, err := replay.Replay(mustParse(t, tiny, wire.Options{}), replay.Options{Policies: []replay.Policy{early}}); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

// TestDefectU6TrimIsTrim: the policy trim sends what pare trim would make of each request.
func TestDefectU6TrimIsTrim(t *testing.T) {
	requests := 0
	randoms(t, 20, func(name string, r *wire.Request) {
		limit := r.Tokens(letters{}) / 2
		for text, window := range map[string]pare.Window{
			"trim":                  {Tokens: limit},
			"trim:low=40%,recent=2": {Tokens: limit, LowPercent: 40, Recent: 2},
			"trim:low=40%,cache":    {Tokens: limit, LowPercent: 40, Cache: tokens.CacheOf(r.Model())},
			"trim:recent=3,low=40%": {Tokens: limit, LowPercent: 40, Recent: 3},
		} {
			p, err := replay.ParsePolicy(text, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			send, err := p.Prepare(replay.Setting{Model: r.Model(), Tokens: limit, Low: limit / 3, Counter: letters{}, Cache: tokens.CacheOf(r.Model())})
			if err != nil {
				t.Fatal(err)
			}
			walk := replay.NewWalk(r)
			for k := range walk.Len() {
				q, err := walk.Request(k)
				if err != nil {
					t.Fatal(err)
				}
				got, gotErr := send(q)
				want, wantErr := planner.Trim(context.Background(), q, window, pare.Options{Counter: letters{}})
				requests++
				if (gotErr == nil) != (wantErr == nil) || gotErr == nil && !bytes.Equal(got.Raw(), want.Result().Raw()) {
					t.Fatalf("%s, %s, request %d: %v, %v, or other bytes", name, text, k, gotErr, wantErr)
				}
			}
		}
	})
	if requests < 100 {
		t.Errorf("only %d requests", requests)
	}
}

// What the provider has compacted is not read any more, from the request on that holds the
// compaction.
func TestDefectP1Replay(t *testing.T) {
	old, list := strings.Repeat("a long story ", 200), ""
	for i := range 3 {
		list += fmt.Sprintf(`{"role":"user","content":"%s %d"},{"role":"assistant","content":"so"},`, old, i)
	}
	body := `{"model":"claude-opus-4-6","max_tokens":9,"messages":[` + list + `{"role":"user","content":"n"},{"role":"assistant","content":[{"type":"compaction","content":"stories"},{"type":"text","text":"a"}]},{"role":"user","content":"m"}]}`
	r, err := wire.Parse([]byte(body), wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	result, err := replay.Replay(r, replay.Options{Policies: []replay.Policy{replay.Everything()}})
	if err != nil {
		t.Fatal(err)
	}
	steps := result.Runs[0].Steps
	first, last := steps[len(steps)-2], steps[len(steps)-1]
	if last.Sent*10 > first.Sent || last.Sent != r.Tokens(tokens.For(r.Model())) || last.Read > last.Sent {
		t.Errorf("%d tokens with the compaction, %d before it; read %d", last.Sent, first.Sent, last.Read)
	}
}
