package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// TestBadWindows checks that an invalid window is an error that says why.
func TestBadWindows(t *testing.T) {
	first := func(*wire.Request, transcript.AtomID) int { return 0 }
	body := histories.MustParse(twoPairs).Render(wire.Anthropic, histories.RenderOptions{})
	given := bytes.Clone(body)
	for _, c := range []struct {
		w    pare.Window
		want string
	}{
		{pare.Window{}, "window: no limit: give one of Tokens, Messages, Exchanges, Turns"},
		{pare.Window{MinKeep: 3, Unpin: pare.PinTask}, "window: no limit"},
		{pare.Window{Tokens: -1}, "window: Tokens is -1: it must not be less than 0"},
		{pare.Window{Messages: -5}, "window: Messages is -5"},
		{pare.Window{Exchanges: math.MinInt}, "window: Exchanges is -9223372036854775808"},
		{pare.Window{Turns: -1}, "window: Turns is -1"},
		{pare.Window{Messages: 4, Tokens: -1}, "window: Tokens is -1"},
		{pare.Window{Messages: 4, MinKeep: -1}, "window: MinKeep is -1"},
		{pare.Window{Messages: 4, Recent: -1}, "window: Recent is -1"},
		{pare.Window{Tokens: 9, Low: -1}, "window: Low is -1"},
		{pare.Window{Tokens: 100, Low: 100}, "window: Low is 100: it must be less than Tokens, 100"},
		{pare.Window{Tokens: 100, Low: 101}, "window: Low is 101"},
		{pare.Window{Messages: 4, Low: 1}, "window: Low is a mark of Tokens, which has no limit"},
		{pare.Window{Tokens: 100, Low: 50, MiddleOut: true}, "window: a stable window is trimmed from the oldest on"},
		{pare.Window{Tokens: 100, Low: 50, Priority: first}, "window: a stable window is trimmed from the oldest on"},
		{pare.Window{Messages: 4, MiddleOut: true, Priority: first}, "window: MiddleOut and Priority are two orders"},
	} {
		plan, err := planner.Trim(context.Background(), mustParse(t, body), c.w, pare.Options{Counter: quarters{}})
		if err == nil || plan != nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%+v: %v, %v; want %q", c.w, plan, err, c.want)
		}
	}
	plan, err := planner.Trim(context.Background(), mustParse(t, body), pare.Window{Tokens: 100}, pare.Options{})
	if want := "window: a limit of tokens needs Options.Counter"; err == nil || plan != nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("no counter: %v, want %q", err, want)
	}
	for _, n := range []int{0, -3} {
		if plan, err := planner.Trim(context.Background(), mustParse(t, body), pare.Window{Messages: n}, pare.Options{}); err == nil || plan != nil {
			t.Errorf("%d messages: %v, %v", n, plan, err)
		}
	}
	if !bytes.Equal(body, given) {
		t.Error("the input was written to")
	}
}

// TestHugeWindows: limits beyond anything are no limits.
func TestHugeWindows(t *testing.T) {
	everywhere(t, twoPairs, func(t *testing.T, d wire.Dialect, body []byte) {
		for _, u := range units {
			for _, n := range []int{math.MaxInt, math.MaxInt - 1, math.MaxInt / 2, math.MaxInt32} {
				if plan, small := fitted(t, fmt.Sprint(u, n), d, body, window(u, n)); small != nil || !plan.Empty() {
					t.Errorf("%s %d: %v %s", u, n, small, plan)
				}
			}
		}
		w := pare.Window{Tokens: math.MaxInt, Low: math.MaxInt - 1, MinKeep: math.MaxInt, Recent: math.MaxInt}
		if plan, small := fitted(t, "all", d, body, w); small != nil || !plan.Empty() {
			t.Errorf("%+v: %v %s", w, small, plan)
		}
		w = pare.Window{Tokens: 20, MinKeep: math.MaxInt, Recent: math.MaxInt}
		if _, small := fitted(t, "keep all", d, body, w); small == nil || small.Minimum != sizeOf(t, d, "tokens", body) {
			t.Errorf("everything is to be kept: %+v, want the minimum %d", small, sizeOf(t, d, "tokens", body))
		}
	})
}

// TestOddHistories checks histories that are empty, or in which nothing can be dropped.
func TestOddHistories(t *testing.T) {
	for _, body := range []string{
		`[]`, `{"messages":[]}`, `{"model":"gpt-5.2","input":[]}`, `{"contents":[]}`,
		`[{"role":"user","content":""}]`, `[{"role":"user","content":[]}]`, `[{"role":"user"}]`, `[{}]`,
		`[{"role":"assistant","content":"s"}]`, `[{"role":"system","content":"the law"}]`,
		`[{"role":"tool","tool_call_id":"x","content":"o"}]`, `{"model":"gpt-5.2","input":"just words"}`,
	} {
		for _, u := range units {
			for _, l := range []int{1, 2, 5, 1000} {
				given := []byte(body)
				r, err := wire.Parse(given, wire.Options{})
				if err != nil {
					continue
				}
				plan, err := planner.Trim(context.Background(), r, window(u, l), pare.Options{Counter: quarters{}})
				var small *pare.WindowTooSmall
				switch {
				case errors.As(err, &small):
					if small.Minimum <= l {
						t.Errorf("%s, %s %d: %+v", body, u, l, small)
					}
				case err != nil:
					t.Errorf("%s, %s %d: %v", body, u, l, err)
				default:
					if n := size(u, plan.Result()); n > l {
						t.Errorf("%s, %s %d: %d are left: %s", body, u, l, n, plan.Result().Raw())
					}
				}
				if string(given) != body {
					t.Errorf("%s: the input was written to", body)
				}
			}
		}
	}
}

