package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/summary"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// longTalk has turns of four messages each: a request, a call, a result, an answer.
func longTalk(turns int) string {
	var all []string
	for i := range turns {
		all = append(all, fmt.Sprintf(`user "request %d" | call c%d Read f%d.go | result c%d %s | say "answer %d"`, i, i, i, i, strings.Repeat(fmt.Sprintf("line%d ", i), 60), i))
	}
	return strings.Join(all, " | ") + ` | user "and now?"`
}

func talkOf(t testing.TB, d wire.Dialect, turns int) *wire.Request {
	t.Helper()
	r, err := wire.Parse(histories.MustParse(longTalk(turns)).Render(d, histories.RenderOptions{}), wire.Options{Dialect: d})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// says returns a summarizer that always returns the same text.
func says(text string) pare.Summarizer {
	return func(context.Context, pare.Removed) (pare.Summary, error) { return pare.Summary{Text: text}, nil }
}

// A slow summarizer takes ten seconds, heeds its context and counts its calls.
type slow struct {
	calls, ended atomic.Int32 // begun; ended by their context
	fail         atomic.Bool
}

func (s *slow) summarize(ctx context.Context, h pare.Removed) (pare.Summary, error) {
	n := s.calls.Add(1)
	select {
	case <-time.After(10 * time.Second):
	case <-ctx.Done():
		s.ended.Add(1)
		return pare.Summary{}, ctx.Err()
	}
	if s.fail.Load() {
		return pare.Summary{}, errors.New("no luck")
	}
	return pare.Summary{Text: fmt.Sprintf("summary %d of %d blocks", n, len(h.Blocks))}, nil
}

// TestCompactorShares: compactions of one history at the same time share one run,
// those of different histories do not, and nothing is kept when the run has ended.
func TestCompactorShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s slow
		c := pare.Compactor{Summarize: s.summarize, MinKeep: 2}
		var wg sync.WaitGroup
		results := make([][]byte, 20)
		for i := range results {
			wg.Go(func() {
				time.Sleep(time.Duration(i%5) * time.Second)
				// Requests that were parsed apart are one history.
				plan, err := planner.Compact(context.Background(), &c, talkOf(t, wire.Anthropic, 4+i%2))
				if err != nil {
					t.Error(err)
					return
				}
				results[i] = plan.Result().Raw()
			})
		}
		wg.Wait()
		if n := s.calls.Load(); n != 2 {
			t.Errorf("%d runs for two histories", n)
		}
		for i, body := range results {
			if !bytes.Equal(body, results[i%2]) {
				t.Errorf("caller %d got something else", i)
			}
		}
		if _, err := planner.Compact(context.Background(), &c, talkOf(t, wire.Anthropic, 4)); err != nil || s.calls.Load() != 3 {
			t.Errorf("%v, %d runs: a later compaction is a new run", err, s.calls.Load())
		}
	})
}

// TestCompactorFailureIsNotKept checks that all waiting callers get the error, and the next caller
// a new run.
func TestCompactorFailureIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s slow
		s.fail.Store(true)
		c := pare.Compactor{Summarize: s.summarize, MinKeep: 2}
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if plan, err := planner.Compact(context.Background(), &c, talkOf(t, wire.Gemini, 4)); reasonOf(err) != "summarizer" || plan != nil || !strings.Contains(err.Error(), "no luck") {
					t.Errorf("got %v", err)
				}
			})
		}
		wg.Wait()
		s.fail.Store(false)
		if _, err := planner.Compact(context.Background(), &c, talkOf(t, wire.Gemini, 4)); err != nil || s.calls.Load() != 2 {
			t.Errorf("%v, %d runs", err, s.calls.Load())
		}
	})
}

// TestCompactorOneLeaves checks that a caller that leaves does not cancel the run for other
// callers.
func TestCompactorOneLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s slow
		c := pare.Compactor{Summarize: s.summarize, MinKeep: 2}
		first, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := planner.Compact(first, &c, talkOf(t, wire.Bedrock, 4)); reasonOf(err) != "timeout" || !errors.Is(err, context.Canceled) {
				t.Errorf("the first: %v", err)
			}
		})
		synctest.Wait()
		wg.Go(func() {
			if _, err := planner.Compact(context.Background(), &c, talkOf(t, wire.Bedrock, 4)); err != nil {
				t.Errorf("the second: %v", err)
			}
		})
		time.Sleep(time.Second)
		cancel()
		wg.Wait()
		if s.calls.Load() != 1 || s.ended.Load() != 0 {
			t.Errorf("%d runs, %d ended", s.calls.Load(), s.ended.Load())
		}
	})
}

