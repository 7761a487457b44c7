package store_test

import (
	"context"
	"errors"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/store"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// TestFailingPartsLeaveNoDamage lets parts fail in many ways. Windows must be made meanwhile, a
// compaction must succeed or change nothing, and everything must work when the part works again.
func TestFailingPartsLeaveNoDamage(t *testing.T) {
	ways := map[string]func() error{
		"an error": func() error { return errors.New("it broke") },
		"a panic":  func() error { panic("it broke") },
	}
	parts := map[string]func(fail func() error) (*pare.Policy, *pare.Compactor){
		"rule": func(fail func() error) (*pare.Policy, *pare.Compactor) {
			rules, err := pare.Compile(pare.Rule{Name: "mine", Doc: "fails", Prepare: func(*wire.Request) (pare.Process, error) {
				return func(*pare.Ballot) {}, fail()
			}})
			if err != nil {
				t.Fatal(err)
			}
			return &pare.Policy{Rules: rules}, nil
		},
		"summarizer": func(fail func() error) (*pare.Policy, *pare.Compactor) {
			write := func(context.Context, pare.Removed) (pare.Summary, error) {
				return pare.Summary{Text: "what went"}, fail()
			}
			in := &pare.Compactor{Summarize: write, MaxTokens: 300}
			return &pare.Policy{Window: &pare.Window{Tokens: 1500}, Compact: in}, &pare.Compactor{Summarize: write, MinKeep: 4}
		},
		"counter": func(fail func() error) (*pare.Policy, *pare.Compactor) {
			return &pare.Policy{Window: &pare.Window{Tokens: 100_000}, Counter: func(model string) (wire.Counter, error) { return tokens.For(model), fail() }}, nil
		},
	}
	both(t, func(t *testing.T, st *store.Store) {
		for part, made := range parts {
			for way, fails := range ways {
				broken := true
				policy, compactor := made(func() error {
					if broken {
						return fails()
					}
					return nil
				})
				key := create(t, st, part+" "+way)
				for round := range 3 {
					broken = round == 1
					for range 6 {
						put(t, st, key, user("go on with it, please, as was said before"), assistant("It is done, and the tests pass; the next one is ready, too."))
					}
					put(t, st, key, user("and now?"))
					w, err := st.Window(ctx, key, store.WindowOptions{Policy: policy})
					switch {
					case err == nil:
						clean(t, w.Body)
						if broken && part == "rule" && len(w.Plan.Faults()) == 0 {
							t.Errorf("%s, %s: nobody is told", part, way)
						}
					case !broken || part != "counter": // without a counter, the window is an error
						t.Errorf("%s, %s, round %d: %v", part, way, round, err)
					}
					if compactor != nil {
						if _, err := st.Compact(ctx, key, compactor); (err != nil) != broken {
							t.Errorf("%s, %s, round %d: compact: %v", part, way, round, err)
						}
					}
					put(t, st, key, assistant("yes"))
				}
				checkStore(t, st, key)
			}
		}
	})
}
