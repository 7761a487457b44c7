package jsonspan

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/benchdata"
	"github.com/pare-llm/pare/internal/trial"
)

// A walked is all that a walk of a document tells.
type walked struct {
	strings []Span
	flaws   []Flaw
	err     string
}

// walk reads a document string by string, ahead or not.
func walk(data []byte, mode Mode, ahead bool) (w walked) {
	var s Scanner
	s.Reset(data, mode)
	if ahead {
		s.ReadAhead()
	}
	var read func()
	read = func() {
		switch s.Peek() {
		case String:
			if span := s.Str(); !s.Failed() {
				w.strings = append(w.strings, span)
			}
		case Object:
			for s.Enter(); ; read() {
				key, ok := s.Key()
				if !ok {
					return
				}
				w.strings = append(w.strings, key)
			}
		case Array:
			for s.Enter(); s.Element(); {
				read()
			}
		default:
			s.Skip()
		}
	}
	read()
	s.End()
	w.flaws = s.Flaws()
	if err := s.Err(); err != nil {
		w.err = err.Error()
	}
	return w
}

// sameAhead: to read ahead tells the same, down to the first error.
func sameAhead(t *testing.T, data []byte) {
	t.Helper()
	for _, mode := range []Mode{Structural, Strict} {
		got, want := walk(data, mode, true), walk(data, mode, false)
		if !slices.Equal(got.strings, want.strings) || !slices.Equal(got.flaws, want.flaws) || got.err != want.err {
			t.Fatalf("mode %d of %q:\n got %v\nwant %v", mode, data, got, want)
		}
	}
}

func TestReadAhead(t *testing.T) {
	for _, d := range documents {
		sameAhead(t, []byte(d))
	}
	pads := []int{0, 1, 2, 3, 5, 30, 31, 32, 33, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 100, 120, 121, 122, 123, 124, 125, 126, 127, 128, 500, 511, 512, 513, 700}
	for _, fill := range []string{"a", `\n`, "世", `\\`, "é", `\u4e16`} {
		for _, special := range specials() {
			for i := 0; i < len(pads); i += trial.Stride(3) {
				n := pads[i]
				pad := strings.Repeat(fill, n)
				// The kernel looks back three bytes, so the first string starts behind them.
				sameAhead(t, []byte(`[    "`+pad+special+pad+`", {"k": "`+special+`", "`+pad+`":1}, 2]`))
			}
		}
	}
	for _, shape := range benchdata.Shapes {
		sameAhead(t, benchdata.Dense(shape, 300_000))
	}
	body := benchdata.Anthropic(300_000)
	sameAhead(t, body)
	r := rand.New(rand.NewPCG(7, 7))
	for range trial.Size(2000) { // one byte is wrong
		at, c := r.IntN(len(body)), byte(r.IntN(256))
		was := body[at]
		body[at] = c
		sameAhead(t, body[max(0, at-3000):min(len(body), at+3000)])
		body[at] = was
	}
}

// TestReadAheadFull: as many strings as fit, up to an end or something odd, wherever that comes.
func TestReadAheadFull(t *testing.T) {
	for n := 160; n < 520; n += trial.Stride(7) { // the second piece is full at about 430
		for _, end := range []string{`""]`, `"世"]`, `"\ud800"]`, "\"\x01\"]", `"\x"]`, `"`} {
			sameAhead(t, []byte(`[`+strings.Repeat(`"",`, n)+end))
			sameAhead(t, []byte(`[`+strings.Repeat(`"",`, n)+end[:len(end)-1]+`,`+strings.Repeat(`"",`, 40)+`""]`))
		}
	}
}

// TestReadAheadInMiddle: the index begins where the first string is read.
func TestReadAheadInMiddle(t *testing.T) {
	doc := []byte(`[ 1, 2, ` + strings.Repeat(`{"k":["v"]},`, 400) + `"end"]`)
	sameAhead(t, doc)
	var s Scanner
	s.Reset(doc, Strict)
	s.ReadAhead()
	s.Skip()
	if s.Failed() {
		t.Fatal(s.Err())
	}
	s.Reset([]byte(`["a`), Strict)
	s.ReadAhead()
	if s.Skip(); !s.Failed() || s.Err().(*SyntaxError).Reason != midString {
		t.Errorf("after another document: %v", s.Err())
	}
}

