package paretest

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pare-llm/pare/internal/jsonspan"
)

// A node is one JSON value as it is spelled: what is not touched is written as it
// was read, numbers and escapes included.
type node struct {
	kind  jsonspan.Kind
	span  jsonspan.Span // where it was read, quotes and brackets included
	raw   []byte        // of a scalar; a string with its quotes
	keys  []string      // of an object, as spelled, without quotes
	items []*node       // members' values or elements
}

// parseTree reads a document. It refuses what is not JSON, but not flaws.
func parseTree(data []byte) (*node, error) {
	r := treeReader{data: data, text: string(data)}
	r.s.Reset(data, jsonspan.Strict)
	n := r.node()
	r.s.End()
	return n, r.s.Err()
}

// A treeReader reads a document. Nodes and keys are taken from few large pieces.
type treeReader struct {
	s    jsonspan.Scanner
	data []byte
	text string // the same
	free []node
}

func (r *treeReader) node() *node {
	if len(r.free) == 0 {
		r.free = make([]node, min(64, 2+(len(r.data)-r.s.Offset())/16))
	}
	n := &r.free[0]
	r.free = r.free[1:]
	n.kind = r.s.Peek()
	n.span.Start = r.s.Offset()
	switch n.kind {
	case jsonspan.Object:
		r.s.Enter()
		for {
			k, ok := r.s.Key()
			if !ok {
				break
			}
			n.keys = append(n.keys, r.text[k.Start:k.End])
			n.items = append(n.items, r.node())
		}
	case jsonspan.Array:
		r.s.Enter()
		for r.s.Element() {
			n.items = append(n.items, r.node())
		}
	default:
		span := r.s.Skip()
		n.raw = r.data[span.Start:span.End:span.End]
	}
	n.span.End = r.s.Offset()
	return n
}

// Constructors. An object is given as keys and values in turn.

func object(members ...any) *node {
	n := &node{kind: jsonspan.Object, keys: make([]string, 0, len(members)/2+1), items: make([]*node, 0, len(members)/2+1)}
	for i := 0; i < len(members); i += 2 {
		n.add(members[i].(string), members[i+1].(*node))
	}
	return n
}

func list(items ...*node) *node { return &node{kind: jsonspan.Array, items: items} }

func text(s string) *node {
	return &node{kind: jsonspan.String, raw: jsonspan.AppendQuote(make([]byte, 0, len(s)+8), s)}
}

// literal is a number, true, false or null.
func literal(s string) *node {
	kind := jsonspan.Number
	switch s[0] {
	case 't', 'f':
		kind = jsonspan.Bool
	case 'n':
		kind = jsonspan.Null
	}
	return &node{kind: kind, raw: []byte(s)}
}

func (n *node) add(key string, v *node) {
	n.keys, n.items = append(n.keys, key), append(n.items, v)
}

// get returns a member, the last one if it stands twice, or nil.
func (n *node) get(key string) *node {
	if n == nil || n.kind != jsonspan.Object {
		return nil
	}
	for i := len(n.keys) - 1; i >= 0; i-- {
		if n.key(i) == key {
			return n.items[i]
		}
	}
	return nil
}

// key is the name of member i.
func (n *node) key(i int) string {
	k := n.keys[i]
	if strings.IndexByte(k, '\\') < 0 {
		return k
	}
	return string(jsonspan.Decode(nil, []byte(k)))
}

// at follows a dotted path, or returns nil.
func (n *node) at(path string) *node {
	for step := range strings.SplitSeq(path, ".") {
		if n == nil {
			return nil
		}
		if n.kind != jsonspan.Array {
			n = n.get(step)
			continue
		}
		i, err := strconv.Atoi(step)
		if err != nil || i >= len(n.items) {
			return nil
		}
		n = n.items[i]
	}
	return n
}

// walk calls f for n and everything in it, parents first.
func (n *node) walk(f func(*node)) {
	f(n)
	for _, item := range n.items {
		item.walk(f)
	}
}

// clone returns a copy that shares no lists with n.
func (n *node) clone() *node {
	c := *n
	c.keys = slices.Clone(n.keys)
	c.items = make([]*node, len(n.items))
	for i, item := range n.items {
		c.items[i] = item.clone()
	}
	return &c
}

// A Spelling is one of the many ways to write the same JSON value. The zero value
// is compact, with keys and escapes as they come. Many goroutines may read it.
type Spelling struct {
	Indent  string // per level; "" writes all on one line
	Keys    KeyOrder
	Escapes Escapes
}

