package pare_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/summary"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// twoReads is a short conversation with two exchanges, as a body of the Anthropic API.
func twoReads() []byte {
	s := histories.MustParse(`user "what is in a.go?" | call r1 Read a.go | result r1 "package a // one function that adds two numbers, with a long comment on why it exists" | say "A package clause." |
		user "and in b.go?" | call r2 Read b.go | result r2 "package b" | say "The same." | user "thanks"`)
	return s.Render(wire.Anthropic, histories.RenderOptions{})
}

// A window is what a history must fit, here a number of messages. One that is too small
// says how large it must be.
func ExampleWindow() {
	r, err := pare.Parse(twoReads())
	if err != nil {
		panic(err)
	}
	policy := pare.Policy{Window: &pare.Window{Messages: 7}}
	plan, err := policy.Plan(context.Background(), r)
	if err != nil {
		panic(err)
	}
	fmt.Print(plan)

	policy = pare.Policy{Window: &pare.Window{Messages: 1}}
	_, err = policy.Plan(context.Background(), r)
	var small *pare.WindowTooSmall
	if errors.As(err, &small) {
		fmt.Println("at least", small.Minimum, small.Unit)
	}
	// Output:
	// drop    messages.1.content.0         drop-exchanges: an exchange dropped to fit the window
	// drop    messages.2.content.0         drop-exchanges: an exchange dropped to fit the window
	// at least 2 messages
}

// A stable window trims rarely and then by much, so that most requests begin with the same
// bytes as the one before, and the provider's cache helps.
func ExampleWindow_stable() {
	r, err := pare.Parse(twoReads())
	if err != nil {
		panic(err)
	}
	count := tokens.For(r.Model())
	limit := r.Tokens(count) - 1 // the last message passed it
	policy := pare.Policy{Window: &pare.Window{Tokens: limit, LowPercent: 75}}
	plan, err := policy.Plan(context.Background(), r)
	if err != nil {
		panic(err)
	}
	for _, b := range plan.Batches() {
		fmt.Println("trimmed at", b.Messages, "messages, forced:", b.Forced)
	}
	fmt.Println(plan.Result().Tokens(count) <= limit)
	// Output:
	// trimmed at 7 messages, forced: true
	// true
}

// Without a window, a summary takes the place of everything but the last messages.
func ExampleCompactor() {
	r, err := pare.Parse(twoReads())
	if err != nil {
		panic(err)
	}
	policy := pare.Policy{Compact: &pare.Compactor{
		MinKeep: 3,
		Summarize: func(_ context.Context, what pare.Removed) (pare.Summary, error) {
			return pare.Summary{Text: fmt.Sprintf("Read a.go (%d blocks).", len(what.Blocks))}, nil
		},
	}}
	plan, err := policy.Plan(context.Background(), r)
	if err != nil {
		panic(err)
	}
	for i, m := range plan.Result().Transcript().Messages() {
		fmt.Println(i, m.Role, strings.ReplaceAll(plan.Result().Text(m.First), "\n", " / "))
	}
	// Output:
	// 0 user what is in a.go?
	// 1 user [pare: summary of the conversation up to here] / [pare: 3 blocks of 304 bytes, here in 21] / Read a.go (3 blocks). / [pare: end of the summary]
	// 2 user and in b.go?
	// 3 assistant {"path":"b.go"}
	// 4 user package b
	// 5 assistant The same.
	// 6 user thanks
}

// With a window, a summary takes the place of what the window drops.
func ExampleCompactor_window() {
	body, err := os.ReadFile("examples/prune-me.json")
	if err != nil {
		panic(err)
	}
	r, err := pare.Parse(body)
	if err != nil {
		panic(err)
	}
	count := tokens.For(r.Model())
	policy := pare.Policy{
		Window: &pare.Window{Tokens: 3000, Low: 1500},
		Compact: &pare.Compactor{
			Summarize: summary.Extract(summary.ExtractOptions{Counter: count}), // no model is asked
			MaxTokens: 400,
		},
	}
	plan, err := policy.Plan(context.Background(), r)
	if err != nil {
		panic(err)
	}
	fmt.Println(r.Tokens(count), "→", plan.Result().Tokens(count), "tokens")
	fmt.Println(plan.Result().Text(1))
	// Output:
	// 3827 → 2413 tokens
	// [pare: summary of the conversation up to here]
	// [pare: 15 blocks of 5038 bytes, here in 253]
	// Extract, made without a model:
	// Files:
	// - auth/session.go: read, written
	// Commands:
	// - “go test ./auth” failed: “FAIL”
	// Decisions:
	// - I'll look at the session first.
	// Errors:
	// - Bash “go test ./auth”: “--- FAIL: TestLogin (0.00s)” … “FAIL”
	// [pare: end of the summary]
}
