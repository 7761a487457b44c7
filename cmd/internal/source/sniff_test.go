package source

import (
	"io"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/internal/dialect"
)

// TestObject: a line that the detector takes for one object is a whole value, and no request if
// none of its members tells so. Nobody has to look again.
func TestObject(t *testing.T) {
	t.Parallel()
	lines := []string{`{"type":"user","uuid":"u1","parentUuid":null,"n":[1,-2.5e3,{"a":"b\n\"ü"}],"message":{"role":"user","content":"go"},"x":true} `,
		`{"model":"m","messages":[{"role":"user","content":"go"}],"stream":true}`,
		`{"custom_id":"1","method":"POST","body":{"model":"m","input":[{"type":"message","role":"user","content":"go"}]}}`}
	const odd = "{}[]\",:\\ \t\r\x00\x80a1-."
	r := rand.New(rand.NewPCG(1, 2))
	var d agentlog.Detector
	objects, others, requests := 0, 0, 0
	for range 100_000 {
		b := []byte(lines[r.IntN(len(lines))])
		for range r.IntN(3) {
			switch i := r.IntN(len(b)); r.IntN(3) {
			case 0:
				b[i] = odd[r.IntN(len(odd))]
			case 1:
				b = append(b[:i], b[i+1:]...)
			default:
				b = append(b[:i:i], append([]byte{odd[r.IntN(len(odd))]}, b[i:]...)...)
			}
		}
		if !d.Object(b) {
			continue
		}
		objects++
		if !whole(b) {
			t.Fatalf("taken for an object: %q", b)
		}
		switch tells := d.Has(dialect.IsHistoryKey); {
		case dialect.IsRequest(b):
			requests++
			if !tells {
				t.Fatalf("taken for no request: %q", b)
			}
		case !tells:
			others++
		}
	}
	if objects < 1000 || others < 100 || requests < 100 {
		t.Errorf("only %d objects, %d others, %d requests", objects, others, requests)
	}
}

// TestDefectHoles: nulls in front of lines, or behind them, are what a crash leaves, and hide no
// session; a file with nulls inside its lines is none.
func TestDefectHoles(t *testing.T) {
	t.Parallel()
	const hole = "\x00\x00\x00"
	first := `{"parentUuid":null,"isSidechain":false,"sessionId":"s1","type":"user","message":{"role":"user","content":"go"},"uuid":"c1"}`
	second := `{"parentUuid":"c1","isSidechain":false,"sessionId":"s1","type":"user","message":{"role":"user","content":"on"},"uuid":"c2"}`
	for _, c := range []struct {
		name, in string
		want     kind
	}{
		{"in front of the first line", hole + first + "\n" + second + "\n", session},
		{"a line of their own", hole + "\r\n" + first + "\n" + second + "\n", session},
		{"behind a line, and marks in front", "\ufeff\ufeff" + first + "\n" + second + hole + "\n" + second + "\n", session},
		{"nothing else", hole + hole + "\n" + hole, foreign},
		{"inside of lines", hole + first + "\n" + second + "\n\x7fELF\x00\x01\x00\n", foreign},
	} {
		s, err := openStream(io.NopCloser(strings.NewReader(c.in)), nil, MaxSize, new(atomic.Int64), nil)
		if err != nil {
			t.Fatal(err)
		}
		s.skipMark()
		if got, agent := s.sniff("x", false); got != c.want || (agent == agentlog.ClaudeCode) != (c.want == session) {
			t.Errorf("%s: %v, %v", c.name, got, agent)
		}
	}
}
