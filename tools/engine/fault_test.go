package engine

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// broken is a history with an unanswered first call.
const broken = `{"model":"claude-sonnet-4-5","messages":[
{"role":"user","content":"list the files"},
{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls"}}]},
{"role":"user","content":"never mind, just say hello"}]}`

type badArchive struct{}

func (badArchive) Put(context.Context, ...archive.Item) error { panic("no shelf") }

type badTerms struct{}

func (badTerms) PaysAfter(int, int) int { panic("no price") }

// TestPanicsAreNamedErrors checks that a panic in a part that the caller supplied is an error that
// names the part.
func TestPanicsAreNamedErrors(t *testing.T) {
	rule := func(prepare func(*wire.Request) (pare.Process, error)) *pare.Pipeline {
		p, err := pare.Compile(pare.Rule{Name: "no-bash", Prepare: prepare})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	long, half := reads(t, 12, 1500), reading(t, wire.Anthropic, []byte(broken))
	for _, c := range []struct {
		part string
		p    pare.Policy
		r    *wire.Request
	}{
		{"rule no-bash", pare.Policy{Rules: rule(func(*wire.Request) (pare.Process, error) { panic("no idea") })}, long},
		{"rule no-bash", pare.Policy{Rules: rule(func(*wire.Request) (pare.Process, error) {
			return func(*pare.Ballot) { panic(errors.New("no idea")) }, nil
		}), Window: &pare.Window{Tokens: 3000}}, long},
		{"stub", pare.Policy{Repair: wire.Repair{Stub: func(transcript.Exchange) string { panic("no words") }}}, half},
		{"sink", pare.Policy{Sink: func(pare.Event) { panic("no drain") }}, half},
		{"priority", pare.Policy{Window: &pare.Window{Tokens: 3000, Priority: func(*wire.Request, transcript.AtomID) int { panic("no rank") }}}, long},
		{"terms of the cache", pare.Policy{Window: &pare.Window{Tokens: 3000, Low: 2000, Cache: badTerms{}}}, long},
		{"archive", pare.Policy{Window: &pare.Window{Tokens: 3000}, Archive: badArchive{}}, long},
		{"counter", pare.Policy{Counter: func(string) (wire.Counter, error) { panic("no vocabulary") }}, half},
	} {
		plan, err := c.p.Plan(context.Background(), c.r)
		var fault *pare.FaultError
		if plan != nil || !errors.As(err, &fault) || fault.Part != c.part || len(fault.Stack) == 0 || !strings.Contains(err.Error(), "it panicked: no ") {
			t.Errorf("%s: %v", c.part, err)
		}
	}
	// What is no text would be put into the history as something else.
	cut := pare.Policy{Rules: rule(func(*wire.Request) (pare.Process, error) {
		return func(b *pare.Ballot) { b.Edit(0, "half \xe2\x82", "cut") }, nil
	})}
	if plan, err := cut.Plan(context.Background(), long); plan != nil || err == nil || err.Error() != "rule no-bash: its edit holds bytes that are not UTF-8" {
		t.Errorf("edit: %v, %v", plan, err)
	}
	noText := pare.Policy{Repair: wire.Repair{Stub: func(transcript.Exchange) string { return "half \xe2\x82" }}}
	plan, err := noText.Plan(context.Background(), half)
	var fault *pare.FaultError
	if plan != nil || !errors.As(err, &fault) || fault.Part != "stub" || !strings.Contains(err.Error(), "not UTF-8") {
		t.Errorf("a stub that is no text: %v", err)
	}
}

// TestFailedRules checks that the failure of a rule is an error that names it or, if failed rules
// are left out, that none of its votes count and all other votes do.
func TestFailedRules(t *testing.T) {
	long := reads(t, 12, 1500)
	keeps := pare.Rule{Name: "drops-one", After: []string{"?fails"}, Prepare: func(*wire.Request) (pare.Process, error) {
		return func(b *pare.Ballot) {
			if b.Dropped(3) {
				t.Error("a vote of the rule that failed is seen")
			}
			b.Drop(3, "one")
		}, nil
	}}
	votes := func(b *pare.Ballot) {
		for a := range 8 {
			b.Drop(transcript.AtomID(a), "all")
			b.Protect(transcript.AtomID(a+8), "these")
			b.Needs(transcript.AtomID(a), transcript.AtomID(a+1))
		}
	}
	var open *pare.Ballot
	for name, fails := range map[string]func(*wire.Request) (pare.Process, error){
		"prepare panics": func(*wire.Request) (pare.Process, error) { panic("no idea") },
		"prepare errs":   func(*wire.Request) (pare.Process, error) { return nil, errors.New("no idea") },
		"vote panics": func(*wire.Request) (pare.Process, error) {
			return func(b *pare.Ballot) { votes(b); panic("no idea") }, nil
		},
		"vote is no text": func(*wire.Request) (pare.Process, error) {
			return func(b *pare.Ballot) { open = b; votes(b); b.Edit(0, "half \xe2\x82", "cut") }, nil
		},
	} {
		both, err := pare.Compile(keeps, pare.Rule{Name: "fails", Prepare: fails})
		if err != nil {
			t.Fatal(err)
		}
		alone, err := pare.Compile(keeps)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range []*pare.Window{nil, {Tokens: 3000}} {
			var fault *pare.FaultError
			if _, err := (&pare.Policy{Rules: both, Window: w}).Plan(context.Background(), long); !errors.As(err, &fault) || fault.Part != "rule fails" {
				t.Errorf("%s: %v", name, err)
			}
			want, err := (&pare.Policy{Rules: alone, Window: w}).Plan(context.Background(), long)
			if err != nil {
				t.Fatal(err)
			}
			got, err := (&pare.Policy{Rules: both, Window: w, SkipFailedRules: true}).Plan(context.Background(), long)
			if err != nil {
				t.Fatal(name, err)
			}
			if f := got.Faults(); len(f) != 1 || f[0].Part != "rule fails" {
				t.Errorf("%s: %v", name, f)
			}
			if string(got.Result().Raw()) != string(want.Result().Raw()) || len(want.Faults()) > 0 {
				t.Errorf("%s: another plan than without the rule:\n%s\n%s", name, got, want)
			}
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("the ballot of a rule that failed is open")
		}
	}()
	open.Drop(0, "late")
}
