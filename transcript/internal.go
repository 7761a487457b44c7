package transcript

import "github.com/pare-llm/pare/internal/inside"

// Internal opens what the packages of this module use of each other and users do not see:
// nobody else can import the key.
func Internal(*inside.Key) internals { return internals{} }

// internals has the functions and methods behind the door. Each does what its namesake in
// lower case says.
type internals struct{}

func (internals) Compacted(t *Transcript) bool {
	return t.compacted()
}

func (internals) HasCut(t *Transcript, cut Cut) bool {
	return t.hasCut(cut)
}

func (internals) Needy(t *Transcript) bool {
	return t.hasNeeds()
}

func (internals) New(x Index) *Transcript {
	return newTranscript(x)
}

func (internals) Preamble(t *Transcript) int {
	return t.preamble()
}

func (internals) Start(t *Transcript) BlockID {
	return t.firstRead()
}

func (internals) StartMessage(t *Transcript) int {
	return t.startMessage()
}

func (internals) Ties(t *Transcript) []Tie {
	return t.ties()
}

func (internals) Turns(t *Transcript) int {
	return t.turns
}

// Asked is how often the person spoke in the first n messages: those that a history may begin with,
// neighbours once.
func (internals) Asked(t *Transcript, n int) (asked int) {
	for i := range min(n, len(t.messages)) {
		if t.messages[i].Begins && (i == 0 || !t.messages[i-1].Begins) {
			asked++
		}
	}
	return asked
}
