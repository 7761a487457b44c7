package jsonspan

import "slices"

// Compose returns the edits that do at once what first and then second do to a document of
// size bytes; second is about what first has made of it. Both must be as Splice wants
// them, and so is the result. It takes time in proportion to the edits.
func Compose(size int, first, second []Edit) []Edit {
	c := composer{size: size, edits: make([]Edit, 0, len(first)+len(second))}
	at := 0 // in the document between
	pieces := pieceReader{size: size, edits: first}
	for _, e := range second {
		c.take(&pieces, e.Start-at)
		pieces.skip(e.End - e.Start)
		c.put(e.New)
		at = e.End
	}
	c.take(&pieces, -1)
	return c.edits
}

// A piece is a part of the document between: bytes of the original or new ones.
type piece struct {
	Span
	text []byte
	new  bool
}

func (p piece) len() int {
	if p.new {
		return len(p.text)
	}
	return p.Len()
}

// A pieceReader tells, piece by piece, what edits make of a document.
type pieceReader struct {
	size  int
	edits []Edit
	pos   int // in the original
	rest  piece
}

// next returns at most n bytes of the document between, all that is left of one piece if
// n is negative; false at the end.
func (r *pieceReader) next(n int) (piece, bool) {
	for r.rest.len() == 0 {
		switch {
		case len(r.edits) > 0 && r.edits[0].Start == r.pos:
			r.rest = piece{text: r.edits[0].New, new: true}
			r.pos, r.edits = r.edits[0].End, r.edits[1:]
		case len(r.edits) > 0:
			r.rest = piece{Span: Span{r.pos, r.edits[0].Start}}
			r.pos = r.edits[0].Start
		case r.pos < r.size:
			r.rest = piece{Span: Span{r.pos, r.size}}
			r.pos = r.size
		default:
			return piece{}, false
		}
	}
	p := r.rest
	if n < 0 || p.len() <= n {
		r.rest = piece{}
		return p, true
	}
	if p.new {
		r.rest.text, p.text = p.text[n:], p.text[:n]
		return p, true
	}
	r.rest.Start, p.End = p.Start+n, p.Start+n
	return p, true
}

func (r *pieceReader) skip(n int) {
	for n > 0 {
		p, ok := r.next(n)
		if !ok {
			return
		}
		n -= p.len()
	}
}

// A composer collects pieces in the order they come out. Those of the original come in
// their order, so what lies between two of them is one edit.
type composer struct {
	size  int
	edits []Edit
	pos   int    // in the original: everything in front is told
	text  []byte // what is put there
}

// take copies n bytes, or all if n is negative.
func (c *composer) take(r *pieceReader, n int) {
	for n != 0 {
		p, ok := r.next(n)
		if !ok {
			break
		}
		if n > 0 {
			n -= p.len()
		}
		if p.new {
			c.put(p.text)
			continue
		}
		c.flush(p.Start)
		c.pos = p.End
	}
	if n < 0 {
		c.flush(c.size)
	}
}

func (c *composer) put(text []byte) {
	if len(c.text) == 0 {
		c.text = slices.Clip(text) // mostly it is all
		return
	}
	c.text = append(c.text, text...)
}

// flush tells what comes in the place of the original up to start.
func (c *composer) flush(start int) {
	if start > c.pos || len(c.text) > 0 {
		c.edits = append(c.edits, Edit{Span{c.pos, start}, c.text})
	}
	c.pos, c.text = start, nil
}
