package excerpt

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pare-llm/pare/internal/trial"
)

// A run of tests that is long, fails in the middle and names something nobody else does.
func longRun() string {
	var b strings.Builder
	for i := range 400 {
		fmt.Fprintf(&b, "ok   case %d\n", i)
		switch i {
		case 200:
			b.WriteString("FAIL case 200: want 3, got 4\n    at reader_test.go:12\n")
		case 250:
			b.WriteString("used frob_count once\n")
		}
	}
	return b.String()
}

func TestExcerptKeepsWhatMatters(t *testing.T) {
	text := longRun()
	got := Excerpt{Most: 2000, Head: 500, Tail: 500, Names: 500, By: "oversized", Call: "c1", Handle: "pare-1234"}.Of(text)
	for _, want := range []string{
		"ok   case 0\n", "\nFAIL case 200: want 3, got 4\n    at reader_test.go:12\n", "ok   case 399\n", "frob_count",
		fmt.Sprintf(" of %d bytes left out here by oversized, call c1; pare recall pare-1234 prints it; it names: ", len(text)), " more bytes left out]\nok ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if len(got) > 2000 {
		t.Errorf("%d bytes", len(got))
	}
}

func TestExcerptOfDiffAndFile(t *testing.T) {
	pad := strings.Repeat("  some context that nobody asked about\n", 100)
	diff := Excerpt{Most: 2000, Head: 500, Tail: 500}.Of(pad + "@@ -1,2 +1,2 @@\n-old line\n+new line\n" + pad)
	file := Excerpt{Most: 2000, Head: 500, Tail: 500, Outline: true}.Of(pad + "   103→func Frob() error {\n" + pad)
	if !strings.Contains(diff, "-old line\n+new line\n") || !strings.Contains(file, "   103→func Frob() error {\n") {
		t.Errorf("%s\n\n%s", diff, file)
	}
}

// TestExcerptFits: whatever a text consists of, what is made of it is UTF-8, within its bound, and
// the same each time.
func TestExcerptFits(t *testing.T) {
	pieces := []string{"error: x\n", "\n", "日本語", strings.Repeat("x", 700), "+ a\n", "@@ -1 +1 @@\n", "plain words\n", "a_name_", "\xc3\xa9", "FAIL", "👩‍👧", "\r\n", "func F() {\n"}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range trial.Size(2000) {
		var b strings.Builder
		most := 1024 + rnd.IntN(4000)
		for b.Len() <= most {
			b.WriteString(strings.Repeat(pieces[rnd.IntN(len(pieces))], 1+rnd.IntN(20)))
		}
		g := Excerpt{Most: most, Head: most / 4, Tail: most / 4, Names: most / 4, Outline: rnd.IntN(2) == 0, By: "oversized", Call: strings.Repeat("c", rnd.IntN(100)), Handle: "pare-0"}
		got := g.Of(b.String())
		if !utf8.ValidString(got) || len(got) > most || got != g.Of(b.String()) {
			t.Fatalf("%d bytes of %d, bound %d: %q", len(got), b.Len(), most, got)
		}
	}
}
