package replay_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/pare-llm/pare/cmd/internal/replay"
	"github.com/pare-llm/pare/internal/jsontree"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// TestSlide: what slides is what stands in front of the list, the system's messages and the last
// ones with commas in between, and what stands behind, in whatever way it was made.
func TestSlide(t *testing.T) {
	cut := 0
	walk := func(name string, r *wire.Request) {
		for _, messages := range []int{1, 3, 8} {
			send, err := replay.Sliding(messages).Prepare(replay.Setting{Counter: letters{}})
			if err != nil {
				t.Fatal(err)
			}
			raw, all := r.Raw(), r.Transcript().Messages()
			for n := range all {
				body := slices.Concat(raw[:all[n].Span.End], raw[all[len(all)-1].Span.End:])
				q, err := wire.Parse(body, wire.Options{Dialect: r.Dialect, Profile: r.Profile.Name, Model: r.Model(), Structural: true})
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				sent, err := send(q)
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if sent == q {
					continue
				}
				cut++
				ms := q.Transcript().Messages()
				want := bytes.Clone(q.Raw()[:ms[0].Span.Start])
				behind := q.Raw()[ms[len(ms)-1].Span.End:]
				head := 0
				for head < len(ms) && ms[head].Role == transcript.System {
					head++
				}
				for i, m := range ms {
					if i >= head && i < len(ms)-messages {
						continue
					}
					if i > 0 && (i < head || head > 0 || i > len(ms)-messages) {
						want = append(want, ',')
					}
					want = append(want, q.Transcript().Bytes(m.Span)...)
				}
				if want = append(want, behind...); !bytes.Equal(sent.Raw(), want) {
					t.Fatalf("%s: %d of %d messages: %s, want %s", name, messages, n+1, sent.Raw(), want)
				}
			}
		}
	}
	randoms(t, 60, func(name string, r *wire.Request) {
		walk(name, r)
		spaced, err := jsontree.Respell(r.Raw(), jsontree.Spelling{Indent: " "})
		if err != nil {
			t.Fatal(err)
		}
		walk(name+", spaced", mustParse(t, string(spaced), wire.Options{Dialect: r.Dialect, Model: r.Model()}))
	})
	if cut < 1000 {
		t.Errorf("only %d requests were cut", cut)
	}
}
