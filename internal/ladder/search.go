package ladder

import (
	"math"

	"github.com/pare-llm/pare/transcript"
)

// meet finds the first state of the chain that fits: it is within a limit, still within
// those that were met before, and nothing is wrong with it.
//
// What a state costs is known for sure only when it has been carried out, finished
// and measured: fillers may be added, stale thinking may go. So a sum over blocks,
// which is cheap and falls along the chain, says where to begin, and measuring says
// where to stop. A limit works if it is at least sum and measure of some state, which
// makes the least one exact. Of messages the measure alone decides: neighbours that are
// joined afterwards are fewer than the sum says, and by how much no sum tells.
func (l *Ladder) meet(m Limit, earlier []Limit) (Outcome, error) {
	stable := m.Unit == Tokens && l.Window.Low > 0
	if stable {
		if err := l.replay(m.Most); err != nil {
			return nil, err
		}
	}
	if l.sparing && m.Unit == Tokens && l.chain.losses > 0 {
		return nil, errLoses
	}
	if o, err := l.stay(m, earlier); o != nil || err != nil {
		return o, err
	}
	tiny := 0
	if !l.Window.AllowTiny {
		tiny = l.smallest(m)
	}
	l.begin(m.Unit)
	if o, err := l.clamber(m, earlier, tiny); o != nil || err != nil {
		return o, err
	}
	l.goOn(m.Unit)
	g := newGauge(l, m.Unit)
	if g.at(len(l.chain.steps)) <= m.Most && tiny <= m.Most {
		if l.sparing && m.Unit == Tokens && l.losesAt(g.first(m.Most)) {
			return nil, errLoses
		}
		if o, err := l.climb(g, m, earlier); o != nil || err != nil {
			return o, err
		}
	}
	if l.trying && m.Unit != Messages {
		return nil, &TooSmall{m, 0}
	}
	least, at, err := l.minimum(g, m.Unit, earlier)
	if err != nil {
		return nil, err
	}
	if m.Unit == Messages && max(least, tiny) <= m.Most {
		return l.tryAt(at)
	}
	least = max(least, tiny)
	if stable {
		least = l.stableMinimum(m, least)
	}
	return nil, &TooSmall{m, least}
}

// clamber is climb on the rungs that drop nothing, if one of their states is within the limit.
// The outcome is nil if the sums of the states behind them may be higher, where a pinned block
// costs more when it says less, or a summary has to find room, or if the first states that are
// within the limit do not fit.
func (l *Ladder) clamber(m Limit, earlier []Limit, tiny int) (Outcome, error) {
	if m.Unit != Tokens || tiny > m.Most || l.Reserve > 0 {
		return nil, nil
	}
	if l.gentle(m.Most) && l.squeezable() {
		g := newGauge(l, Tokens)
		k := g.first(m.Most)
		for tries := 0; k <= len(l.chain.steps) && tries < linear; k++ {
			if !l.worthTrying(g, k) {
				continue
			}
			tries++
			o, err := l.tryAt(k)
			if err != nil || l.fits(o, m, earlier) {
				return o, err
			}
		}
		l.chain.move(len(l.chain.steps))
	}
	return nil, nil
}

// linear is how many states are tried one by one. Sums and measures hardly ever differ,
// and hardly ever is anything wrong with a state. Should it be so everywhere, time must not
// grow with the square of the history, so then some are passed over.
const linear = 16

// stride is how far to go after so many tries.
func stride(tries int) int {
	if tries <= linear {
		return 1
	}
	return 1 << min(tries-linear, 30)
}

// climb tries states, from the first whose sum is within the limit on. The outcome is nil
// if none fits.
func (l *Ladder) climb(g *gauge, m Limit, earlier []Limit) (Outcome, error) {
	n, tries := len(l.chain.steps), 0
	for k := g.first(m.Most); k <= n; k++ {
		if !l.worthTrying(g, k) {
			continue
		}
		if tries++; tries > linear {
			k = min(k+stride(tries), n)
		}
		o, err := l.tryAt(k)
		if err != nil || l.fits(o, m, earlier) {
			return o, err
		}
	}
	if tries <= linear {
		return nil, nil
	}
	// What fits may have been passed over; the harshest ones are looked at from the end.
	least, k, err := l.minimum(g, m.Unit, earlier)
	if err != nil || least > m.Most {
		return nil, err
	}
	return l.tryAt(k)
}