// TestCompactorLastLeaves checks that a run is canceled when the last caller leaves, and that a
// later caller starts a new one.
func TestCompactorLastLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s slow
		c := pare.Compactor{Summarize: s.summarize, MinKeep: 2}
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if _, err := planner.Compact(ctx, &c, talkOf(t, wire.OpenAIChat, 4)); reasonOf(err) != "timeout" || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v", err)
				}
			})
		}
		wg.Wait()
		synctest.Wait()
		if s.calls.Load() != 1 || s.ended.Load() != 1 {
			t.Errorf("%d runs, %d ended", s.calls.Load(), s.ended.Load())
		}
		if _, err := planner.Compact(context.Background(), &c, talkOf(t, wire.OpenAIChat, 4)); err != nil || s.calls.Load() != 2 {
			t.Errorf("%v, %d runs", err, s.calls.Load())
		}
	})
}

// TestCompactorTimeout: a summarizer that hangs is given up after Timeout, whether it
// heeds its context or not.
func TestCompactorTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		deaf := make(chan struct{})
		for name, hang := range map[string]pare.Summarizer{
			"heeds": func(ctx context.Context, _ pare.Removed) (pare.Summary, error) {
				<-ctx.Done()
				return pare.Summary{}, ctx.Err()
			},
			"is deaf": func(context.Context, pare.Removed) (pare.Summary, error) {
				<-deaf
				return pare.Summary{Text: "too late"}, nil
			},
		} {
			for range 100 {
				c := pare.Compactor{Summarize: hang, MinKeep: 2, Timeout: 7 * time.Second}
				r := talkOf(t, wire.OpenAIResponses, 4)
				before := time.Now()
				plan, err := planner.Compact(context.Background(), &c, r)
				if reasonOf(err) != "timeout" || plan != nil || time.Since(before) != 7*time.Second {
					t.Fatalf("%s: %v after %v", name, err, time.Since(before))
				}
			}
		}
		close(deaf)
	})
}

// TestCompactorDefaultTimeout: two minutes.
func TestCompactorDefaultTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := pare.Compactor{MinKeep: 2, Summarize: func(ctx context.Context, _ pare.Removed) (pare.Summary, error) {
			<-ctx.Done()
			return pare.Summary{}, ctx.Err()
		}}
		before := time.Now()
		if _, err := planner.Compact(context.Background(), &c, talkOf(t, wire.Gemini, 4)); err == nil || time.Since(before) != 2*time.Minute {
			t.Errorf("%v after %v", err, time.Since(before))
		}
	})
}

// TestCompactorBadSummarizers checks that each failure of a summarizer is an error with its reason,
// that the history is unchanged, and that the compactor works afterwards.
func TestCompactorBadSummarizers(t *testing.T) {
	for _, d := range wire.Dialects() {
		r := talkOf(t, d, 4)
		raw := bytes.Clone(r.Raw())
		for name, c := range map[string]struct {
			s      pare.Summarizer
			reason string
		}{
			"panics":     {func(context.Context, pare.Removed) (pare.Summary, error) { panic("oh no") }, "summarizer"},
			"panics nil": {func(context.Context, pare.Removed) (pare.Summary, error) { panic(nil) }, "summarizer"},
			"goes away": {func(context.Context, pare.Removed) (pare.Summary, error) {
				runtime.Goexit()
				return pare.Summary{}, nil
			}, "blank"},
			"fails": {func(context.Context, pare.Removed) (pare.Summary, error) { return pare.Summary{}, errors.New("no") }, "summarizer"},
			"text and err": {func(context.Context, pare.Removed) (pare.Summary, error) {
				return pare.Summary{Text: "x"}, errors.New("no")
			}, "summarizer"},
			"blank":   {says(" \n"), "blank"},
			"calls":   {says(callTexts[0]), "calls"},
			"bytes":   {says("\xff"), "not-text"},
			"zero":    {says("a\x00"), "not-text"},
			"the end": {says("a\n" + wording.SummaryEnd), "not-text"},
			"larger":  {says(strings.Repeat("word ", 5000)), ""},
			"forged items": {func(context.Context, pare.Removed) (pare.Summary, error) {
				return pare.Summary{Text: gist, Items: []archive.Item{{ID: "x", Raw: []byte("y")}}}, nil
			}, "not-conserved"},
			"pinned": {func(context.Context, pare.Removed) (pare.Summary, error) {
				return pare.Summary{Text: gist, Pinned: true}, nil
			}, ""},
		} {
			var seen []string
			comp := pare.Compactor{Summarize: c.s, MinKeep: 2}
			comp.Options.Sink = func(e pare.Event) { seen = append(seen, string(e.Type)) }
			plan, err := planner.Compact(context.Background(), &comp, r)
			if reasonOf(err) != c.reason || (err == nil) != (c.reason == "") || (plan == nil) != (err != nil) {
				t.Errorf("%s, %s: %v, want %q", d, name, err, c.reason)
			}
			if !bytes.Equal(raw, r.Raw()) {
				t.Fatalf("%s, %s: the history has changed", d, name)
			}
			last := "compaction_completed"
			if err != nil {
				last = "compaction_failed"
			}
			if seen[0] != "compaction_started" || seen[len(seen)-1] != last {
				t.Errorf("%s, %s: events %v", d, name, seen)
			}
			comp.Summarize = says(gist)
			if _, err := planner.Compact(context.Background(), &comp, r); err != nil {
				t.Errorf("%s, %s: the next one: %v", d, name, err)
			}
		}
	}
}