// A KeyOrder is the order in which an object's members are written. An object
// with a key that stands twice keeps its order, because there it has a meaning.
type KeyOrder uint8

const (
	KeysAsTheyCome KeyOrder = iota
	KeysSorted
	KeysReversed
)

// Escapes says which characters of strings and keys are written as \u escapes.
type Escapes uint8

const (
	EscapesAsTheyCome Escapes = iota
	EscapeNonASCII            // all beyond ASCII, as Python's json does
	EscapeAll                 // every character, which is legal and rare
)

// Respell writes the JSON value of body in another spelling. The value stays the
// same, so that whatever depends on the value must not change. It returns an
// error if body is not JSON.
func Respell(body []byte, o Spelling) ([]byte, error) {
	n, err := parseTree(body)
	if err != nil {
		return nil, err
	}
	return n.write(nil, o, 0), nil
}

// write appends n in the spelling o.
func (n *node) write(dst []byte, o Spelling, depth int) []byte {
	switch n.kind {
	case jsonspan.Object:
		return n.writeAll(dst, o, depth, '{', '}')
	case jsonspan.Array:
		return n.writeAll(dst, o, depth, '[', ']')
	case jsonspan.String:
		return appendEscaped(dst, n.raw[1:len(n.raw)-1], o.Escapes)
	}
	return append(dst, n.raw...)
}

func (n *node) writeAll(dst []byte, o Spelling, depth int, opening, closing byte) []byte {
	dst = append(dst, opening)
	for i, j := range n.order(o.Keys) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = o.newline(dst, depth+1)
		if n.kind == jsonspan.Object {
			dst = appendEscaped(dst, []byte(n.keys[j]), o.Escapes)
			dst = append(dst, ':')
			if o.Indent != "" {
				dst = append(dst, ' ')
			}
		}
		dst = n.items[j].write(dst, o, depth+1)
	}
	if len(n.items) > 0 {
		dst = o.newline(dst, depth)
	}
	return append(dst, closing)
}

func (o *Spelling) newline(dst []byte, depth int) []byte {
	if o.Indent == "" {
		return dst
	}
	dst = append(dst, '\n')
	return append(dst, strings.Repeat(o.Indent, depth)...)
}

// order returns the indices of n's items in the order they are written.
func (n *node) order(k KeyOrder) []int {
	all := make([]int, len(n.items))
	for i := range all {
		all[i] = i
	}
	if n.kind != jsonspan.Object || k == KeysAsTheyCome || n.repeatsKey() {
		return all
	}
	if k == KeysReversed {
		slices.Reverse(all)
		return all
	}
	slices.SortFunc(all, func(a, b int) int { return strings.Compare(n.keys[a], n.keys[b]) })
	return all
}

func (n *node) repeatsKey() bool {
	seen := make(map[string]bool, len(n.keys))
	for _, k := range n.keys {
		name := string(jsonspan.Decode(nil, []byte(k)))
		if seen[name] {
			return true
		}
		seen[name] = true
	}
	return false
}

// dropRepeated keeps the last member of each key.
func (n *node) dropRepeated() {
	seen := make(map[string]bool, len(n.keys))
	for i := len(n.keys) - 1; i >= 0; i-- {
		name := string(jsonspan.Decode(nil, []byte(n.keys[i])))
		if seen[name] {
			n.keys, n.items = slices.Delete(n.keys, i, i+1), slices.Delete(n.items, i, i+1)
		}
		seen[name] = true
	}
}

// appendEscaped appends a string whose content is spelled so already. An escape
// is kept; only characters that stand for themselves are written anew.
func appendEscaped(dst, content []byte, e Escapes) []byte {
	dst = append(dst, '"')
	if e == EscapesAsTheyCome {
		dst = append(dst, content...)
		return append(dst, '"')
	}
	for i := 0; i < len(content); {
		c := content[i]
		switch {
		case c == '\\':
			n := 2
			if content[i+1] == 'u' {
				n = 6
			}
			dst = append(dst, content[i:i+n]...)
			i += n
		case c < utf8.RuneSelf && e != EscapeAll:
			dst = append(dst, c)
			i++
		default:
			r, n := utf8.DecodeRune(content[i:])
			dst = appendU(dst, r)
			i += n
		}
	}
	return append(dst, '"')
}

// appendU appends r as one or two \u escapes.
func appendU(dst []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	if r > 0xFFFF {
		r -= 0x10000
		dst = appendU(dst, 0xD800+r>>10)
		r = 0xDC00 + r&0x3FF
	}
	return append(dst, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}
