package jsonspan

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestMemberEdits checks edits of objects against the same change made to a
// decoded map.
func TestMemberEdits(t *testing.T) {
	for _, doc := range []string{`{}`, `{ }`, `{"a":1}`, ` { "a" : 1 , "b":[1,{"a":2}] , "c":"x" } `, `{"\u0061":1,"b":2}`, `{"b":{"a":1},"a":[]}`,
		`{"a":1,"a":2}`, `{"a":1,"b":2,"a":3}`, `{"a":1,"\u0061":2,"b":3,"a":4}`, `{"b":1, "a":2,"a":3,"c":4,"a":5}`} {
		for _, name := range []string{"a", "b", "c", "z"} {
			var want map[string]any
			if err := json.Unmarshal([]byte(doc), &want); err != nil {
				t.Fatal(err)
			}
			start := 0
			for doc[start] == ' ' {
				start++
			}
			at := Span{start, len(doc)}
			_, there := want[name]
			edits := RemoveMember([]byte(doc), at, name)
			if len(edits) > 0 != there {
				t.Errorf("%s: RemoveMember(%q) found %v, want %v", doc, name, len(edits) > 0, there)
			}
			delete(want, name)
			equal(t, doc, edits, want)
			want[name] = "new"
			equal(t, doc, []Edit{SetMember([]byte(doc), at, name, []byte(`"new"`))}, want)
		}
	}
}

func equal(t *testing.T, doc string, edits []Edit, want map[string]any) {
	t.Helper()
	out, err := Splice([]byte(doc), edits)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%s became %s: %v", doc, out, err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s became %s, want %v", doc, out, want)
	}
}

func TestElements(t *testing.T) {
	doc := `[ 1, "a,b" ,[2,3],{"k":[4]} ]`
	var got []string
	for _, s := range Elements([]byte(doc), Span{0, len(doc)}) {
		got = append(got, doc[s.Start:s.End])
	}
	if want := []string{`1`, `"a,b"`, `[2,3]`, `{"k":[4]}`}; !reflect.DeepEqual(got, want) {
		t.Errorf("elements %q, want %q", got, want)
	}
}

func TestVisit(t *testing.T) {
	const doc = `[ {"a" : 1, "content":[{"type":"x"}] , "t\u0079pe":"b", "type":{"c":"\""}} ]`
	object := Span{2, len(doc) - 2}
	at := strings.Index(doc, "[{")
	for _, known := range []Span{{}, {at, at + len(`[{"type":"x"}]`)}} {
		var got []string
		Visit([]byte(doc), object, known, func(m Member) {
			got = append(got, doc[m.Key.Start:m.Key.End]+"="+doc[m.Value.Start:m.Value.End])
		})
		want := []string{"a=1", `content=[{"type":"x"}]`, `t\u0079pe="b"`, `type={"c":"\""}`}
		if !slices.Equal(got, want) {
			t.Errorf("known %v: got %q, want %q", known, got, want)
		}
	}
	if m, ok := Find([]byte(doc), object, "type"); !ok || doc[m.Value.Start] != '{' {
		t.Errorf("the last member does not count: %v %v", m, ok)
	}
	data := []byte(doc)
	if n := testing.AllocsPerRun(10, func() { Find(data, object, "a") }); n > 1 { // for the key with an escape
		t.Errorf("Find allocates %v times", n)
	}
	for n := range doc { // what is cut off ends the visit and nothing else
		Visit([]byte(doc)[:n], Span{min(2, n), n}, Span{}, func(m Member) { _ = doc[m.Value.Start:m.Value.End] })
	}
}

// TestWalker: one walk tells the same paths as a walk for each offset, also if it has to go
// back.
func TestWalker(t *testing.T) {
	for _, doc := range []string{
		`{"a":[1,{"b":"x\"y","c":{}},[]],"a":null,"d\u0065":"tail"}`,
		` [ {"k" : [ "s" , 2 ] , "k":3 } , "]" ] `,
		`{"cut":[{"off":"here`,
		`{"a":1}}]`,
	} {
		forth, back := NewWalker([]byte(doc)), NewWalker([]byte(doc))
		for i := range len(doc) + 2 {
			if got, want := forth.PathAt(i), PathAt([]byte(doc), i); got != want {
				t.Errorf("%s: %q at %d, want %q", doc, got, i, want)
			}
			j := len(doc) + 1 - i
			if got, want := back.PathAt(j), PathAt([]byte(doc), j); got != want {
				t.Errorf("%s: going back, %q at %d, want %q", doc, got, j, want)
			}
		}
	}
}
