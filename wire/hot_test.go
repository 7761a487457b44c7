package wire_test

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/pare-llm/pare/internal/benchdata"
	"github.com/pare-llm/pare/internal/corpus"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// sameReading: a parser that has read other bodies before tells of this one what a fresh
// one tells, and so does a glance, which keeps nothing.
func sameReading(t *testing.T, p *wire.Parser, body []byte, o wire.Options) {
	t.Helper()
	want, wantErr := wire.Parse(body, o)
	got, err := p.Parse(body, o)
	if fails(err) != fails(wantErr) {
		t.Fatalf("error %v, want %v\n%s", err, wantErr, body)
	}
	for _, c := range []wire.CheckOptions{{}, {Advice: true}, {Strict: true, Advice: true}} {
		if err != nil {
			continue
		}
		a, b := got.Check(c), want.Check(c)
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("findings %v, want %v\n%s", a, b, body)
		}
	}
	if err == nil {
		sameTranscript(t, got.Transcript(), want.Transcript())
	}
	for _, c := range []wire.CheckOptions{{}, {Advice: true}, {Strict: true, Advice: true}} {
		lent := bytes.Clone(body)
		g, err := wirex.Check(p, lent, o, c)
		clear(lent)
		if fails(err) != fails(wantErr) {
			t.Fatalf("a glance fails with %v, want %v\n%s", err, wantErr, body)
		}
		if err != nil {
			continue
		}
		w := wire.Glance{
			Clean: len(want.Check(c)) == 0, Delta: wirex.Delta(want), StartsThread: wirex.StartsThread(want), Dialect: want.Dialect, Profile: want.Profile,
			Messages: len(want.Transcript().Messages()), Calls: len(want.Transcript().Exchanges()), Turns: transcriptx.Turns(want.Transcript()),
			Asked: transcriptx.Asked(want.Transcript(), len(want.Transcript().Messages())), MaxOutput: want.MaxOutputTokens(), Fingerprint: wirex.Fingerprint(want),
		}
		if g != w {
			t.Fatalf("a glance tells %+v, want %+v\n%s", g, w, body)
		}
	}
}

