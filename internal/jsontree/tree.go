// Package jsontree reads a JSON document as a tree, changes it, and writes it again in
// any spelling. What is not touched is written as it was read.
package jsontree

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pare-llm/pare/internal/jsonspan"
)

// A Node is one JSON value as it is spelled: what is not touched is written as it
// was read, numbers and escapes included.
type Node struct {
	Kind  jsonspan.Kind
	Span  jsonspan.Span // where it was read, quotes and brackets included
	Raw   []byte        // of a scalar; a string with its quotes
	Keys  []string      // of an object, as spelled, without quotes
	Items []*Node       // members' values or elements
}

// Parse reads a document. It refuses what is not JSON, but not flaws.
func Parse(data []byte) (*Node, error) {
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
	free []Node
}

func (r *treeReader) node() *Node {
	if len(r.free) == 0 {
		r.free = make([]Node, min(64, 2+(len(r.data)-r.s.Offset())/16))
	}
	n := &r.free[0]
	r.free = r.free[1:]
	n.Kind = r.s.Peek()
	n.Span.Start = r.s.Offset()
	switch n.Kind {
	case jsonspan.Object:
		r.s.Enter()
		for {
			k, ok := r.s.Key()
			if !ok {
				break
			}
			n.Keys = append(n.Keys, r.text[k.Start:k.End])
			n.Items = append(n.Items, r.node())
		}
	case jsonspan.Array:
		r.s.Enter()
		for r.s.Element() {
			n.Items = append(n.Items, r.node())
		}
	default:
		span := r.s.Skip()
		n.Raw = r.data[span.Start:span.End:span.End]
	}
	n.Span.End = r.s.Offset()
	return n
}

// Constructors. An object is given as keys and values in turn.

func Object(members ...any) *Node {
	n := &Node{Kind: jsonspan.Object, Keys: make([]string, 0, len(members)/2+1), Items: make([]*Node, 0, len(members)/2+1)}
	for i := 0; i < len(members); i += 2 {
		n.Add(members[i].(string), members[i+1].(*Node))
	}
	return n
}

func List(items ...*Node) *Node { return &Node{Kind: jsonspan.Array, Items: items} }

func Text(s string) *Node {
	return &Node{Kind: jsonspan.String, Raw: jsonspan.AppendQuote(make([]byte, 0, len(s)+8), s)}
}

// Literal is a number, true, false or null.
func Literal(s string) *Node {
	kind := jsonspan.Number
	switch s[0] {
	case 't', 'f':
		kind = jsonspan.Bool
	case 'n':
		kind = jsonspan.Null
	}
	return &Node{Kind: kind, Raw: []byte(s)}
}

func (n *Node) Add(key string, v *Node) {
	n.Keys, n.Items = append(n.Keys, key), append(n.Items, v)
}

// Get returns a member, the last one if it stands twice, or nil.
func (n *Node) Get(key string) *Node {
	if n == nil || n.Kind != jsonspan.Object {
		return nil
	}
	for i := len(n.Keys) - 1; i >= 0; i-- {
		if n.Key(i) == key {
			return n.Items[i]
		}
	}
	return nil
}

// Key is the name of member i.
func (n *Node) Key(i int) string {
	k := n.Keys[i]
	if strings.IndexByte(k, '\\') < 0 {
		return k
	}
	return string(jsonspan.Decode(nil, []byte(k)))
}

// At follows a dotted path, or returns nil.
func (n *Node) At(path string) *Node {
	for step := range strings.SplitSeq(path, ".") {
		if n == nil {
			return nil
		}
		if n.Kind != jsonspan.Array {
			n = n.Get(step)
			continue
		}
		i, err := strconv.Atoi(step)
		if err != nil || i >= len(n.Items) {
			return nil
		}
		n = n.Items[i]
	}
	return n
}

// Walk calls f for n and everything in it, parents first.
func (n *Node) Walk(f func(*Node)) {
	f(n)
	for _, item := range n.Items {
		item.Walk(f)
	}
}

// Clone returns a copy that shares no lists with n.
func (n *Node) Clone() *Node {
	c := *n
	c.Keys = slices.Clone(n.Keys)
	c.Items = make([]*Node, len(n.Items))
	for i, item := range n.Items {
		c.Items[i] = item.Clone()
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
	n, err := Parse(body)
	if err != nil {
		return nil, err
	}
	return n.Write(nil, o, 0), nil
}

// Write appends n in the spelling o.
func (n *Node) Write(dst []byte, o Spelling, depth int) []byte {
	switch n.Kind {
	case jsonspan.Object:
		return n.writeAll(dst, o, depth, '{', '}')
	case jsonspan.Array:
		return n.writeAll(dst, o, depth, '[', ']')
	case jsonspan.String:
		return appendEscaped(dst, n.Raw[1:len(n.Raw)-1], o.Escapes)
	}
	return append(dst, n.Raw...)
}

func (n *Node) writeAll(dst []byte, o Spelling, depth int, opening, closing byte) []byte {
	dst = append(dst, opening)
	for i, j := range n.order(o.Keys) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = o.newline(dst, depth+1)
		if n.Kind == jsonspan.Object {
			dst = appendEscaped(dst, []byte(n.Keys[j]), o.Escapes)
			dst = append(dst, ':')
			if o.Indent != "" {
				dst = append(dst, ' ')
			}
		}
		dst = n.Items[j].Write(dst, o, depth+1)
	}
	if len(n.Items) > 0 {
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
func (n *Node) order(k KeyOrder) []int {
	all := make([]int, len(n.Items))
	for i := range all {
		all[i] = i
	}
	if n.Kind != jsonspan.Object || k == KeysAsTheyCome || n.RepeatsKey() {
		return all
	}
	if k == KeysReversed {
		slices.Reverse(all)
		return all
	}
	slices.SortFunc(all, func(a, b int) int { return strings.Compare(n.Keys[a], n.Keys[b]) })
	return all
}

func (n *Node) RepeatsKey() bool {
	seen := make(map[string]bool, len(n.Keys))
	for _, k := range n.Keys {
		name := string(jsonspan.Decode(nil, []byte(k)))
		if seen[name] {
			return true
		}
		seen[name] = true
	}
	return false
}

// DropRepeated keeps the last member of each key.
func (n *Node) DropRepeated() {
	seen := make(map[string]bool, len(n.Keys))
	for i := len(n.Keys) - 1; i >= 0; i-- {
		name := string(jsonspan.Decode(nil, []byte(n.Keys[i])))
		if seen[name] {
			n.Keys, n.Items = slices.Delete(n.Keys, i, i+1), slices.Delete(n.Items, i, i+1)
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
			dst = AppendU(dst, r)
			i += n
		}
	}
	return append(dst, '"')
}

// AppendU appends r as one or two \u escapes.
func AppendU(dst []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	if r > 0xFFFF {
		r -= 0x10000
		dst = AppendU(dst, 0xD800+r>>10)
		r = 0xDC00 + r&0x3FF
	}
	return append(dst, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}

// String returns the string that a member is, or "".
func (n *Node) String(key string) string {
	if v := n.Get(key); v != nil && v.Kind == jsonspan.String {
		return string(jsonspan.Decode(nil, v.Raw[1:len(v.Raw)-1]))
	}
	return ""
}