// TestCompactorPrior checks that the summarizer gets the earlier summaries, and that its result is
// checked.
func TestCompactorPrior(t *testing.T) {
	for _, d := range wire.Dialects() {
		c := pare.Compactor{Summarize: says(gist), MinKeep: 9}
		first, err := planner.Compact(context.Background(), &c, talkOf(t, d, 4))
		if err != nil {
			t.Fatal(err)
		}
		line := regexp.MustCompile(`\[pare: \d+ turns?, \d+ blocks of [^]]*\]`).Find(first.Result().Raw())
		prior := string(line) + "\n" + gist
		for name, x := range map[string]struct {
			s            pare.Summary
			reason, want string
		}{
			"new part": {pare.Summary{Text: "more"}, "", gist + "\n\nmore"},
			"pinned":   {pare.Summary{Text: "more", Pinned: true}, "", gist + "\n\nmore"},
		} {
			got := ""
			c := pare.Compactor{MinKeep: 2, Summarize: func(_ context.Context, h pare.Removed) (pare.Summary, error) {
				if got = h.Prior; h.MaxTokens < 1 || h.MaxTokens > 1000 || len(h.Blocks) == 0 {
					t.Errorf("%d tokens, %d blocks", h.MaxTokens, len(h.Blocks))
				}
				for _, b := range h.Blocks {
					if text := h.Request.Text(b); strings.Contains(text, wording.SummaryBegin) || text == "request 0" {
						t.Errorf("%s: %q is not removed", d, text)
					}
				}
				return x.s, nil
			}}
			plan, err := planner.Compact(context.Background(), &c, first.Result())
			if reasonOf(err) != x.reason || got != prior {
				t.Errorf("%s, %s: %v; the prior summary was %q", d, name, err, got)
			}
			if err == nil {
				if all := summaries(t, d, plan.Result().Raw()); !slices.Equal(all, []string{x.want}) {
					t.Errorf("%s, %s: %q", d, name, all)
				}
			}
		}
	}
}

