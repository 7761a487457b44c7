package jsonspan

import (
	"fmt"
	"strings"
	"unsafe"
)

// An Edit replaces the bytes of a span. An empty span inserts, an empty
// replacement removes.
type Edit struct {
	Span
	New []byte
}

// Splice returns data with the edits applied. They must be sorted by position and
// must not overlap; several insertions at one place keep their order. Without
// edits it returns data itself.
func Splice(data []byte, edits []Edit) ([]byte, error) {
	if len(edits) == 0 {
		return data, nil
	}
	size, last := len(data), 0
	for i, e := range edits {
		if e.Start < last || e.End < e.Start || e.End > len(data) {
			return nil, fmt.Errorf("splice edit %d: span %d:%d does not follow %d within %d bytes", i, e.Start, e.End, last, len(data))
		}
		last = e.End
		size += len(e.New) - e.Len()
	}
	var out strings.Builder // its memory is not cleared first
	out.Grow(size)
	last = 0
	for _, e := range edits {
		out.Write(data[last:e.Start])
		out.Write(e.New)
		last = e.End
	}
	out.Write(data[last:])
	// Nobody else has the string.
	return unsafe.Slice(unsafe.StringData(out.String()), size), nil
}
