package store_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pare-llm/pare/store"
)

// TestPacking checks that bytes of every size survive packing, including those of old versions, and
// that damaged ones never panic.
func TestPacking(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	k := &talk{r: r}
	kinds := map[string]func(n int) []byte{
		"text": func(n int) []byte { return []byte(k.words(n/3 + 1))[:max(0, min(n, n/3))] },
		"noise": func(n int) []byte {
			b := make([]byte, n)
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			return b
		},
		"zeros": func(n int) []byte { return make([]byte, n) },
		"two":   func(n int) []byte { return bytes.Repeat([]byte("ab"), n/2) },
		"digits": func(n int) []byte {
			b := make([]byte, n)
			for i := range b {
				b[i] = '0' + byte(r.IntN(10))
			}
			return b
		},
	}
	for kind, make := range kinds {
		for _, n := range []int{0, 1, 199, 200, 201, 600, 1500, 4000, 16383, 16384, 16385, 70_000} {
			raw := make(n)
			for name, pack := range map[string]func([]byte) (int, []byte){"now": store.Pack, "then": store.PackZstd} {
				codec, stored := pack(raw)
				got, err := store.Unpack(codec, stored)
				if err != nil || !bytes.Equal(got, raw) {
					t.Fatalf("%s, %d bytes, %s: codec %d: %v", kind, n, name, codec, err)
				}
				if name == "now" && len(stored) > len(raw) {
					t.Errorf("%s: %d bytes became %d", kind, n, len(stored))
				}
				for range 40 {
					bad := slices.Clone(stored)
					if len(bad) > 0 {
						bad[r.IntN(len(bad))] ^= byte(1 + r.IntN(255))
						bad = bad[:len(bad)-r.IntN(min(3, len(bad)))]
					}
					store.Unpack(r.IntN(64), bad)
					store.Unpack(codec, bad)
				}
			}
		}
	}
	codec, stored := store.Pack([]byte(k.words(250)))
	if raw := len(k.words(250)); codec == 0 || len(stored) > raw*2/3 {
		t.Errorf("%d bytes of text became %d", raw, len(stored))
	}
}