// worthTrying reports whether a state can have less than the one before it. Where something
// is put behind the end, dropping that end saves what no sum tells.
func (l *Ladder) worthTrying(g *gauge, k int) bool { return l.Unended || g.falls(k) }

// losesAt reports whether a state has lost anything, and so have all behind it.
func (l *Ladder) losesAt(k int) bool {
	l.chain.move(k)
	return l.chain.losses > 0
}

func (l *Ladder) tryAt(k int) (Outcome, error) {
	l.chain.move(k)
	return l.Try(l)
}

// fits judges the outcome of the state that the chain is at.
func (l *Ladder) fits(o Outcome, m Limit, earlier []Limit) bool {
	return o.Sound() && l.weigh(o, m.Unit, m.Most) <= m.Most && l.all(o.Request(), earlier)
}

// stay returns the state that the chain is at if that is within the limit.
func (l *Ladder) stay(m Limit, earlier []Limit) (Outcome, error) {
	rest := l.chain.atRest()
	if rest && !l.within(l.Request, m) {
		return nil, nil
	}
	o, err := l.Try(l)
	if err != nil || rest && len(earlier) == 0 && !l.Unended || l.fits(o, m, earlier) {
		return o, err
	}
	return nil, nil
}

// minimum is the least limit that works, and the state with which it does: from the
// harshest state on, as long as a gentler one could need less.
func (l *Ladder) minimum(g *gauge, u Unit, earlier []Limit) (least, at int, err error) {
	least = math.MaxInt
	tries := 0
	for k := len(l.chain.steps); k >= 0 && g.at(k) < least; k-- {
		if !l.worthTrying(g, k) {
			continue
		}
		o, err := l.tryAt(k)
		if err != nil {
			return 0, 0, err
		}
		if o.Sound() && l.all(o.Request(), earlier) {
			n := l.weigh(o, u, math.MaxInt)
			if u != Messages {
				n = max(n, g.at(k))
			}
			if n < least {
				least, at = n, k
			}
		} else if tries++; tries > linear {
			k = min(k, max(k-stride(tries), 1))
		}
	}
	// Or the state that the chain begins with, which need not be below a later sum.
	l.chain.move(0)
	if l.chain.atRest() && !l.Unended {
		if n := l.measure(l.Request, u, least); n < least && l.all(l.Request, earlier) {
			least, at = n, 0
		}
		return least, at, nil
	}
	o, err := l.Try(l)
	if err != nil {
		return 0, 0, err
	}
	if n := l.weigh(o, u, least); n < least && o.Sound() && l.all(o.Request(), earlier) {
		least, at = n, 0
	}
	return least, at, nil
}

// smallest is what the smallest exchange of the history needs, at its shortest; it
// may be any number up to the limit if one is that small.
func (l *Ladder) smallest(m Limit) int {
	least := 0
	for _, x := range l.t.Exchanges()[unread(l.t):] {
		n := 1
		switch m.Unit {
		case Messages:
			a := l.t.Atoms()[l.t.AtomOf(firstBlock(&x))]
			n = min(a.Last-a.First+1, 2)
		case Tokens:
			n = l.shortest(x)
		}
		if least == 0 || n < least {
			least = n
		}
		if least <= m.Most {
			return least
		}
	}
	return least
}

func (l *Ladder) shortest(x transcript.Exchange) int {
	n := 0
	for _, b := range append([]transcript.BlockID{x.Call}, x.Results...) {
		if b == transcript.NoBlock {
			continue
		}
		v := asIs
		switch blk := l.t.Block(b); {
		case !wirex.Editable(l.Request, b) || blk.Body == blk.Span || l.scene.locked.on[l.t.AtomOf(b)]:
		case blk.Kind == transcript.Result && blk.Body.Len() >= minCleared:
			v = isCleared
		case blk.Kind == transcript.Call && blk.Body.Len() > 3*atMost1K.size()/2:
			v = atMost1K
		}
		n += l.meter.frame + l.meter.of(b, v)
	}
	return n
}
