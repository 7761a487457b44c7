package pare_test

import (
	"context"
	"fmt"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/summary"
)

// Bytes in, bytes and a plan out.
func ExampleFix() {
	body, plan, err := pare.Fix([]byte(broken))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(body) > len(broken))
	fmt.Print(plan)
	// Output:
	// true
	// insert  messages.1.content.0         orphan-call: a stub: The outcome of this call is unknown: no result was recorded.
}

// The limit is in tokens of the whole request, counted for the model that it names; zero
// is what that model's window has room for.
func ExampleFit() {
	body, plan, err := pare.Fit(context.Background(), []byte(broken), 100_000)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(body) > 0, len(plan.WindowSteps()))
	// Output: true 0
}

// A proxy or a store holds one policy for all of its requests.
func ExamplePolicy() {
	standard, err := pare.Compile(rules.Standard()...)
	if err != nil {
		fmt.Println(err)
		return
	}
	policy := &pare.Policy{
		Rules:   standard,
		Window:  &pare.Window{ModelTokens: true, LowPercent: 50, ModelCache: true},
		Compact: &pare.Compactor{Summarize: summary.Extract(summary.ExtractOptions{})},
	}
	r, err := pare.Parse([]byte(broken))
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := policy.Plan(context.Background(), r)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(plan)
	// Output: insert  messages.1.content.0         orphan-call: a stub: The outcome of this call is unknown: no result was recorded.
}
