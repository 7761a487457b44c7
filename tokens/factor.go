package tokens

// A Factor is what real usage has taught about the estimates for one model. The
// zero Factor corrects nothing. It is a value: keep one per model, or per model and
// session, and store it as its Permille. It is a value that many goroutines may use.
type Factor struct {
	above int32 // thousandths above (or below) one
}

const (
	minFactor, maxFactor = 900, 1700
	// minLesson is the smallest estimate that teaches anything: below it the
	// overhead of a message, which is not text, decides.
	minLesson = 500
	// patience is how many equal lessons it takes, about, to lower a factor.
	patience = 16
)

// FactorOf makes a Factor of thousandths, as Permille returned them; it is brought
// within bounds.
func FactorOf(permille int) Factor {
	return Factor{above: int32(min(max(permille, minFactor), maxFactor) - 1000)}
}

// Permille is the factor in thousandths, from 900 to 1700.
func (f Factor) Permille() int { return int(f.above) + 1000 }

// Learn returns the factor after a request that was estimated with this factor and
// for which the provider then reported used tokens of input, cached or not. It
// rises at once to what would have been right and falls by a sixteenth of the
// difference: an undercount is refused by the provider, an overcount costs a little
// room. Small or senseless figures teach nothing.
func (f Factor) Learn(estimated, used int) Factor {
	if estimated < minLesson || used <= 0 {
		return f
	}
	now := f.Permille()
	// In units of int64 and rounded up; both counts are far below 2^40.
	right := int((int64(now)*int64(used) + int64(estimated) - 1) / int64(estimated))
	if right < now {
		right = now - (now-right)/patience
	}
	return FactorOf(right)
}
