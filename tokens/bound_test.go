package tokens

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// maxUnder is the bound that the package comment states: no sample is estimated
// below this share of its true count.
const maxUnder = 0.90

// A counted text knows its true count, so that it is counted once.
type counted struct {
	text []byte
	n    int
}

func count(texts []string) []counted {
	all := make([]counted, len(texts))
	for i, s := range texts {
		all[i] = counted{[]byte(s), O200k().Count([]byte(s))}
	}
	return all
}

// An errorRow is the distribution of estimate / true count over some texts.
type errorRow struct{ min, p1, p50, p99, under float64 }

func errorsOf(texts []counted, estimate func([]byte) int) errorRow {
	ratios := make([]float64, len(texts))
	under := 0
	for i, c := range texts {
		ratios[i] = float64(estimate(c.text)) / float64(c.n)
		if ratios[i] < 1 {
			under++
		}
	}
	slices.Sort(ratios)
	at := func(q float64) float64 { return ratios[int(q*float64(len(ratios)-1)+0.5)] }
	return errorRow{ratios[0], at(0.01), at(0.5), at(0.99), float64(under) / float64(len(ratios))}
}

func (r errorRow) String() string {
	return fmt.Sprintf("%.2f | %.2f | %.2f | %.2f | %.0f %%", r.min, r.p1, r.p50, r.p99, 100*r.under)
}

// TestBound prints the table of docs and holds every kind of text to the bound.
func TestBound(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, "estimate / true o200k_base, texts of %d characters\n| kind | texts | min | p1 | p50 | p99 | under |\n|---|---|---|---|---|---|---|\n", chunk)
	var all []counted
	row := func(kind string, texts []counted, estimate func([]byte) int) errorRow {
		r := errorsOf(texts, estimate)
		fmt.Fprintf(&b, "| %s | %d | %s |\n", kind, len(texts), r)
		return r
	}
	e := For("gpt-5")
	for _, kind := range kinds() {
		texts := count(samples()[kind])
		if len(texts) == 0 {
			t.Errorf("no sample of %s", kind)
			continue
		}
		if r := row(kind, texts, e.Count); r.min < maxUnder {
			t.Errorf("%s: an estimate is %.2f of the true count, the bound is %.2f", kind, r.min, maxUnder)
		}
		all = append(all, texts...)
	}
	if r := row("**all**", all, e.Count); r.p1 < 1 {
		t.Errorf("the first percentile is %.2f of the true count", r.p1)
	}
	row("*bytes / 4*", all, func(text []byte) int { return len(text) / 4 })
	row("*bytes / 3*", all, func(text []byte) int { return len(text) / 3 })
	t.Log(b.String())
}

// TestBoundTranscripts does the same on what agents really send.
func TestBoundTranscripts(t *testing.T) {
	r := errorsOf(count(transcripts(t)), For("gpt-5").Count)
	t.Logf("recorded requests: min | p1 | p50 | p99 | under: %s", r)
	if r.min < maxUnder || r.p1 < 0.98 {
		t.Errorf("the bound does not hold")
	}
}
