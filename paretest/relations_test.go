package paretest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/pare-llm/pare/wire"
)

func TestX(t *testing.T) {
	for seed := range uint64(300) {
		s := Random(seed, GenOptions{})
		CheckClean(t, s)
		CheckDialects(t, s)
		r := rand.New(rand.NewPCG(seed, 1))
		b, did := Break(r, s)
		for _, d := range wire.Dialects() {
			CheckAppending(t, s, d)
			for _, x := range []Script{s, b} {
				CheckRenaming(t, x, d)
				body := x.Render(d, RenderOptions{})
				CheckReading(t, body, wire.Options{})
				CheckSpelling(t, body, wire.Options{Dialect: d})
				CheckModes(t, body, wire.Options{})
				CheckBare(t, body, wire.Options{Dialect: d})
			}
			body := b.Render(d, RenderOptions{})
			c, did2 := Corrupt(r, body)
			CheckReading(t, c, wire.Options{Dialect: d})
			if t.Failed() {
				fmt.Println(seed, d, did, did2)
				t.FailNow()
			}
		}
	}
}
