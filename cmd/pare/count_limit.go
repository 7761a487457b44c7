package main

import (
	"fmt"
	"strings"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/internal/fullness"
)

// parseLimit parses --above; "" gives nil.
func parseLimit(text string) (*fullness.Limit, error) {
	if text == "" {
		return nil, nil
	}
	l, ok := fullness.ParseLimit(text)
	if !ok {
		return nil, hintedError{fmt.Errorf("--above %s is neither a share nor a number of tokens or turns, nor dollars", text), "for example --above 80%, --above 150000, --above '40 turns' or --above '$5'"}
	}
	return &l, nil
}

// compareWithLimit reports in a line for people whether a transcript is above limit, and sets
// count.Above. The error is wrong usage: the window or the price of the model is not known.
func compareWithLimit(l *fullness.Limit, from origin, n *countJSON, so *fullness.Outlook) (note []byte, err error) {
	beside := ""
	if n.Beside > 0 { // tokens that the file does not contain
		beside = ", with the system prompt and the tools"
	}
	above, known := l.Passed(so)
	switch {
	case !known && l.Share > 0:
		return nil, usageError{hintedError{fmt.Errorf("--above %s: the window of %s is not known", l.Said, describeModel(n.Model)), "give a number of tokens, or a model that is known: --model NAME"}}
	case !known:
		return nil, usageError{hintedError{fmt.Errorf("--above %s: nobody knows what %s costs", l.Said, describeModel(n.Model)), "give a model that is known: --model NAME"}}
	}
	n.Above = &above
	full := screen.Line(grouped(n.Tokens) + " tokens" + beside)
	if n.Share != nil {
		left := grouped(n.Room-n.Tokens) + " left"
		if n.Tokens > n.Room {
			left = grouped(n.Tokens-n.Room) + " too many"
		}
		full = screen.Printf("%s full: %s of %s tokens%s (window of %s: %s), %s", strings.TrimSpace(screen.Percent(*n.Share)), grouped(n.Tokens), grouped(n.Room), beside, describeModel(n.Model), grouped(n.Window), left)
	}
	switch {
	case l.Dollars > 0:
		full = screen.Printf("$%.2f so far", so.Dollars)
	case l.Turns > 0:
		full = screen.Line(plural(so.Turns, "turn"))
	}
	if left := so.String(); left != "" {
		full = screen.Printf("%s; %s", full, left)
	}
	is := "not above"
	if above {
		is = "above"
	}
	return screen.Appendf(nil, "%s: %s; %s %s\n", from.String(), full, is, l.Said), nil
}
