package dialect_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/internal/jsontree"
	"github.com/pare-llm/pare/transcript"
)

// TestParts: the parts in front of and behind each cut are bodies of their own, hold
// the messages as they were, and break no pair.
func TestParts(t *testing.T) {
	parts := 0
	eachHistory(t, 15, histories.GenOptions{}, func(_ *rand.Rand, s histories.Script) {
		for _, d := range dialect.Dialects() {
			for _, o := range []histories.RenderOptions{{}, {Bare: true}, {Spelling: jsontree.Spelling{Indent: "  "}}} {
				r, err := dialect.Parse(s.Render(d, o), dialect.Options{Dialect: d})
				if err != nil {
					t.Fatal(err)
				}
				for cut := range r.Transcript().Cuts() {
					parts++
					checkParts(t, r, cut)
				}
			}
		}
	})
	if parts == 0 {
		t.Error("no history has a cut")
	}
}

func checkParts(t *testing.T, r *dialect.Request, cut transcript.Cut) {
	t.Helper()
	ms := r.Transcript().Messages()
	system := 0
	for system < cut.Before() && ms[system].Role == transcript.System {
		system++
	}
	for name, part := range map[string]struct {
		body []byte
		want []transcript.Message
		open bool // its end is nobody's end, so that the last message may be at fault
	}{
		"before": {r.Before(cut), ms[:cut.Before()], true},
		"behind": {r.After(cut), slices.Concat(ms[:system], ms[cut.Before():]), false},
	} {
		p, err := dialect.Parse(part.body, dialect.Options{Dialect: r.Dialect, Model: r.Model()})
		if err != nil {
			t.Fatalf("%s message %d: %v\n%.4000s", name, cut.Before(), err, part.body)
		}
		got := p.Transcript().Messages()
		if len(got) != len(part.want) || p.Model() != r.Model() {
			t.Fatalf("%s message %d: %d messages, want %d; model %q", name, cut.Before(), len(got), len(part.want), p.Model())
		}
		for i := range got {
			if !bytes.Equal(p.Transcript().Bytes(got[i].Span), r.Transcript().Bytes(part.want[i].Span)) {
				t.Fatalf("%s message %d: message %d has changed", name, cut.Before(), i)
			}
		}
		for _, x := range p.Transcript().Exchanges() {
			if x.State != transcript.Whole && x.State != transcript.Open {
				t.Errorf("%s message %d: %+v\n%.4000s", name, cut.Before(), x, part.body)
			}
		}
		if name == "behind" && cut.Inside() {
			continue
		}
		for _, f := range p.Check(dialect.CheckOptions{}) {
			if !part.open || len(got) > 0 && f.Index < len(got)-1 {
				t.Errorf("%s, %s message %d: %s at %s\n%.4000s", r.Dialect, name, cut.Before(), f.Rule, f.Path, part.body)
			}
		}
	}
}

// TestPartsForeignCut: a cut of another transcript does not part what is a pair here.
func TestPartsForeignCut(t *testing.T) {
	one, err := dialect.Parse([]byte(`{"model":"gpt-5","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`), dialect.Options{})
	if err != nil {
		t.Fatal(err)
	}
	two, err := dialect.Parse([]byte(`{"model":"gpt-5","messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"ok"}]}`), dialect.Options{})
	if err != nil {
		t.Fatal(err)
	}
	refuses := func(f func(transcript.Cut) []byte, cut transcript.Cut) (refused bool) {
		defer func() { refused = recover() != nil }()
		f(cut)
		return false
	}
	foreign := 0
	for cut := range one.Transcript().Cuts() {
		want := cut.Before() == 2
		if want {
			foreign++
		}
		if has := two.Transcript().HasCut(cut); has == want || refuses(two.Before, cut) == has || refuses(two.After, cut) == has {
			t.Errorf("the cut in front of message %d: there is one here: %v", cut.Before(), has)
		}
	}
	if foreign == 0 {
		t.Error("there is no cut to try")
	}
	if refuses(two.Before, transcript.Cut{}) || refuses(two.After, transcript.Cut{}) {
		t.Error("the cut in front of everything is refused")
	}
}

// TestPartsKeepTheRest: commas, white space and what stands beside the list stay.
func TestPartsKeepTheRest(t *testing.T) {
	r, err := dialect.Parse([]byte(`{"a": 1, "messages": [ {"role":"system","content":"s"} ,
 {"role":"user","content":"1"}, {"role":"assistant","content":"2"} , {"role":"user","content":"3"} ], "z": [2] }`), dialect.Options{Dialect: dialect.OpenAIChat})
	if err != nil {
		t.Fatal(err)
	}
	cut, ok := r.Transcript().Split(1, false)
	if !ok || cut.Before() != 3 {
		t.Fatal(cut, ok)
	}
	const before = `{"a": 1, "messages": [ {"role":"system","content":"s"} ,
 {"role":"user","content":"1"}, {"role":"assistant","content":"2"} ], "z": [2] }`
	const behind = `{"a": 1, "messages": [ {"role":"system","content":"s"} ,
 {"role":"user","content":"3"} ], "z": [2] }`
	if got := string(r.Before(cut)); got != before {
		t.Error(got)
	}
	if got := string(r.After(cut)); got != behind {
		t.Error(got)
	}
	for first := range r.Transcript().Cuts() {
		if got := r.After(first); &got[0] != &r.Raw()[0] {
			t.Error("everything is behind the first cut, but in another buffer")
		}
		if got := string(r.Before(first)); got != `{"a": 1, "messages": [], "z": [2] }` {
			t.Error(got)
		}
		break
	}
	said, err := dialect.Parse([]byte(`{"input":"hi","store":false}`), dialect.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for only := range said.Transcript().Cuts() {
		if before, behind := string(said.Before(only)), string(said.After(only)); before != `{"input":[],"store":false}` || behind != string(said.Raw()) {
			t.Error(before, behind)
		}
	}
}
