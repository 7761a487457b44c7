package jsonspan

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// randomEdits are sorted and do not overlap; some insert, some remove.
func randomEdits(r *rand.Rand, size int) []Edit {
	var all []Edit
	for at := 0; at <= size; {
		at += r.IntN(size/3 + 2)
		if at > size {
			break
		}
		end := min(size, at+r.IntN(4))
		all = append(all, Edit{Span{at, end}, bytes.Repeat([]byte{byte('A' + r.IntN(26))}, r.IntN(4))})
		at = end
	}
	return all
}

// TestCompose: what is composed does what its parts do one after the other.
func TestCompose(t *testing.T) {
	for seed := range uint64(20_000) {
		r := rand.New(rand.NewPCG(seed, 3))
		data := make([]byte, r.IntN(40))
		for i := range data {
			data[i] = byte('a' + i%26)
		}
		first := randomEdits(r, len(data))
		between, err := Splice(data, first)
		if err != nil {
			t.Fatal(err)
		}
		second := randomEdits(r, len(between))
		want, err := Splice(between, second)
		if err != nil {
			t.Fatal(err)
		}
		edits := Compose(len(data), first, second)
		got, err := Splice(data, edits)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("seed %d: %q, want %q (%v)\n%v\n%v\n%v", seed, got, want, err, first, second, edits)
		}
	}
}
