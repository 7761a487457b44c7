package tokens

import (
	_ "embed"
	"sync"
	"unicode/utf8"
)

// An Encoding counts the tokens of one of OpenAI's published vocabularies exactly.
// Its tables are read where they lie in the program, so that the first count takes no
// longer than the next. It may be used by many goroutines at once.
type Encoding struct {
	name string
	// tables is a pointer so that a program that only estimates does not carry the
	// vocabularies: a copy of the string would be made, and kept, at its start.
	tables *string
	split  func(text []byte, at int) (end int)

	once sync.Once
	pool sync.Pool // of *merger
}

//go:embed vocab/o200k_base.tables
var o200kTables string

//go:embed vocab/cl100k_base.tables
var cl100kTables string

var (
	o200k  = &Encoding{name: "o200k_base", tables: &o200kTables, split: splitO200k}
	cl100k = &Encoding{name: "cl100k_base", tables: &cl100kTables, split: splitCL100k}
)

// O200k is the encoding of GPT-4o and of all later models of OpenAI.
func O200k() *Encoding { return o200k }

// CL100k is the encoding of GPT-4 and GPT-3.5.
func CL100k() *Encoding { return cl100k }

// Name is what tiktoken calls the encoding.
func (e *Encoding) Name() string { return e.name }

// Count is the number of tokens of text. Special tokens such as <|endoftext|> are
// text like any other, as they are for a provider who finds them in a message. A
// byte that is not UTF-8 counts as U+FFFD, which is what arrives when such a
// request is decoded.
func (e *Encoding) Count(text []byte) int {
	if !utf8.Valid(text) {
		text = []byte(string([]rune(string(text))))
	}
	e.once.Do(e.open)
	m := e.pool.Get().(*merger)
	defer e.pool.Put(m)
	n := 0
	for at := 0; at < len(text); {
		end := e.split(text, at)
		n += m.count(text, at, end)
		at = end
	}
	return n
}

// CountJSON counts the content of a JSON string as it lies in a request, between
// its quotes, escapes and all: it is Count of what the string decodes to.
func (e *Encoding) CountJSON(raw []byte) int {
	return e.Count(unescape(raw))
}

func (e *Encoding) open() {
	vocab := openVocabulary(*e.tables)
	e.pool.New = func() any { return &merger{vocab: vocab} }
}
