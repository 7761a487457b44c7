package transcript

import (
	"iter"
	"sync"
)

// A Span is a half-open range of byte offsets into [Transcript.Raw]. It is a value that
// many goroutines may use.
type Span struct{ Start, End int }

// Len returns the number of bytes in the span.
func (s Span) Len() int { return s.End - s.Start }

// A Role is who speaks. Tool is the role of results where the dialect has one. It is a
// value that many goroutines may use.
type Role uint8

const (
	Unknown Role = iota
	System
	User
	Assistant
	Tool
)

func (r Role) String() string {
	return [...]string{"unknown", "system", "user", "assistant", "tool"}[r]
}

// A Kind is what a block is. Server calls and results are those that the provider itself
// executes; they pair inside the assistant's turn. A compaction is the provider's own
// summary: it stands for everything in front of it, which the provider does not read any
// more. It is a value that many goroutines may use.
type Kind uint8

const (
	Other Kind = iota
	Text
	Thinking
	Call
	Result
	ServerCall
	ServerResult
	Media
	Compaction
)

func (k Kind) String() string {
	return [...]string{"other", "text", "thinking", "call", "result", "server call", "server result", "media", "compaction"}[k]
}

// A State is how well an exchange is paired. It is a value that many goroutines may use.
type State uint8

const (
	// Whole: the call is answered where the provider looks for it.
	Whole State = iota
	// Open: the call stands in the last turn and may still be running.
	Open
	// OrphanCall: no result answers the call, and the talk went on.
	OrphanCall
	// OrphanResult: there is no call for this result.
	OrphanResult
	// Displaced: call and result exist, but not where the provider looks.
	Displaced
	// Duplicate: the call is answered more than once, or repeats an id of its turn.
	Duplicate
)

func (s State) String() string {
	return [...]string{"whole", "open", "orphan call", "orphan result", "displaced", "duplicate"}[s]
}

type (
	// A BlockID is the index of a block; NoBlock is none. Like the other two it is a value
	// that many goroutines may use.
	BlockID int
	// An AtomID is the index of an atom.
	AtomID int
	// An ExchangeID is the index of an exchange; NoExchange is none.
	ExchangeID int
)

const (
	NoBlock    BlockID    = -1
	NoExchange ExchangeID = -1
)

// A Message is one element of the list. Many goroutines may read it.
type Message struct {
	Role   Role
	Begins bool // a history may begin with this message: it is the user's and holds no results
	Speaks bool // a person speaks here, maybe beside results
	Span   Span
	Turn   int     // messages of one turn count as one for the provider
	First  BlockID // its blocks are First up to, not including, End
	End    BlockID
}

// A Block is the smallest thing a plan can touch: a drop removes Span, an edit replaces
// Body. Many goroutines may read it.
type Block struct {
	Message int
	Kind    Kind
	Family  uint8 // calls are answered by results of the same family only
	Failed  bool  // a result that reports an error
	// Continues: a result of which more follows, in a result of its own.
	Continues bool
	Span      Span
	Body      Span
	CallID    string // "" where the format allows it to be missing
	Tool      string
}

// An Exchange relates one call to the blocks that answer it. Many goroutines may read
// it.
type Exchange struct {
	CallID  string
	Tool    string
	Call    BlockID   // NoBlock if State is OrphanResult
	Results []BlockID // in order; more than one if State is Duplicate, or if they are the parts of one
	State   State
	Server  bool // executed by the provider
	Guessed bool // an id was missing; paired by name or by order
	Repeats bool // the call repeats the id of an unanswered one; State is Duplicate
	Late    bool // its result is not where the provider looks; always so if State is Displaced
}

// A Tie says that keeping From requires keeping To; Mutual, and back. Many goroutines
// may read it.
type Tie struct {
	From, To BlockID
	Mutual   bool
}

// An Atom is a set of blocks joined by mutual ties: all of it stays, or none. Many
// goroutines may read it.
type Atom struct {
	Blocks      []BlockID
	First, Last int      // the first and last message it touches
	Needs       []AtomID // keeping this atom requires keeping these
}