// made is a counter made of functions. A nil function counts like quarters.
type made struct {
	quarters
	count    func([]byte) int
	media    func() int
	overhead func(messages, tools int) int
}

func (m made) Count(b []byte) int {
	if m.count == nil {
		return m.quarters.Count(b)
	}
	return m.count(b)
}

func (m made) CountJSON(b []byte) int { return m.Count(b) }

func (m made) Media(s string, b []byte, low bool) int {
	if m.media == nil {
		return m.quarters.Media(s, b, low)
	}
	return m.media()
}

func (m made) Overhead(messages, tools int) int {
	if m.overhead == nil {
		return m.quarters.Overhead(messages, tools)
	}
	return m.overhead(messages, tools)
}

// TestFaultyCounters checks that a counter that panics or returns a negative count is an error that
// names the text.
func TestFaultyCounters(t *testing.T) {
	boom := errors.New("boom")
	everywhere(t, loop(6, 900)+` | image | user "n"`, func(t *testing.T, d wire.Dialect, body []byte) {
		given := bytes.Clone(body)
		total := sizeOf(t, d, "tokens", body)
		for name, c := range map[string]made{
			"panics":                  {count: func([]byte) int { panic(boom) }},
			"panics on output3":       {count: func(b []byte) int { panicOn(b, "output3", boom); return len(b) / 4 }},
			"panics on placeholders":  {count: func(b []byte) int { panicOn(b, pare.Mark, boom); return len(b) / 4 }},
			"negative":                {count: func([]byte) int { return -1 }},
			"negative on output3":     {count: func(b []byte) int { return len(b)/4 - 9999*bytes.Count(b, []byte("output3")) }},
			"media panic":             {media: func() int { panic(boom) }},
			"media negative":          {media: func() int { return -7 }},
			"overhead panic":          {overhead: func(int, int) int { panic(boom) }},
			"overhead negative":       {overhead: func(int, int) int { return math.MinInt }},
			"overhead falls":          {overhead: func(messages, _ int) int { return 100 - 10*messages }},
			"panics with a nil error": {count: func([]byte) int { panic(error(nil)) }},
		} {
			for _, w := range []pare.Window{{Tokens: total / 2}, {Tokens: total / 3, Low: total / 5}, {Messages: 5, Tokens: total / 2}} {
				plan, err := planner.Trim(context.Background(), reading(t, d, body), w, pare.Options{Counter: c})
				var fault *pare.FaultError
				if !errors.As(err, &fault) || plan != nil {
					if err == nil && (name == "overhead falls" || name == "panics on placeholders" && w.Messages > 0) {
						continue // odd, but not less than nothing where it is asked; or not asked
					}
					t.Errorf("%s, %+v: %v, want a *FaultError", name, w, err)
					continue
				}
				if !strings.HasPrefix(err.Error(), "counter: ") || fault.Part != "counter" || len(err.Error()) > 300 {
					t.Errorf("%s: the error says %q", name, err)
				}
				if name == "negative on output3" && !strings.Contains(err.Error(), "output3") {
					t.Errorf("%s: the error says %q", name, err)
				}
				if strings.Contains(name, "panic") != (fault.Stack != nil) {
					t.Errorf("%s: a stack of %d bytes", name, len(fault.Stack))
				}
			}
		}
		if !bytes.Equal(body, given) {
			t.Error("the input was written to")
		}
	})
}

func panicOn(b []byte, text string, with error) {
	if bytes.Contains(b, []byte(text)) {
		panic(with)
	}
}

