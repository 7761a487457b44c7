package source

import (
	"math/rand/v2"
	"testing"

	"github.com/pare-llm/pare/agentlog"
)

// TestObjectIsWhole: a line that the detector takes for one object is a whole value, so that
// nobody has to look again.
func TestObjectIsWhole(t *testing.T) {
	t.Parallel()
	const line = `{"type":"user","uuid":"u1","parentUuid":null,"n":[1,-2.5e3,{"a":"b\n\"ü"}],"message":{"role":"user","content":"go"},"x":true} `
	const odd = "{}[]\",:\\ \t\r\x00\x80a1-."
	r := rand.New(rand.NewPCG(1, 2))
	var d agentlog.Detector
	objects := 0
	for range 100_000 {
		b := []byte(line)
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
	}
	if objects < 1000 {
		t.Errorf("only %d objects", objects)
	}
}
