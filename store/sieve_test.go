package store

import (
	"fmt"
	"testing"
)

// An id that was taken in is never called new, however many there are; of those that are new
// few are not called so; and a sieve that is full calls none so.
func TestSieve(t *testing.T) {
	var s sieve
	total := 0
	for i := range maxSieve {
		total += firstSieve << i
	}
	doubtful := 0
	var first, last int64
	for i := range total {
		m := markID(fmt.Sprint(i))
		if i == 0 {
			first = m
		}
		if last = m; !s.add(m) {
			doubtful++
		}
		if s.add(m) {
			t.Fatalf("id %d is new twice", i)
		}
	}
	if len(s.layers) != maxSieve || doubtful > total/20 {
		t.Errorf("%d layers; of %d new ids %d seem to be there", len(s.layers), total, doubtful)
	}
	for i := range total {
		if s.add(markID(fmt.Sprint(i))) {
			t.Fatalf("id %d is forgotten", i)
		}
	}
	for i := 0; s.room > 0; i++ {
		s.add(markID(fmt.Sprint("more", i)))
	}
	if s.add(markID("behind")) || s.add(first, last) {
		t.Error("a full sieve calls an id new")
	}
	if (*sieve)(nil).add(first) {
		t.Error("without a sieve an id is new")
	}
	if new(sieve).add(1, 1) {
		t.Error("an id that stands twice is new")
	}
}
