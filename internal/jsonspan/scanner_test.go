package jsonspan

import (
	"bytes"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/benchdata"
)

func TestSyntaxErrors(t *testing.T) {
	const (
		unknown   = `an unknown escape; only \" \\ \/ \b \f \n \r \t and \u are legal`
		noHex     = `\u needs four hexadecimal digits`
		control   = `a raw control character in a string; write it as \u00`
		notUTF8   = "bytes that are not UTF-8"
		midString = "the document ends in the middle of a string"
		noValue   = "a comma with nothing after it"
	)
	long := strings.Repeat("x", 100)
	for _, c := range []struct {
		doc        string
		structural bool // refused in structural mode too
		offset     int
		pointer    string
		reason     string
	}{
		{`{"a":["x","\q"]}`, false, 11, "/a/1", unknown},
		{`{"a":"` + long + `\q` + long + `"}`, false, 106, "/a", unknown},
		{`{"a":"` + long + `\\\\\\\q` + long + `"}`, false, 112, "/a", unknown},
		{`{"a":"\u12g4"}`, false, 6, "/a", noHex},
		{`{"a":"` + long + `\u00"}`, false, 106, "/a", noHex},
		{"[\"a\nb\"]", false, 3, "/0", control + "0a"},
		{`["` + long + "\x1f" + long + `"]`, false, 102, "/0", control + "1f"},
		{`["` + long + "\\\x1f" + long + `"]`, false, 102, "/0", unknown},
		{"{\"k\":\"\xff\"}", false, 6, "/k", notUTF8},
		{`{"k":"` + long + "é\xc3x" + long + `"}`, false, 108, "/k", notUTF8},
		{`{"k":"` + long + "\xed\xa0\x80" + long + `"}`, false, 106, "/k", notUTF8},
		{`{"k":"` + long + "\xf4\x90\x80\x80" + long + `"}`, false, 106, "/k", notUTF8},
		{`{"k":"` + long + "世" + "\xe4\xb8" + `"}` + strings.Repeat(" ", 99), false, 109, "/k", notUTF8},
		{`[1,]`, true, 2, "/0", noValue},
		{`[1 , ]`, true, 3, "/0", noValue},
		{`{"a":{"b":1,}}`, true, 11, "/a/b", noValue},
		{`[1 2]`, true, 3, "/0", "expected a comma or ']', found '2'"},
		{`{"a":1 "b":2}`, true, 7, "/a", "expected a comma or '}', found '\"'"},
		{`{"a" 1}`, true, 5, "/a", "expected a colon after the key, found '1'"},
		{`{a:1}`, true, 1, "", "expected a key in double quotes, found 'a'"},
		{`[true,x]`, true, 6, "/1", "expected a value, found 'x'"},
		{`[true,é]`, true, 6, "/1", "expected a value, found 'é'"},
		{`{é:1}`, true, 1, "", "expected a key in double quotes, found 'é'"},
		{"[\xe9]", true, 1, "/0", `expected a value, found '\xe9'`},
		{`[trux]`, true, 4, "/0", "not a literal: expected true"},
		{`[1.]`, true, 3, "/0", "a number needs a digit after its point"},
		{`[1e+]`, true, 4, "/0", "a number needs a digit in its exponent"},
		{`[-]`, true, 2, "/0", "a number needs a digit here"},
		{`[01]`, true, 2, "/0", "expected a comma or ']', found '1'"},
		{`{"a":[1,{"b`, true, 11, "/a/1", midString},
		{`{"a":[1,{"b":"` + long + long, true, 214, "/a/1/b", midString},
		{`{"a":[1,{"b":"` + long + `\`, true, 115, "/a/1/b", midString},
		{`{"a":[1,`, true, 8, "/a/1", truncated},
		{`{"a":tr`, true, 7, "/a", truncated},
		{``, true, 0, "", truncated},
		{`{} {}`, true, 3, "", "more data after the end of the document"},
	} {
		want := SyntaxError{c.offset, c.pointer, c.reason}
		for _, mode := range []Mode{Structural, Strict} {
			_, err := scan([]byte(c.doc), mode)
			var got *SyntaxError
			switch {
			case mode == Structural && !c.structural:
				if err != nil {
					t.Errorf("structural scan of %q: %v", c.doc, err)
				}
			case !errors.As(err, &got):
				t.Errorf("scan of %q in mode %d: no error, want %v", c.doc, mode, &want)
			case *got != want:
				t.Errorf("scan of %q in mode %d:\n got %v\nwant %v", c.doc, mode, got, &want)
			}
		}
	}
}

func TestFlaws(t *testing.T) {
	many := `"k0":0,"k1":0,"k2":0,"k3":0,"k4":0,"k5":0,"k6":0,"k7":0,"k8":0,"k9":0,"ka":0,"kb":0,"kc":0`
	pad := strings.Repeat("x", 80)
	for _, c := range []struct {
		doc  string
		want []Flaw
	}{
		{`{"a":1,"b":2}`, nil},
		{`[{"k":1},{"k":1},{"x":{"k":1},"k":2}]`, nil},
		{`{"a":1,"a":2}`, []Flaw{{DuplicateKey, 7}}},
		{`{"a":1,"a":2,"a":3}`, []Flaw{{DuplicateKey, 7}, {DuplicateKey, 13}}},
		{`{"a":1,"\u0061":2}`, []Flaw{{DuplicateKey, 7}}},
		{`{"\u0061":1,"b":2,"\u0062":3}`, []Flaw{{DuplicateKey, 18}}},
		{`{"o":{"a":1,"a":2},"o":[{"b":1,"b":2}]}`, []Flaw{{DuplicateKey, 12}, {DuplicateKey, 31}, {DuplicateKey, 19}}},
		{`{` + many + `}`, nil},
		{`{` + many + `,"k3":1}`, []Flaw{{DuplicateKey, 92}}},
		{`{` + many + `,"\u006b3":1}`, []Flaw{{DuplicateKey, 92}}},
		{`[[{` + many + `,"k3":1}]]`, []Flaw{{DuplicateKey, 94}}},
		{`"\ud83d\ude00"`, nil},
		{`"\ud83d"`, []Flaw{{LoneSurrogate, 1}}},
		{`"\ude00\ud83d"`, []Flaw{{LoneSurrogate, 1}, {LoneSurrogate, 7}}},
		{`"\ud83d\ud83d\ude00"`, []Flaw{{LoneSurrogate, 1}}},
		{`["` + pad + `\ud83d\u0041` + pad + `\uDE00"]`, []Flaw{{LoneSurrogate, 82}, {LoneSurrogate, 174}}},
	} {
		s, err := scan([]byte(c.doc), Strict)
		if err != nil {
			t.Errorf("scan of %q: %v", c.doc, err)
		}
		if got := s.Flaws(); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("flaws of %q: got %v, want %v", c.doc, got, c.want)
		}
		var syntax *SyntaxError
		switch err := Valid([]byte(c.doc)); {
		case len(c.want) == 0 && err != nil:
			t.Errorf("Valid(%q): %v", c.doc, err)
		case len(c.want) > 0 && (!errors.As(err, &syntax) || syntax.Offset != c.want[0].Offset):
			t.Errorf("Valid(%q): got %v, want an error at byte %d", c.doc, err, c.want[0].Offset)
		}
	}
}

// TestFlawsBounded: a hostile body cannot make the list grow with it; what is not listed is
// counted.
func TestFlawsBounded(t *testing.T) {
	const more = 5000
	for name, doc := range map[string]string{
		"halves of pairs":       `"` + strings.Repeat(`\ud800`, maxFlaws+more) + `"`,
		"in several strings":    `["` + strings.Repeat(`\ud800`, maxFlaws-7) + `","` + strings.Repeat(`\ud800`, more) + `","` + strings.Repeat(`\ud800`, 7) + `"]`,
		"keys that stand twice": `{"a":1` + strings.Repeat(`,"a":1`, maxFlaws+more) + `}`,
		"both":                  `[{"a":1` + strings.Repeat(`,"a":1`, more) + `},"` + strings.Repeat(`\ud800`, maxFlaws) + `"]`,
	} {
		for _, ahead := range []bool{false, true} {
			var s Scanner
			s.Reset([]byte(doc), Strict)
			if ahead {
				s.ReadAhead()
			}
			s.Skip()
			if s.Err() != nil || len(s.Flaws()) != maxFlaws || s.Unlisted() != more {
				t.Errorf("%s, ahead %v: %d flaws and %d more, want %d and %d: %v", name, ahead, len(s.Flaws()), s.Unlisted(), maxFlaws, more, s.Err())
			}
		}
	}
}

func TestDepth(t *testing.T) {
	// A recursive scan would need far more stack than this, and die.
	defer debug.SetMaxStack(debug.SetMaxStack(256 << 10))
	done := make(chan bool)
	go func() {
		defer close(done)
		for _, mode := range []Mode{Structural, Strict} {
			deepest := strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth)
			if _, err := scan([]byte(deepest), mode); err != nil {
				t.Errorf("%d levels: %v", MaxDepth, err)
			}
			for _, doc := range []string{
				strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000),
				strings.Repeat("[", 5_000_000),
				strings.Repeat(`{"":`, 100_000),
			} {
				_, err := scan([]byte(doc), mode)
				var got *SyntaxError
				if !errors.As(err, &got) || got.Reason != tooDeep {
					t.Errorf("%.8q…: got %v, want %s", doc, err, tooDeep)
					continue
				}
				if want := MaxDepth * len(doc[:strings.IndexAny(doc[1:], "[{")+1]); got.Offset != want {
					t.Errorf("%.8q…: error at %d, want %d", doc, got.Offset, want)
				}
			}
			var s Scanner
			s.Reset([]byte(strings.Repeat("[", 100_000)), mode)
			for s.Enter() {
				s.Element()
			}
			if !s.Failed() || s.Err().(*SyntaxError).Offset != MaxDepth {
				t.Errorf("entering 100,000 lists: %d, want an error at %d", s.Offset(), MaxDepth)
			}
		}
	}()
	<-done
}

// TestWalk pulls a document apart and compares the spans.
func TestWalk(t *testing.T) {
	doc := []byte(` { "a" : [ "x" , 1.5e3 , { } ] , "b\n" : true , "c" : "" } `)
	for _, mode := range []Mode{Structural, Strict} {
		var s Scanner
		s.Reset(doc, mode)
		var got []string
		if !s.Enter() {
			t.Fatal("no object")
		}
		for key, ok := s.Key(); ok; key, ok = s.Key() {
			got = append(got, string(doc[key.Start:key.End]))
			switch s.Peek() {
			case String:
				v := s.Str()
				got = append(got, "str:"+string(doc[v.Start:v.End]))
			case Array:
				s.Enter()
				for s.Element() {
					v := s.Skip()
					got = append(got, string(doc[v.Start:v.End]))
				}
			default:
				v := s.Skip()
				got = append(got, string(doc[v.Start:v.End]))
			}
		}
		s.End()
		if want := `[a "x" 1.5e3 { } b\n true c str:]`; fmt.Sprint(got) != want || s.Err() != nil {
			t.Errorf("mode %d: got %v, error %v, want %s", mode, got, s.Err(), want)
		}
	}
}

// TestAfterError: once failed, every call does nothing.
func TestAfterError(t *testing.T) {
	for _, doc := range []string{`[`, `["a`, `7`, ``} {
		var s Scanner
		s.Reset([]byte(doc), Strict)
		s.Str()
		want := s.Err()
		if want == nil {
			t.Fatalf("Str of %q: no error", doc)
		}
		s.Str()
		s.Skip()
		s.Key()
		s.End()
		if s.Enter() || s.Element() || s.Peek() != Invalid || s.Err() != want {
			t.Errorf("%q: the scan went on after %v", doc, want)
		}
	}
}

func TestPointerAt(t *testing.T) {
	doc := `{"a~b/c":[10,{"\u0064e":["x",{}]}],"":{"z":1}}`
	for _, c := range []struct{ at, pointer, path string }{
		{`{"a~b`, "", ""},
		{`10`, "/a~0b~1c/0", "a~b/c.0"},
		{`{"\u`, "/a~0b~1c/1", "a~b/c.1"},
		{`"x"`, "/a~0b~1c/1/de/0", "a~b/c.1.de.0"},
		{`{}]`, "/a~0b~1c/1/de/1", "a~b/c.1.de.1"},
		{`1}}`, "//z", ".z"},
	} {
		at := strings.Index(doc, c.at)
		if got := PointerAt([]byte(doc), at); got != c.pointer {
			t.Errorf("PointerAt(%s): got %q, want %q", c.at, got, c.pointer)
		}
		if got := PathAt([]byte(doc), at); got != c.path {
			t.Errorf("PathAt(%s): got %q, want %q", c.at, got, c.path)
		}
	}
	if got := PointerAt([]byte(doc), len(doc)+100); got != "" {
		t.Errorf("PointerAt behind the end: got %q", got)
	}
}

func TestSplice(t *testing.T) {
	edit := func(start, end int, text string) Edit { return Edit{Span{start, end}, []byte(text)} }
	data := []byte("0123456789")
	for _, c := range []struct {
		edits []Edit
		want  string // "" is an error
	}{
		{[]Edit{edit(0, 1, "a")}, "a123456789"},
		{[]Edit{edit(2, 4, ""), edit(4, 5, "XYZ"), edit(9, 10, "")}, "01XYZ5678"},
		{[]Edit{edit(3, 3, "a"), edit(3, 3, "b"), edit(3, 4, "c")}, "012abc456789"},
		{[]Edit{edit(3, 4, "c"), edit(4, 4, "d"), edit(10, 10, "e")}, "012cd456789e"},
		{[]Edit{edit(3, 5, "a"), edit(4, 6, "b")}, ""},
		{[]Edit{edit(5, 6, "a"), edit(1, 2, "b")}, ""},
		{[]Edit{edit(3, 5, "a"), edit(4, 4, "b")}, ""},
		{[]Edit{edit(5, 4, "a")}, ""},
		{[]Edit{edit(-1, 0, "a")}, ""},
		{[]Edit{edit(9, 11, "a")}, ""},
	} {
		got, err := Splice(data, c.edits)
		if (err != nil) != (c.want == "") || string(got) != c.want {
			t.Errorf("Splice(%v): got %q, %v, want %q", c.edits, got, err, c.want)
		}
	}
	if got, err := Splice(data, nil); err != nil || &got[0] != &data[0] || len(got) != len(data) {
		t.Errorf("Splice without edits: got %q, %v, want the same slice", got, err)
	}
	if string(data) != "0123456789" {
		t.Errorf("Splice changed its input: %q", data)
	}
}

// TestTruncated cuts a body short everywhere near its ends: no cut is valid, none
// is read beyond.
func TestTruncated(t *testing.T) {
	body := benchdata.Anthropic(0)
	for n := range body {
		if n > 2000 && n < len(body)-2000 && n%37 != 0 {
			continue
		}
		for _, mode := range []Mode{Structural, Strict} {
			if _, err := scan(bytes.Clone(body[:n]), mode); err == nil {
				t.Fatalf("the first %d of %d bytes were accepted in mode %d", n, len(body), mode)
			}
		}
	}
}

func TestNoAllocation(t *testing.T) {
	body := benchdata.Anthropic(1_000_000)
	for _, mode := range []Mode{Structural, Strict} {
		var s Scanner
		allocs := testing.AllocsPerRun(5, func() {
			s.Reset(body, mode)
			s.Skip()
			s.End()
		})
		if s.Failed() || allocs != 0 {
			t.Errorf("mode %d: %v allocations, error %v", mode, allocs, s.Err())
		}
	}
}
