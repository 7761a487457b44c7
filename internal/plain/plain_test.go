package plain

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// hostile are texts that would do something to a terminal, a line or a reader.
var hostile = []string{
	"a\nb", "a\r\nb", "a\tb", "\x1b[31mred", "\x1b]0;title\a", "\x1b]8;;http://x\x1b\\link", "\x9b31m", "\u009b31m", "\u0085next",
	"\x7f", "a\x00b", "\b\b\b", "\u202egnp.exe", "\u2066x\u2069", "\u200b", "\u200e", "\u2028x\u2029", "\ufeff", "\xff\xfe", "\xc3", "\U000e0041\U000e007f",
	"\v\f", "\ud7ff", "\U0010fffe",
}

func TestDefectR2Line(t *testing.T) {
	for _, s := range hostile {
		got := Line("x " + s + " y")
		for _, r := range got {
			if !unicode.IsPrint(r) {
				t.Errorf("Line(%q) = %q: %U is left", s, got, r)
			}
		}
		if !utf8.ValidString(got) || Line(got) != got {
			t.Errorf("Line(%q) = %q: not text, or not the same again", s, got)
		}
	}
	for _, s := range []string{"", "plain", "naïve café", "日本語 👍🏽", "a b"} {
		if got := Line(s); got != s {
			t.Errorf("Line(%q) = %q", s, got)
		}
	}
}

func TestDefectR2JSON(t *testing.T) {
	for _, s := range append(hostile, "naïve <b> & 日本語 👍🏽") {
		got, err := Marshal(map[string]any{"name": s, s: 1, "raw": json.RawMessage(`"` + "\u202e\u009b\x7f" + `"`)})
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range string(got) {
			if r == utf8.RuneError || unicode.Is(unicode.Cf, r) || unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
				t.Errorf("%q: %U stands in %q at %d", s, r, got, i)
			}
		}
		var back map[string]any
		if err := json.Unmarshal(got, &back); err != nil {
			t.Fatalf("%q: %v in %q", s, err, got)
		}
		if want := strings.ToValidUTF8(s, "\ufffd"); utf8.ValidString(s) && back["name"] != want {
			t.Errorf("%q became %q", s, back["name"])
		}
		if back["raw"] != "\u202e\u009b\x7f" {
			t.Errorf("raw became %q", back["raw"])
		}
	}
}

// TestJSONSame: whatever rune stands in a string, it means the same afterwards.
func TestJSONSame(t *testing.T) {
	for r := rune(0x20); r <= unicode.MaxRune; r += 1 + r/4000 {
		if r == '"' || r == '\\' || r >= 0xd800 && r < 0xe000 {
			continue
		}
		in := fmt.Sprintf(`["%c","x%cy"]`, r, r)
		var want, got any
		if json.Unmarshal([]byte(in), &want) != nil {
			t.Fatal(in)
		}
		if err := json.Unmarshal(JSON([]byte(in)), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%U: %v, %q", r, err, JSON([]byte(in)))
		}
	}
	text := []byte(`{"a": "b"}`)
	if got := JSON(text); &got[0] != &text[0] {
		t.Error("nothing to do, and a copy all the same")
	}
}
