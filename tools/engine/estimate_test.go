package engine

import (
	"slices"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// TestEstimateOfRequests checks that recorded requests are never estimated too low, and half of
// them at most a tenth too high, for both vocabularies of OpenAI.
func TestEstimateOfRequests(t *testing.T) {
	trial.Long(t, "counts the corpus in both vocabularies")
	for _, c := range []struct {
		model string
		exact tokens.Text
		most  float64
	}{{"gpt-5", tokens.O200k(), 1.10}, {"gpt-4", tokens.CL100k(), 1.105}} {
		var ratios []float64
		estimator := tokens.For(c.model)
		for _, body := range recordings(t) {
			r, err := wire.Parse(body.Raw, wire.Options{Model: body.Model})
			if err != nil {
				t.Fatalf("%s: %v", body.Name, err)
			}
			n, estimate := r.Tokens(texts{c.exact}), r.Tokens(texts{estimator})
			if estimate < n {
				t.Errorf("%s, %s: estimated at %d tokens, is %d", c.model, body.Name, estimate, n)
			}
			if n >= 500 {
				ratios = append(ratios, float64(estimate)/float64(n))
			}
		}
		slices.Sort(ratios)
		median := ratios[len(ratios)/2]
		t.Logf("%s: %d requests, least %.3f, median %.3f, most %.3f", c.model, len(ratios), ratios[0], median, ratios[len(ratios)-1])
		if median > c.most {
			t.Errorf("%s: half of the requests are estimated above %.3f of their tokens, want at most %.3f", c.model, median, c.most)
		}
	}
}

// texts counts only texts. Estimates of media and marks are the same in both counters and would
// hide differences.
type texts struct{ tokens.Text }

func (texts) Media(string, []byte, bool) int { return 0 }
func (texts) Overhead(int, int) int          { return 0 }
