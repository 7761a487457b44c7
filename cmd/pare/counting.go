package main

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/pare-llm/pare/internal/config"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// counting is the flags of all commands that count tokens.
type countingFlags struct {
	Tokenizer string `enum:",estimate,exact,o200k,cl100k" default:"" placeholder:"estimate|exact|o200k|cl100k" help:"How tokens are counted: estimate (default: fitted to the model, never much too low), exact (the model's own vocabulary, of OpenAI's models), o200k or cl100k."`
}

// override lets the flag decide over the file, and the file where it was not given.
func (f *countingFlags) applyTo(conf *config.Config) {
	f.Tokenizer = cmp.Or(f.Tokenizer, conf.Tokenizer)
	conf.Tokenizer = f.Tokenizer
}

// tokenizer is the name of what counts.
func (f *countingFlags) tokenizerName() string { return cmp.Or(f.Tokenizer, "estimate") }

// counter counts as a model does. Its error is a misuse.
func (f *countingFlags) counter(model string) (wire.Counter, error) {
	n, err := config.Counter(f.Tokenizer)(model)
	if err != nil {
		return nil, newVocabularyError(model)
	}
	return n, nil
}

func newVocabularyError(model string) error {
	return usageError{hintedError{fmt.Errorf("--tokenizer exact: the vocabulary of %s is not published", describeModel(model)),
		"it is for OpenAI's models, GPT-3.5 to GPT-6 and the o series; --tokenizer estimate is for all, --model NAME names another"}}
}

// weigh counts a request that counter has nothing against, as model does or, if that
// is "", as its own.
func (f *countingFlags) countTokens(req *wire.Request, model string) int {
	n, err := f.counter(cmp.Or(model, req.Model()))
	if err != nil {
		panic(err)
	}
	return req.Tokens(n)
}

// check is wrong usage that needs no transcript to be seen.
func (f *countingFlags) checkModel(model string) error {
	if model == "" {
		return nil
	}
	_, err := f.counter(model)
	return err
}

// named is a model in a sentence.
func describeModel(model string) string { return cmp.Or(model, "a model without a name") }

// positive refuses a limit below 1. A nil one was not given.
func checkPositive(flag string, n *int) error {
	if n != nil && *n < 1 {
		return fmt.Errorf("%s must be 1 or more, not %d", flag, *n)
	}
	return nil
}

// notNegative refuses a number below 0.
func checkNotNegative(flag string, n int) error {
	if n < 0 {
		return fmt.Errorf("%s must be 0 or more, not %d", flag, n)
	}
	return nil
}

var errNoWindow = errors.New("no limit is given, and the model's window is not known")

// windowOf is the room for a request, in the window of its model. Its error is a misuse.
func findModelRoom(model string, req *wire.Request) (int, error) {
	m, known := tokens.Lookup(model)
	if !known {
		return 0, usageError{hintedError{fmt.Errorf("%w: %s", errNoWindow, describeModel(model)),
			"give --max-tokens, --max-messages, --max-exchanges or --max-turns, or a model that is known: --model NAME"}}
	}
	return m.Input(min(req.MaxOutputTokens(), m.Output)), nil
}
