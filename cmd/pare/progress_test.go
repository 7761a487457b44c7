package main

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/pare-llm/pare/cmd/internal/source"
)

// TestProgressLate: what waits for a moment is all written, in front of the note that was
// written behind it, and what could not be written is told.
func TestProgressLate(t *testing.T) {
	start := func(w *world) *progress {
		w.getenv = func(string) string { return "" }
		p := startProgress(w, &source.Input{Paths: []string{"folder"}}, newSummary("finding"))
		p.late = true
		return p
	}
	var both bytes.Buffer
	p := start(&world{stdout: &both, stderr: &both})
	want := ""
	for i := range 5000 {
		o := outcome{out: fmt.Appendf(nil, "%d\n", i)}
		if i%100 == 99 {
			o.note = []byte("a note\n")
		}
		want += string(o.out) + string(o.note)
		if !p.print([]outcome{o}) {
			t.Fatal(p.err)
		}
	}
	p.stop()
	if got := both.String(); got != want {
		t.Errorf("%d bytes of %d, or in another order", len(got), len(want))
	}

	p = start(&world{stdout: broken{}, stderr: &both})
	p.print([]outcome{{out: []byte("lost\n")}})
	p.stop()
	if p.err == nil || p.print([]outcome{{out: []byte("lost\n")}}) {
		t.Error("nobody is told:", p.err)
	}
}
