package replay

import (
	"math"
	"slices"

	"github.com/pare-llm/pare/tokens"
)

// A scale turns estimates of a history into what the provider has billed. Text counts by one
// factor for the whole history; whatever else a request was billed for is beside the text. Both
// are for counting only: what a policy decides rests on estimates, as no bill of a later request
// is known when it decides.
type scale struct {
	factor float64 // billed tokens for each that is estimated
	beside []int   // by request: what was billed beside its text
	head   int     // what is beside the text of most requests
}

const (
	// Fewer bills, or less text between them, tell no factor.
	leastBilled = 8
	leastText   = 10_000
)

// newScale fits a factor and a head to the bills of a history, of which the text of request k is
// estimated at text(k). Where there are none, estimates stand.
func newScale(r *Recording, w *Walk, text func(k int) int) scale {
	s := scale{factor: 1, beside: make([]int, w.Len())}
	var billed []int
	for k := range w.Len() {
		if r.bill(w, k).sent() > 0 {
			billed = append(billed, k)
		}
	}
	if len(billed) == 0 {
		return s
	}
	over := func(k int) float64 { return float64(r.bill(w, k).sent()) - s.factor*float64(text(k)) }
	s.factor = slope(billed, text, func(k int) int { return r.bill(w, k).sent() })
	var heads []float64
	for _, k := range billed {
		heads = append(heads, over(k))
	}
	s.head = int(max(median(heads), 0))
	next := 0
	for k := range s.beside { // what is not billed has what the next one has, or the last
		for next < len(billed)-1 && billed[next] < k {
			next++
		}
		s.beside[k] = int(math.Round(over(billed[next]))) // less than nothing: not all that is shown was sent
	}
	return s
}

// slope is by how much bills grow with the text: the median over requests half of the history
// apart, which a few odd ones do not move.
func slope(billed []int, text, bill func(k int) int) float64 {
	half := len(billed) / 2
	var all []float64
	for i := 0; i+half < len(billed) && len(billed) >= leastBilled; i++ {
		from, to := billed[i], billed[i+half]
		if more := text(to) - text(from); more >= leastText {
			all = append(all, float64(bill(to)-bill(from))/float64(more))
		}
	}
	if len(all) < leastBilled/2 {
		return 1
	}
	return min(max(median(all), 0.5), 2)
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// text is what an estimate is billed.
func (s *scale) text(estimate int) int { return int(math.Round(s.factor * float64(estimate))) }

// Bills are what the provider has billed for the input of the requests of a recording, and what
// the replay counts for the same ones when everything is sent. Many goroutines may read it.
type Bills struct {
	Requests int     `json:"requests"` // that were billed
	Sent     int     `json:"sent"`     // tokens, as billed
	Read     int     `json:"read"`     // of these, from the cache
	Money    float64 `json:"money"`    // for them, without replies
	// Fitted is Sent as one head and one factor for each history have it, Counted Read and Paid
	// Money as the replay has them.
	Fitted  int     `json:"fitted"`
	Counted int     `json:"counted"`
	Paid    float64 `json:"paid"`
	// Median is by how much the fit misses a request, Most by how much it does at most for nine of
	// ten: in thousandths of the bill.
	Median int `json:"median"`
	Most   int `json:"most"`
	// Near is how many requests the fit misses by 2 % at most, and PaidNear of how many the money
	// that is counted is that near.
	Near     int `json:"near"`
	PaidNear int `json:"paid_near"`

	off []int // by request, in thousandths of the bill
}

// near is so many thousandths of a bill.
const near = 20

// bills compares the bills of a recording with what the replay counts.
func (p *player) bills() (b Bills) {
	c, first := p.setting.Cache, p.runs[0].steps
	used := ofLife(c, p.recording.life())
	for k := range first {
		bill := p.recording.bill(p.walk, k)
		sent := bill.sent()
		if sent == 0 {
			continue
		}
		fitted := p.scale.head + p.scale.text(p.textOf(k))
		b.Requests, b.Sent, b.Read, b.Fitted, b.Counted = b.Requests+1, b.Sent+sent, b.Read+bill.Read, b.Fitted+fitted, b.Counted+first[k].Read
		b.off = append(b.off, 1000*abs(fitted-sent)/sent)
		if p.priced {
			five := c
			five.Write = min(c.Write, 1250)
			hour := tokens.Usage{Input: bill.Input, Read: bill.Read, Written: bill.Hour}
			money := p.price.Cost(used, hour) + p.price.Cost(five, tokens.Usage{Written: bill.Written - bill.Hour})
			u := first[k].usage()
			u.Output = 0
			paid := p.price.Cost(c, u)
			b.Money, b.Paid = b.Money+money, b.Paid+paid
			if 1000*math.Abs(paid-money) <= near*money {
				b.PaidNear++
			}
		}
	}
	b.spread()
	return b
}

func (b *Bills) spread() {
	if n := len(b.off); n > 0 {
		slices.Sort(b.off)
		b.Median, b.Most = b.off[n/2], b.off[n*9/10]
		b.Near, _ = slices.BinarySearch(b.off, near+1)
	}
}

// Add adds the bills of another history.
func (b *Bills) Add(o *Bills) {
	b.Requests, b.Sent, b.Read, b.Fitted, b.Counted = b.Requests+o.Requests, b.Sent+o.Sent, b.Read+o.Read, b.Fitted+o.Fitted, b.Counted+o.Counted
	b.Money, b.Paid, b.off = b.Money+o.Money, b.Paid+o.Paid, append(b.off, o.off...)
	b.PaidNear += o.PaidNear
	b.spread()
}

func abs(n int) int { return max(n, -n) }
