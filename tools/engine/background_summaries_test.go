package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/wire"
)

// TestRequestsDoNotWaitForSummaries checks that no request waits for a summary: a line replaces it
// until it is written, and a growing history needs few summaries.
func TestRequestsDoNotWaitForSummaries(t *testing.T) {
	for _, low := range []int{0, 3500} {
		free := make(chan struct{})
		var asked atomic.Int32
		begun := make(chan struct{}, 1000)
		c := &pare.Compactor{MaxTokens: 1000, Summarize: func(ctx context.Context, h pare.Removed) (pare.Summary, error) {
			asked.Add(1)
			begun <- struct{}{}
			select {
			case <-free:
				return pare.Summary{Text: "what the model wrote"}, nil
			case <-ctx.Done():
				return pare.Summary{}, ctx.Err()
			}
		}}
		p := &pare.Policy{Window: &pare.Window{Tokens: 6000, Low: low}, Compact: c, SummarizeLater: true, Archived: true}
		send := func(turns int) string {
			t.Helper()
			var list []string
			for i := range turns {
				list = append(list, factTurn(wire.Anthropic, i))
			}
			r, err := wire.Parse([]byte(`{"model":"claude-sonnet-4-5","max_tokens":1000,"messages":[`+strings.Join(list, ",")+`]}`), wire.Options{})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			plan, err := p.Plan(ctx, r)
			cancel() // its client goes away: the summary is written all the same
			if err != nil {
				t.Fatal(err)
			}
			kept := attic{}
			for _, item := range plan.Archive() {
				kept[item.ID] = item
			}
			all := reach(t, kept, string(plan.Result().Raw()))
			if i := trial.FirstMissingTurn(all, turns); i < turns {
				t.Fatalf("low %d: the fact of turn %d of %d is out of reach", low, i, turns)
			}
			return string(plan.Result().Raw())
		}
		for range 20 { // the model does not answer: nobody waits, and it is asked once
			if out := send(60); !strings.Contains(out, "was not summarized") {
				t.Fatalf("low %d: %s", low, out)
			}
		}
		<-begun
		if n := asked.Load(); n != 1 {
			t.Fatalf("low %d: asked %d times", low, n)
		}
		close(free)
		for !strings.Contains(send(60), "what the model wrote") {
			time.Sleep(time.Millisecond)
		}
		for turns := 61; turns < 120; turns++ {
			send(turns)
		}
		if n := asked.Load(); n > 45 {
			t.Errorf("low %d: asked %d times for 60 requests", low, n)
		}
	}
}

// TestSummariesArePrepared checks that a summary is written before the window is full.
func TestSummariesArePrepared(t *testing.T) {
	for _, low := range []int{2000, 3000, 4000} {
		synctest.Test(t, func(t *testing.T) {
			early := 0
			turn := 0
			c := &pare.Compactor{MaxTokens: 1000, Summarize: func(context.Context, pare.Removed) (pare.Summary, error) {
				time.Sleep(3 * time.Second)
				early = max(early, turn)
				return pare.Summary{Text: "what the model wrote"}, nil
			}}
			p := &pare.Policy{Window: &pare.Window{Tokens: 8000, Low: low}, Compact: c, SummarizeLater: true}
			messages, first := "", ""
			for ; first == "" && turn < 200; turn++ {
				messages += "," + factTurn(wire.Anthropic, turn)
				r, err := wire.Parse([]byte(`{"model":"claude-sonnet-4-5","max_tokens":1000,"messages":[`+messages[1:]+`]}`), wire.Options{})
				if err != nil {
					t.Fatal(err)
				}
				plan, err := p.Plan(context.Background(), r)
				if err != nil {
					t.Fatal(err)
				}
				if out := string(plan.Result().Raw()); strings.Contains(out, wording.SummaryBegin) {
					first = out
				}
				time.Sleep(10 * time.Second) // the person reads and types
				synctest.Wait()
			}
			if early == 0 || !strings.Contains(first, "what the model wrote") {
				t.Errorf("low %d: written at turn %d of %d; the first window that needs it has\n%s", low, early, turn, first)
			}
		})
	}
}

// TestFailingSummarizerIsLeftOut: a summarizer that fails is asked at most twice for the same
// messages and five times in a row, whether requests wait for summaries or not. Every plan is clean
// and names the summarizer among its faults.
func TestFailingSummarizerIsLeftOut(t *testing.T) {
	var list []string
	for i := range 60 {
		list = append(list, factTurn(wire.Anthropic, i))
	}
	body := []byte(`{"model":"claude-sonnet-4-5","max_tokens":1000,"messages":[` + strings.Join(list, ",") + `]}`)
	for _, later := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			asked := make(map[string]int)
			calls := 0
			var mu sync.Mutex
			c := &pare.Compactor{MaxTokens: 1000, Summarize: func(_ context.Context, h pare.Removed) (pare.Summary, error) {
				mu.Lock()
				defer mu.Unlock()
				calls++
				asked[fmt.Sprint(h.Prior, h.Blocks)]++
				return pare.Summary{}, errors.New("down")
			}}
			p := &pare.Policy{Window: &pare.Window{Tokens: 6000, Low: 3500}, Compact: c, SummarizeLater: later}
			for i := range 50 {
				r, err := wire.Parse(body, wire.Options{})
				if err != nil {
					t.Fatal(err)
				}
				plan, err := p.Plan(context.Background(), r)
				if err != nil || len(plan.Remaining()) > 0 {
					t.Fatal(err, plan)
				}
				synctest.Wait()
				isNamed := slices.ContainsFunc(plan.Faults(), func(f *pare.FaultError) bool { return f.Part == "summarizer" })
				if firstOfLater := later && i == 0; !isNamed && !firstOfLater {
					t.Errorf("later %v, request %d: the faults are %v", later, i, plan.Faults())
				}
			}
			if calls > 5 {
				t.Errorf("later %v: asked %d times", later, calls)
			}
			for batch, n := range asked {
				if n > 2 {
					t.Errorf("later %v: asked %d times for %.80s", later, n, batch)
				}
			}
		})
	}
}
