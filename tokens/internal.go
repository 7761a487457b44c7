package tokens

import (
	"time"

	"github.com/pare-llm/pare/internal/inside"
)

// Internal opens what the packages of this module use of each other and users do not see:
// nobody else can import the key.
func Internal(*inside.Key) internals { return internals{} }

// internals has the functions and methods behind the door. Each does what its namesake in
// lower case says.
type internals struct{}

func (internals) ExactFor(model string) (*Encoding, bool) {
	return exactFor(model)
}

func (internals) ImageSize(data []byte) (width int, height int, ok bool) {
	return imageSize(data)
}

// Spelled is the vocabulary of an encoding, by rank.
func (internals) Spelled(e *Encoding) []string {
	return spelled(e)
}

func (internals) Life(model string, body []byte) time.Duration {
	return life(model, body)
}

func (internals) Least(e Estimator, n int, foreign bool) int {
	return e.least(n, foreign)
}
