package tokens

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
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

// String has the errors in percent of the true count; the worst is none where no
// text is underestimated.
func (r errorRow) String() string {
	worst := "none"
	if r.min < 1 {
		worst = fmt.Sprintf("%+.1f", 100*(r.min-1))
	}
	percent := func(ratio float64) string { return fmt.Sprintf("%+.0f", 100*(ratio-1)) }
	return fmt.Sprintf("%s | %s | %s | %s | %.1f", percent(r.p1), percent(r.p50), percent(r.p99), worst, 100*r.under)
}

// TestBound holds every kind of text, and what agents really send, to the bound that
// the package comment states. It prints the table of the docs, and writes it to the
// file that PARE_TABLE names.
func TestBound(t *testing.T) {
	trial.Long(t, "counts the corpus in every vocabulary")
	var table strings.Builder
	fmt.Fprintf(&table, "Error of the estimate against o200k_base, in percent of the true count, on texts of %d characters.\n\n", chunk)
	fmt.Fprint(&table, "| kind | texts | p1 | p50 | p99 | worst under | % under |\n|---|---:|---:|---:|---:|---:|---:|\n")
	row := func(kind string, texts []counted, estimate func([]byte) int) errorRow {
		r := errorsOf(texts, estimate)
		fmt.Fprintf(&table, "| %s | %d | %s |\n", kind, len(texts), r)
		return r
	}
	e := For("gpt-5")
	var all []counted
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
	if r := row("**all of these**", all, e.Count); r.p1 < 1 || r.p50 > 1.15 {
		t.Errorf("the first percentile is %.2f of the true count, the median %.2f", r.p1, r.p50)
	}
	row("*the same, bytes / 4*", all, func(text []byte) int { return len(text) / 4 })
	row("*the same, bytes / 3*", all, func(text []byte) int { return len(text) / 3 })
	t.Run("corpus", func(t *testing.T) {
		r := row("**recorded sessions of agents**", count(transcripts(t)), e.Count)
		if r.min < maxUnder || r.p1 < 1 {
			t.Errorf("an estimate is %.2f of the true count, the first percentile %.2f", r.min, r.p1)
		}
	})
	t.Log("\n" + table.String())
	if path := os.Getenv("PARE_TABLE"); path != "" {
		if err := os.WriteFile(path, []byte(table.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
