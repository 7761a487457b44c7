package jsonedit

import (
	"bytes"
	"encoding/json"
	"testing"
)

// doc has members of every kind, a copy of one, an escaped string, and white space.
const doc = `{ "a" : 1, "type":"x\u0041", "on": true, "in": {"list":[{"n":1}, {"n":2}], "empty":[]}, "a":"last" }`

// TestReads: members are read where they lie, the last one of a name counts, and what is not there
// is empty.
func TestReads(t *testing.T) {
	o := Of([]byte(doc))
	if o.Text("a") != "last" || o.Kind() != "xA" || !o.Is("on") || o.Is("a") || o.Has("none") || o.Value("none") != nil || o.Text("on") != "" {
		t.Errorf("%q %q %v", o.Text("a"), o.Kind(), o.Is("on"))
	}
	if n := o.Object("in").Items("list")[1].Number("n"); n != 2 {
		t.Errorf("the second n is %d", n)
	}
	var m Memo
	noting := o.Noting(&m)
	if noting.Kind() != "xA" || len(noting.Object("in").Members) != 2 || len(noting.Object("none").Members) != 0 || len(noting.Object("in").List("list")) != 2 {
		t.Error("with a memo the answers are others")
	}
	if NumberAt([]byte(doc), "in", "list", 1, "n") != 2 || Get([]byte(doc), "in", "list", 2) != nil || Get([]byte(doc), "in", "n", 0) != nil || len(Elements([]byte(doc), "in", "list")) != 2 {
		t.Error("a path leads elsewhere")
	}
	for _, none := range []string{"[]", "null", `"x"`, "1"} {
		if o := Of([]byte(none)); len(o.Members) > 0 || o.Has("a") || o.Object("a").Has("b") || Get([]byte(none), "a", "b") != nil {
			t.Errorf("%s has members", none)
		}
	}
}

// TestWrites: what is set is there and valid, what is taken out is gone with every copy, and the
// rest is what it was, byte for byte.
func TestWrites(t *testing.T) {
	raw := []byte(doc)
	for what, c := range map[string]struct{ got, want []byte }{
		"set":              {Set(raw, "on", []byte("false")), bytes.Replace(raw, []byte("true"), []byte("false"), 1)},
		"added":            {Set([]byte(`{}`), "b", "\"", "n", 2), []byte(`{"b":"\"","n":2}`)},
		"added behind":     {Set([]byte(`{"a":1 }`), "b", []byte("[]")), []byte(`{"a":1,"b":[] }`)},
		"removed":          {Of([]byte(`{"a":1,"b":2,"a":3}`)).Without("a"), []byte(`{"b":2}`)},
		"removed, both":    {Of([]byte(`{"a":1,"b":2}`)).Without("b", "a"), []byte(`{}`)},
		"removed, none":    {Of(raw).Without("none"), raw},
		"at a path":        {Put(raw, []byte("3"), "in", "list", 1, "n"), bytes.Replace(raw, []byte(`"n":2`), []byte(`"n":3`), 1)},
		"at a path, added": {Put([]byte(` {"a":{}} `), []byte("3"), "a", "b"), []byte(` {"a":{"b":3}} `)},
		"at no path":       {Put(raw, []byte("3"), "none", "b"), raw},
		"in no object":     {Put(raw, []byte("3"), "on", "b"), raw},
		"cut":              {Cut([]byte(`{"a":{"b":1}}`), "b", "a"), []byte(`{"a":{}}`)},
		"appended":         {Append([]byte(`{"a":[1 ]}`), [][]byte{[]byte("2"), []byte("3")}, "a"), []byte(`{"a":[1,2,3 ]}`)},
		"appended, empty":  {Append([]byte(`{"a":[ ]}`), [][]byte{[]byte("2")}, "a"), []byte(`{"a":[2 ]}`)},
		"new":              {New("a", "x", "left out", []byte(nil), "b", List([]byte("1"), Quote("y"))), []byte(`{"a":"x","b":[1,"y"]}`)},
	} {
		if !bytes.Equal(c.got, c.want) || !json.Valid(c.got) {
			t.Errorf("%s: %s, want %s", what, c.got, c.want)
		}
	}
	if string(raw) != doc {
		t.Error("the document itself was changed")
	}
}

// TestMark: a new record takes over times, ids and paths, and no words.
func TestMark(t *testing.T) {
	o := Of([]byte(`{"id":"a-1","time":"2026-01-01T00:00:00Z","path":"/a folder/with blanks","n":3,"text":"some words","list":["x"],"on":true}`))
	for name, want := range map[string]bool{"id": true, "time": true, "path": true, "n": true, "on": true, "text": false, "list": false, "none": false} {
		if got := o.Mark(name) != nil; got != want {
			t.Errorf("Mark(%q) = %s", name, o.Mark(name))
		}
	}
}