// TestCompactorSkips: nothing to do is an empty plan with one event.
func TestCompactorSkips(t *testing.T) {
	for name, c := range map[string]*pare.Compactor{
		"few messages": {MinKeep: 100},
		"default keep": {},
		"not above":    {MinKeep: 2, Above: 1 << 20, Options: pare.CompactOptions{Options: pare.Options{Counter: quarters{}}}},
	} {
		r := talkOf(t, wire.OpenAIChat, 3)
		var seen []pare.Event
		c.Options.Sink = func(e pare.Event) { seen = append(seen, e) }
		c.Summarize = func(context.Context, pare.Removed) (pare.Summary, error) {
			t.Errorf("%s: the summarizer was called", name)
			return pare.Summary{}, nil
		}
		plan, err := planner.Compact(context.Background(), c, r)
		if name == "default keep" && len(r.Transcript().Messages()) != 13 {
			t.Fatal(len(r.Transcript().Messages()))
		}
		if err != nil || !plan.Empty() || &plan.Result().Raw()[0] != &r.Raw()[0] {
			t.Errorf("%s: %v", name, err)
		}
		if len(seen) != 1 || seen[0].Type != "compaction_skipped" || seen[0].Metadata.(pare.CompactionSkipped).Reason == "" || len(plan.Events()) != 1 {
			t.Errorf("%s: %v", name, seen)
		}
		if body, err := plan.Apply(); err != nil || !bytes.Equal(body, r.Raw()) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCompactorSingleTurn: one unbroken run of tool use is left alone, unless a cut
// inside is allowed.
func TestCompactorSingleTurn(t *testing.T) {
	for _, d := range wire.Dialects() {
		r := reading(t, d, histories.MustParse(toolTurn("a", 10)).Render(d, histories.RenderOptions{}))
		c := pare.Compactor{Summarize: says(gist), MinKeep: 4}
		if plan, err := planner.Compact(context.Background(), &c, r); err != nil || !plan.Empty() {
			t.Errorf("%s: %v", d, err)
		}
		c.Inside = true
		plan, err := planner.Compact(context.Background(), &c, r)
		if err != nil || plan.Empty() || len(plan.Remaining()) > 0 {
			t.Fatalf("%s: %v", d, err)
		}
		alternates(t, d.String(), d, plan.Result().Raw(), true)
	}
}

// TestCompactorOptions: numbers below zero are errors, before anything is called.
func TestCompactorOptions(t *testing.T) {
	for _, c := range []*pare.Compactor{{MinKeep: -1}, {MaxTokens: -1}, {Above: -1}, {Timeout: -1}} {
		c.Summarize = says(gist)
		if plan, err := planner.Compact(context.Background(), c, talkOf(t, wire.Gemini, 4)); err == nil || plan != nil {
			t.Errorf("MinKeep %d, MaxTokens %d, Above %d, Timeout %d: no error", c.MinKeep, c.MaxTokens, c.Above, c.Timeout)
		}
	}
}

// TestFitOptions: a length below zero is an error, and never lets a result be over its
// limit.
func TestFitOptions(t *testing.T) {
	c := pare.Compactor{Summarize: says(gist), MaxTokens: -500}
	c.Options.Counter = quarters{}
	r := talkOf(t, wire.Gemini, 10)
	w := pare.Window{Tokens: r.Tokens(quarters{}) - 100}
	plan, err := planner.TrimWithSummaries(context.Background(), &c, r, w, c.Options.Options)
	if err == nil {
		t.Errorf("MaxTokens -500: no error; the result has %d tokens, the limit is %d", plan.Result().Tokens(quarters{}), w.Tokens)
	}
}

// TestCompactorMaxTokens checks that a summary above its limit is an error, also if it is shorter
// than the removed content.
func TestCompactorMaxTokens(t *testing.T) {
	c := pare.Compactor{Summarize: says(strings.Repeat("word ", 50)), MinKeep: 2, MaxTokens: 20}
	c.Options.Counter = quarters{}
	if plan, err := planner.Compact(context.Background(), &c, talkOf(t, wire.Anthropic, 8)); reasonOf(err) != "larger" || plan != nil {
		t.Errorf("63 tokens where 20 are allowed: %v", err)
	}
}

// TestCompactorEvents: one shape for all, the order of a life, the same in plan and
// sink.
func TestCompactorEvents(t *testing.T) {
	for name, want := range map[string][]string{
		"completed": {"compaction_started", "tool_pair_validated", "plan_made", "compaction_completed"},
		"archived":  {"compaction_started", "tool_pair_validated", "plan_made", "compaction_overflow_archived"},
		"failed":    {"compaction_started", "compaction_failed"},
		"skipped":   {"compaction_skipped"},
	} {
		var seen []pare.Event
		c := pare.Compactor{Summarize: says(gist), MinKeep: 2}
		c.Options.Sink = func(e pare.Event) { seen = append(seen, e) }
		switch name {
		case "archived":
			c.Summarize = nil
		case "failed":
			c.Summarize = says("")
		case "skipped":
			c.MinKeep = 100
		}
		plan, err := planner.Compact(context.Background(), &c, talkOf(t, wire.OpenAIChat, 4))
		if (err != nil) != (name == "failed") {
			t.Errorf("%s: %v", name, err)
		}
		checkEvents(t, name, seen, want)
		if plan == nil {
			continue
		}
		for _, e := range plan.Events() {
			if !slices.ContainsFunc(seen, func(s pare.Event) bool { return s.Type == e.Type }) {
				t.Errorf("%s: the plan has %s, the sink has not", name, e.Type)
			}
		}
	}
}

func checkEvents(t *testing.T, name string, seen []pare.Event, want []string) {
	t.Helper()
	var types []string
	for _, e := range seen {
		types = append(types, string(e.Type))
		raw, err := json.Marshal(e)
		var shape map[string]json.RawMessage
		if err != nil || json.Unmarshal(raw, &shape) != nil || len(shape) != 2 || shape["type"] == nil || len(shape["metadata"]) < 2 || shape["metadata"][0] != '{' {
			t.Errorf("%s: %s, %v", name, raw, err)
		}
	}
	if want != nil && !slices.Equal(types, want) {
		t.Errorf("%s: %v, want %v", name, types, want)
	}
}

// TestCompactorArchives checks that removed content is archived and conserved without a summarizer.
func TestCompactorArchives(t *testing.T) {
	for _, d := range wire.Dialects() {
		c := pare.Compactor{MinKeep: 2, Options: pare.CompactOptions{MinConserved: 1}}
		r := talkOf(t, d, 4)
		plan, err := planner.Compact(context.Background(), &c, r)
		if err != nil {
			t.Fatalf("%s: %v", d, err)
		}
		if got := summaries(t, d, plan.Result().Raw()); len(got) != 1 || !bytes.Contains(plan.Result().Raw(), []byte(archive.Name(plan.Archive()))) {
			t.Errorf("%s: %q", d, got)
		}
	}
}

// Fit.

// fitWindow leaves room for about half of a talk.
func fitWindow(r *wire.Request) pare.Window {
	n := r.Tokens(quarters{})
	return pare.Window{Tokens: n * 2 / 3, Low: n / 3}
}

// numbered is a summarizer whose texts contain the number of the batch.
type numbered struct {
	calls  atomic.Int32
	priors []string
}

func (n *numbered) summarize(_ context.Context, h pare.Removed) (pare.Summary, error) {
	n.priors = append(n.priors, h.Prior)
	t := h.Request.Transcript()
	first := t.Block(h.Blocks[0]).Message
	last := t.Block(h.Blocks[len(h.Blocks)-1]).Message
	return pare.Summary{Text: fmt.Sprintf("summary %d of messages %d to %d", n.calls.Add(1), first, last)}, nil
}

// TestFitBatches checks a growing history: each batch has one summary, earlier summaries stay
// unchanged, and requests between batches begin with the bytes of the previous one.
func TestFitBatches(t *testing.T) {
	for _, d := range wire.Dialects() {
		r := talkOf(t, d, 30)
		w := fitWindow(r)
		w.Tokens, w.Low = w.Tokens/2, w.Low/3
		var n numbered
		c := pare.Compactor{Summarize: n.summarize, MaxTokens: 200}
		c.Options.Counter = quarters{}
		var before *pare.Plan
		told, holds := "", 0
		for i, q := range requests(t, r) {
			name := fmt.Sprintf("%s, request %d", d, i)
			plan, err := planner.TrimWithSummaries(context.Background(), &c, q, w, c.Options.Options)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if size := plan.Result().Tokens(quarters{}); size > w.Tokens || len(plan.Remaining()) > 0 {
				t.Fatalf("%s: %d tokens of %d, left %v", name, size, w.Tokens, plan.Remaining())
			}
			all := summaries(t, d, plan.Result().Raw())
			if len(all) > 1 {
				t.Fatalf("%s: %q", name, all)
			}
			now := strings.Join(all, "")
			if !strings.HasPrefix(now, told) {
				t.Fatalf("%s: %q does not begin with %q", name, now, told)
			}
			if before != nil && len(before.Batches()) == len(plan.Batches()) {
				holds++
				if now != told {
					t.Errorf("%s: no batch, but another summary: %q, before %q", name, now, told)
				}
				if a, b := before.Result().Raw(), plan.Result().Raw(); shared(a, b) < listEnd(before.Result()) {
					t.Fatalf("%s: the prefix changed at %d without a batch\n%s\n%s", name, shared(a, b), a, b)
				}
			}
			before, told = plan, now
		}
		if len(before.Batches()) < 3 || holds < 10 || int(n.calls.Load()) > len(before.Batches()) {
			t.Errorf("%s: %d batches, %d requests between them, %d calls", d, len(before.Batches()), holds, n.calls.Load())
		}
		for i, p := range n.priors {
			if i > 0 && !strings.HasSuffix(p, fmt.Sprintf("summary %d of messages", i)) && !strings.Contains(p, fmt.Sprintf("summary %d of messages", i)) {
				t.Errorf("%s: the prior of call %d is %q", d, i+1, p)
			}
		}
		// A process that was not there from the start, with a summarizer that depends on its
		// input only, sends the same.
		same := func() []byte {
			c := pare.Compactor{Summarize: summary.Extract(summary.ExtractOptions{Counter: quarters{}}), MaxTokens: 200}
			c.Options.Counter = quarters{}
			plan, err := planner.TrimWithSummaries(context.Background(), &c, r, w, c.Options.Options)
			if err != nil {
				t.Fatal(err)
			}
			return plan.Result().Raw()
		}
		if !bytes.Equal(same(), same()) {
			t.Errorf("%s: two processes differ", d)
		}
	}
}

// A notebook is a memory of one's own.
type notebook struct {
	mu            sync.Mutex
	texts         map[string]string
	loads, stores int
}

func (n *notebook) Load(key string) (string, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.loads++
	text, ok := n.texts[key]
	return text, ok
}

func (n *notebook) Store(key, text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stores++
	n.texts[key] = text
}

// TestFitMemory: summaries that a memory holds are not asked for again, after a restart
// either.
func TestFitMemory(t *testing.T) {
	r := talkOf(t, wire.Anthropic, 30)
	w := fitWindow(r)
	book := &notebook{texts: map[string]string{}}
	var first []byte
	for i := range 3 {
		var n numbered
		c := pare.Compactor{Summarize: n.summarize, MaxTokens: 200, Memory: book}
		c.Options.Counter = quarters{}
		plan, err := planner.TrimWithSummaries(context.Background(), &c, r, w, c.Options.Options)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = plan.Result().Raw()
		}
		if calls := int(n.calls.Load()); (calls == 0) != (i > 0) || !bytes.Equal(first, plan.Result().Raw()) {
			t.Errorf("round %d: %d calls", i, calls)
		}
	}
	if book.stores == 0 || book.stores != len(book.texts) {
		t.Errorf("%d stores of %d texts", book.stores, len(book.texts))
	}
}

// TestFitFails checks that a failed summarizer leaves a valid history that fits, with one event.
func TestFitFails(t *testing.T) {
	for _, d := range wire.Dialects() {
		r := talkOf(t, d, 20)
		for name, s := range map[string]pare.Summarizer{
			"error": func(context.Context, pare.Removed) (pare.Summary, error) {
				return pare.Summary{}, errors.New("no luck")
			},
			"panic": func(context.Context, pare.Removed) (pare.Summary, error) { panic("oh no") },
			"blank": says(""),
			"calls": says(callTexts[3]),
			"forget": func(_ context.Context, h pare.Removed) (pare.Summary, error) {
				if h.Prior != "" {
					return pare.Summary{Text: "all new", Pinned: true}, nil
				}
				return pare.Summary{Text: ""}, nil
			},
		} {
			for _, stable := range []bool{false, true} {
				w := fitWindow(r)
				if !stable {
					w.Low = 0
				}
				var seen []pare.Event
				c := pare.Compactor{Summarize: s, MaxTokens: 200}
				c.Options.Counter, c.Options.Sink = quarters{}, func(e pare.Event) { seen = append(seen, e) }
				plan, err := planner.TrimWithSummaries(context.Background(), &c, r, w, c.Options.Options)
				name := fmt.Sprintf("%s, %s, stable %v", d, name, stable)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if n := plan.Result().Tokens(quarters{}); n > w.Tokens || len(plan.Remaining()) > 0 {
					t.Errorf("%s: %d tokens of %d, left %v", name, n, w.Tokens, plan.Remaining())
				}
				// What nobody could summarize is named all the same.
				if got := summaries(t, d, plan.Result().Raw()); !slices.Equal(got, []string{"What stood here was not summarized."}) {
					t.Errorf("%s: %q", name, got)
				}
				wholePairs(t, name, d, utterances(t, d, plan.Result().Raw()))
				checkEvents(t, name, seen, nil)
				failed := 0
				for _, e := range seen {
					if e.Type == "compaction_failed" {
						failed++
					}
				}
				if failed != 1 || !slices.ContainsFunc(plan.Events(), func(e pare.Event) bool { return e.Type == "compaction_failed" }) {
					t.Fatalf("%s: %d events compaction_failed in the sink, the plan has %v", name, failed, plan.Events())
				}
			}
		}
	}
}

// TestFitCancelled: a context that ends does not keep a history from fitting.
func TestFitCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s slow
		r := talkOf(t, wire.Anthropic, 20)
		c := pare.Compactor{Summarize: s.summarize, MaxTokens: 200}
		c.Options.Counter = quarters{}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		plan, err := planner.TrimWithSummaries(ctx, &c, r, fitWindow(r), c.Options.Options)
		if err != nil || plan.Result().Tokens(quarters{}) > fitWindow(r).Tokens {
			t.Errorf("got %v", err)
		}
		synctest.Wait()
		if s.ended.Load() != 1 {
			t.Errorf("%d runs ended", s.ended.Load())
		}
	})
}

