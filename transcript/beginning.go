package transcript

// Beginnings are the transcripts of the first messages of a history, one for each number of
// them. They share its index, so making one takes no time; but where a call is not answered
// yet, or something is tied to what follows, there is none. Many goroutines may use them.
type Beginnings struct {
	t         *Transcript
	parts     []bool // by number of messages: something reaches beyond
	exchanges []int  // by number of messages: how many begin there
	atoms     []int
	given     []int
	whole     int // so many of its first exchanges are whole, and the client's
}

// Beginnings returns those of t.
func (t *Transcript) Beginnings() *Beginnings {
	n := len(t.messages)
	b := &Beginnings{t: t, parts: make([]bool, n+1), exchanges: make([]int, n+1), atoms: make([]int, n+1), given: make([]int, n+1)}
	reach := make([]int, n+2) // how many more reach beyond so many messages
	span := func(first, last int) {
		reach[first+1]++
		reach[last+1]--
	}
	for b.whole < len(t.exchanges) && t.exchanges[b.whole].State == Whole && !t.exchanges[b.whole].Server {
		b.whole++
	}
	for _, x := range t.exchanges {
		all := x.Results
		if x.Call != NoBlock {
			all = append([]BlockID{x.Call}, all...)
		}
		first, last := t.blocks[all[0]].Message, t.blocks[all[len(all)-1]].Message
		b.exchanges[first+1]++
		if x.State == OrphanCall || x.State == Open {
			last = n // which of them it is depends on what follows
		}
		span(first, last)
	}
	for _, a := range t.Atoms() {
		b.atoms[a.First+1]++
		span(a.First, a.Last)
		for _, need := range a.Needs {
			if first := t.atoms[need].First; first > a.First {
				span(a.First, first)
			}
		}
	}
	sorted, before := true, 0
	for _, tie := range t.given {
		last := t.blocks[max(tie.From, tie.To)].Message
		b.given[last+1]++
		sorted, before = sorted && last >= before, last
	}
	beyond := 0
	for i := range n + 1 {
		if i > 0 {
			b.exchanges[i] += b.exchanges[i-1]
			b.atoms[i] += b.atoms[i-1]
			b.given[i] += b.given[i-1]
		}
		beyond += reach[i]
		b.parts[i] = i == 0 || beyond > 0 || !sorted || t.Compacted()
	}
	return b
}

// Shares reports whether there is one of the first n messages; else it has to be made anew.
func (b *Beginnings) Shares(n int) bool { return !b.parts[n] }

// Stretch is the first n messages, with the exchanges of them up to one that is not whole, or not
// the client's.
func (b *Beginnings) Stretch(n int) Stretch {
	return Stretch{End: n, Last: min(b.exchanges[n], b.whole)}
}

// At returns the transcript of the first n messages, over the bytes of the history.
func (b *Beginnings) At(n int) *Transcript {
	t := b.t
	blocks, exchanges, atoms, given := int(t.messages[n-1].End), b.exchanges[n], b.atoms[n], b.given[n]
	out := &Transcript{
		raw: t.raw, messages: t.messages[:n:n], blocks: t.blocks[:blocks:blocks], exchanges: t.exchanges[:exchanges:exchanges], exchange: t.exchange[:blocks:blocks],
		odd: t.oddIn(exchanges), turns: t.messages[n-1].Turn + 1, given: t.given[:given:given], atoms: t.atoms[:atoms:atoms], atom: t.atom[:blocks:blocks], needy: t.needy,
	}
	out.joining.Do(func() {})
	return out
}

// Continues reports whether one of two transcripts is known to begin with the other: both
// are beginnings of one history.
func (t *Transcript) Continues(o *Transcript) bool {
	return len(t.messages) > 0 && len(o.messages) > 0 && &t.messages[0] == &o.messages[0]
}
