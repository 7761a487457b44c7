package wire

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestRoomTakesNoBody: with room behind it, a body is repaired in less memory than it has; without,
// another one is made.
func TestRoomTakesNoBody(t *testing.T) {
	proveCarried = false // every result would be put together
	defer func() { proveCarried = true }()
	var b strings.Builder
	b.WriteString(`{"model":"gpt-5","messages":[{"role":"user","content":"go"}`)
	for i := range 1000 {
		fmt.Fprintf(&b, `,{"role":"assistant","tool_calls":[{"id":"call_%d","type":"function","function":{"name":"sh","arguments":"{}"}}]}`, i)
		if i%20 > 0 {
			fmt.Fprintf(&b, `,{"role":"tool","tool_call_id":"call_%d","content":"%s"}`, i, strings.Repeat("output ", 1000))
		}
	}
	b.WriteString("]}")
	body := []byte(b.String())
	for _, room := range []bool{true, false} {
		r, err := Parse(append(make([]byte, 0, len(body)*3/2), body...), Options{Room: room})
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		m, err := r.Mend(Repair{}, CheckOptions{})
		if err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if len(m.Changes) != 50 || len(m.Left) > 0 {
			t.Fatalf("%d changes, left %v", len(m.Changes), m.Left)
		}
		bodies := float64(after.TotalAlloc-before.TotalAlloc) / float64(len(body))
		if room != (bodies < 0.25) {
			t.Errorf("with room %v: %.2f bodies", room, bodies)
		}
	}
}
