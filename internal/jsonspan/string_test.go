package jsonspan

import (
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pare-llm/pare/internal/trial"
)

// An outcome is all that reading one string can yield.
type outcome struct {
	end   int // of the content, or -1
	fault int // offset of the error, or -1
	lone  []int
}

// readString reads the string whose content starts at i, one byte at a time.
func readString(data []byte, i int, mode Mode) outcome {
	o := outcome{-1, -1, nil}
	for i < len(data) {
		c := data[i]
		if c == '"' {
			o.end = i
			return o
		}
		if mode == Structural {
			i++
			if c == '\\' {
				i++
			}
			continue
		}
		r, size := utf8.DecodeRune(data[i:])
		rest := string(data[i+1 : min(i+12, len(data))])
		switch {
		case c < 0x20, r == utf8.RuneError && size == 1:
			o.fault = i
			return o
		case c != '\\':
			i += size
		case rest == "":
			i++
		case strings.IndexByte(`"\/bfnrt`, rest[0]) >= 0:
			i += 2
		default:
			first, second := unit(rest), unit(rest[min(6, len(rest)):])
			switch {
			case first < 0:
				o.fault = i
				return o
			case first < 0xD800 || first > 0xDFFF:
				i += 6
			case first < 0xDC00 && len(rest) > 5 && rest[5] == '\\' && second >= 0xDC00 && second <= 0xDFFF:
				i += 12
			default:
				o.lone = append(o.lone, i)
				i += 6
			}
		}
	}
	o.fault = len(data)
	return o
}

// unit returns the number after the u that s starts with, or -1.
func unit(s string) int {
	if len(s) < 5 || s[0] != 'u' {
		return -1
	}
	b, err := hex.DecodeString(s[1:5])
	if err != nil {
		return -1
	}
	return int(b[0])<<8 | int(b[1])
}

// scanString is readString by the scanner.
func scanString(data []byte, i int, mode Mode) outcome {
	var s Scanner
	s.Reset(data, mode)
	o := outcome{s.stringEnd(i), -1, nil}
	if s.err != nil {
		o.fault = s.err.Offset
	}
	for _, f := range s.flaws {
		o.lone = append(o.lone, f.Offset)
	}
	return o
}

func compareString(t *testing.T, data []byte, i int) {
	t.Helper()
	for _, mode := range []Mode{Structural, Strict} {
		got, want := scanString(data, i, mode), readString(data, i, mode)
		if got.end != want.end || got.fault != want.fault || !slices.Equal(got.lone, want.lone) {
			t.Fatalf("string at %d of %q in mode %d:\n got %+v\nwant %+v", i, data, mode, got, want)
		}
	}
}

