//go:build amd64 && !purego

package tokens

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestKernel: the kernel adds up what the portable path does.
func TestKernel(t *testing.T) {
	if !useVBMI2 {
		t.Skip("SKIPPED, LOUDLY: this processor has no AVX-512 VBMI2")
	}
	r := rand.New(rand.NewPCG(31, 32))
	words := append([]string{`\n`, `\"`, `\\`, `\u001b[0m`, `\uD83D\uDE00`, `\uD83D`, `\x`, `\`, "\\\\\\", " the ", "func (x *T) ", "0123456789", "→", "漢字", "\x7f", "\x00", "\xff"}, odd...)
	for k := range 20_000 {
		var b strings.Builder
		rarely := 1 + r.IntN(60)
		for range r.IntN(300) {
			switch {
			case r.IntN(rarely) == 0:
				b.WriteString(words[r.IntN(len(words))])
			default:
				b.WriteByte(byte(' ' + r.IntN(95)))
			}
		}
		sameSum(t, families[k%len(families)].weights(), []byte(b.String()))
	}
	for n := range 300 {
		for _, c := range []string{`\`, `\n`, "a", `\u0041`, "é"} {
			sameSum(t, families[0].weights(), []byte(strings.Repeat(c, n)))
			sameSum(t, families[0].weights(), []byte(strings.Repeat("x", n)+c+strings.Repeat(" ", 70)+c))
		}
	}
	for n := range 70 { // wherever a block ends
		for _, c := range []string{`\u001b`, `\u003C`, `\u007f`, `\u0080`, `\u00g1`, `\u1041`, `\u001`, `\u`, `\\u0041`, `\é`, "é", "→", "漢字", "é\\n", "\\né", "é\\u0041é", "\xff\\\xff", "\xff\\"} {
			for _, behind := range []string{"", "x", `\u001b[0m`, "é", "\\n", "\\", strings.Repeat("x", 64), strings.Repeat("→", 9) + "x"} {
				sameSum(t, families[0].weights(), []byte(strings.Repeat("x", n)+c+behind))
				sameSum(t, families[1].weights(), []byte(strings.Repeat("\\n", n)+c+c+behind+c))
				sameSum(t, families[1].weights(), []byte(strings.Repeat("é", n)+c+behind+c))
			}
		}
	}
}

// TestKernelLong: more than the kernel adds up at once.
func TestKernelLong(t *testing.T) {
	if !useVBMI2 {
		t.Skip("SKIPPED, LOUDLY: this processor has no AVX-512 VBMI2")
	}
	text := []byte(strings.Repeat("Q7\x01 ", longText/4) + "........")
	for i := range 8 {
		text[longText-4+i] = '\\'
	}
	sameSum(t, families[0].weights(), text[1:])
	sameSum(t, families[0].weights(), text[:longText+1])
}

func sameSum(t *testing.T, p *pairs, text []byte) {
	t.Helper()
	if len(text) == 0 {
		return
	}
	if got, want := p.runs(text, false), p.sum(text); got != want {
		t.Fatalf("%q adds %d, want %d", text, got, want)
	}
	if got, want := p.runs(text, true), p.sum(text)+p.escapes(text); got != want {
		t.Fatalf("%q, decoded, adds %d, want %d", text, got, want)
	}
}

func FuzzKernel(f *testing.F) {
	for _, s := range []string{`a\nb`, `\u00e9\`, strings.Repeat(`\\`, 33) + `"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if useVBMI2 {
			sameSum(t, families[0].weights(), text)
			sameSum(t, families[1].weights(), append([]byte(strings.Repeat("x", 64)), text...))
		}
	})
}
