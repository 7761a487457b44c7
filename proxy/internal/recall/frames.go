package recall

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"mime"
)

// A Framing cuts a reply into events and writes them. One goroutine uses it.
type Framing interface {
	// Read begins to read the reply of another round.
	Read(io.Reader)
	// Next returns the next event; its bytes belong to whoever gets it. At the end of the
	// reply the error is io.EOF.
	Next() (Event, error)
	// Append writes an event.
	Append(dst []byte, e Event) []byte
}

// maxEvent bounds one event.
const maxEvent = 64 << 20

var errLong = errors.New("one event of the reply is too large")

// Frame returns the framing of a reply that has this content type; nil if it comes in one
// piece, or in a way that is not known. Streamed says that the request asked for a stream.
func Frame(t Tongue, contentType string, streamed bool) Framing {
	media, _, _ := mime.ParseMediaType(contentType)
	switch {
	case media == "text/event-stream":
		return &lines{}
	case media == "application/vnd.amazon.eventstream":
		return &messages{wrapped: t.wrapped()}
	case media == "application/json" && streamed:
		return &elementwise{}
	}
	return nil
}

// lines are server-sent events.
type lines struct{ r *bufio.Reader }

func (l *lines) Read(r io.Reader) { l.r = bufio.NewReaderSize(r, 16<<10) }

func (l *lines) Next() (e Event, err error) {
	for {
		line, err := l.r.ReadSlice('\n')
		e.Raw = append(e.Raw, line...)
		switch {
		case err == bufio.ErrBufferFull && len(e.Raw) < maxEvent:
			continue
		case err == bufio.ErrBufferFull:
			return e, errLong
		case err != nil && len(e.Raw) == 0:
			return e, err
		case err == nil && !ended(e.Raw):
			continue
		}
		e.read()
		return e, nil // an error comes again with the next one
	}
}

// ended reports whether the last line of what was read is empty.
func ended(raw []byte) bool {
	raw = raw[:len(raw)-1]
	raw = bytes.TrimSuffix(raw, []byte{'\r'})
	return len(raw) == 0 || raw[len(raw)-1] == '\n'
}

// read finds name and data.
func (e *Event) read() {
	for line := range bytes.Lines(e.Raw) {
		line = bytes.TrimRight(line, "\r\n")
		name, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(name) {
		case "event":
			e.Name = string(value)
		case "data":
			if e.Data != nil {
				e.Data = append(e.Data, '\n')
			}
			e.Data = append(e.Data, value...)
		}
	}
}

func (l *lines) Append(dst []byte, e Event) []byte {
	if e.Raw != nil {
		return append(dst, e.Raw...)
	}
	if e.Name != "" {
		dst = append(append(append(dst, "event: "...), e.Name...), '\n')
	}
	for line := range bytes.SplitSeq(e.Data, []byte{'\n'}) {
		dst = append(append(append(dst, "data: "...), line...), '\n')
	}
	return append(dst, '\n')
}

// elementwise is a JSON array that comes element by element.
type elementwise struct {
	r      *bufio.Reader
	begun  bool // to read the reply of this round
	bare   bool // it is no array
	opened bool // an element has been written
}

func (a *elementwise) Read(r io.Reader) {
	a.r, a.begun, a.bare = bufio.NewReaderSize(r, 16<<10), false, false
}

// begin looks at how a reply begins.
func (a *elementwise) begin() {
	a.begun = true
	for n := 1; ; n++ {
		head, err := a.r.Peek(n)
		if err != nil {
			return
		}
		switch c := head[n-1]; c {
		case ' ', '\t', '\r', '\n':
		default:
			a.bare = c != '['
			return
		}
	}
}

func (a *elementwise) Next() (e Event, err error) {
	if !a.begun {
		a.begin()
	}
	if a.bare { // in one piece, although a stream was asked for
		e.Raw = make([]byte, 16<<10)
		n, err := a.r.Read(e.Raw)
		e.Raw = e.Raw[:n]
		if n > 0 {
			err = nil
		}
		return e, err
	}
	depth, quoted, escaped, from := 0, false, false, 0
	for {
		c, err := a.r.ReadByte()
		if err != nil {
			if len(e.Raw) > 0 {
				return e, nil
			}
			return e, err
		}
		e.Raw = append(e.Raw, c)
		switch {
		case len(e.Raw) > maxEvent:
			return e, errLong
		case escaped:
			escaped = false
		case quoted:
			quoted, escaped = c != '"', c == '\\'
		case c == '"' && depth > 0:
			quoted = true
		case c == '{':
			if depth == 0 {
				from = len(e.Raw) - 1
			}
			depth++
		case c == '}' && depth > 0:
			if depth--; depth == 0 {
				e.Data = bytes.Clone(e.Raw[from:])
				return e, nil
			}
		case c == ']' && depth == 0:
			rest, _ := a.rest()
			e.Raw, e.end = append(e.Raw, rest...), true
			return e, nil
		}
	}
}

// rest is what stands behind the list.
func (a *elementwise) rest() ([]byte, error) { return io.ReadAll(io.LimitReader(a.r, maxEvent)) }

func (a *elementwise) Append(dst []byte, e Event) []byte {
	first := bytes.TrimLeft(e.Raw, " \t\r\n")
	lead := byte('[')
	if a.opened {
		lead = ','
	}
	if e.Data == nil { // the end, or what breaks off
		switch begins := len(first) > 0 && first[0] == '['; {
		case a.opened && begins:
			return append(dst, first[1:]...)
		case !a.opened && !begins && e.end:
			dst = append(dst, lead)
		}
		return append(dst, e.Raw...)
	}
	a.opened = true
	if len(first) > 0 && first[0] == lead {
		return append(dst, e.Raw...)
	}
	return append(append(append(dst, lead), e.Data...), '\n')
}
