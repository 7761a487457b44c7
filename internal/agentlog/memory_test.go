package agentlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/wire"
)

// A log that is read into the memory of the one before says what one does that has memory
// of its own: whatever was in it before, and on files of all formats, damaged ones too.
func TestMemory(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	files := make([][]byte, 0, len(seeds)+4)
	for _, s := range seeds {
		files = append(files, []byte(s))
	}
	for _, size := range []int{3000, 9000, 40_000, 120_000} {
		files = append(files, sessionOf(size, size == 9000))
	}
	var m Memory
	for range trial.Size(300) {
		raw := files[r.IntN(len(files))]
		if lines := bytes.SplitAfter(raw, []byte("\n")); r.IntN(2) == 0 && len(lines) > 1 {
			raw = bytes.Join(blows[r.IntN(len(blows))].hit(r, lines), nil)
		}
		want, err := Read("s.jsonl", raw, Options{})
		got, gotErr := Read("s.jsonl", bytes.Clone(raw), Options{Memory: &m})
		if err != nil || gotErr != nil {
			if fmt.Sprint(err) != fmt.Sprint(gotErr) {
				t.Fatalf("%v, want %v", gotErr, err)
			}
			continue
		}
		if w, g := told(t, want), told(t, got); w != g {
			t.Fatalf("%s\ntells\n%s\nwant\n%s", raw, g, w)
		}
	}
}

// told is all that a log says.
func told(t *testing.T, l *Log) string {
	t.Helper()
	var b strings.Builder
	found := l.Check(wire.CheckOptions{Strict: true, Advice: true})
	all, err := json.Marshal(found)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&b, "%v %+v %s\n%+v\n", l.Format, l.Tally(), all, l.Remedy(found))
	for _, th := range l.Threads {
		fmt.Fprintf(&b, "%s %v %s\n%s\n", th.Name, th.Kind, th.Request.Raw(), th.Stored().Raw())
		tr := th.Request.Transcript()
		fmt.Fprintf(&b, "%v %v %v\n", tr.Messages(), tr.Blocks(), tr.Exchanges())
	}
	if fixed, err := l.Fix(Options{}); err == nil {
		fmt.Fprintf(&b, "%s\n", fixed.Raw)
	}
	return b.String()
}

// A memory of a few small files has no room that only a large one needs.
func TestMemoryBound(t *testing.T) {
	var m Memory
	large := sessionOf(roomy+1, false)
	for _, raw := range [][]byte{sessionOf(3000, false), large, sessionOf(3000, false)} {
		if _, err := Read("s.jsonl", raw, Options{Memory: &m}); err != nil {
			t.Fatal(err)
		}
	}
	if n := cap(m.bodies[0].body); n > 100_000 {
		t.Errorf("%d bytes are kept", n)
	}
	var none Memory
	if reflect.DeepEqual(m, none) {
		t.Error("nothing is kept")
	}
}
