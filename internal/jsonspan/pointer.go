package jsonspan

import (
	"strconv"
	"strings"
)

// PointerAt returns the JSON pointer (RFC 6901) of the innermost value that holds
// the byte at offset. It reads leniently up to there, so it also works in front
// of a syntax error. It is slow and meant for reports.
func PointerAt(data []byte, offset int) string {
	w := Walker{data: data}
	w.seek(offset)
	return w.way.Pointer()
}

// PathAt is PointerAt in the dotted form that findings use: messages.6.content.1.
func PathAt(data []byte, offset int) string {
	return NewWalker(data).PathAt(offset)
}

// A Walker tells the paths of many offsets in one walk, if they are asked for in order. It
// is for one goroutine.
type Walker struct {
	data []byte
	next int // what stands in front of it is in way
	way  Path
}

// NewWalker returns a walker at the beginning of data.
func NewWalker(data []byte) *Walker { return &Walker{data: data} }

// PathAt is [PathAt] of the walker's document. One that lies behind starts a new walk.
func (w *Walker) PathAt(offset int) string {
	if offset <= w.next {
		w.next, w.way.steps = 0, w.way.steps[:0]
	}
	w.seek(offset)
	return w.way.Dotted()
}

// A Path is the way from the document to a value.
type Path struct{ steps []step }

// A step is a key or, where key is nil, an index.
type step struct {
	key   []byte
	index int
	inKey bool // the key of this object is still to come
	list  bool
}

// seek walks to offset, keeping the way from the root. A string that holds the offset is
// read again by the next seek.
func (w *Walker) seek(offset int) {
	data, p, i := w.data, &w.way, w.next
	defer func() { w.next = i }()
	offset = min(offset, len(data))
	for i < offset {
		top := len(p.steps) - 1
		switch c := data[i]; c {
		case '{':
			p.steps = append(p.steps, step{inKey: true})
		case '[':
			p.steps = append(p.steps, step{list: true})
		case '}', ']':
			if top >= 0 {
				p.steps = p.steps[:top]
			}
		case ',':
			if top >= 0 && p.steps[top].list {
				p.steps[top].index++
			} else if top >= 0 {
				p.steps[top].inKey, p.steps[top].key = true, nil
			}
		case '"':
			j := i + 1
			for j < len(data) && data[j] != '"' {
				if data[j] == '\\' {
					j++
				}
				j++
			}
			if top >= 0 && p.steps[top].inKey {
				if j >= len(data) {
					return
				}
				p.steps[top].inKey, p.steps[top].key = false, data[i+1:j]
			}
			if j >= offset {
				return
			}
			i = j
		}
		i++
	}
}

// Pointer returns the path as a JSON pointer.
func (p *Path) Pointer() string {
	var b strings.Builder
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	for _, s := range p.steps {
		name, ok := s.name()
		if !ok {
			break
		}
		b.WriteByte('/')
		b.WriteString(escape.Replace(name))
	}
	return b.String()
}

// Dotted returns the path with dots between its steps.
func (p *Path) Dotted() string {
	var names []string
	for _, s := range p.steps {
		name, ok := s.name()
		if !ok {
			break
		}
		names = append(names, name)
	}
	return strings.Join(names, ".")
}

func (s step) name() (string, bool) {
	if s.list {
		return strconv.Itoa(s.index), true
	}
	return string(Decode(nil, s.key)), s.key != nil
}
