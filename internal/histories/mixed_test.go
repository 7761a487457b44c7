package histories

import (
	"bytes"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/wire"
)

// TestMixed: mixtures can be read, and the same seed gives the same bytes. That whole ones
// break no rule is for the tests of package truth.
func TestMixed(t *testing.T) {
	for d := range mixtures() {
		for seed := range uint64(trial.Size(100)) {
			o := MixOptions{Breaks: int(seed % 4), Escapes: seed%3 == 0}
			body, did := Mixed(seed, d, o)
			again, _ := Mixed(seed, d, o)
			if !bytes.Equal(body, again) {
				t.Fatalf("%s, seed %d: two bodies", d, seed)
			}
			if _, err := wire.Parse(body, wire.Options{Dialect: d}); err != nil {
				t.Fatalf("%s, seed %d, %v: %v\n%s", d, seed, did, err, body)
			}
		}
	}
}