// specials are the things a block boundary may cut in two.
func specials() []string {
	list := []string{
		``, `"`, `\"`, `\n`, `\\n`, `\q`, `\u0041`, `\u00zz`, `\ud83d\ude00`, `\ud83d`, `\ud83dx`, `\ud83d\n`, `\ud83d\ud83d`, `\udE00`, `\u1234`, `\uaBcD`, `\uD7ff`, `\ue000`, `\u12`, `\u123g`, `\u@123`, `\u0:00`, `\u\u0041`, `\u00\x1041`, `\U0041`,
		"\\u\x10\x10\x10\x10",
		"\x00", "\x1f", "\x7f", "\\\x1f", "\\\x80", "\\é",
		"é", "世", "😀", "世界世界", "\xc3", "\xe4\xb8", "\xf0\x9f\x98", "\x80", "é\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xe0\xa0\x80",
		"\xed\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
		"\xf8\x88\x80\x80\x80", "\xfe", "\xff", "\xe4\"", "\xf0\x9f\"", "\xc3\n",
	}
	for _, n := range []int{2, 3, 4, 5, 7, 8, 31, 32, 33, 63, 64, 65, 127, 128, 129} {
		run := strings.Repeat(`\`, n)
		list = append(list, run, run+`"`, run+`n`, run+`é`)
	}
	return list
}

// TestBoundaries puts everything special at every place around the blocks. Here
// and below strings start at 3, where the kernel may read them from the start.
func TestBoundaries(t *testing.T) {
	for _, fill := range []string{"a", `\n`, "世", `\\`} {
		pad := strings.Repeat(fill, 131)
		for _, special := range specials() {
			for n := 0; n < 131; n += trial.Stride(5) {
				if !utf8.RuneStart(pad[n]) {
					continue
				}
				content := pad[:n] + special
				for _, tail := range []string{``, `"`, strings.Repeat("z", 63) + `"`, pad + `"é` + "\xff" + pad} {
					compareString(t, []byte(`[ "`+content+tail), 3)
				}
			}
		}
	}
}

// TestStarts begins strings at the first offsets of a document.
func TestStarts(t *testing.T) {
	for _, special := range specials() {
		for start := range 8 {
			doc := strings.Repeat(" ", start) + `"` + special + strings.Repeat("é", 100) + `"`
			compareString(t, []byte(doc), start+1)
		}
	}
}

// TestEveryRune tries all first two bytes, with those that decide behind them.
func TestEveryRune(t *testing.T) {
	deciding := []byte{'a', '"', 0x80, 0x90, 0xA0, 0xBF, 0xC0}
	doc := []byte(`[ "` + strings.Repeat("x", 140) + `"]`)
	n := 0
	for first := 0x80; first < 0x100; first++ {
		for second := 0x7F; second < 0x100; second += trial.Stride(7) {
			for _, third := range deciding {
				for _, fourth := range deciding {
					at := 60 + n%8
					n++
					old := string(doc[at : at+4])
					copy(doc[at:], []byte{byte(first), byte(second), third, fourth})
					got, want := scanString(doc, 3, Strict), readString(doc, 3, Strict)
					if got.end != want.end || got.fault != want.fault {
						t.Fatalf("% x at %d: got %+v, want %+v", doc[at:at+4], at, got, want)
					}
					copy(doc[at:], old)
				}
			}
		}
	}
}

// TestEveryEscape tries each byte behind a backslash and as each digit of a \u.
func TestEveryEscape(t *testing.T) {
	for c := range 0x100 {
		for at := range 6 {
			escape := []byte(`\u0123`)
			if at == 0 {
				escape = []byte(`\?`)
			}
			escape[max(at, 1)] = byte(c)
			for _, pad := range []int{3, 70} {
				before, after := strings.Repeat("a", pad), strings.Repeat("b", 140-pad)
				compareString(t, []byte(`[ "`+before+string(escape)+after+`"]`), 3)
			}
		}
	}
}

// TestRandomStrings favours what is special, which a fuzzer finds slowly.
func TestRandomStrings(t *testing.T) {
	pieces := append(specials()[:58], `\\`, `\\`, `\"`, `\"`, "a", "bc", "def ghi", strings.Repeat("j", 40), strings.Repeat("é", 30))
	legal := []string{`\\`, `\"`, `\n`, `\u00e9`, `\ud83d\ude00`, "é", "世", "😀", "a", "bcd", strings.Repeat("k", 50)}
	rng := rand.New(rand.NewPCG(3, 4))
	for n := range 100_000 {
		from := legal
		if n%4 == 0 {
			from = pieces
		}
		doc := []byte(`{ "`)
		for range rng.IntN(40) {
			doc = append(doc, from[rng.IntN(len(from))]...)
		}
		doc = append(doc, `":"`...)
		doc = append(doc, from[rng.IntN(len(from))]...)
		compareString(t, doc[:len(doc):len(doc)], 3)
	}
}

// decodeAgrees compares Decode and AppendQuote with encoding/json.
func decodeAgrees(t *testing.T, text string) {
	want := string([]rune(text)) // each byte that is not UTF-8 becomes U+FFFD
	quoted := AppendQuote(nil, text)
	var got string
	if err := json.Unmarshal(quoted, &got); err != nil || got != want {
		t.Errorf("AppendQuote(%q) = %s: encoding/json reads %q, %v", text, quoted, got, err)
	}
	if err := Valid(quoted); err != nil {
		t.Errorf("AppendQuote(%q): %v", text, err)
	}
	if got := string(Decode(nil, quoted[1:len(quoted)-1])); got != want {
		t.Errorf("Decode(AppendQuote(%q)) = %q", text, got)
	}
	theirs, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(Decode([]byte("x"), theirs[1:len(theirs)-1])); got != "x"+want {
		t.Errorf("Decode(%s) = %q, want %q behind an x", theirs, got, want)
	}
	// The text may be the inside of a string as well.
	asContent := `"` + text + `"`
	if utf8.ValidString(text) && json.Unmarshal([]byte(asContent), &want) == nil {
		if got := string(Decode(nil, []byte(text))); got != want {
			t.Errorf("Decode(%s) = %q, want %q", text, got, want)
		}
	}
}

func TestDecode(t *testing.T) {
	for _, special := range specials() {
		decodeAgrees(t, special)
		decodeAgrees(t, "a"+special+`\u0041`+special+"z\u2028<\b\f\r/")
	}
}

func FuzzDecode(f *testing.F) {
	for _, special := range specials() {
		f.Add(special)
	}
	f.Fuzz(decodeAgrees)
}
