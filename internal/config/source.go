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
	at, end int // bytes of the file; end is 0 where the reader does not know
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

// A source is a file that is being read: its bytes, where each path stands, and
// what is wrong with it.
type source struct {
	name   string
	data   []byte
	json   bool              // written as JSON; hints show what to write in the same format
	values map[string]*value // by path, such as expression.0.when
	keys   map[string]int    // offset of the key, by path
	errors Errors
}

func newSource(name string, data []byte) *source {
	return &source{name: name, data: data, values: make(map[string]*value), keys: make(map[string]int)}
}

// maxErrors is as many as anybody reads, and keeps a hostile file from being slow.
const maxErrors = 50

func (s *source) full() bool { return len(s.errors) >= maxErrors }

// failAt reports what is wrong at an offset.
func (s *source) failAt(offset int, path, hint, format string, args ...any) {
	if s.full() {
		return
	}
	line, column := s.position(offset)
	s.errors = append(s.errors, &Error{File: s.name, Line: line, Column: column, Path: path, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// fail reports what is wrong with the value at a path.
func (s *source) fail(path, hint, format string, args ...any) {
	if v, ok := s.values[path]; ok {
		s.failAt(v.at, path, hint, format, args...)
		return
	}
	s.failAt(-1, path, hint, format, args...)
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
func (s *source) position(offset int) (line, column int) {
	if offset < 0 {
		return 0, 0
	}
	offset = min(offset, len(s.data))
	line, start := 1, 0
	for i, c := range s.data[:offset] {
		if c == '\n' {
			line++
			start = i + 1
		}
	}
	return line, utf8.RuneCount(s.data[start:offset]) + 1
}

// index notes where each path of the tree stands. Nothing that is known lies deep,
// and paths of paths would be long.
func (s *source) index(v *value, path string, depth int) {
	s.values[path] = v
	if depth > deepest {
		return
	}
	for _, m := range v.members {
		p := join(path, m.key)
		s.keys[p] = m.at
		s.index(m.value, p, depth+1)
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
		t = string(s.data[v.at:max(v.at, v.end)])
	}
	if utf8.RuneCountInString(t) > most {
		t = string([]rune(t)[:most]) + "…"
	}
	return t
}
