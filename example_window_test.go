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
	s := histories.MustParse(`user "what is in a.go?" | call r1 Read a.go | result r1 "package a" | say "A package clause." |
		user "and in b.go?" | call r2 Read b.go | result r2 "package b" | say "The same." | user "thanks"`)
	return s.Render(wire.Anthropic, histories.RenderOptions{})
}

func ExampleTrim() {
	r, err := pare.Parse(twoReads())
	if err != nil {
		panic(err)
	}
	plan, err := pare.Trim(r, pare.Window{Messages: 7}, pare.Options{})
	if err != nil {
		panic(err)
	}
	fmt.Print(plan)

	_, err = pare.Trim(r, pare.Window{Messages: 1}, pare.Options{})
	var small *pare.WindowTooSmall
	if errors.As(err, &small) {
		fmt.Println("at least", small.Minimum, small.Unit)
	}
	// Output:
	// drop    messages.1.content.0         drop-exchanges: an exchange dropped to fit the window
	// drop    messages.2.content.0         drop-exchanges: an exchange dropped to fit the window
	// at least 2 messages
}

func ExampleTrim_stable() {
	r, err := pare.Parse(twoReads())
	if err != nil {
		panic(err)
	}
	c := tokens.For(r.Model())
	limit := r.Tokens(c) - 1 // the last message passed it
	plan, err := pare.Trim(r, pare.Window{Tokens: limit, Low: limit * 3 / 4}, pare.Options{Counter: c})
	if err != nil {
		panic(err)
	}
	for _, b := range plan.Batches() {
		fmt.Println("trimmed at", b.Messages, "messages, forced:", b.Forced)
	}
	fmt.Println(plan.Result().Tokens(c) <= limit)
	// Output:
	// trimmed at 7 messages, forced: true
	// true
}

func ExampleCompactor() {
	r, err := pare.Parse(twoReads())
	if err != nil {
		panic(err)
	}
	c := pare.Compactor{
		MinKeep: 3,
		Summarize: func(_ context.Context, what pare.Removed) (pare.Summary, error) {
			return pare.Summary{Text: fmt.Sprintf("Read a.go (%d blocks).", len(what.Blocks))}, nil
		},
	}
	plan, err := c.Compact(context.Background(), r)
	if err != nil {
		panic(err)
	}
	for i, m := range plan.Result().Transcript().Messages() {
		fmt.Println(i, m.Role, strings.ReplaceAll(plan.Result().Text(m.First), "\n", " / "))
	}
	// Output:
	// 0 user what is in a.go?
	// 1 user [pare: summary of the conversation up to here] / [pare: 3 blocks of 228 bytes, here in 21] / Read a.go (3 blocks). / [pare: end of the summary]
	// 2 user and in b.go?
	// 3 assistant {"path":"b.go"}
	// 4 user package b
	// 5 assistant The same.
	// 6 user thanks
}

func ExampleTrim_tokens() {
	body, err := os.ReadFile("examples/prune-me.json")
	if err != nil {
		panic(err)
	}
	r, err := pare.Parse(body)
	if err != nil {
		panic(err)
	}
	count := tokens.For(r.Model())
	plan, err := pare.Trim(r, pare.Window{Tokens: 3000}, pare.Options{Counter: count})
	if err != nil {
		panic(err)
	}
	fmt.Println(r.Tokens(count), "→", plan.Result().Tokens(count), "tokens")
	// Output: 3827 → 2668 tokens
}

func ExampleCompactor_Fit() {
	body, err := os.ReadFile("examples/prune-me.json")
	if err != nil {
		panic(err)
	}
	r, err := pare.Parse(body)
	if err != nil {
		panic(err)
	}
	count := tokens.For(r.Model())
	c := pare.Compactor{
		Summarize: summary.Extract(summary.ExtractOptions{Counter: count}),
		MaxTokens: 400,
		Options:   pare.CompactOptions{Options: pare.Options{Counter: count}},
	}
	plan, err := c.Fit(context.Background(), r, pare.Window{Tokens: 3000, Low: 1500})
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
