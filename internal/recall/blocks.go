package recall

// blocks is what the filters of those APIs share whose streams are made of blocks with
// numbers.
type blocks struct {
	number string // the member that numbers blocks
	round  int
	passed int // blocks that the client has seen begin
	output int // tokens of the rounds before
	now    *Turn
	said   [][]byte
	place  map[int]int // the client's numbers of blocks; less than zero: it does not see it
	grown  map[int]*growing
	held   []Event
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
	f.place, f.grown = make(map[int]int), make(map[int]*growing)
}

// begin notices that a block begins.
func (f *blocks) begin(i int, ours bool, start []byte) {
	f.grown[i] = &growing{start: start}
	if ours {
		f.place[i] = -1
		return
	}
	f.place[i] = f.passed
	f.passed++
}

// block passes on an event of a block that the client sees.
func (f *blocks) block(e Event, i int) []Event {
	n, ok := f.place[i]
	switch {
	case !ok:
		return []Event{e}
	case n < 0:
		return nil
	}
	return []Event{e.numbered(n, f.number)}
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
	parts     map[string][]byte // by member
	citations [][]byte
}

func (g *growing) grow(member, piece string) {
	if g.parts == nil {
		g.parts = make(map[string][]byte)
	}
	g.parts[member] = append(g.parts[member], piece...)
}
