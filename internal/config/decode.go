package config

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// decode fills a Go value from a tree and reports everything that does not fit.
//
// The keys are the json tags, so that one set of structs serves both formats, the
// schema and the options of the standard rules. Tags of our own narrow a field:
// enum lists what a text may be, min and max bound a number, required demands it.
func (s *source) decode(v *value, into reflect.Value, path string, tag reflect.StructTag) {
	if into.Kind() == reflect.Pointer {
		p := reflect.New(into.Type().Elem())
		s.decode(v, p.Elem(), path, tag)
		into.Set(p)
		return
	}
	if r, ok := into.Addr().Interface().(reader); ok {
		r.read(s, v, path)
		return
	}
	if tables, ok := into.Addr().Interface().(*Tables); ok {
		if s.wants(v, table, path, tag) {
			s.decodeRules(v, tables, path)
		}
		return
	}
	switch into.Kind() {
	case reflect.Struct:
		if s.wants(v, table, path, tag) {
			s.decodeTable(v, path, into)
		}
	case reflect.Map:
		if s.wants(v, table, path, "") && len(v.members) > 0 {
			s.decodeMap(v, into, path, tag)
		}
	case reflect.Slice:
		s.decodeList(v, into, path, tag)
	case reflect.String:
		if s.wants(v, text, path, tag) && s.allowed(v, path, tag) {
			into.SetString(v.text)
		}
	case reflect.Bool:
		if s.wants(v, boolean, path, tag) {
			into.SetBool(v.boolean)
		}
	case reflect.Int, reflect.Int64:
		if s.wants(v, integer, path, tag) && s.bounded(v, path, tag) {
			into.SetInt(v.integer)
		}
	case reflect.Float64:
		if v.kind == integer || s.wants(v, decimal, path, tag) {
			if s.bounded(v, path, tag) {
				into.SetFloat(v.decimal)
			}
		}
	default:
		panic("config: no way to read a " + into.Type().String())
	}
}

// A reader is a type that more than one kind of value is read into, or only some
// texts. Shape tells the schema which.
type reader interface {
	read(s *source, v *value, path string)
	shape() (types []string, pattern string)
}

// examples are what a hint shows of a kind.
var examples = map[kind]string{
	table: "{ key = \"value\" }", list: "[\"value\"]", text: "\"value\"", integer: "10", decimal: "0.5", boolean: "true",
}

// wants reports a value of another kind than the one wanted.
func (s *source) wants(v *value, k kind, path string, tag reflect.StructTag) bool {
	if v.kind == k {
		return true
	}
	hint := "write " + k.String() + ", such as " + examples[k]
	switch {
	case k == table && !s.json && !strings.ContainsAny(path, "0123456789"):
		if hint = fmt.Sprintf("write [%s], and its keys below", path); v.kind == list {
			hint = fmt.Sprintf("write [%s] in place of [[%s]]", path, path)
		}
	case k == table && s.json:
		hint = "write an object, such as {\"key\": \"value\"}"
	case k == text && tag.Get("enum") != "":
		hint = oneOf(strings.Split(tag.Get("enum"), ","))
	case k == text && (v.kind == integer || v.kind == boolean):
		hint = fmt.Sprintf("write %q", s.shown(v))
	case k == integer && v.kind == text && isInt(v.text):
		hint = "write " + v.text + " without quotes"
	case k == integer && v.kind == decimal && math.Trunc(v.decimal) == v.decimal && math.Abs(v.decimal) < 1e15:
		hint = fmt.Sprintf("write %d", int64(v.decimal))
	case k == boolean && v.kind == text && (v.text == "true" || v.text == "false"):
		hint = "write " + v.text + " without quotes"
	case k == boolean:
		hint = "write true or false"
	}
	if v.kind == table || v.kind == list {
		s.fail(path, hint, "this is %s, not %s", v.kind, k)
	} else if v.kind == unset {
		s.fail(path, hint, "%s is not %s", s.shown(v), k)
	} else {
		s.fail(path, hint, "%s is %s, not %s", s.shown(v), v.kind, k)
	}
	return false
}

func isInt(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil
}

// allowed reports a text that is none of the choices.
func (s *source) allowed(v *value, path string, tag reflect.StructTag) bool {
	enum := tag.Get("enum")
	if enum == "" {
		return true
	}
	choices := strings.Split(enum, ",")
	if slices.Contains(choices, v.text) {
		return true
	}
	s.fail(path, pick(v.text, choices), "%s is not allowed here", s.shown(v))
	return false
}

// bounded reports a number that is out of range. Counts and sizes are never
// negative, so that is the rule where no tag says otherwise.
func (s *source) bounded(v *value, path string, tag reflect.StructTag) bool {
	low, high := bounds(tag)
	switch {
	case math.IsNaN(v.decimal):
		s.fail(path, "write a number from "+number(low)+" on", "nan is not a number")
	case v.decimal < low:
		s.fail(path, "write "+number(low)+" or more", "%s is too small", s.shown(v))
	case v.decimal > high:
		s.fail(path, "write "+number(high)+" or less", "%s is too large", s.shown(v))
	default:
		return true
	}
	return false
}

