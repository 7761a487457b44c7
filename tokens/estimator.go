package tokens

// The classes of a byte. Letters are sorted by how they fall in words, because that
// is what tells a word from a name, a key or an encoded byte: words alternate,
// random letters do not. The lead bytes of UTF-8 are sorted by the scripts they
// begin.
const (
	vowel     = iota
	consonant // the common ones
	rare      // j k q v w x y z
	upperVowel
	upperConsonant
	digit
	blank
	tab
	line      // \n \r
	bracket   // brackets, quotes and the usual punctuation of code
	sign      // all other punctuation
	control   // and DEL
	following // a continuation byte of UTF-8
	latin1    // C2 C3
	latin     // C4 to CF: extended Latin, Greek
	cyrillic  // D0 to D4
	semitic   // D5 to DF: Armenian, Hebrew, Arabic
	indic     // E0: also Thai and Lao
	asian     // E1: Georgian, Khmer, Vietnamese …
	typo      // E2: typographic signs, arrows, boxes
	kana      // E3
	han       // E4 to E9
	hangul    // EA to ED
	wide      // EE EF: private use, full width forms
	astral    // F0 to F4: emoji
	never     // no byte of UTF-8
	classCount
)

// A table tells what a byte adds to the estimate, by the class of the byte before
// it (row) and its own (column), in 1/1024 token. No entry is zero, and none is
// greater than first.
type table [classCount][classCount]uint16

const (
	unit = 1 << 10
	// first is what the first byte of a text costs. As no later byte costs more,
	// a text never costs more than its parts together, nor less than any of them.
	first = unit * 3 / 2
)

// An Estimator estimates how many tokens a model makes of a text. It is a value; the
// zero Estimator is For("").
//
// The estimate is a sum of positive weights over the bytes of the text. For all
// texts a and b, and with equality nowhere assumed:
//
//	max(Count(a), Count(b)) <= Count(a+b) <= Count(a) + Count(b)
//
// So a sum over the blocks of a request, each counted by itself, is an upper bound
// of the estimate of the whole, and prefix sums over blocks are exact sums. It is a value
// that many goroutines may use.
type Estimator struct {
	family *family // nil: the default
	vision *vision // nil: that of the family
	factor Factor
}

// Count estimates the tokens of a text. Like every exact count it is 0 for the
// empty text only.
func (e Estimator) Count(text []byte) int {
	if len(text) == 0 {
		return 0
	}
	return e.tokens(first + e.of().weights().sum(text))
}

// CountJSON estimates the content of a JSON string as it lies in a request, between
// its quotes: it is Count of what the string decodes to, without decoding it.
func (e Estimator) CountJSON(raw []byte) int {
	if len(raw) == 0 {
		return 0
	}
	return e.tokens(first + e.of().weights().sumJSON(raw))
}

// Overhead is what a request costs beside its content: the marks around its
// messages and tools, and the instruction that some vendors add when there are
// tools. The definitions of the tools themselves are content.
func (e Estimator) Overhead(messages, tools int) int {
	f := e.of().frame
	n := f.request + messages*f.message
	if tools > 0 {
		n += f.tools + tools*f.tool
	}
	return n
}

// least is the fewest tokens that a whole request can have whose texts are estimated at n:
// the other side of an estimate that errs on the high side. It holds for code, prose, logs
// and data in Latin script; with foreign set, for requests of which much is written in
// other scripts, which are overestimated most.
func (e Estimator) least(n int, foreign bool) int {
	over := e.of().over
	if foreign {
		over = max(over, overForeign)
	}
	return int(int64(n) * 1000 / int64(over))
}

// overForeign is the over of every family for scripts other than Latin: Russian prose is
// estimated at up to 1.9 times what it costs.
const overForeign = 2000

// Family names the models that the estimate is fitted to: "o200k", "cl100k", "claude",
// "claude-4.7", "gemini" or "default".
func (e Estimator) Family() string { return e.of().name }

// With returns the estimator corrected by a factor learned from real usage.
func (e Estimator) With(f Factor) Estimator {
	e.factor = f
	return e
}

func (e Estimator) of() *family {
	if e.family == nil {
		return &families[0]
	}
	return e.family
}

// tokens applies margin and factor and rounds up.
func (e Estimator) tokens(sum uint64) int {
	scale := uint64(e.of().margin) * uint64(e.factor.Permille())
	const whole = unit * 1000 * 1000
	return int((sum*scale + whole - 1) / whole)
}

var classOf = func() (t [256]uint8) {
	for i := range t {
		t[i] = classify(byte(i))
	}
	return t
}()

func classify(b byte) uint8 {
	switch b {
	case 'a', 'e', 'i', 'o', 'u':
		return vowel
	case 'j', 'k', 'q', 'v', 'w', 'x', 'y', 'z':
		return rare
	case 'A', 'E', 'I', 'O', 'U':
		return upperVowel
	case ' ':
		return blank
	case '\t':
		return tab
	case '\n', '\r':
		return line
	case '(', ')', '[', ']', '{', '}', '<', '>', '"', '\'', ',', ';', ':', '.', '=', '-', '_', '/':
		return bracket
	case 0xC0, 0xC1:
		return never
	}
	for _, upTo := range []struct {
		last  byte
		class uint8
	}{
		{' ', control}, {'/', sign}, {'9', digit}, {'@', sign}, {'Z', upperConsonant}, {'`', sign},
		{'z', consonant}, {'~', sign}, {0x7F, control}, {0xBF, following}, {0xC3, latin1}, {0xCF, latin},
		{0xD4, cyrillic}, {0xDF, semitic}, {0xE0, indic}, {0xE1, asian}, {0xE2, typo}, {0xE3, kana},
		{0xE9, han}, {0xED, hangul}, {0xEF, wide}, {0xF4, astral},
	} {
		if b <= upTo.last {
			return upTo.class
		}
	}
	return never
}
