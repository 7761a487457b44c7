//go:build amd64 && linux && !purego

package jsonspan

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// withoutKernel runs f on the portable path.
func withoutKernel(f func()) {
	defer func(was bool) { useAVX2 = was }(useAVX2)
	useAVX2 = false
	f()
}

// FuzzKernel compares the kernel with the portable path, and both with the
// reference, on the string whose content starts at an offset.
func FuzzKernel(f *testing.F) {
	pad := strings.Repeat("pad ", 17)
	for _, special := range specials() {
		f.Add([]byte(`[ "`+pad+special+pad+`"]`), uint16(3))
	}
	for _, d := range documents {
		f.Add([]byte("  "+d+pad), uint16(3))
	}
	f.Fuzz(func(t *testing.T, data []byte, at uint16) {
		if len(data) == 0 {
			return
		}
		data = bytes.Clone(data)
		i := int(at) % len(data)
		for j := i - 1; j >= 0 && data[j] >= 0x80; j-- {
			data[j] = ' ' // a string starts behind a quote, never inside a rune
		}
		for _, mode := range []Mode{Structural, Strict} {
			got := scanString(data, i, mode)
			withoutKernel(func() {
				want := scanString(data, i, mode)
				if got.end != want.end || got.fault != want.fault || !slices.Equal(got.lone, want.lone) {
					t.Errorf("string at %d of %q in mode %d:\n  kernel %+v\nportable %+v", i, data, mode, got, want)
				}
			})
		}
		compareString(t, data, i)
	})
}

func TestPortable(t *testing.T) {
	withoutKernel(func() {
		t.Run("boundaries", TestBoundaries)
		t.Run("oracles", TestAgainstOracles)
		t.Run("ahead", TestReadAhead)
	})
}

// TestInsideSlice puts documents between two pages that must not be touched, so
// that a read beyond either end kills the test.
func TestInsideSlice(t *testing.T) {
	room := guarded(t)
	page := len(room)
	for _, fill := range []string{"a", "é", "世", `\\`, `\n`, `\u0041`} {
		for n := range 200 {
			doc := append([]byte{'"'}, bytes.Repeat([]byte(fill), n)...)
			if len(doc) > page {
				continue
			}
			front, back := room[:copy(room, doc)], room[page-len(doc):]
			compareString(t, front, 1)
			copy(back, doc)
			compareString(t, back, 1)
		}
	}
}
