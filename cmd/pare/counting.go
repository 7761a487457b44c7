package main

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/pare-llm/pare/internal/config"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// countingFlags is the flag of the commands that count tokens.
type countingFlags struct {
	Tokenizer string `enum:",estimate,exact,o200k,cl100k" default:"" placeholder:"estimate|exact|o200k|cl100k" help:"How tokens are counted: estimate (default: fitted to the model, never much too low), exact (the model's own vocabulary, of OpenAI's models), o200k or cl100k."`
}

// applyTo sets the tokenizer of conf if the flag is given, and otherwise takes it from conf. It
// modifies both.
func (f *countingFlags) applyTo(conf *config.Config) {
	f.Tokenizer = cmp.Or(f.Tokenizer, conf.Tokenizer)
	conf.Tokenizer = f.Tokenizer
}

func (f *countingFlags) tokenizerName() string { return cmp.Or(f.Tokenizer, "estimate") }

// counter returns the token counter for a model. The error is a usageError.
func (f *countingFlags) counter(model string) (wire.Counter, error) {
	counter, err := config.Counter(f.Tokenizer)(model)
	if err != nil {
		return nil, newVocabularyError(model)
	}
	return counter, nil
}

// newVocabularyError returns the usageError for --tokenizer exact with a model whose vocabulary is
// not published.
func newVocabularyError(model string) error {
	return usageError{hintedError{
		fmt.Errorf("--tokenizer exact: the vocabulary of %s is not published", describeModel(model)),
		"it is for OpenAI's models, GPT-3.5 to GPT-6 and the o series; --tokenizer estimate is for all, --model NAME names another",
	}}
}

// countTokens returns the tokens of a request for a model, or for the model of the request if model
// is "". The caller has checked the model with counter.
func (f *countingFlags) countTokens(req *wire.Request, model string) int {
	counter, err := f.counter(cmp.Or(model, req.Model()))
	if err != nil {
		panic(err)
	}
	return req.Tokens(counter)
}

// checkModel returns an error if the tokens of a model cannot be counted. It accepts "".
func (f *countingFlags) checkModel(model string) error {
	if model == "" {
		return nil
	}
	_, err := f.counter(model)
	return err
}

// describeModel returns the name of a model for a sentence.
func describeModel(model string) string { return cmp.Or(model, "a model without a name") }

// checkPositive returns an error if n is below 1. It accepts nil, for a flag that is not given.
func checkPositive(flag string, n *int) error {
	if n != nil && *n < 1 {
		return fmt.Errorf("%s must be 1 or more, not %d", flag, *n)
	}
	return nil
}

// checkNotNegative returns an error if n is below 0.
func checkNotNegative(flag string, n int) error {
	if n < 0 {
		return fmt.Errorf("%s must be 0 or more, not %d", flag, n)
	}
	return nil
}

// valueOrZero returns the value of a flag, or 0 if it is not given.
func valueOrZero(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

var errNoWindow = errors.New("no limit is given, and the model's window is not known")

// newWindowError returns the usageError for a model whose window is not known.
func newWindowError(model string) error {
	return usageError{hintedError{
		fmt.Errorf("%w: %s", errNoWindow, describeModel(model)),
		"give --max-tokens, --max-messages, --max-exchanges or --max-turns, or a model that is known: --model NAME",
	}}
}

// findModelRoom returns the tokens that the window of a model has for req, besides the reply. The
// error is a usageError.
func findModelRoom(model string, req *wire.Request) (int, error) {
	found, known := tokens.Lookup(model)
	if !known {
		return 0, newWindowError(model)
	}
	return found.Input(min(req.MaxOutputTokens(), found.Output)), nil
}
