package tokens

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/pare-llm/pare/internal/trial"
)

// byDefinition is the number of tokens of a word: its bytes are joined, lowest rank
// first and leftmost first, until no two neighbours are a token.
func byDefinition(word string, ranks map[string]uint32) int {
	if _, ok := ranks[word]; ok {
		return 1
	}
	starts := make([]int, len(word)+1)
	for i := range starts {
		starts[i] = i
	}
	union := func(i int) uint32 {
		if i < 0 || i+2 >= len(starts) {
			return noToken
		}
		if rank, ok := ranks[word[starts[i]:starts[i+2]]]; ok {
			return rank
		}
		return noToken
	}
	var unions []uint32 // of each part with the next
	for i := range len(word) {
		unions = append(unions, union(i))
	}
	for {
		low := slices.Min(unions)
		if low == noToken {
			return len(unions)
		}
		i := slices.Index(unions, low)
		starts, unions = slices.Delete(starts, i+1, i+2), slices.Delete(unions, i+1, i+2)
		unions[i] = union(i)
		if i > 0 {
			unions[i-1] = union(i - 1)
		}
	}
}

// ranksOf is the vocabulary of an encoding, by rank and by token.
func ranksOf(e *Encoding) (tokens []string, ranks map[string]uint32) {
	v := allRanks()[e.Name()]
	return v.tokens, v.ranks
}

type ranked struct {
	tokens []string
	ranks  map[string]uint32
}

var allRanks = sync.OnceValue(func() map[string]ranked {
	all := make(map[string]ranked)
	for _, e := range encodings {
		tokens := spelled(e)
		ranks := make(map[string]uint32, len(tokens))
		for rank, token := range tokens {
			ranks[token] = uint32(rank)
		}
		all[e.Name()] = ranked{tokens, ranks}
	}
	return all
})

// TestMergeByDefinition compares words that are hard to cut: tokens over and over, tokens
// in any order, letters at random, bytes at random.
func TestMergeByDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	for _, e := range encodings {
		tokens, ranks := ranksOf(e)
		m := &merger{vocab: openVocabulary(*e.tables)}
		pick := func() string {
			if r.IntN(2) == 0 { // short ones are parts of many
				return tokens[r.IntN(2000)]
			}
			return tokens[r.IntN(len(tokens))]
		}
		makers := []func(b *strings.Builder, size int){
			func(b *strings.Builder, size int) {
				for unit := pick(); b.Len() < size; {
					b.WriteString(unit)
				}
			},
			func(b *strings.Builder, size int) {
				for a, c := pick(), pick(); b.Len() < size; {
					b.WriteString([]string{a, c}[r.IntN(2)])
				}
			},
			func(b *strings.Builder, size int) {
				for b.Len() < size {
					b.WriteString(pick())
				}
			},
			func(b *strings.Builder, size int) {
				for letters := 1 + r.IntN(26); b.Len() < size; {
					b.WriteByte('a' + byte(r.IntN(letters)))
				}
			},
			func(b *strings.Builder, size int) {
				for b.Len() < size {
					b.WriteByte(byte(r.IntN(256)))
				}
			},
			func(b *strings.Builder, size int) {
				for b.Len() < size {
					b.WriteString(strings.Repeat([]string{"=", "-", " ", "\n", "\t", "*", "#", "_", "🙂", "中"}[r.IntN(10)], 1+r.IntN(200)))
				}
			},
		}
		for i := range trial.Size(6000) {
			var b strings.Builder
			size := 2 + r.IntN(60)
			if i%20 == 0 {
				size = r.IntN(700)
			}
			makers[i%len(makers)](&b, max(1, size))
			if got, want := m.merge([]byte(b.String())), byDefinition(b.String(), ranks); got != want {
				t.Fatalf("%s: %q is cut into %d tokens, by definition there are %d", e.Name(), b.String(), got, want)
			}
		}
		for _, token := range tokens {
			if got := m.merge([]byte(token)); got != 1 {
				t.Fatalf("%s: token %q is cut into %d", e.Name(), token, got)
			}
		}
	}
}

// TestReadInPlace: nothing of a vocabulary is unpacked or copied.
func TestReadInPlace(t *testing.T) {
	for _, e := range encodings {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		v := openVocabulary(*e.tables)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 8<<10 {
			t.Errorf("%s: to open a vocabulary allocates %d bytes", e.Name(), n)
		}
		if !slices.Equal(view[made]((" " + (*e.tables)[16:16+8000])[1:]), v.tokens[:1000]) {
			t.Errorf("%s: a table that does not lie at a multiple of eight is read otherwise", e.Name())
		}
		if unsafe.Pointer(unsafe.StringData((*e.tables)[16:])) != unsafe.Pointer(&v.tokens[0]) {
			t.Errorf("%s: the tokens are a copy", e.Name())
		}
	}
}

func FuzzMerge(f *testing.F) {
	for _, s := range odd {
		f.Add([]byte(s), uint8(3))
	}
	type known struct {
		m     *merger
		ranks map[string]uint32
	}
	var all []known
	for _, e := range encodings {
		_, ranks := ranksOf(e)
		all = append(all, known{&merger{vocab: openVocabulary(*e.tables)}, ranks})
	}
	f.Fuzz(func(t *testing.T, word []byte, times uint8) {
		if len(word) == 0 || len(word) > 300 {
			return
		}
		for _, word := range []string{string(word), strings.Repeat(string(word), 1+min(int(times), 300/len(word)))} {
			for _, k := range all {
				if got, want := k.m.merge([]byte(word)), byDefinition(word, k.ranks); got != want {
					t.Errorf("%q is cut into %d tokens, by definition there are %d", word, got, want)
				}
			}
		}
	})
}
