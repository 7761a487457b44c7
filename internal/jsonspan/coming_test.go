package jsonspan

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/benchdata"
	"github.com/pare-llm/pare/internal/trial"
)

// arriving hands out a document in pieces. What is missing is noise: whoever reads it, or
// asks for nothing and goes on, sees something else than what comes.
type arriving struct {
	whole, data []byte
	here        int
	size        func() int
	most        int // no more comes
}

func newArriving(whole []byte, first int, noise byte, size func() int) *arriving {
	a := &arriving{whole: whole, data: bytes.Repeat([]byte{noise}, len(whole)), size: size, most: len(whole)}
	a.to(first)
	return a
}

func (a *arriving) to(n int) {
	n = min(n, a.most)
	copy(a.data[a.here:n], a.whole[a.here:n])
	a.here = max(a.here, n)
}

func (a *arriving) more() int {
	a.to(a.here + a.size())
	return a.here
}

// spans are all strings and numbers of a document, as the walk meets them.
func spans(s *Scanner) (all []Span) {
	var value func()
	value = func() {
		switch k := s.Peek(); k {
		case Object:
			for s.Enter(); ; value() {
				key, ok := s.Key()
				if !ok {
					return
				}
				all = append(all, key)
			}
		case Array:
			for s.Enter(); s.Element(); {
				value()
			}
		default:
			all = append(all, s.Skip())
		}
	}
	value()
	s.End()
	return all
}

// comings are documents whose pieces end in all sorts of places.
func comings() map[string][]byte {
	spaced := `{"a" :` + strings.Repeat(" ", 700) + `[1 , 22222222222222222, true,` + strings.Repeat("\n\t", 400) + `"x"],"b":"\"` + strings.Repeat(`\\`, 300) + `é€𐍈\ud83d\ude00"}   `
	var quotes strings.Builder // more than an index has room for, with little inside of strings
	quotes.WriteString(`[`)
	for i := range 3000 {
		fmt.Fprintf(&quotes, `"",{},{"":%d},`, i)
	}
	quotes.WriteString(`""]`)
	return map[string][]byte{
		"history": benchdata.Anthropic(40 << 10), "dense": benchdata.Dense(benchdata.Messages, 20<<10), "spaced": []byte(spaced),
		"quotes": []byte(quotes.String()), "numbers": []byte("[" + strings.Repeat("1234567890,", 500) + `0,"end"]`),
		"lone": []byte(`["` + strings.Repeat(`text \ud800 `, 200) + `",` + strings.Repeat(" ", 200) + `"\udc00"]`),
	}
}

// TestComing reads documents that come in pieces, and finds what it finds in the whole.
func TestComing(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for name, whole := range comings() {
		var s Scanner
		s.Reset(whole, Strict)
		s.ReadAhead()
		want := spans(&s)
		flaws := slices.Clone(s.Flaws())
		if s.Failed() {
			t.Fatal(name, s.Err())
		}
		for i, noise := range []byte{'"', '}', ' ', '\\', '1', 0xFF, 0} {
			for _, size := range []int{1, 7, 64, 97, 1000, 5000, -300} {
				if size == 1 && i > 1 {
					continue
				}
				a := newArriving(whole, 0, noise, func() int { return size })
				if size < 0 {
					a.size = func() int { return 1 + rng.IntN(-size) }
				}
				s.Reset(a.data, Strict)
				s.ReadComing(a.here, a.more)
				got := spans(&s)
				if s.Failed() || s.Missing() || a.here != len(whole) {
					t.Fatalf("%s in pieces of %d, missing %q: %v, %d of %d are here", name, size, noise, s.Err(), a.here, len(whole))
				}
				if !slices.Equal(got, want) || !slices.Equal(s.Flaws(), flaws) {
					t.Fatalf("%s in pieces of %d, missing %q: not what is read in the whole", name, size, noise)
				}
			}
		}
	}
}

// TestComingInTime: the walk is not far behind what has come.
func TestComingInTime(t *testing.T) {
	whole := benchdata.Anthropic(400 << 10)
	a := newArriving(whole, 0, '"', func() int { return 16 << 10 })
	var s Scanner
	behind := 0
	s.Reset(a.data, Strict)
	s.ReadComing(0, func() int {
		behind = max(behind, a.here-s.Offset())
		return a.more()
	})
	spans(&s)
	if behind > 24<<10 { // a piece, and the string at its end
		t.Errorf("the walk was %d bytes behind pieces of 16 KB", behind)
	}
}

// TestComingShort: a document of which the rest does not come is not taken for whole, wherever
// it stops.
func TestComingShort(t *testing.T) {
	for name, whole := range comings() {
		for _, noise := range []byte(`"}] 1`) {
			for stop := 0; stop < len(whole); stop += (1 + len(whole)/500) * trial.Stride(7) {
				a := newArriving(whole, 0, noise, func() int { return 100 })
				a.most = stop
				var s Scanner
				s.Reset(a.data, Strict)
				s.ReadComing(0, a.more)
				spans(&s)
				if !s.Missing() {
					t.Fatalf("%s, missing %q from %d on: taken for whole", name, noise, stop)
				}
			}
		}
	}
}

// TestComingWrong: what is wrong with a document is found in one that comes, too.
func TestComingWrong(t *testing.T) {
	whole := benchdata.Anthropic(8 << 10)
	for at := 3; at < len(whole); at += 37 {
		broken := bytes.Clone(whole)
		broken[at] = 0x01 // wrong in strings and beside them
		a := newArriving(broken, 10, ' ', func() int { return 50 })
		var s Scanner
		s.Reset(a.data, Strict)
		s.ReadComing(a.here, a.more)
		spans(&s)
		if !s.Failed() {
			t.Fatal("nothing is found at", at)
		}
	}
}
