package config

import (
	"bytes"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
)

// A File is a configuration file and whether the user vouches for it. Many goroutines may read it.
type File struct {
	Name    string // as in error messages; its ending tells whether Data is JSON
	Data    []byte
	Trusted bool // false: its sensitive settings are ignored
}

// ReadFile reads a file, up to a size that no configuration has. The file is not trusted.
func ReadFile(path string) (File, error) {
	f, err := os.Open(path)
	if err != nil {
		return File{}, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	return File{Name: path, Data: data}, err
}

// Merge reads files in the order of their precedence, the lowest first. It also returns the
// sensitive settings that it ignored because their file is not trusted.
//
// A setting of a later file replaces that of an earlier one, and so does a list. The tables of
// tool, expression and constraint are joined; of two with the same name the later one counts.
// Settings of one [unit] come from one file.
//
// The error is an [Errors]. A file with an error has no effect at all, not even by the
// settings that are right.
func Merge(files ...File) (*Config, []Setting, error) {
	var ignored []Setting
	s, merged := newSource(new(document)), &value{kind: table}
	for _, f := range files {
		doc := newDocument(f)
		root, err := doc.parse()
		if err != nil {
			return nil, nil, err
		}
		if !f.Trusted {
			rest, withheld := doc.withhold(root, "")
			if err := doc.validateTypes(root); err != nil && len(withheld) > 0 {
				return nil, nil, err
			}
			root, ignored = rest, append(ignored, withheld...)
		}
		s.document, merged = doc, overlay(merged, root)
	}
	s.index(merged, "", 0)
	c := &Config{}
	s.decode(merged, reflect.ValueOf(c).Elem(), "", "")
	// Keys that do not fit leave nothing behind, so what else is wrong can still be
	// told in the same run.
	c.build(s)
	if len(s.errors) > 0 {
		return nil, nil, s.errors.sorted()
	}
	return c, ignored, nil
}

func newDocument(f File) *document {
	return &document{name: f.Name, data: bytes.TrimPrefix(f.Data, []byte("\ufeff")), json: isJSON(f.Name, f.Data)}
}

// parse returns the tree of a document whose syntax is right.
func (d *document) parse() (*value, error) {
	s := newSource(d)
	if len(d.data) > maxFile {
		s.failAt(place{}, "", "", "the file is larger than %d bytes", maxFile)
		return nil, s.errors
	}
	root := s.read()
	if root == nil {
		return nil, s.errors
	}
	s.index(root, "", 0)
	if !s.wants(root, table, "", "") {
		return nil, s.errors
	}
	return root, nil
}

// validateTypes returns an [Errors] if a key of the tree is unknown, or its value has the wrong
// type or range.
func (d *document) validateTypes(root *value) error {
	s := newSource(d)
	s.index(root, "", 0)
	s.decode(root, reflect.ValueOf(&Config{}).Elem(), "", "")
	if len(s.errors) > 0 {
		return s.errors.sorted()
	}
	return nil
}

// A unit is settings that are about each other. If a file has one of them, those of an earlier
// file do not count.
type unit []string

var units = []unit{
	// So that a key is only sent to the address that the same file names.
	{"compact.by", "compact.endpoint", "compact.api", "compact.model", "compact.key_env", "compact.plain_http"},
	{"keep_recent", "rules.recency.enabled", "rules.recency.messages", "rules.recency.turns", "rules.recency.exchanges"},
	{
		"window.tokens", "window.messages", "window.exchanges", "window.turns", "window.low", "window.cache", "window.cold",
		"window.order", "window.priority",
	},
}

// namedTables are the lists whose tables have a name, and are joined by it.
var namedTables = []string{"tool", "expression", "constraint"}

// overlay returns the tree of low with that of high over it.
func overlay(low, high *value) *value {
	replaced := make(map[string]bool)
	for _, u := range units {
		if slices.ContainsFunc(u, func(path string) bool { return high.find(path) != nil }) {
			for _, path := range u {
				replaced[path] = true
			}
		}
	}
	return overlayTable(low, high, "", replaced)
}

// overlayTable is overlay for two tables at the same path. The replaced paths of low do not count.
func overlayTable(low, high *value, path string, replaced map[string]bool) *value {
	merged := &value{kind: table, doc: high.doc, at: high.at, end: high.end}
	for _, m := range low.members {
		at, over := join(path, m.key), high.get(m.key)
		switch {
		case replaced[at]:
		case over == nil && m.value.kind == table:
			merged.addRest(m, overlayTable(m.value, &value{doc: m.value.doc, at: m.value.at}, at, replaced))
		case over == nil:
			merged.add(m.key, m.at, m.value)
		case over.kind == table && m.value.kind == table:
			merged.add(m.key, over.at, overlayTable(m.value, over, at, replaced))
		case over.kind == list && m.value.kind == list && slices.Contains(namedTables, at):
			merged.add(m.key, over.at, joinByName(m.value, over))
		}
	}
	for _, m := range high.members {
		if merged.get(m.key) == nil {
			merged.add(m.key, m.at, m.value)
		}
	}
	return merged
}

// addRest adds the rest of a table from which keys were removed. A table that lost all of its
// keys is left out, because a table can have a meaning even if it is empty.
func (v *value) addRest(was member, rest *value) {
	if len(rest.members) > 0 || len(was.value.members) == 0 {
		v.add(was.key, was.at, rest)
	}
}

// joinByName returns the tables of low whose name is not in high, followed by those of high.
func joinByName(low, high *value) *value {
	joined := &value{kind: list, doc: high.doc, at: high.at, end: high.end}
	for _, item := range low.items {
		if !slices.ContainsFunc(high.items, func(other *value) bool { return sameName(item, other) }) {
			joined.items = append(joined.items, item)
		}
	}
	joined.items = append(joined.items, high.items...)
	return joined
}

func sameName(a, b *value) bool {
	x, y := a.get("name"), b.get("name")
	return x != nil && y != nil && strings.EqualFold(x.text, y.text)
}

// find returns the value at a path of keys, or nil.
func (v *value) find(path string) *value {
	for key := range strings.SplitSeq(path, ".") {
		if v = v.get(key); v == nil {
			return nil
		}
	}
	return v
}