// TestFitConcurrent checks that concurrent fits of one history share runs and have the same result.
func TestFitConcurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s slow
		r := talkOf(t, wire.Bedrock, 20)
		w := fitWindow(r)
		c := pare.Compactor{Summarize: s.summarize, MaxTokens: 200}
		c.Options.Counter = quarters{}
		var wg sync.WaitGroup
		got := make([][]byte, 10)
		for i := range got {
			wg.Go(func() {
				plan, err := planner.TrimWithSummaries(context.Background(), &c, talkOf(t, wire.Bedrock, 20), w, c.Options.Options)
				if err != nil {
					t.Error(err)
					return
				}
				got[i] = plan.Result().Raw()
			})
		}
		wg.Wait()
		for i := range got {
			if !bytes.Equal(got[i], got[0]) {
				t.Errorf("caller %d got something else", i)
			}
		}
		plan, err := planner.TrimWithSummaries(context.Background(), &c, r, w, c.Options.Options)
		if err != nil || int(s.calls.Load()) > len(plan.Batches())+1 {
			t.Errorf("%v: %d calls for %d batches", err, s.calls.Load(), len(plan.Batches()))
		}
	})
}

// TestFitLeavesAlone: a history that fits the window comes back as it is.
func TestFitLeavesAlone(t *testing.T) {
	r := talkOf(t, wire.Anthropic, 20)
	n := r.Tokens(quarters{})
	for _, w := range []pare.Window{{Tokens: n}, {Tokens: n + 1}, {Tokens: n + 150}, {Tokens: n + 1000}} {
		c := pare.Compactor{Summarize: says(gist), MaxTokens: 200}
		c.Options.Counter = quarters{}
		plan, err := planner.TrimWithSummaries(context.Background(), &c, r, w, c.Options.Options)
		if err != nil || !plan.Empty() {
			t.Errorf("%d tokens into %d, low %d: %v, %d tokens are left", n, w.Tokens, w.Low, err, plan.Result().Tokens(quarters{}))
		}
	}
}

