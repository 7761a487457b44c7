package config

import (
	"errors"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// readTOML reads a TOML file into a tree, or reports where it stops being one.
//
// The library's decoder judges the file first, so that the tree is built from a
// file that is known to be valid: no key twice, no table over a value.
func (s *source) readTOML() *value {
	var discard map[string]any
	if err := toml.Unmarshal(s.data, &discard); err != nil {
		var decode *toml.DecodeError
		if !errors.As(err, &decode) {
			s.failAt(place{}, "", "", "invalid TOML: %v", err)
			return nil
		}
		line, column := decode.Position()
		path := strings.Join(decode.Key(), ".")
		s.failAt(place{s.document, s.offset(line, column)}, path, "", "invalid TOML: %s", strings.TrimPrefix(decode.Error(), "toml: "))
		return nil
	}
	r := tomlReader{source: s, root: &value{kind: table}}
	r.p.Reset(s.data)
	r.current = r.root
	for r.p.NextExpression() {
		r.expression(r.p.Expression())
	}
	return r.root
}

// offset returns the byte that the library calls line and column.
func (s *source) offset(line, column int) int {
	at := 0
	for ; line > 1; line-- {
		next := strings.IndexByte(string(s.data[at:]), '\n')
		if next < 0 {
			break
		}
		at += next + 1
	}
	return at + column - 1
}

type tomlReader struct {
	*source
	p       unstable.Parser
	root    *value
	current *value // the table that a header has opened
}

// expression adds one line of the file, or one value over several lines.
func (r *tomlReader) expression(n *unstable.Node) {
	switch n.Kind {
	case unstable.Table:
		r.current = r.open(r.root, n.Key(), false)
	case unstable.ArrayTable:
		r.current = r.open(r.root, n.Key(), true)
	case unstable.KeyValue:
		r.keyValue(r.current, n, 0)
	}
}

// open returns the table that a key leads to and makes what is missing. If fresh
// is set, the key is a list and gets a new table.
func (r *tomlReader) open(in *value, key unstable.Iterator, fresh bool) *value {
	for key.Next() {
		n := key.Node()
		name, at := string(n.Data), int(n.Raw.Offset)
		next := in.get(name)
		if next == nil {
			next = &value{kind: table, at: at}
			if fresh && key.IsLast() {
				next.kind = list
			}
			in.add(name, at, next)
		}
		if fresh && key.IsLast() {
			next.items = append(next.items, &value{kind: table, at: at})
		}
		if next.kind == list { // a header reaches into the newest table of a list
			next = next.items[len(next.items)-1]
		}
		in = next
	}
	return in
}

func (r *tomlReader) keyValue(in *value, n *unstable.Node, depth int) {
	key := n.Key()
	for key.Next() {
		k := key.Node()
		name, at := string(k.Data), int(k.Raw.Offset)
		if key.IsLast() {
			in.add(name, at, r.value(n.Value(), at, depth))
			return
		}
		next := in.get(name)
		if next == nil {
			next = &value{kind: table, at: at}
			in.add(name, at, next)
		}
		in = next
	}
}

// value reads one value; at is where its key stands, for kinds that the library
// gives no place.
func (r *tomlReader) value(n *unstable.Node, at, depth int) *value {
	v := &value{at: at}
	if n.Raw.Length > 0 {
		v.at, v.end = int(n.Raw.Offset), int(n.Raw.Offset+n.Raw.Length)
	}
	if depth > deepest {
		return v
	}
	switch n.Kind {
	case unstable.String:
		v.kind, v.text = text, string(n.Data)
	case unstable.Bool:
		v.kind, v.boolean = boolean, string(n.Data) == "true"
	case unstable.Integer, unstable.Float:
		v.number(strings.ReplaceAll(strings.TrimPrefix(string(n.Data), "+"), "_", ""))
	case unstable.Array:
		v.kind = list
		for it := n.Children(); it.Next(); {
			v.items = append(v.items, r.value(it.Node(), v.at, depth+1))
		}
	case unstable.InlineTable:
		v.kind = table
		for it := n.Children(); it.Next(); {
			r.keyValue(v, it.Node(), depth+1)
		}
	}
	// The library gives lists and inline tables no place: that of their first
	// element is near enough.
	switch {
	case v.end > 0:
	case len(v.items) > 0:
		v.at = v.items[0].at
	case len(v.members) > 0:
		v.at = v.members[0].at
	}
	return v
}
