package truth

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A node is a JSON value as written: members in their order, repeated keys included. It has
// its own parser, so that the relation does not depend on the product's.
type node struct {
	kind byte     // 'o' object, 'a' array, 's' string, 'l' any other literal
	text string   // of a string, decoded; of a literal, as written
	keys []string // of an object
	vals []*node  // of an object or an array
}

func str(s string) *node      { return &node{kind: 's', text: s} }
func literal(s string) *node  { return &node{kind: 'l', text: s} }
func list(all ...*node) *node { return &node{kind: 'a', vals: all} }
func member(key string, val *node) *node {
	return &node{kind: 'o', keys: []string{key}, vals: []*node{val}}
}

func (n *node) copy() *node {
	c := &node{kind: n.kind, text: n.text, keys: append([]string(nil), n.keys...)}
	for _, v := range n.vals {
		c.vals = append(c.vals, v.copy())
	}
	return c
}

// get returns the last member of that name, nil if there is none.
func (n *node) get(key string) *node {
	for i := len(n.keys) - 1; i >= 0; i-- {
		if n.keys[i] == key {
			return n.vals[i]
		}
	}
	return nil
}

// remove takes the child i out.
func (n *node) remove(i int) {
	n.vals = append(n.vals[:i:i], n.vals[i+1:]...)
	if n.kind == 'o' {
		n.keys = append(n.keys[:i:i], n.keys[i+1:]...)
	}
}

// put inserts a child before the child i; an array ignores the key.
func (n *node) put(i int, key string, v *node) {
	n.vals = append(n.vals[:i:i], append([]*node{v}, n.vals[i:]...)...)
	if n.kind == 'o' {
		n.keys = append(n.keys[:i:i], append([]string{key}, n.keys[i:]...)...)
	}
}

// walk calls f for a node and everything in it, parents first.
func (n *node) walk(f func(n *node)) {
	f(n)
	for _, v := range n.vals {
		v.walk(f)
	}
}

var errNoJSON = errors.New("no JSON")

// readTree reads one JSON text.
func readTree(raw []byte) (*node, error) {
	r := reader{raw: raw}
	n, err := r.value(0)
	if err != nil {
		return nil, err
	}
	if r.space(); r.at < len(raw) {
		return nil, errNoJSON
	}
	return n, nil
}

// mustTree reads a template.
func mustTree(text string) *node {
	n, err := readTree([]byte(text))
	if err != nil {
		panic("a template that is no JSON: " + text)
	}
	return n
}

type reader struct {
	raw []byte
	at  int
}

func (r *reader) space() {
	for r.at < len(r.raw) && strings.IndexByte(" \t\r\n", r.raw[r.at]) >= 0 {
		r.at++
	}
}

// next skips space and takes the byte c if it comes next.
func (r *reader) next(c byte) bool {
	if r.space(); r.at < len(r.raw) && r.raw[r.at] == c {
		r.at++
		return true
	}
	return false
}

func (r *reader) value(depth int) (*node, error) {
	switch {
	case depth > 500:
		return nil, errNoJSON
	case r.next('{'):
		return r.object(depth)
	case r.next('['):
		return r.array(depth)
	case r.next('"'):
		s, err := r.str()
		return str(s), err
	}
	end := r.at
	for end < len(r.raw) && strings.IndexByte(" \t\r\n,]}:\"", r.raw[end]) < 0 {
		end++
	}
	if end == r.at {
		return nil, errNoJSON
	}
	n := literal(string(r.raw[r.at:end]))
	r.at = end
	return n, nil
}

func (r *reader) object(depth int) (*node, error) {
	n := &node{kind: 'o'}
	for first := true; !r.next('}'); first = false {
		if !first && !r.next(',') || !r.next('"') {
			return nil, errNoJSON
		}
		key, err := r.str()
		if err != nil || !r.next(':') {
			return nil, errNoJSON
		}
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		n.keys, n.vals = append(n.keys, key), append(n.vals, v)
	}
	return n, nil
}

func (r *reader) array(depth int) (*node, error) {
	n := &node{kind: 'a'}
	for first := true; !r.next(']'); first = false {
		if !first && !r.next(',') {
			return nil, errNoJSON
		}
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		n.vals = append(n.vals, v)
	}
	return n, nil
}

// str reads a string after its quotation mark.
func (r *reader) str() (string, error) {
	start := r.at
	for ; r.at < len(r.raw); r.at++ {
		switch r.raw[r.at] {
		case '"':
			r.at++
			return unescape(r.raw[start : r.at-1]), nil
		case '\\':
			r.at++
		}
	}
	return "", errNoJSON
}

// unescape decodes the inside of a JSON string; half of a pair becomes the replacement rune.
func unescape(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw)
	}
	var out []byte
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' || i+1 == len(raw) {
			out = append(out, raw[i])
			continue
		}
		i++
		switch raw[i] {
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
			out = append(out, '\r')
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'u':
			u := hex4(raw, i+1)
			i += 4
			if utf16.IsSurrogate(u) {
				pair := utf16.DecodeRune(u, hex4(raw, i+3))
				if pair != utf8.RuneError && i+2 < len(raw) && raw[i+1] == '\\' && raw[i+2] == 'u' {
					i += 6
				}
				u = pair
			}
			out = utf8.AppendRune(out, u)
		default:
			out = append(out, raw[i])
		}
	}
	return string(out)
}

func hex4(raw []byte, i int) rune {
	if i < 0 || i+4 > len(raw) {
		return utf8.RuneError
	}
	u, err := strconv.ParseUint(string(raw[i:i+4]), 16, 32)
	if err != nil {
		return utf8.RuneError
	}
	return rune(u)
}

// write appends a node as JSON. A zero byte in a string marks the next character as escaped.
func (n *node) write(out []byte) []byte {
	switch n.kind {
	case 's':
		return writeString(out, n.text)
	case 'l':
		return append(out, n.text...)
	case 'a':
		out = append(out, '[')
		for i, v := range n.vals {
			if i > 0 {
				out = append(out, ',')
			}
			out = v.write(out)
		}
		return append(out, ']')
	}
	out = append(out, '{')
	for i, v := range n.vals {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(writeString(out, n.keys[i]), ':')
		out = v.write(out)
	}
	return append(out, '}')
}

func writeString(out []byte, s string) []byte {
	out = append(out, '"')
	escape := false
	for _, r := range s {
		switch {
		case r == 0:
			escape = true
			continue
		case r == '"' || r == '\\':
			out = append(out, '\\', byte(r))
		case r < ' ' || escape && r < 0x10000:
			const digits = "0123456789abcdef"
			out = append(out, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
		default:
			out = utf8.AppendRune(out, r)
		}
		escape = false
	}
	return append(out, '"')
}
