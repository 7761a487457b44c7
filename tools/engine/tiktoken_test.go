package engine

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"

	"github.com/pare-llm/pare/internal/benchdata"
	"github.com/pare-llm/pare/internal/inside"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/tokens"
)

// TestVocabulariesArePublished: the vocabularies in the program are the ones that OpenAI publishes.
func TestVocabulariesArePublished(t *testing.T) {
	for _, e := range []*tokens.Encoding{tokens.O200k(), tokens.CL100k()} {
		ranks, err := loader.NewOfflineLoader().LoadTiktokenBpe(e.Name() + ".tiktoken")
		if err != nil {
			t.Fatal(err)
		}
		published := make([]string, len(ranks))
		for token, rank := range ranks {
			published[rank] = token
		}
		if !slices.Equal(tokens.Internal(inside.Module).Spelled(e), published) {
			t.Errorf("%s has other tokens than the published vocabulary", e.Name())
		}
	}
}

// TestCountsOfTiktoken compares with a port of tiktoken that runs the published patterns with a
// backtracking engine: on texts of many scripts and on JSON, in pieces of every kind.
func TestCountsOfTiktoken(t *testing.T) {
	trial.Long(t, "builds the tables of another implementation")
	tiktoken.SetBpeLoader(loader.NewOfflineLoader())
	r := rand.New(rand.NewPCG(1, 2))
	body := string(benchdata.Anthropic(100_000))
	pieces := []string{
		"", " ", "  ", "\n", " \n", "\t\t\n\n  x", "\r\n\r\n", " \u00a0 ", "\u3000x", "don't", "WE'LL've", "camelCase HTTPServer", "文字ABC", "ABC文字",
		"e\u0301te\u0301", "!\u0301ABC", "1234567", "½¾⅓", "x²", "://x", " //\n/", "({[<>]})", "日本語のテキスト、です。", "Привет, мир!", "हिन्दी",
		"👩‍👩‍👧‍👦", "a🙂b", "\x00", "<|endoftext|>", "\ufffd", "func main() {\n\tfmt.Println(\"hi\")\n}\n", "| a | b |\n|---|---|\n",
	}
	for _, e := range []*tokens.Encoding{tokens.O200k(), tokens.CL100k()} {
		other, err := tiktoken.GetEncoding(e.Name())
		if err != nil {
			t.Fatal(err)
		}
		compare := func(text string) {
			t.Helper()
			if got, want := e.Count([]byte(text)), len(other.EncodeOrdinary(text)); got != want {
				t.Errorf("%s of %.300q: %d tokens, tiktoken counts %d", e.Name(), text, got, want)
			}
		}
		for range 500 {
			var b strings.Builder
			for range 1 + r.IntN(12) {
				b.WriteString(pieces[r.IntN(len(pieces))])
			}
			compare(b.String())
			at := r.IntN(len(body) - 2000)
			compare(strings.ToValidUTF8(body[at:at+2000], ""))
		}
	}
}