// TestFitNoRoom: a window too small for a summary is met without one.
func TestFitNoRoom(t *testing.T) {
	r := talkOf(t, wire.Anthropic, 10)
	for _, w := range []pare.Window{{Tokens: 500}, {Tokens: 500, Low: 300}} {
		c := pare.Compactor{Summarize: says(gist)} // 2,000 tokens
		c.Options.Counter = quarters{}
		plan, err := planner.TrimWithSummaries(context.Background(), &c, r, w, c.Options.Options)
		if err != nil {
			t.Errorf("%d tokens, low %d: %v", w.Tokens, w.Low, err)
			continue
		}
		if n := plan.Result().Tokens(quarters{}); n > w.Tokens {
			t.Errorf("%d tokens of %d", n, w.Tokens)
		}
	}
	var small *pare.WindowTooSmall
	c := pare.Compactor{Summarize: says(gist)}
	c.Options.Counter = quarters{}
	_, err := planner.TrimWithSummaries(context.Background(), &c, r, pare.Window{Tokens: 10}, c.Options.Options)
	if !errors.As(err, &small) {
		t.Fatalf("got %v", err)
	}
	if _, err := planner.TrimWithSummaries(context.Background(), &c, r, pare.Window{Tokens: small.Minimum}, c.Options.Options); err != nil {
		t.Errorf("the minimum %d: %v", small.Minimum, err)
	}
	if _, err := planner.TrimWithSummaries(context.Background(), &c, r, pare.Window{Tokens: small.Minimum - 1}, c.Options.Options); !errors.As(err, &small) {
		t.Errorf("one less than the minimum: %v", err)
	}
}

