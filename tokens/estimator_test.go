package tokens

import (
	"encoding/json"
	"math/rand/v2"
	"sync"
	"testing"
	"unicode/utf8"
)

var everyModel = []string{"", "gpt-5", "gpt-4", "claude-sonnet-4-5", "claude-opus-5", "gemini-3-pro", "kimi-k2"}

// randomText mixes words of the corners with single runes and single bytes, so that
// it is now and then no UTF-8.
func randomText(r *rand.Rand) []byte {
	var b []byte
	for range r.IntN(20) {
		switch r.IntN(4) {
		case 0:
			b = utf8.AppendRune(b, rune(r.IntN(0x11000)))
		case 1:
			b = append(b, byte(r.Uint32()))
		default:
			b = append(b, odd[r.IntN(len(odd))]...)
		}
	}
	return b
}

// TestAdditive: what the sums over blocks rest on.
func TestAdditive(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for range 20_000 {
		a, b := randomText(r), randomText(r)
		e := For(everyModel[r.IntN(len(everyModel))]).With(FactorOf(900 + r.IntN(800)))
		ab := append(append([]byte{}, a...), b...)
		na, nb, nab := e.Count(a), e.Count(b), e.Count(ab)
		if nab > na+nb {
			t.Fatalf("%s: %q is %d, but its parts %q and %q are %d and %d", e.Family(), ab, nab, a, b, na, nb)
		}
		if nab < na || nab < nb {
			t.Fatalf("%s: %q is %d, less than a part of it: %q %d, %q %d", e.Family(), ab, nab, a, na, b, nb)
		}
		if again := e.Count(ab); again != nab {
			t.Fatalf("%q is %d, and then %d", ab, nab, again)
		}
		if (nab == 0) != (len(ab) == 0) {
			t.Fatalf("%q is %d", ab, nab)
		}
	}
}

// TestParts takes any piece out of a text: no piece costs more than the whole.
func TestParts(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	for range 20_000 {
		text := randomText(r)
		e := For(everyModel[r.IntN(len(everyModel))])
		i := r.IntN(len(text) + 1)
		j := i + r.IntN(len(text)+1-i)
		if part, whole := e.Count(text[i:j]), e.Count(text); part > whole {
			t.Fatalf("%q is %d, its part %q is %d", text, whole, text[i:j], part)
		}
	}
}

// TestWeights: the proof of the two tests above. With every weight positive and none
// above the first, the inequalities hold for all texts.
func TestWeights(t *testing.T) {
	for _, f := range families {
		for i, w := range f.weights().weights {
			if w == 0 || w > first {
				t.Errorf("%s: weight %d of byte %d after %d is not in 1…%d", f.name, w, i>>8, i&0xFF, first)
			}
		}
	}
}

// TestCountJSON: escapes count as what they mean, however they are written.
func TestCountJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 26))
	for range 3_000 {
		text := randomText(r)
		raw, err := json.Marshal(string(text))
		if err != nil {
			t.Fatal(err)
		}
		raw = escapeMore(r, raw[1:len(raw)-1])
		var plain string
		if err := json.Unmarshal([]byte(`"`+string(raw)+`"`), &plain); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		e := For(everyModel[r.IntN(len(everyModel))])
		if got, want := e.CountJSON(raw), e.Count([]byte(plain)); got != want {
			t.Fatalf("%s is estimated %d, %q is %d", raw, got, plain, want)
		}
		if got, want := O200k().CountJSON(raw), O200k().Count([]byte(plain)); got != want {
			t.Fatalf("%s is counted %d, %q is %d", raw, got, plain, want)
		}
	}
}