// largest bounds numbers for which no tag does: nothing here counts further.
const largest = 1 << 40

func bounds(tag reflect.StructTag) (low, high float64) {
	high = largest
	if t, ok := tag.Lookup("min"); ok {
		low, _ = strconv.ParseFloat(t, 64)
	}
	if t, ok := tag.Lookup("max"); ok {
		high, _ = strconv.ParseFloat(t, 64)
	}
	return low, high
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func (s *source) decodeList(v *value, into reflect.Value, path string, tag reflect.StructTag) {
	if v.kind == text && into.Type().Elem().Kind() == reflect.String {
		s.fail(path, fmt.Sprintf("write [%q]", v.text), "%s is a text, not a list", s.shown(v))
		return
	}
	if v.kind == table && into.Type().Elem().Kind() == reflect.Struct {
		hint := "write [[" + path + "]]"
		if s.json {
			hint = "write [{…}]"
		}
		s.failKey(path, hint, "this is a table, not a list of tables")
		return
	}
	if !s.wants(v, list, path, "") || len(v.items) == 0 {
		return // an empty list says as much as none
	}
	out := reflect.MakeSlice(into.Type(), 0, len(v.items))
	for i, item := range v.items {
		// What does not fit is zero, so that what follows keeps its number.
		elem := reflect.New(into.Type().Elem()).Elem()
		s.decode(item, elem, join(path, strconv.Itoa(i)), tag)
		out = reflect.Append(out, elem)
	}
	into.Set(out)
}

// decodeMap reads a table of any keys. The tags of the field are about its values.
func (s *source) decodeMap(v *value, into reflect.Value, path string, tag reflect.StructTag) {
	out := reflect.MakeMap(into.Type())
	for _, m := range v.members {
		elem := reflect.New(into.Type().Elem()).Elem()
		s.decode(m.value, elem, join(path, m.key), tag)
		out.SetMapIndex(reflect.ValueOf(m.key), elem)
	}
	into.Set(out)
}

// decodeTable reads a table whose keys are those of one or more structs.
func (s *source) decodeTable(v *value, path string, parts ...reflect.Value) {
	known := make(map[string]reflect.Value)
	var fields []field
	for _, part := range parts {
		for _, f := range fieldsOf(part.Type()) {
			known[f.key] = part.FieldByIndex(f.index)
			fields = append(fields, f)
		}
	}
	for _, m := range v.members {
		i := slices.IndexFunc(fields, func(f field) bool { return f.key == m.key })
		if i < 0 && s.full() {
			break // hints take time
		}
		if i < 0 {
			s.unknown("key", path, m.key, keysOf(fields))
			continue
		}
		s.decode(m.value, known[m.key], join(path, m.key), fields[i].tag)
	}
	for _, f := range fields {
		if f.tag.Get("required") != "" && v.get(f.key) == nil {
			s.fail(path, "write "+s.assign(f.key, f.tag.Get("required")), "%s is missing", f.key)
		}
	}
}

// removedKeys maps keys of earlier versions to a hint at their successors.
var removedKeys = map[string]string{
	"recall": "write [archive] with file = \"removed.jsonl\"; agents then read what was removed with pare recall",
}

// unknown reports a key that is none of those that there are.
func (s *source) unknown(what, path, key string, keys []string) {
	if successor := removedKeys[join(path, key)]; successor != "" {
		s.failKey(join(path, key), successor, "this %s was removed", what)
		return
	}
	hint := pick(key, keys)
	if other := elsewhere(path, key); other != "" {
		hint = other
	}
	s.failKey(join(path, key), hint, "there is no %s %q here", what, key)
}

// choose reports a text of a Config made in Go that is none of the choices; those of
// a file were reported when it was read.
func (s *source) choose(path, text string, choices ...string) {
	if text != "" && !slices.Contains(choices, text) && !s.failed(path) {
		s.fail(path, pick(text, choices), "%q is not allowed here", text)
	}
}

// A field is one key that a struct reads, those of embedded structs included.
type field struct {
	key   string
	index []int
	tag   reflect.StructTag
	typ   reflect.Type
	owner reflect.Type // the struct that declares it
	name  string       // in Go
}

func fieldsOf(t reflect.Type) []field {
	var all []field
	for i := range t.NumField() {
		f := t.Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && key == "":
			for _, inner := range fieldsOf(f.Type) {
				inner.index = append([]int{i}, inner.index...)
				all = append(all, inner)
			}
		case f.IsExported() && key != "" && key != "-":
			// The tools are the same for all rules, so no table of one shows them.
			if f.Type != toolTable || t.PkgPath() != toolTable.Elem().PkgPath() {
				all = append(all, field{key, []int{i}, f.Tag, f.Type, t, f.Name})
			}
		}
	}
	return all
}

func keysOf(fields []field) []string {
	keys := make([]string, len(fields))
	for i, f := range fields {
		keys[i] = f.key
	}
	return keys
}