// TestFitRelations checks random histories, complete and broken, in all dialects and windows: the
// result is valid and within the limit, or the error is that of the window alone, and it is the
// same each time.
func TestFitRelations(t *testing.T) {
	n, told, done := historyCount(t)/40, 0, 0
	for seed := range uint64(n) {
		d, body, did := history(seed)
		r := reading(t, d, body)
		total := r.Tokens(quarters{})
		for _, part := range []int{2, 3, 5} {
			name := fmt.Sprintf("seed %d, %s, %v, a %dth", seed, d, did, part)
			w := pare.Window{Tokens: max(total/part, 50)}
			if seed%2 == 0 {
				w.Low = w.Tokens / 2
			}
			fit := func() (*pare.Plan, error) {
				c := pare.Compactor{Summarize: summary.Extract(summary.ExtractOptions{Counter: quarters{}}), MaxTokens: max(w.Tokens/4, 1)}
				c.Options.Counter = quarters{}
				return planner.TrimWithSummaries(context.Background(), &c, r, w, c.Options.Options)
			}
			plan, err := fit()
			if small := (*pare.WindowTooSmall)(nil); errors.As(err, &small) {
				if _, bare := planner.Trim(context.Background(), r, w, pare.Options{Counter: quarters{}}); !errors.As(bare, &small) {
					t.Fatalf("%s: %v, but without a summary %v", name, err, bare)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			done++
			out := plan.Result()
			if n := out.Tokens(quarters{}); n > w.Tokens {
				t.Fatalf("%s: %d tokens of %d", name, n, w.Tokens)
			}
			if bad := refusals(t, r, out, pare.Options{}); len(bad) > 0 {
				t.Fatalf("%s: %v\n%s", name, bad, resultOf(plan))
			}
			if len(summaries(t, d, out.Raw())) > 0 {
				told++
			}
			again, err := fit()
			if err != nil || !bytes.Equal(again.Result().Raw(), out.Raw()) {
				t.Fatalf("%s: another run differs: %v", name, err)
			}
			if t.Failed() {
				t.Fatalf("%s\n%s\n%s", name, body, resultOf(plan))
			}
		}
	}
	t.Logf("%d fitted, %d with a summary", done, told)
	if told < n/25 {
		t.Errorf("only %d summaries of %d histories", told, n)
	}
}

// TestFitOverflow checks 30 messages that do not fit.
func TestFitOverflow(t *testing.T) {
	s := histories.MustParse(longTalk(7) + ` | say "one more"`)
	for _, d := range wire.Dialects() {
		r := reading(t, d, s.Render(d, histories.RenderOptions{}))
		if n := len(r.Transcript().Messages()); n != 30 {
			t.Fatalf("%d messages", n)
		}
		for _, limit := range []int{400, 500, 600, 700} {
			c := pare.Compactor{Summarize: summary.Extract(summary.ExtractOptions{Counter: quarters{}}), MaxTokens: 120}
			c.Options.Counter = quarters{}
			name := fmt.Sprintf("%s, %d tokens", d, limit)
			plan, err := planner.TrimWithSummaries(context.Background(), &c, r, pare.Window{Tokens: limit, Recent: 1}, c.Options.Options)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if n := plan.Result().Tokens(quarters{}); n > limit {
				t.Errorf("%s: %d tokens", name, n)
			}
			alternates(t, name, d, plan.Result().Raw(), false)
		}
	}
}

// TestFitEndToEnd checks 61 messages, request by request, with extracted summaries and a stable
// window.
func TestFitEndToEnd(t *testing.T) {
	for _, d := range wire.Dialects() {
		r := talkOf(t, d, 15)
		if n := len(r.Transcript().Messages()); n != 61 {
			t.Fatalf("%d messages", n)
		}
		c := pare.Compactor{Summarize: summary.Extract(summary.ExtractOptions{Counter: quarters{}}), MaxTokens: 250}
		c.Options.Counter = quarters{}
		w := pare.Window{Tokens: 900, Low: 500}
		told, sent := 0, 0
		for i, q := range requests(t, r) {
			name := fmt.Sprintf("%s, request %d", d, i)
			plan, err := planner.TrimWithSummaries(context.Background(), &c, q, w, c.Options.Options)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			sent++
			body, err := plan.Apply()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if n := plan.Result().Tokens(quarters{}); n > w.Tokens {
				t.Errorf("%s: %d tokens", name, n)
			}
			alternates(t, name, d, body, true)
			us := utterances(t, d, body)
			if us[0].text != "request 0" {
				t.Errorf("%s: it begins with %q", name, us[0].text)
			}
			if len(summaries(t, d, body)) == 1 {
				told++
			}
			if bad := plan.Result().Check(wire.CheckOptions{}); len(bad) > 0 {
				t.Errorf("%s: %v", name, bad)
			}
		}
		if told < 5 || sent < 30 {
			t.Errorf("%s: %d of %d requests had a summary", d, told, sent)
		}
	}
}

// TestFitSummarizesDroppedContent checks that the summarizer gets exactly the content that the
// result does not contain.
func TestFitSummarizesDroppedContent(t *testing.T) {
	for _, d := range wire.Dialects() {
		r := talkOf(t, d, 20)
		w := fitWindow(r)
		var told []string
		c := pare.Compactor{MaxTokens: 200, Summarize: func(_ context.Context, h pare.Removed) (pare.Summary, error) {
			for _, b := range h.Blocks {
				blk := h.Request.Transcript().Block(b)
				if blk.Kind != transcript.Call && blk.Kind != transcript.Result {
					told = append(told, h.Request.Text(b))
				}
			}
			return pare.Summary{Text: "summary"}, nil
		}}
		c.Options.Counter = quarters{}
		plan, err := planner.TrimWithSummaries(context.Background(), &c, r, w, c.Options.Options)
		if err != nil {
			t.Fatal(err)
		}
		us := utterances(t, d, plan.Result().Raw())
		for _, u := range utterances(t, d, r.Raw()) {
			if u.who != "user" && u.who != "assistant" {
				continue
			}
			stays := slices.ContainsFunc(us, func(o utterance) bool { return o.who == u.who && o.text == u.text })
			if gone := slices.Contains(told, u.text); gone == stays {
				t.Errorf("%s: %q stays: %v, told: %v", d, u.text, stays, gone)
			}
		}
	}
}

// TestFitCarriesCompacted checks that the summary of an earlier compaction is kept unchanged when
// the window drops it.
func TestFitCarriesCompacted(t *testing.T) {
	for _, d := range wire.Dialects() {
		c := pare.Compactor{Summarize: says("the facts of the first part"), MinKeep: 50}
		c.Options.Counter = quarters{}
		first, err := planner.Compact(context.Background(), &c, talkOf(t, d, 20))
		if err != nil {
			t.Fatal(err)
		}
		r := first.Result()
		c = pare.Compactor{Summarize: summary.Extract(summary.ExtractOptions{Counter: quarters{}}), MaxTokens: 200}
		c.Options.Counter = quarters{}
		for _, w := range []pare.Window{{Tokens: 600}, {Tokens: 600, Low: 400}} {
			plan, err := planner.TrimWithSummaries(context.Background(), &c, r, w, c.Options.Options)
			if err != nil {
				t.Fatal(err)
			}
			if got := summaries(t, d, plan.Result().Raw()); !strings.Contains(strings.Join(got, "\n"), "the facts of the first part") {
				t.Errorf("%s, low %d: the summaries are %q", d, w.Low, got)
			}
		}
	}
}

// TestFitSummariesFull checks that summaries stay within their limit, however small, and that they
// replace everything that is dropped.
func TestFitSummariesFull(t *testing.T) {
	r := talkOf(t, wire.Anthropic, 40)
	w := pare.Window{Tokens: 900, Low: 400}
	for _, most := range []int{50, 60, 80, 120, 200, 400} {
		var n numbered
		c := pare.Compactor{Summarize: n.summarize, MaxTokens: most}
		c.Options.Counter = quarters{}
		for i, q := range requests(t, r) {
			plan, err := planner.TrimWithSummaries(context.Background(), &c, q, w, c.Options.Options)
			if err != nil {
				t.Fatal(err)
			}
			text, blocks := "", 0
			for _, u := range utterances(t, wire.Anthropic, plan.Result().Raw()) {
				if strings.Contains(u.text, wording.SummaryBegin) {
					text = u.text
				}
			}
			for _, l := range lossLine.FindAllStringSubmatch(text, -1) {
				n, _ := strconv.Atoi(l[1])
				blocks += n
			}
			dropped := 0
			for _, d := range plan.Decisions() {
				if d.Action == wire.ActionDrop && strings.HasPrefix(d.Reasons[0].Rule, "drop-") {
					dropped += len(planner.RepairedRequest(plan).Transcript().Atoms()[d.Atom].Blocks)
				}
			}
			if size := (quarters{}).Count([]byte(text)); size > most || blocks != dropped || plan.Result().Tokens(quarters{}) > w.Tokens {
				t.Fatalf("request %d, at most %d: %d tokens; %d blocks are gone\n%s", i, most, size, dropped, text)
			}
		}
	}
}