// TestOddCounters: a counter that is no measure of length is obeyed: the result is
// within the limit by its own count, or the minimum it makes works.
func TestOddCounters(t *testing.T) {
	everywhere(t, loop(12, 900)+` | say "s" | user "n" | call z Read z | result z done`, func(t *testing.T, d wire.Dialect, body []byte) {
		for name, count := range map[string]func([]byte) int{
			"len%7":           func(b []byte) int { return len(b) % 7 },
			"shorter is more": func(b []byte) int { return max(0, 5000-len(b)) },
			"nothing":         func([]byte) int { return 0 },
			"one":             func([]byte) int { return 1 },
			"hash": func(b []byte) int {
				h := uint32(2166136261)
				for _, c := range b {
					h = (h ^ uint32(c)) * 16777619
				}
				return int(h % 1000)
			},
		} {
			c := made{count: count}
			r := reading(t, d, body)
			total := r.Tokens(c)
			worked := false
			for l := 1; l <= total+1; l += max(1, l/5) {
				plan, err := planner.Trim(context.Background(), r, pare.Window{Tokens: l}, pare.Options{Counter: c})
				var small *pare.WindowTooSmall
				switch {
				case errors.As(err, &small):
					if small.Minimum <= l || worked {
						t.Errorf("%s, %d: %+v, smaller worked %t", name, l, small, worked)
					}
					if _, err := planner.Trim(context.Background(), r, pare.Window{Tokens: small.Minimum}, pare.Options{Counter: c}); err != nil {
						t.Errorf("%s: the minimum %d fails: %v", name, small.Minimum, err)
					}
					if _, err := planner.Trim(context.Background(), r, pare.Window{Tokens: small.Minimum - 1}, pare.Options{Counter: c}); small.Minimum > 1 && err == nil {
						t.Errorf("%s: one less than the minimum %d works", name, small.Minimum)
					}
				case err != nil:
					t.Errorf("%s, %d: %v", name, l, err)
				default:
					worked = true
					if n := plan.Result().Tokens(c); n > l || len(plan.Remaining()) > 0 {
						t.Errorf("%s, %d: %d tokens, left %v", name, l, n, plan.Remaining())
					}
				}
			}
			if !worked {
				t.Errorf("%s: no limit up to the whole, %d, works", name, total)
			}
		}
	})
}

// TestFickleCounter checks that a counter with varying results causes no panic, no loop and no
// broken history.
func TestFickleCounter(t *testing.T) {
	everywhere(t, loop(12, 900)+` | say "s" | user "n"`, func(t *testing.T, d wire.Dialect, body []byte) {
		given := bytes.Clone(body)
		for seed := range uint64(20) {
			rnd := rand.New(rand.NewPCG(seed, 3))
			c := made{count: func(b []byte) int { return rnd.IntN(len(b) + 2) }, overhead: func(m, n int) int { return 50 + rnd.IntN(10+m+n) + 40*m }}
			for _, w := range []pare.Window{{Tokens: 200}, {Tokens: 2000}, {Tokens: 2000, Low: 500}, {Tokens: 1000, Messages: 9}} {
				plan, err := planner.Trim(context.Background(), reading(t, d, body), w, pare.Options{Counter: c})
				var small *pare.WindowTooSmall
				var fault *pare.FaultError
				switch {
				case errors.As(err, &small) || errors.As(err, &fault):
				case err != nil:
					t.Errorf("seed %d, %+v: %v", seed, w, err)
				case len(plan.Remaining()) > 0:
					t.Errorf("seed %d, %+v: left %v", seed, w, plan.Remaining())
				default:
					wholePairs(t, fmt.Sprint(seed), d, utterances(t, d, plan.Result().Raw()))
				}
			}
		}
		if !bytes.Equal(body, given) {
			t.Error("the input was written to")
		}
	})
}

// TestOverflowingCounter: counts whose sum is beyond an int are no panic, no loop and
// never taken for something that fits.
func TestOverflowingCounter(t *testing.T) {
	everywhere(t, loop(12, 900)+` | say "s" | user "n"`, func(t *testing.T, d wire.Dialect, body []byte) {
		given := bytes.Clone(body)
		for name, c := range map[string]made{
			"each half of all":   {count: func([]byte) int { return math.MaxInt/2 + 1 }},
			"each all":           {count: func([]byte) int { return math.MaxInt }},
			"a third":            {count: func([]byte) int { return math.MaxInt/3 + 7 }},
			"by length":          {count: func(b []byte) int { return len(b) * (math.MaxInt / 10_000) }},
			"marks":              {overhead: func(m, n int) int { return m * (math.MaxInt / 4) }},
			"output3 is endless": {count: func(b []byte) int { return len(b)/4 + (math.MaxInt/2)*min(bytes.Count(b, []byte("output3 ")), 1) }},
		} {
			for _, w := range []pare.Window{{Tokens: 1000}, {Tokens: math.MaxInt}, {Tokens: math.MaxInt / 2}, {Tokens: 1000, Low: 500}, {Tokens: math.MaxInt, Low: 5}, {Messages: 5, Tokens: 1000}} {
				plan, err := planner.Trim(context.Background(), reading(t, d, body), w, pare.Options{Counter: c})
				var small *pare.WindowTooSmall
				var fault *pare.FaultError
				switch {
				case errors.As(err, &small):
					if small.Minimum <= small.Limit {
						t.Errorf("%s, %d/%d: %+v", name, w.Tokens, w.Low, small)
					}
				case errors.As(err, &fault):
				case err != nil:
					t.Errorf("%s, %d/%d: %v", name, w.Tokens, w.Low, err)
				default:
					us := utterances(t, d, plan.Result().Raw())
					wholePairs(t, name, d, us)
					// A thousand tokens hold nothing that counts billions.
					if w.Tokens == 1000 && (name != "output3 is endless" || slices.ContainsFunc(us, func(u utterance) bool { return strings.Contains(u.text, "output3 ") })) {
						t.Errorf("%s, %d/%d: taken for something that fits", name, w.Tokens, w.Low)
					}
				}
			}
		}
		if !bytes.Equal(body, given) {
			t.Error("the input was written to")
		}
	})
}