// TestFlat: objects that are read in one go are read as others are.
func TestFlat(t *testing.T) {
	for _, o := range []string{
		`{"a":"x","b":12,"c":"y"}`, `{"a":"x","b":12}`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"ab":1,"ba":2,"ab":3}`, `{"a":0,"b":-1,"c":1.5,"d":1e9}`, `{"a":01}`, `{"a":1x}`,
		`{"a":"x",}`, `{"a":"x"`, `{"a":1`, `{"a":`, `{"a"`, `{"a":"x" ,"b":1}`, `{"a": "x"}`, `{"":1,"":2}`, `{"a":"\ud800","b":1}`, `{"a":{"b":1}}`, `{"a":"x""b":1}`, `{"a":1,1:2}`, `{"a":"x"]`,
	} {
		for _, around := range []string{"%s", "[%s]", `[{"k":"v"},%s,{"k":7}]`, strings.Repeat("[", MaxDepth-1) + "%s", strings.Repeat("[", MaxDepth) + "%s"} {
			sameAhead(t, []byte(strings.Replace(around, "%s", o, 1)))
		}
	}
}

// TestQuotesAgree: the kernel and the portable paths list the same quotes, as far as they go,
// and know the same where they stop at the same place.
func TestQuotesAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	parts := append(specials(), `"`, `"`, `":"`, "\n", " ", "plain text", strings.Repeat("x", 70))
	fillers := []string{"plain text", strings.Repeat("x", 70), strings.Repeat(`\\`, 70), `\u00e9`, "é世🚀", `\"`, `\n`, `"a":`}
	for i := range trial.Size(8_000) {
		data, size, step := []byte("   "), 400, 70
		if i%10 == 0 { // more than a kernel reads at once, and little of it odd
			size, step = 9000, 3000
		}
		for len(data) < size {
			part := parts[r.IntN(len(parts))]
			if size > 400 && r.IntN(40) > 0 {
				part = fillers[r.IntN(len(fillers))]
			}
			data = append(data, part...)
		}
		from, inside := 3+r.IntN(3), uint64(r.IntN(2))*^uint64(0)
		for from+64 <= len(data) {
			escaped := uint64(r.IntN(2))
			for _, strict := range []bool{false, true} {
				want := listQuotes(quotesBlocks, data, from, escaped, inside, strict)
				for name, f := range map[string]lister{"kernel": quotes, "words": quotesWords} {
					if got := listQuotes(f, data, from, escaped, inside, strict); !got.agrees(want) {
						t.Fatalf("%s, %q from %d, escaped %d, strict %v: %+v, want %+v", name, data, from, escaped, strict, got, want)
					}
				}
			}
			from += 1 + r.IntN(step)
		}
	}
}

// A lister lists quotes; see quotes.
type lister func(data []byte, from, to int, dst []uint32, escaped, inside uint64, strict bool) (int, int, uint64, uint64, bool)

// listed is what a lister says.
type listed struct {
	next            int
	at              []uint32
	escaped, inside uint64
	odd             bool
}

func listQuotes(f lister, data []byte, from int, escaped, inside uint64, strict bool) listed {
	var at [indexRoom]uint32
	next, n, escaped, inside, odd := f(data, from, len(data), at[:], escaped, inside, strict)
	return listed{next, at[:n], escaped, inside, odd}
}

// agrees reports whether two list the same in front of where the first of them stops.
func (l listed) agrees(with listed) bool {
	if l.next == with.next && (l.escaped != with.escaped || l.inside != with.inside) {
		return false
	}
	end := uint32(min(l.next, with.next))
	behind := func(at uint32) bool { return at >= end }
	return slices.Equal(slices.DeleteFunc(slices.Clone(l.at), behind), slices.DeleteFunc(slices.Clone(with.at), behind))
}

func FuzzReadAhead(f *testing.F) {
	for _, d := range documents {
		f.Add([]byte(d))
	}
	pad := strings.Repeat("pad ", 17)
	for _, special := range specials() {
		f.Add([]byte(`["` + pad + special + pad + `",{"` + special + `":[]}]`))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		sameAhead(t, data)
		sameAhead(t, append(bytes.Repeat([]byte("[[[[[[["), 20), data...))
	})
}
