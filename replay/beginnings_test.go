package replay_test

import (
	"slices"
	"testing"
	_ "unsafe" // for linkname

	"github.com/pare-llm/pare/internal/benchdata"
	recorded "github.com/pare-llm/pare/internal/corpus"
	"github.com/pare-llm/pare/replay"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// Every index that is shared or carried over is compared with a fresh reading while it is
// set.
//
//go:linkname proveCarried github.com/pare-llm/pare/wire.proveCarried
var proveCarried bool

// What rules that go on say is compared with what they say of the whole request.
//
//go:linkname proveVotes github.com/pare-llm/pare.proveVotes
var proveVotes bool

// TestBeginnings: the first messages of a history, however many, are what a reading of their
// bytes gives.
func TestBeginnings(t *testing.T) {
	proveCarried = true
	defer func() { proveCarried = false }()
	n := 0
	walk := func(name string, r *wire.Request) {
		o := wire.Options{Dialect: r.Dialect, Profile: r.Profile.Name, Model: r.Model(), Structural: len(r.Check(wire.CheckOptions{})) == 0}
		all, err := r.Beginnings(o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i := range r.Transcript().Messages() {
			q, err := all.At(i + 1)
			if err != nil {
				t.Fatalf("%s: %d messages: %v", name, i+1, err)
			}
			n++
			if got := len(q.Transcript().Messages()); got != i+1 {
				t.Fatalf("%s: %d messages, want %d", name, got, i+1)
			}
			fresh, err := wire.Parse(q.Raw(), o)
			if err != nil || q.Size() != len(q.Raw()) || !slices.EqualFunc(q.Transcript().Messages(), fresh.Transcript().Messages(), func(a, b transcript.Message) bool {
				return string(q.Transcript().Bytes(a.Span)) == string(fresh.Transcript().Bytes(b.Span))
			}) {
				t.Fatalf("%s: %d messages are not what was read: %v", name, i+1, err)
			}
		}
	}
	randoms(t, 200, walk)
	for _, x := range recorded.Requests(t) {
		if r, err := wire.Parse(x.Raw, wire.Options{}); err == nil && len(x.Raw) < 30_000 {
			walk(x.Name, r)
		}
	}
	t.Logf("%d requests", n)
}

// TestScribe: where results are cleared, shortened and dropped, each request is rewritten
// from where it differs from the last one on; what comes out is what rewriting all of it
// gives.
func TestScribe(t *testing.T) {
	proveCarried, proveVotes = true, true
	defer func() { proveCarried, proveVotes = false, false }()
	var policies []replay.Policy
	for _, text := range []string{"trim", "trim:low", "trim:cache,recent=3", "prune", "trim:low=30%,rules"} {
		p, err := replay.ParsePolicy(text, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		policies = append(policies, p)
	}
	for _, kind := range []benchdata.Shape{benchdata.Messages, benchdata.Chat, benchdata.Responses} {
		r := mustParse(t, string(benchdata.Dense(kind, 150_000)), wire.Options{})
		for _, limit := range []int{10, 40} {
			mustReplay(t, r, replay.Options{Limit: replay.Amount{Percent: limit}, Policies: policies})
		}
	}
}
