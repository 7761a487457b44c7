package trial

import (
	"fmt"
	"strconv"
	"strings"
)

// Fact returns the fact that a test plants in a turn of a long conversation, to find it again
// after hundreds of compactions.
func Fact(turn int) string { return fmt.Sprintf("item-%05d costs %d.", turn, 1000+turn*37%9973) }

func Decision(turn int) string { return fmt.Sprintf("part-%05d because", turn) }

// FirstMissingTurn returns the first turn whose fact or decision is not in a text, or turns if
// all are there. It reads the text only once for each kind, because searching for every fact
// of 5,000 turns would be quadratic.
func FirstMissingTurn(text string, turns int) int {
	first := turns
	for _, plant := range []struct {
		mark string
		of   func(int) string
	}{{"item-", Fact}, {"part-", Decision}} {
		seen := make([]bool, turns)
		for rest := text; ; {
			i := strings.Index(rest, plant.mark)
			if i < 0 {
				break
			}
			rest = rest[i:]
			if at := len(plant.mark); len(rest) >= at+5 {
				if n, err := strconv.Atoi(rest[at : at+5]); err == nil && n >= 0 && n < turns && !seen[n] {
					seen[n] = strings.HasPrefix(rest, plant.of(n))
				}
			}
			rest = rest[len(plant.mark):]
		}
		for i, ok := range seen[:first] {
			if !ok {
				first = i
				break
			}
		}
	}
	return first
}