// A Cut is a boundary in front of a message, made by [Transcript.Cuts] only. It is a
// value that many goroutines may use.
type Cut struct {
	before int
	inside bool
}

// Before returns the index of the message behind the cut.
func (c Cut) Before() int { return c.before }

// Inside reports whether the cut lies inside an unbroken run of tool use, where
// nobody but the model speaks; such a history needs a new beginning.
func (c Cut) Inside() bool { return c.inside }

// An Outcome is what can be said about a result. It is a value that many goroutines may
// use.
type Outcome uint8

const (
	OutcomeUnknown   Outcome = iota // nothing proves either
	OutcomeSucceeded                // the tool did what it was asked for
	OutcomeFailed                   // it did not
)

func (o Outcome) String() string { return [...]string{"unknown", "succeeded", "failed"}[o] }

// A Discipline is where a dialect looks for the answer to a call. It is a value that
// many goroutines may use.
type Discipline uint8

const (
	// NextTurn: in the turn that follows the call's turn.
	NextTurn Discipline = iota
	// Anywhere: at any later place, by id.
	Anywhere
)

// An Index is what a dialect found in the bytes; New turns it into a Transcript. It is
// for one goroutine.
type Index struct {
	Raw        []byte
	Messages   []Message
	Blocks     []Block
	Ties       []Tie
	Discipline Discipline
}

// A Transcript is the immutable index over the raw bytes of one history. Many goroutines
// may read it.
type Transcript struct {
	raw       []byte
	messages  []Message
	blocks    []Block
	exchanges []Exchange
	exchange  []ExchangeID // by block
	turns     int
	start     BlockID // the last compaction, or 0
	given     []Tie   // by the dialect

	// What follows is worked out when somebody asks: to check a history takes pairs only.
	joining sync.Once
	atoms   []Atom
	atom    []AtomID // by block
	needy   bool     // an atom may need another
}

// New pairs calls with results and joins tied blocks into atoms. Blocks must be
// in message order and messages in turn order.
func New(x Index) *Transcript {
	t := &Transcript{raw: x.Raw, messages: x.Messages, blocks: x.Blocks, given: x.Ties}
	newPairer(t, x.Discipline).pair()
	return t
}

// Raw returns the bytes the transcript was made from. They must not be changed.
func (t *Transcript) Raw() []byte { return t.raw }

// Bytes returns the bytes of a span.
func (t *Transcript) Bytes(s Span) []byte { return t.raw[s.Start:s.End] }

// Messages returns all messages in order. The slice must not be changed.
func (t *Transcript) Messages() []Message { return t.messages }

// Blocks returns all blocks in order. The slice must not be changed.
func (t *Transcript) Blocks() []Block { return t.blocks }

// Block returns one block.
func (t *Transcript) Block(id BlockID) Block { return t.blocks[id] }

// Start returns the first block that the provider reads: the last compaction, which stands
// for everything in front of it, or the first block of all.
func (t *Transcript) Start() BlockID { return t.start }

// StartMessage returns the message of the first block that the provider reads.
func (t *Transcript) StartMessage() int {
	if t.start == 0 {
		return 0
	}
	return t.blocks[t.start].Message
}

// IsCompacted reports whether the provider has compacted the history.
func (t *Transcript) IsCompacted() bool {
	return len(t.blocks) > 0 && t.blocks[t.start].Kind == Compaction
}

// Turns returns the number of turns.
func (t *Transcript) Turns() int { return t.turns }

// Asked returns how often the person spoke in the first n messages. Neighbors count once.
func (t *Transcript) Asked(n int) int {
	asked := 0
	for i := range min(n, len(t.messages)) {
		if t.messages[i].Begins && (i == 0 || !t.messages[i-1].Begins) {
			asked++
		}
	}
	return asked
}

