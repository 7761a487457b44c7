package tokens

import (
	"sync"
	"testing"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"
)

// The oracle is a port of tiktoken that runs the published patterns with a
// backtracking regexp engine. It is exact and quadratic, so it gets no long words.
// The other maintained port, tiktoken-go/tokenizer, is off by one on some markdown.
var oracle = sync.OnceValue(func() map[string]*tiktoken.Tiktoken {
	tiktoken.SetBpeLoader(loader.NewOfflineLoader())
	m := map[string]*tiktoken.Tiktoken{}
	for _, e := range encodings {
		t, err := tiktoken.GetEncoding(e.Name())
		if err != nil {
			panic(err)
		}
		m[e.Name()] = t
	}
	return m
})

var encodings = []*Encoding{O200k(), CL100k()}

// truth is the oracle's count.
func truth(e *Encoding, text string) int {
	return len(oracle()[e.Name()].EncodeOrdinary(text))
}

func agree(t *testing.T, text string) {
	t.Helper()
	for _, e := range encodings {
		if got, want := e.Count([]byte(text)), truth(e, text); got != want {
			t.Errorf("%s of %q: %d tokens, the oracle counts %d", e.Name(), clip(text), got, want)
		}
	}
}

func clip(s string) string {
	if len(s) > 300 {
		return s[:300] + "…"
	}
	return s
}
