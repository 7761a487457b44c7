package tokens

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

// plainly is the estimate as it is defined: a byte after a byte, each with the class
// of the one before it.
func plainly(e Estimator, text []byte) int {
	if len(text) == 0 {
		return 0
	}
	w := weightsOf[e.Family()]
	sum := uint64(first)
	for i := 1; i < len(text); i++ {
		sum += uint64(w[classOf[text[i-1]]][classOf[text[i]]])
	}
	return e.tokens(sum)
}

// plainlyJSON is plainly over a JSON string, decoded on the way.
func plainlyJSON(e Estimator, raw []byte) int {
	if len(raw) == 0 {
		return 0
	}
	w := weightsOf[e.Family()]
	sum, before := uint64(0), -1
	add := func(b byte) {
		c := int(classOf[b])
		if before < 0 {
			sum = first
		} else {
			sum += uint64(w[before][c])
		}
		before = c
	}
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			add(raw[i])
			continue
		}
		r, n := escape(raw[i:])
		i += n - 1
		for _, b := range []byte(string(r)) {
			add(b)
		}
	}
	return e.tokens(sum)
}

var weightsOf = map[string]*table{
	"default": &weightsDefault, "o200k": &weightsO200k, "cl100k": &weightsCL100k, "gemini": &weightsGemini, "claude": &weightsClaude, "claude-4.7": &weightsClaude,
}

func same(t *testing.T, e Estimator, text []byte) {
	t.Helper()
	if got, want := e.Count(text), plainly(e, text); got != want {
		t.Errorf("%s: %q is %d, plainly %d", e.Family(), clip(string(text)), got, want)
	}
	if got, want := e.CountJSON(text), plainlyJSON(e, text); got != want {
		t.Errorf("%s: %q is %d in JSON, plainly %d", e.Family(), clip(string(text)), got, want)
	}
}

func TestPlainPairs(t *testing.T) {
	for _, model := range everyModel {
		e := For(model)
		var pair [2]byte
		for i := range 1 << 16 {
			pair[0], pair[1] = byte(i), byte(i>>8)
			same(t, e, pair[:])
		}
	}
}

// TestPlainRandom takes texts of every length about the steps of the loops, made of
// any bytes or mostly of escapes.
func TestPlainRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	pieces := []string{`\`, `\\`, `\n`, `\"`, `\/`, `\t`, `\q`, `\u`, `\u00e9`, `\u4e2d`, `\ud83d\ude00`, `\ud83d`, `\uDE00`, `\u12`, `\u005c`, `\u005cn`, "a", "]", " word", "中", "é", "\x00", "\xff", strings.Repeat("x", 61)}
	for range 20_000 {
		e := For(everyModel[r.IntN(len(everyModel))]).With(FactorOf(900 + r.IntN(800)))
		same(t, e, noise(r, r.IntN(200)))
		var b strings.Builder
		for range r.IntN(1 + r.IntN(60)) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		same(t, e, []byte(b.String()))
	}
	for range 200 { // across windows
		var b strings.Builder
		for b.Len() < 3*window {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		same(t, For("gpt-5"), []byte(b.String()))
	}
	same(t, For(""), bytes.Repeat([]byte(`\`), 3*window+1))
}

func TestPlainSamples(t *testing.T) {
	for _, kind := range kinds() {
		text := []byte(strings.Join(samples()[kind][:3], ""))
		for _, model := range everyModel {
			same(t, For(model), text)
			same(t, For(model), quoted(text))
			same(t, For(model), quoted(quoted(text)))
			same(t, For(model), ascii(text))
		}
	}
}

func FuzzPlain(f *testing.F) {
	for _, s := range odd {
		f.Add([]byte(s))
		f.Add(quoted([]byte(s)))
		f.Add(ascii([]byte(s)))
	}
	f.Add([]byte(strings.Repeat(`\ud83d\ude00\\\n`, 100)))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, model := range everyModel {
			same(t, For(model), text)
		}
	})
}

// quoted is the text in a JSON string, without its quotes, as most encoders write it.
func quoted(text []byte) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(string(text)); err != nil {
		panic(err)
	}
	return b.Bytes()[1 : b.Len()-2]
}

// ascii is quoted as Python writes it.
func ascii(text []byte) []byte {
	var b []byte
	for _, r := range string(quoted(text)) {
		if r < utf8.RuneSelf {
			b = append(b, byte(r))
			continue
		}
		for _, u := range utf16.AppendRune(nil, r) {
			b = fmt.Appendf(b, `\u%04x`, u)
		}
	}
	return b
}
