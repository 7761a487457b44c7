package tokens

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/pare-llm/pare/internal/trial"
)

// odd are the corners of the patterns: each is or was a bug in some port of tiktoken.
var odd = []string{
	"", " ", "  ", "\n", " \n", "\n ", "\t\t\n\n  x", "   x", "x   ", "x \n \n  y", "\r\n\r\n", " \u00a0 ", "\u3000\u3000x", "\u0085x",
	"don't", "DON'T", "we'll've", "'s", "'S's", " 'tis", "it'll", "IT'LL", "x're'VE", "'", "''", "'l", "x'l", "x'", "a'd'm't", "I'M'", "'RE", "l'été",
	"camelCase HTTPServer XMLHttpRequest iPhone ABCdef aBC", "ǅ ǅa aǅ", "ʰa Aʰ AʰB ʰ", "文字ABC", "ABC文字", "A文B", "A文b", "文A", "A文AA'b",
	"e\u0301te\u0301", "\u0301", "\u0301ABC", " \u0301", "!\u0301ABC", "A\u0301B", "a\u0301b", "1\u0301", "\u0301\u0301 x", "(\u0301)", "\n\u0301a",
	"1", "12", "123", "1234", "1234567", "½¾⅓¼", "٣٤٥٦", "1a2b3c", "x²", "Ⅷ",
	"!!!", " !!!", "!!!\n\n", "!!!\r\n x", "://x", " //\n/", "/\n/\n", "...\n", "a/b/c\n", "#!/bin/sh\n", "({[<>]})", "\"quoted\" 'and' `ticks`",
	"中文没有空格", "日本語のテキスト、です。", "한국어 텍스트", "Привет, мир!", "مرحبا بالعالم", "हिन्दी", "ไทย", "ÀÉÎõü straße ŒUVRE",
	"🙂", "👩‍👩‍👧‍👦", "🇩🇪🇫🇷", "👍🏽x", "a🙂b", "\U0001F468\u200d\U0001F4BB", "𝔘𝔫𝔦", "𠀀𠀁", "𐐀𐐨", "\ufeffx",
	"\x00", "\x00\x01\x7f", "<|endoftext|>", "a<|fim_prefix|>b", "\ufffd", "\x80", "a\xffb\xc3", "\xe4\xb8", "\xf0\x9f\x99", "\xed\xa0\x80",
	"ſ ſs xſ", "şx'ş", "x'忍",
}

func TestExactOdd(t *testing.T) {
	for _, s := range odd {
		agree(t, s)
		agree(t, "x"+s+"X")
		agree(t, s+" "+s)
		agree(t, s+"\n"+s+"\n")
	}
}

// TestExactRandom strings the corners together in every way that chance finds.
func TestExactRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		var b strings.Builder
		for range 1 + r.IntN(12) {
			b.WriteString(odd[r.IntN(len(odd))])
			if r.IntN(3) == 0 {
				b.WriteRune(rune(r.IntN(0x3000)))
			}
		}
		agree(t, b.String())
	}
}

// TestExactSamples compares the texts of every kind, three of each.
func TestExactSamples(t *testing.T) {
	for _, kind := range kinds() {
		for _, s := range samples()[kind][:3] {
			agree(t, s)
		}
	}
}

// TestExactRuns crosses the length at which the merge changes its method, and the
// longest token.
func TestExactRuns(t *testing.T) {
	for _, unit := range []string{"a", "A", " ", "\n", "=", "ab", "xyz", "文", "é", "🙂", "\t", "1", "aB", "-", "\r\n", " \n"} {
		for _, n := range []int{2, 7, 8, 15, 16, 40, 41, 96, 128, 129, 500} {
			agree(t, strings.Repeat(unit, n))
			agree(t, "x"+strings.Repeat(unit, n)+"y")
		}
	}
	r := rand.New(rand.NewPCG(5, 6))
	for range 20 {
		word := make([]byte, 90+r.IntN(400))
		for i := range word {
			word[i] = 'a' + byte(r.IntN(1+r.IntN(26)))
		}
		agree(t, string(word))
	}
}

// TestLongS: tiktoken takes U+017F for an s, as Unicode does where case does not
// count. These are tiktoken's own counts.
func TestLongS(t *testing.T) {
	for text, want := range map[string][2]int{"x'ſy": {4, 5}, "It'ſ fine": {4, 5}, "'ſab": {3, 4}, "'ſ": {2, 3}} {
		for i, e := range encodings {
			if got := e.Count([]byte(text)); got != want[i] {
				t.Errorf("%s of %q: %d tokens, want %d", e.Name(), text, got, want[i])
			}
		}
	}
}

// TestEveryRune: the classes of each rune of the basic plane and of the first
// supplementary ones are those of the unicode package.
func TestEveryRune(t *testing.T) {
	for c := rune(0); c < 0x20000; c++ {
		if c >= 0xD800 && c < 0xE000 {
			continue
		}
		want := uint8(other)
		switch {
		case c == '\r' || c == '\n':
			want = newline
		case unicode.IsSpace(c):
			want = space
		case unicode.In(c, unicode.Lu, unicode.Lt):
			want = upper
		case unicode.Is(unicode.Ll, c):
			want = lower
		case unicode.IsLetter(c):
			want = caseless
		case unicode.IsMark(c):
			want = mark
		case unicode.IsNumber(c):
			want = number
		}
		if got, _ := classAt([]byte(string(c)), 0); got != want {
			t.Fatalf("%U is of class %d, want %d", c, got, want)
		}
	}
}

// TestHostile: time grows as n log n on the inputs that are quadratic elsewhere.
func TestHostile(t *testing.T) {
	for _, unit := range []string{"a", " ", "\n", "=", "A", "文", "ab", "\u0301", "aA", " \n", "x'", "\u0301A", "zqxjkv"} {
		trial.Linear(t, fmt.Sprintf("%q", unit), 64_000, func(n int) func() {
			text := []byte(strings.Repeat(unit, n/len(unit)))
			return func() { O200k().Count(text) }
		})
	}
}

func TestConcurrent(t *testing.T) {
	texts := samples()["Go"][:8]
	var want [8]int
	for i, s := range texts {
		want[i] = CL100k().Count([]byte(s))
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i, s := range texts {
				if got := CL100k().Count([]byte(s)); got != want[i] {
					t.Errorf("text %d: %d, alone %d", i, got, want[i])
				}
			}
		})
	}
	wg.Wait()
}

func FuzzExact(f *testing.F) {
	for _, s := range odd {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 300 { // the oracle is quadratic
			agree(t, text)
		}
	})
}

func ExampleEncoding() {
	fmt.Println(O200k().Count([]byte("Never break a pair.")))
	fmt.Println(O200k().CountJSON([]byte(`Never break\u0020a pair.`)))
	// Output:
	// 5
	// 5
}