func fails(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func sameTranscript(t *testing.T, got, want *transcript.Transcript) {
	t.Helper()
	equal := func(what string, a, b any) {
		if reflect.ValueOf(a).Len()+reflect.ValueOf(b).Len() > 0 && !reflect.DeepEqual(a, b) {
			t.Fatalf("%s %v, want %v\n%s", what, a, b, want.Raw())
		}
	}
	equal("messages", got.Messages(), want.Messages())
	equal("blocks", got.Blocks(), want.Blocks())
	equal("exchanges", got.Exchanges(), want.Exchanges())
	equal("ties", transcriptx.Ties(got), transcriptx.Ties(want))
	equal("atoms", got.Atoms(), want.Atoms())
}

func TestParserReadsAgain(t *testing.T) {
	t.Parallel()
	var p wire.Parser
	for _, z := range corpus.Zoo(t) {
		body := z.Body()
		for _, o := range []wire.Options{{}, {Structural: true}, {Dialect: wire.OpenAIChat, Profile: "mistral"}, {Model: "gpt-4o"}} {
			sameReading(t, &p, body, o)
		}
		sameReading(t, &p, body[:len(body)/2], wire.Options{})
	}
	eachHistory(t, 600, histories.GenOptions{Turns: 2, Steps: 2}, func(r *rand.Rand, s histories.Script) {
		d, o := one(r)
		broken, _ := histories.Break(r, s)
		sameReading(t, &p, broken.Render(d, o), wire.Options{Dialect: d})
		sameReading(t, &p, s.Render(d, o), wire.Options{})
	})
}

func TestParserOnCorpus(t *testing.T) {
	t.Parallel()
	var p wire.Parser
	for _, r := range corpus.Requests(t) {
		sameReading(t, &p, r.Raw, wire.Options{Model: r.Model})
	}
}

// TestGlanceAllocates nothing, in the long run.
func TestGlanceAllocates(t *testing.T) {
	for _, shape := range benchdata.Shapes {
		body := benchdata.Dense(shape, 226_000)
		var p wire.Parser
		allocs := testing.AllocsPerRun(20, func() {
			g, err := wirex.Check(&p, body, wire.Options{}, wire.CheckOptions{})
			if err != nil || !g.Clean {
				t.Fatalf("%v: %+v, %v", shape, g, err)
			}
		})
		if allocs > 4 {
			t.Errorf("%v: %v allocations, want at most 4", shape, allocs)
		}
	}
}

// TestLook: a look tells what a glance tells, and what is not clean comes back as a request that
// nothing which the parser reads later can change.
func TestLook(t *testing.T) {
	t.Parallel()
	var p wire.Parser
	type kept struct{ got, want *wire.Request }
	var all []kept
	look := func(body []byte, o wire.Options, c wire.CheckOptions) {
		want, wantErr := wire.Parse(body, o)
		lent := bytes.Clone(body)
		g, got, err := wirex.CheckOrParse(&p, lent, o, c)
		w, _ := wirex.Check(new(wire.Parser), body, o, c)
		w.Fingerprint = [16]byte{}
		switch {
		case fails(err) != fails(wantErr):
			t.Fatalf("a look fails with %v, want %v\n%s", err, wantErr, body)
		case g != w:
			t.Fatalf("a look tells %+v, want %+v\n%s", g, w, body)
		case err == nil && g.Clean != (got == nil):
			t.Fatalf("clean is %v, and there is a request: %v\n%s", g.Clean, got != nil, body)
		case got == nil:
			clear(lent) // nothing of it was kept
		default:
			all = append(all, kept{got, want})
		}
	}
	for _, z := range corpus.Zoo(t) {
		for _, c := range []wire.CheckOptions{{}, {Strict: true}} {
			look(z.Body(), wire.Options{}, c)
		}
		look(z.Body()[:len(z.Body())/2], wire.Options{}, wire.CheckOptions{})
	}
	eachHistory(t, 300, histories.GenOptions{Turns: 2, Steps: 2}, func(r *rand.Rand, s histories.Script) {
		d, o := one(r)
		broken, _ := histories.Break(r, s)
		look(broken.Render(d, o), wire.Options{Dialect: d}, wire.CheckOptions{})
		look(s.Render(d, o), wire.Options{}, wire.CheckOptions{})
	})
	if len(all) == 0 {
		t.Fatal("nothing that is not clean was looked at")
	}
	for _, k := range all {
		sameTranscript(t, k.got.Transcript(), k.want.Transcript())
		for _, c := range []wire.CheckOptions{{}, {Advice: true}, {Strict: true, Advice: true}} {
			if a, b := k.got.Check(c), k.want.Check(c); !reflect.DeepEqual(a, b) {
				t.Fatalf("findings %v, want %v\n%s", a, b, k.want.Raw())
			}
		}
		a, err := wirex.Repair(k.got, wire.Repair{}, wire.CheckOptions{})
		b, wantErr := wirex.Repair(k.want, wire.Repair{}, wire.CheckOptions{})
		if fails(err) != fails(wantErr) || err == nil && (!bytes.Equal(a.Request.Raw(), b.Request.Raw()) || !reflect.DeepEqual(a.Changes, b.Changes)) {
			t.Fatalf("a repair comes to something else: %v, %v\n%s", err, wantErr, k.want.Raw())
		}
	}
}

// TestLookAllocates little, in the long run.
func TestLookAllocates(t *testing.T) {
	for _, shape := range benchdata.Shapes {
		body := benchdata.Dense(shape, 226_000)
		var p wire.Parser
		allocs := testing.AllocsPerRun(20, func() {
			g, r, err := wirex.CheckOrParse(&p, body, wire.Options{}, wire.CheckOptions{})
			if err != nil || !g.Clean || r != nil {
				t.Fatalf("%v: %+v, %v, %v", shape, g, r, err)
			}
		})
		if allocs > 4 {
			t.Errorf("%v: %v allocations, want at most 4", shape, allocs)
		}
	}
}