// Exchanges returns all exchanges, in the order of their first block. The slice
// must not be changed.
func (t *Transcript) Exchanges() []Exchange { return t.exchanges }

// ExchangeOf returns the exchange a call or result belongs to, or NoExchange.
func (t *Transcript) ExchangeOf(id BlockID) ExchangeID { return t.exchange[id] }

// Ties returns all ties, those between calls and results included.
func (t *Transcript) Ties() []Tie {
	ties := make([]Tie, 0, len(t.given)+len(t.exchanges))
	for _, x := range t.exchanges {
		for i, r := range x.Results {
			switch {
			case x.Call != NoBlock:
				ties = append(ties, Tie{x.Call, r, true})
			case i > 0:
				ties = append(ties, Tie{x.Results[0], r, true})
			}
		}
	}
	return append(ties, t.given...)
}

// Atoms returns all atoms, in the order of their first block. The slice must not
// be changed.
func (t *Transcript) Atoms() []Atom {
	t.joining.Do(t.partition)
	return t.atoms
}

// HasNeeds reports whether an atom may need another. If not, none does.
func (t *Transcript) HasNeeds() bool {
	t.joining.Do(t.partition)
	return t.needy
}

// AtomOf returns the atom a block belongs to.
func (t *Transcript) AtomOf(id BlockID) AtomID {
	t.joining.Do(t.partition)
	return t.atom[id]
}

// Cuts yields the cuts in order, the one in front of the first message included.
func (t *Transcript) Cuts() iter.Seq[Cut] {
	return func(yield func(Cut) bool) {
		reach := 0 // no atom that begins earlier touches this message or a later one
		ends := t.reaches()
		for i, m := range t.messages {
			if reach <= i && (i == 0 || t.parted(i)) {
				if !yield(Cut{before: i, inside: i > 0 && !m.Begins}) {
					return
				}
			}
			reach = max(reach, ends[i])
		}
	}
}

// HasCut reports whether a cut is one of this transcript. One that was made by another may
// lie in the middle of a pair here.
func (t *Transcript) HasCut(cut Cut) bool {
	for c := range t.Cuts() {
		if c == cut {
			return true
		}
	}
	return false
}

// Split returns the cut for a compaction: the last one that leaves at least minKeep
// messages behind it, and one in any case, with a person speaking first. If inside is
// set and there is none, it is the last one inside a run of tool use. It returns false
// if no cut has anything but the system's messages in front of it, or but what the
// provider has compacted.
func (t *Transcript) Split(minKeep int, inside bool) (Cut, bool) {
	head := t.Preamble()
	var best, within Cut
	for c := range t.Cuts() {
		switch {
		case c.before <= head || c.before > len(t.messages)-minKeep:
		case !c.inside:
			best = c
		default:
			within = c
		}
	}
	if best.before == 0 && inside {
		best = within
	}
	return best, best.before > 0
}

// Preamble is how many messages at the beginning are nothing to compact: those of the
// system, and what the provider has compacted.
func (t *Transcript) Preamble() int {
	head := 0
	for head < len(t.messages) && t.messages[head].Role == System {
		head++
	}
	if t.IsCompacted() {
		head = max(head, t.StartMessage()+1)
	}
	return head
}

// parted reports whether a history may begin with message i: it begins a turn, or a
// person speaks behind results that the provider takes for the same turn.
func (t *Transcript) parted(i int) bool {
	return t.messages[i-1].Turn != t.messages[i].Turn || t.messages[i].Begins && !t.messages[i-1].Begins
}

// reaches returns, for each message, the first message behind the atoms that
// begin there and behind those that need them: cutting in between would part an
// atom, or leave one without what it needs.
func (t *Transcript) reaches() []int {
	ends := make([]int, len(t.messages))
	for _, a := range t.Atoms() {
		ends[a.First] = max(ends[a.First], a.Last+1)
		for _, n := range a.Needs {
			first := t.atoms[n].First
			ends[first] = max(ends[first], a.Last+1)
		}
	}
	return ends
}
