package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/plain"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// Callbacks are what a call asks its caller. Nil: it does without. The first error of one ends the call,
// with that error. They are called by one goroutine at a time.
type Callbacks struct {
	// Count counts the tokens of a text.
	Count func(text []byte) (int, error)
	// Rule gets the blocks of the history as JSON and returns votes, a JSON list of
	// {"block":N,"vote":"drop"|"protect"|"edit","text":…,"reason":…}.
	Rule func(blocks []byte) (votes []byte, err error)
	// Summarize gets {"blocks":[…],"prior":…,"max_tokens":N} and returns a text.
	Summarize func(removed []byte) (text []byte, err error)
}

// A caller is asked, and remembers the first error.
type caller struct {
	Callbacks
	mu  sync.Mutex
	err error
}

func (c *caller) none() bool { return c.Count == nil && c.Rule == nil && c.Summarize == nil }

// fail keeps the first error.
func (c *caller) fail(what string, err error) error {
	if c.err == nil {
		c.err = &Error{Type: "callback", Message: fmt.Sprintf("the %s failed: %v", what, err)}
	}
	return c.err
}

func (c *caller) failed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// counter puts the caller's counter in the place of texts; media and marks stay estimated.
func (c *caller) counter(otherwise func(string) (wire.Counter, error)) func(string) (wire.Counter, error) {
	if c.Count == nil {
		return otherwise
	}
	return func(model string) (wire.Counter, error) {
		return tokens.For(model).Reading(tokens.Func(c.count)), nil
	}
}

func (c *caller) count(text []byte) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return 0
	}
	n, err := c.Count(text)
	if err == nil && n < 0 {
		err = fmt.Errorf("a text cannot have %d tokens", n)
	}
	if err != nil {
		c.fail("counter", err)
		return 0
	}
	return n
}

// A block is what callers see of one.
type block struct {
	Block   int    `json:"block"`
	Message int    `json:"message"`
	Path    string `json:"path"`
	Role    string `json:"role"`
	Kind    string `json:"kind"`
	Tool    string `json:"tool,omitempty"`
	CallID  string `json:"call_id,omitempty"`
	Failed  bool   `json:"failed,omitempty"`
	Text    string `json:"text"`
}

func blockOf(r *wire.Request, id transcript.BlockID, text string) block {
	b := r.Transcript().Block(id)
	return block{int(id), b.Message, r.Path(id), r.Transcript().Messages()[b.Message].Role.String(), b.Kind.String(), b.Tool, b.CallID, b.Failed, text}
}

// A vote is what the caller's rule wants.
type vote struct {
	Block  int    `json:"block"`
	Vote   string `json:"vote"`
	Text   string `json:"text"`
	Reason string `json:"reason"`
}

// vote lets the caller's rule vote beside the others.
func (c *caller) vote(p *pare.Policy, beside []pare.Rule) (err error) {
	if c.Rule == nil {
		return nil
	}
	own := pare.Rule{Name: "callback", Doc: "what the caller votes", Prepare: c.prepare}
	p.Rules, err = pare.Compile(append(beside, own)...)
	return err
}

// prepare asks the caller for votes.
func (c *caller) prepare(r *wire.Request) (pare.Process, error) {
	blocks := []block{}
	for i := range r.Transcript().Blocks() {
		blocks = append(blocks, blockOf(r, transcript.BlockID(i), r.Text(transcript.BlockID(i))))
	}
	in, err := plain.Marshal(blocks)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	out, err := c.Rule(in)
	if err != nil {
		return nil, c.fail("rule", err)
	}
	var votes []vote
	if err := json.Unmarshal(out, &votes); err != nil {
		return nil, c.fail("rule", fmt.Errorf("it returned no list of votes: %w", err))
	}
	for i, v := range votes {
		if v.Block < 0 || v.Block >= len(blocks) {
			return nil, c.fail("rule", fmt.Errorf("vote %d is about block %d, and there are %d", i, v.Block, len(blocks)))
		}
		if v.Vote != "drop" && v.Vote != "protect" && v.Vote != "edit" {
			return nil, c.fail("rule", fmt.Errorf("vote %d is %q: expected drop, protect or edit", i, v.Vote))
		}
	}
	return func(b *pare.Ballot) {
		for _, v := range votes {
			id := transcript.BlockID(v.Block)
			switch v.Vote {
			case "drop":
				b.Drop(r.Transcript().AtomOf(id), "%s", v.Reason)
			case "protect":
				b.Protect(r.Transcript().AtomOf(id), "%s", v.Reason)
			case "edit":
				b.Edit(id, v.Text, "%s", v.Reason)
			}
		}
	}, nil
}

// summarizer lets the caller write summaries.
func (c *caller) summarizer() pare.Summarizer {
	return func(_ context.Context, h pare.Removed) (pare.Summary, error) {
		said := struct {
			Blocks    []block `json:"blocks"`
			Prior     string  `json:"prior"`
			MaxTokens int     `json:"max_tokens"`
		}{[]block{}, h.Prior, h.MaxTokens}
		for _, id := range h.Blocks {
			said.Blocks = append(said.Blocks, blockOf(h.Request, id, h.Text(id)))
		}
		in, err := plain.Marshal(said)
		if err != nil {
			return pare.Summary{}, err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		text, err := c.Summarize(in)
		if err != nil {
			return pare.Summary{}, c.fail("summarizer", err)
		}
		return pare.Summary{Text: string(text)}, nil
	}
}
