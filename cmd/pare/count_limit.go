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
func compareWithLimit(limit *fullness.Limit, from origin, count *countJSON, outlook *fullness.Outlook) (note []byte, err error) {
	beside := ""
	if count.Beside > 0 { // tokens that the file does not contain
		beside = ", with the system prompt and the tools"
	}
	above, known := limit.Passed(outlook)
	switch {
	case !known && limit.Share > 0:
		return nil, usageError{hintedError{fmt.Errorf("--above %s: the window of %s is not known", limit.Said, describeModel(count.Model)), "give a number of tokens, or a model that is known: --model NAME"}}
	case !known:
		return nil, usageError{hintedError{fmt.Errorf("--above %s: nobody knows what %s costs", limit.Said, describeModel(count.Model)), "give a model that is known: --model NAME"}}
	}
	count.Above = &above
	full := screen.Line(grouped(count.Tokens) + " tokens" + beside)
	if count.Share != nil {
		left := grouped(count.Room-count.Tokens) + " left"
		if count.Tokens > count.Room {
			left = grouped(count.Tokens-count.Room) + " too many"
		}
		full = screen.Printf("%s full: %s of %s tokens%s (window of %s: %s), %s", strings.TrimSpace(screen.Percent(*count.Share)), grouped(count.Tokens), grouped(count.Room), beside, describeModel(count.Model), grouped(count.Window), left)
	}
	switch {
	case limit.Dollars > 0:
		full = screen.Printf("$%.2f so far", outlook.Dollars)
	case limit.Turns > 0:
		full = screen.Line(plural(outlook.Turns, "turn"))
	}
	if left := outlook.String(); left != "" {
		full = screen.Printf("%s; %s", full, left)
	}
	is := "not above"
	if above {
		is = "above"
	}
	return screen.Appendf(nil, "%s: %s; %s %s\n", from.String(), full, is, limit.Said), nil
}
