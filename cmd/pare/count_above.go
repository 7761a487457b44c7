package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/pare-llm/pare/cmd/internal/screen"
)

// A threshold is what --above was given: a share of the room for a request, or a number of tokens.
type threshold struct {
	said   string
	share  float64 // 0: it is a number of tokens
	tokens int
}

// readThreshold reads the value of --above; nil: it was not given.
func readThreshold(text string) (*threshold, error) {
	if text == "" {
		return nil, nil
	}
	bad := hinted{fmt.Errorf("--above %s is neither a share nor a number of tokens", text), "for example --above 80% or --above 150000"}
	if percent, ok := strings.CutSuffix(text, "%"); ok {
		n, err := strconv.ParseFloat(strings.TrimSpace(percent), 64)
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) || n <= 0 {
			return nil, bad
		}
		return &threshold{said: text, share: n / 100}, nil
	}
	n, err := strconv.Atoi(strings.NewReplacer(",", "", "_", "").Replace(text))
	if err != nil || n < 1 {
		return nil, bad
	}
	return &threshold{said: text, tokens: n}, nil
}

// judge says whether a transcript is fuller than that, in a line for people. Its error is wrong
// usage: a share of a window that nobody knows.
func (t *threshold) judge(from origin, n *counted) (note []byte, err error) {
	taken, counted := n.Tokens, ""
	if n.Beside > 0 { // what the file does not show
		counted = ", with the system prompt and the tools"
	}
	limit := t.tokens
	if t.share > 0 {
		if n.Room == 0 {
			return nil, misuse{hinted{fmt.Errorf("--above %s: the window of %s is not known", t.said, named(n.Model)), "give a number of tokens, or a model that is known: --model NAME"}}
		}
		limit = int(t.share * float64(n.Room))
	}
	above := taken > limit
	n.Above = &above
	full := screen.Line(grouped(taken) + " tokens" + counted)
	left := ""
	if n.Room > 0 {
		full = screen.Printf("%s full: %s of %s tokens%s (window of %s: %s)", strings.TrimSpace(screen.Percent(float64(taken)/float64(n.Room))), grouped(taken), grouped(n.Room), counted, named(n.Model), grouped(n.Window))
		left = fmt.Sprintf(", %s left", grouped(max(n.Room-taken, 0)))
	}
	is := "not above"
	if above {
		is = "above"
	}
	return screen.Appendf(nil, "%s: %s%s; %s %s\n", from.String(), full, left, is, t.said), nil
}
