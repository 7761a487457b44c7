package config

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// A kind is what a value in a file is. Both formats have these.
type kind uint8

const (
	unset   kind = iota // null, or a kind of TOML that nothing here wants
	table               // an object
	list                // an array
	text                // a string
	integer             // a whole number
	decimal             // any other number
	boolean
)

func (k kind) String() string {
	return [...]string{"nothing", "a table", "a list", "a text", "a whole number", "a number", "true or false"}[k]
}

// A value is one value of a file and where it stands.
type value struct {
	kind    kind
	doc     *document // set by index
	at, end int       // bytes of the file; end is 0 where the reader does not know
	text    string
	integer int64
	decimal float64
	boolean bool
	members []member // in the order of the file
	keys    map[string]*value
	items   []*value
}

// A member is a key of a table with its value.
type member struct {
	key   string
	at    int
	value *value
}

// get returns the value of a key, or nil.
func (v *value) get(key string) *value { return v.keys[key] }

// add puts a member behind the others.
func (v *value) add(key string, at int, of *value) {
	if v.keys == nil {
		v.keys = make(map[string]*value)
	}
	v.keys[key] = of
	v.members = append(v.members, member{key, at, of})
}

// A document is the content of one file.
type document struct {
	name string
	data []byte
	json bool // written as JSON; hints show what to write in the same format
}

// A place is an offset in a document. The zero value is no place in a file.
type place struct {
	doc    *document
	offset int
}

func (v *value) place() place { return place{v.doc, v.at} }

// A source is the configuration that is being read, from one or more documents: where each
// path is and everything that is wrong. Its document is the one of the highest precedence.
type source struct {
	*document
	values map[string]*value // by path, such as expression.0.when
	keys   map[string]place  // of the key, by path
	errors Errors
}

func newSource(doc *document) *source {
	return &source{document: doc, values: make(map[string]*value), keys: make(map[string]place)}
}

// maxErrors is as many as anybody reads, and keeps a hostile file from being slow.
const maxErrors = 50

func (s *source) full() bool { return len(s.errors) >= maxErrors }

// failAt reports what is wrong at a place.
func (s *source) failAt(at place, path, hint, format string, args ...any) {
	if s.full() {
		return
	}
	e := &Error{File: s.name, Path: path, Message: fmt.Sprintf(format, args...), Hint: hint}
	if at.doc != nil {
		e.File = at.doc.name
		e.Line, e.Column = at.doc.position(at.offset)
	}
	s.errors = append(s.errors, e)
}

// fail reports what is wrong with the value at a path.
func (s *source) fail(path, hint, format string, args ...any) {
	if v, ok := s.values[path]; ok {
		s.failAt(v.place(), path, hint, format, args...)
		return
	}
	s.failAt(place{}, path, hint, format, args...)
}

// failKey reports what is wrong with the key at a path.
func (s *source) failKey(path, hint, format string, args ...any) {
	if at, ok := s.keys[path]; ok {
		s.failAt(at, path, hint, format, args...)
		return
	}
	s.fail(path, hint, format, args...)
}

// failed reports whether something was wrong with the value at a path.
func (s *source) failed(path string) bool {
	return slices.ContainsFunc(s.errors, func(e *Error) bool { return e.Path == path })
}

// failedBelow reports whether something was wrong with a table or what is in it.
func (s *source) failedBelow(path string) bool {
	return slices.ContainsFunc(s.errors, func(e *Error) bool { return e.Path == path || strings.HasPrefix(e.Path, path+".") })
}

// has reports whether the file says anything at a path.
func (s *source) has(path string) bool { return s.values[path] != nil }

// position turns an offset into line and column, in characters as editors count.
func (d *document) position(offset int) (line, column int) {
	offset = min(offset, len(d.data))
	line, start := 1, 0
	for i, c := range d.data[:offset] {
		if c == '\n' {
			line++
			start = i + 1
		}
	}
	return line, utf8.RuneCount(d.data[start:offset]) + 1
}

// index notes where each path of the tree stands, and gives each value of the tree its
// document, unless it has one. Nothing that is known lies deep, and paths of paths would be long.
func (s *source) index(v *value, path string, depth int) {
	if v.doc == nil {
		v.doc = s.document
	}
	s.values[path] = v
	if depth > deepest {
		return
	}
	for _, m := range v.members {
		p := join(path, m.key)
		s.index(m.value, p, depth+1)
		s.keys[p] = place{m.value.doc, m.at}
	}
	for i, item := range v.items {
		s.index(item, join(path, fmt.Sprint(i)), depth+1)
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// assign shows how to write a key with its value, given as TOML and JSON have it in
// common.
func (s *source) assign(key, value string) string {
	if s.json {
		if inner, ok := strings.CutPrefix(value, "'"); ok {
			value = fmt.Sprintf("%q", strings.TrimSuffix(inner, "'"))
		}
		return fmt.Sprintf("%q: %s", key, value)
	}
	return key + " = " + value
}

// inline shows how to write a table with one key.
func (s *source) inline(key, value string) string {
	if s.json {
		return "{" + s.assign(key, value) + "}"
	}
	return "{ " + s.assign(key, value) + " }"
}

// shown quotes what stands in the file for a message, cut to a readable length.
func (s *source) shown(v *value) string {
	const most = 60
	var t string
	switch v.kind {
	case text:
		t = fmt.Sprintf("%q", v.text)
	case table, list:
		return v.kind.String()
	default:
		t = string(v.doc.data[v.at:max(v.at, v.end)])
	}
	if utf8.RuneCountInString(t) > most {
		t = string([]rune(t)[:most]) + "…"
	}
	return t
}
