package wire

import (
	"testing"

	"github.com/pare-llm/pare/internal/benchdata"
	"github.com/pare-llm/pare/transcript"
)

// TestRequestsGrowLinearly: the requests of a history that is twice as long, and what is sent
// instead of them with old results cleared, take twice the bytes, not four times.
func TestRequestsGrowLinearly(t *testing.T) {
	proveCarried = false // every request would be read
	defer func() { proveCarried = true }()
	for _, shape := range benchdata.Shapes {
		was := 0
		for _, size := range []int{200_000, 400_000, 800_000} {
			r, err := Parse(benchdata.Dense(shape, size), Options{})
			if err != nil {
				t.Fatal(err)
			}
			all, err := r.Beginnings(Options{Model: r.Model(), Structural: true})
			if err != nil {
				t.Fatal(err)
			}
			s := Scribe{Lend: true}
			for n, m := range r.t.Messages() {
				if m.Role != transcript.Assistant || n == 0 || m.Turn == r.t.Messages()[n-1].Turn {
					continue
				}
				q, err := all.At(n)
				if err != nil {
					t.Fatal(err)
				}
				var edits []BlockEdit
				for b, blk := range q.t.Blocks() {
					if blk.Kind == transcript.Result && blk.Message < n-10 {
						edits = append(edits, BlockEdit{transcript.BlockID(b), "cleared"})
					}
				}
				if _, _, err := s.Rewrite(q, q, nil, edits); err != nil {
					t.Fatal(err)
				}
			}
			t.Logf("%v: %d bytes: %d written", shape, len(r.raw), s.wrote)
			if was > 0 && s.wrote > was*23/10 {
				t.Errorf("%v: of %d bytes %d are written, of half of them %d were", shape, len(r.raw), s.wrote, was)
			}
			was = s.wrote
		}
	}
}

// TestScribeEcho: where the oldest messages go one after the other, those behind them come
// out as they did, although they have moved.
func TestScribeEcho(t *testing.T) {
	for _, shape := range benchdata.Shapes {
		r, err := Parse(benchdata.Dense(shape, 100_000), Options{})
		if err != nil {
			t.Fatal(err)
		}
		all, err := r.Beginnings(Options{Model: r.Model(), Structural: true})
		if err != nil {
			t.Fatal(err)
		}
		s := Scribe{Lend: true}
		for n, m := range r.t.Messages() {
			if m.Role != transcript.Assistant || n == 0 || m.Turn == r.t.Messages()[n-1].Turn {
				continue
			}
			q, err := all.At(n)
			if err != nil {
				t.Fatal(err)
			}
			var drop []transcript.BlockID
			var edits []BlockEdit
			for b, blk := range q.t.Blocks() {
				switch {
				case blk.Message > 0 && blk.Message < n-20:
					drop = append(drop, transcript.BlockID(b))
				case blk.Kind == transcript.Call && blk.Message < n-6:
					edits = append(edits, BlockEdit{transcript.BlockID(b), `{"note":"shorter"}`})
				case blk.Kind == transcript.Result && blk.Message < n-6:
					edits = append(edits, BlockEdit{transcript.BlockID(b), "cleared"})
				}
			}
			if _, _, err := s.Rewrite(q, q, drop, edits); err != nil {
				t.Fatal(err)
			}
		}
		if blocks := len(r.t.Blocks()); s.said > 3*blocks {
			t.Errorf("%v: %d blocks were dropped or edited %d times", shape, blocks, s.said)
		}
	}
}
