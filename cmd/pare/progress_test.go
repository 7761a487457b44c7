package main

import (
	"bytes"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pare-llm/pare/cmd/internal/source"
)

func TestProgressWaitsForMoreOutput(t *testing.T) {
	start := func(env *environment) *progress {
		env.getenv = func(string) string { return "" }
		p := startProgress(env, &source.Input{Paths: []string{"folder"}}, newRunTotals("finding"))
		p.delaysFlush = true
		return p
	}
	var both bytes.Buffer
	p := start(&environment{stdout: &both, stderr: &both})
	want := ""
	for i := range 5000 {
		out := outcome{out: fmt.Appendf(nil, "%d\n", i)}
		if i%100 == 99 {
			out.note = []byte("a note\n")
		}
		want += string(out.out) + string(out.note)
		if !p.print([]outcome{out}) {
			t.Fatal(p.err)
		}
	}
	p.stop()
	if got := both.String(); got != want {
		t.Errorf("%d bytes of %d, or in another order", len(got), len(want))
	}

	p = start(&environment{stdout: broken{}, stderr: &both})
	p.print([]outcome{{out: []byte("lost\n")}})
	p.stop()
	if p.err == nil || p.print([]outcome{{out: []byte("lost\n")}}) {
		t.Error("nobody is told:", p.err)
	}
}

func TestProgressShowsProcessedBytes(t *testing.T) {
	var said bytes.Buffer
	var worked atomic.Int64
	input := &source.Input{Paths: []string{"x"}}
	p := &progress{stderr: &said, input: input, totals: newRunTotals(""), total: 1000, workedBytes: &worked}
	input.Read.Store(1000)
	worked.Store(500)
	p.draw()
	if got := said.String(); strings.Count(got, "━") != 12 || strings.Contains(got, ",") {
		t.Errorf("half of the work is drawn as %q", got)
	}
}
