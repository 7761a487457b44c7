package tokens

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// Odd are the corners of the patterns: each was a bug in some port of tiktoken.
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
	for range 4000 {
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