// escapeMore writes some plain letters and slashes of a string as escapes, and now
// and then half a surrogate pair.
func escapeMore(r *rand.Rand, raw []byte) []byte {
	const digits = "0123456789aBcDeF"
	var out []byte
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case c == '\\':
			n := 2
			if raw[i+1] == 'u' {
				n = 6
			}
			out = append(out, raw[i:i+n]...)
			i += n - 1
		case c == '/':
			out = append(out, '\\', '/')
		case c < utf8.RuneSelf && r.IntN(8) == 0:
			out = append(out, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		default:
			out = append(out, c)
		}
	}
	if r.IntN(10) == 0 {
		out = append(out, `\uD83D`...)
	}
	return out
}

// TestMalformedJSON: what no parser lets through still has a count.
func TestMalformedJSON(t *testing.T) {
	for raw, plain := range map[string]string{
		`\`: `\`, `a\`: `a\`, `\q`: `\q`, `\u12`: `\u12`, `\uZZZZ`: `\uZZZZ`, `\ud83d\u0041`: "\ufffdA", `\ud83dx`: "\ufffdx", `\ude00`: "\ufffd",
	} {
		if got := string(unescape([]byte(raw))); got != plain {
			t.Errorf("%s decodes to %q, want %q", raw, got, plain)
		}
		if got, want := For("").CountJSON([]byte(raw)), For("").Count([]byte(plain)); got != want {
			t.Errorf("%s is %d, want %d", raw, got, want)
		}
	}
}

// TestOverhead has the two examples of Anthropic's page on counting: 14 tokens for a
// greeting under a system prompt, 403 for a question with one tool.
func TestOverhead(t *testing.T) {
	e := For("claude-opus-5")
	greeting := e.Count([]byte("You are a scientist")) + e.Count([]byte("Hello, Claude")) + e.Overhead(1, 0)
	if greeting < 14 || greeting > 40 {
		t.Errorf("the greeting is %d tokens", greeting)
	}
	tool := `{"name":"get_weather","description":"Get the current weather in a given location","input_schema":{"type":"object","properties":{"location":{"type":"string","description":"The city and state, e.g. San Francisco, CA"}},"required":["location"]}}`
	question := e.Count([]byte(tool)) + e.Count([]byte("What's the weather like in San Francisco?")) + e.Overhead(1, 1)
	if question < 403 || question > 600 {
		t.Errorf("the question is %d tokens", question)
	}
}

func TestNoAllocation(t *testing.T) {
	text := []byte(samples()["Go"][0])
	raw, _ := json.Marshal(string(text))
	e := For("claude-opus-5")
	if n := testing.AllocsPerRun(10, func() { e.Count(text); e.CountJSON(raw) }); n != 0 {
		t.Errorf("an estimate allocates %v times", n)
	}
}

// TestFirstUse: tables and vocabularies are made when first used, by whoever comes.
func TestFirstUse(t *testing.T) {
	fresh := family{name: "o200k", weights: sync.OnceValue(weightsO200k.pairs), margin: familyOf("o200k").margin}
	exact := &Encoding{name: o200k.name, tables: o200k.tables, split: splitO200k}
	text := []byte(samples()["Go"][0])
	want, wantExact := For("gpt-5").Count(text), O200k().Count(text)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got := (Estimator{family: &fresh}).Count(text); got != want {
				t.Errorf("estimated %d, want %d", got, want)
			}
			if got := exact.Count(text); got != wantExact {
				t.Errorf("counted %d, want %d", got, wantExact)
			}
		})
	}
	wg.Wait()
}

func FuzzEstimate(f *testing.F) {
	for _, s := range odd {
		f.Add([]byte(s), []byte(`\u00e9\n`))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		for _, model := range everyModel {
			e := For(model)
			whole := e.Count(append(append([]byte{}, a...), b...))
			if na, nb := e.Count(a), e.Count(b); whole > na+nb || whole < na || whole < nb {
				t.Errorf("%q %d + %q %d = %d", a, na, b, nb, whole)
			}
			if e.CountJSON(b) != e.Count(unescape(b)) {
				t.Errorf("%q is %d as JSON, %d as text", b, e.CountJSON(b), e.Count(unescape(b)))
			}
		}
	})
}
