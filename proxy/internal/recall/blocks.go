package recall

// blocks is what the filters of those APIs share whose streams are made of blocks with
// numbers.
type blocks struct {
	number string // the member that numbers blocks
	round  int
	output int // tokens of the rounds before
	places
	now   *Turn
	said  [][]byte
	grown map[int]*growing
	held  []Event
}

func newBlocks(number string) blocks {
	f := blocks{number: number}
	f.Next()
	return f
}

func (f *blocks) Next() {
	if f.now != nil {
		f.round++
		f.output += f.now.Output
	}
	f.now, f.said, f.held = &Turn{}, nil, nil
	f.grown = make(map[int]*growing)
	f.places.next()
}

// begin notices that a block begins.
func (f *blocks) begin(i int, ours bool, start []byte) {
	f.grown[i] = &growing{start: start}
	f.put(i, ours)
}

// block passes on an event of a block that the client sees.
func (f *blocks) block(e Event, i int) []Event {
	n, ok := f.of[i]
	switch {
	case !ok:
		return []Event{e}
	case n < 0:
		return nil
	}
	return []Event{e.numbered(n, f.number)}
}

// places are the numbers that the client knows blocks by. As long as nothing was hidden they
// are the provider's.
type places struct {
	of     map[int]int // by the provider's numbers in this round; less than zero: it is hidden
	base   int         // of the round
	end    int         // behind all that were given
	hidden int         // in the round so far
}

// next begins the next round.
func (p *places) next() { p.of, p.base, p.hidden = make(map[int]int), p.end, 0 }

// put gives the block with that number a place.
func (p *places) put(i int, hidden bool) {
	if hidden {
		p.of[i] = -1
		p.hidden++
		return
	}
	p.of[i] = max(p.base+i-p.hidden, 0)
	p.end = max(p.end, p.of[i]+1)
}

// last passes on the end of a reply, or holds it back.
func (f *blocks) last(e Event) []Event {
	if f.now.Alone() {
		f.held = append(f.held, e)
		return nil
	}
	return []Event{e}
}

func (f *blocks) Turn() *Turn {
	f.now.Said = [][]byte{object("role", "assistant", "content", array(f.said...))}
	return f.now
}

// A growing block is one that comes in pieces.
type growing struct {
	start     []byte
	parts     map[string][]byte   // by member
	lists     map[string][][]byte // by member
	citations [][]byte
}

func (g *growing) grow(member, piece string) {
	if g.parts == nil {
		g.parts = make(map[string][]byte)
	}
	g.parts[member] = append(g.parts[member], piece...)
}
