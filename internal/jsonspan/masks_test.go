package jsonspan

import (
	"math/rand/v2"
	"testing"
)

// sameMasks: what the kernel and the portable path see in a block is what is there.
func sameMasks(t *testing.T, b *[64]byte) {
	t.Helper()
	var quote, slash uint64
	unusual := false
	for i, c := range b {
		switch {
		case c == '"':
			quote |= 1 << i
		case c == '\\':
			slash |= 1 << i
		case c < ' ' || c >= 0x80:
			unusual = true
		}
	}
	for name, f := range map[string]func(*[64]byte) (uint64, uint64, uint64){"kernel": blockMasks, "portable": masks} {
		if q, s, u := f(b); q != quote || s != slash || (u != 0) != unusual {
			t.Fatalf("%s, %q: quotes %x, want %x; backslashes %x, want %x; unusual %v, want %v", name, b, q, quote, s, slash, u != 0, unusual)
		}
	}
}

func TestMasks(t *testing.T) {
	var b [64]byte
	for c := range 256 {
		for at := range b {
			for i := range b {
				b[i] = 'a'
			}
			b[at] = byte(c)
			sameMasks(t, &b)
		}
	}
	r := rand.New(rand.NewPCG(5, 64))
	few := []byte("a\"\\ \x1f\x20\x7f\x80\xff!#[]")
	rounds := 20_000
	if testing.Short() {
		rounds = 2000
	}
	for n := range rounds {
		for i := range b {
			if b[i] = byte(r.IntN(256)); n%2 == 0 {
				b[i] = few[r.IntN(len(few))]
			}
		}
		sameMasks(t, &b)
	}
}

func FuzzMasks(f *testing.F) {
	f.Add([]byte("a\"\\\x00\x1f\x7f\x80\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var b [64]byte
		copy(b[:], data)
		sameMasks(t, &b)
	})
}
