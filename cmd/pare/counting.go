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
type counting struct {
	Tokenizer string `enum:",estimate,exact,o200k,cl100k" default:"" placeholder:"estimate|exact|o200k|cl100k" help:"How tokens are counted: estimate (default: fitted to the model, never much too low), exact (the model's own vocabulary, of OpenAI's models), o200k or cl100k."`
}

// override lets the flag decide over the file, and the file where it was not given.
func (c *counting) override(conf *config.Config) {
	c.Tokenizer = cmp.Or(c.Tokenizer, conf.Tokenizer)
	conf.Tokenizer = c.Tokenizer
}

// tokenizer is the name of what counts.
func (c *counting) tokenizer() string { return cmp.Or(c.Tokenizer, "estimate") }

// counter counts as a model does. Its error is a misuse.
func (c *counting) counter(model string) (wire.Counter, error) {
	n, err := config.Counter(c.Tokenizer)(model)
	if err != nil {
		return nil, noVocabulary(model)
	}
	return n, nil
}

func noVocabulary(model string) error {
	return misuse{hinted{fmt.Errorf("--tokenizer exact: the vocabulary of %s is not published", named(model)),
		"it is for OpenAI's models, GPT-3.5 to GPT-6 and the o series; --tokenizer estimate is for all, --model NAME names another"}}
}

// weigh counts a request that counter has nothing against, as model does or, if that
// is "", as its own.
func (c *counting) weigh(r *wire.Request, model string) int {
	n, err := c.counter(cmp.Or(model, r.Model()))
	if err != nil {
		panic(err)
	}
	return r.Tokens(n)
}

// check is wrong usage that needs no transcript to be seen.
func (c *counting) check(model string) error {
	if model == "" {
		return nil
	}
	_, err := c.counter(model)
	return err
}

// named is a model in a sentence.
func named(model string) string { return cmp.Or(model, "a model without a name") }

// positive refuses a limit below 1. A nil one was not given.
func positive(flag string, n *int) error {
	if n != nil && *n < 1 {
		return fmt.Errorf("%s must be 1 or more, not %d", flag, *n)
	}
	return nil
}

// notNegative refuses a number below 0.
func notNegative(flag string, n int) error {
	if n < 0 {
		return fmt.Errorf("%s must be 0 or more, not %d", flag, n)
	}
	return nil
}

var errNoWindow = errors.New("no limit is given, and the model's window is not known")

// windowOf is the room for a request, in the window of its model. Its error is a misuse.
func windowOf(model string, r *wire.Request) (int, error) {
	m, known := tokens.Lookup(model)
	if !known {
		return 0, misuse{hinted{fmt.Errorf("%w: %s", errNoWindow, named(model)),
			"give --max-tokens, --max-messages, --max-exchanges or --max-turns, or a model that is known: --model NAME"}}
	}
	return m.Input(min(r.MaxOutputTokens(), m.Output)), nil
}
