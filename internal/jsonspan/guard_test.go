//go:build linux

package jsonspan

import (
	"bytes"
	"strings"
	"syscall"
	"testing"
)

// guarded returns the middle one of three pages; a read or write in front of it or behind
// it kills the test.
func guarded(t *testing.T) []byte {
	t.Helper()
	page := syscall.Getpagesize()
	mem, err := syscall.Mmap(-1, 0, 3*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Skipf("SKIPPED, LOUDLY: no pages to guard the slice with: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(mem) })
	for _, guard := range [][]byte{mem[:page], mem[2*page:]} {
		if err := syscall.Mprotect(guard, syscall.PROT_NONE); err != nil {
			t.Skipf("SKIPPED, LOUDLY: no pages to guard the slice with: %v", err)
		}
	}
	return mem[page : 2*page : 2*page]
}

// TestAheadInsideSlice reads documents ahead that lie at either end of a page: the kernel
// that looks for quotes reads nothing beyond them, whole or cut off anywhere.
func TestAheadInsideSlice(t *testing.T) {
	room := guarded(t)
	read := func(doc []byte) {
		for _, mode := range []Mode{Structural, Strict} {
			var s Scanner
			s.Reset(doc, mode)
			s.ReadAhead()
			s.Skip()
			s.End()
		}
	}
	step := 1
	if testing.Short() {
		step = 3
	}
	for _, fill := range []string{"a", "é", "世", `\\`, `\n`, `\"`, `\u0041`, "\x01", `","`, "\xff"} {
		for n := 0; n < 200; n += step {
			doc := []byte(`["` + strings.Repeat(fill, n) + `",1]`)
			if len(doc) > len(room) {
				continue
			}
			for _, cut := range []int{0, 1, 2, 3, 4} {
				doc := doc[:len(doc)-cut]
				read(room[:copy(room, doc)])
				back := room[len(room)-len(doc):]
				copy(back, doc)
				read(back)
			}
		}
	}
	// And it writes no more offsets than it has room for.
	quoted := bytes.Repeat([]byte(`"`), len(room)-64)
	copy(room, quoted)
	for _, strict := range []bool{false, true} {
		var dst [indexRoom + 1]uint32
		dst[indexRoom] = 7
		if _, n, _, _, _ := quotes(room, 3, len(room), dst[:indexRoom], 0, 0, strict); n > indexRoom || dst[indexRoom] != 7 {
			t.Errorf("%d quotes for a room of %d", n, indexRoom)
		}
	}
}

// TestDecodedLenInsideSlice: nothing beyond the content is read.
func TestDecodedLenInsideSlice(t *testing.T) {
	room := guarded(t)
	for n := range 200 {
		for _, fill := range []string{"a", `\\`, `\u0041`} {
			content := bytes.Repeat([]byte(fill), n)
			at := len(room) - len(content)
			copy(room[at:], content)
			if got, _ := DecodedLen(room[at:]); got != len(Decode(nil, content)) {
				t.Fatalf("%q: %d bytes", content, got)
			}
		}
	}
}

// TestIndexPairInsideSlice: nothing beyond the text is read.
func TestIndexPairInsideSlice(t *testing.T) {
	room := guarded(t)
	for n := range 200 {
		text := room[len(room)-n:]
		for i := range text {
			text[i] = 'u'
		}
		if at := IndexPair(text, 'u', 's', 0x20); at >= 0 {
			t.Fatalf("a pair at %d of %q", at, text)
		}
		if n > 1 {
			text[n-1] = 'S'
			if at := IndexPair(text, 'u', 's', 0x20); at != n-2 {
				t.Fatalf("the pair of %q is at %d", text, at)
			}
		}
	}
}
