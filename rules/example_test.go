package rules_test

import (
	"context"
	"fmt"
	"os"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/rules"
)

// The standard rules, and one with options of its own.
func ExampleStandard() {
	shorten, err := rules.Oversized{MaxBytes: 4096}.Rule()
	if err != nil {
		fmt.Println(err) // an OptionErrors names every option that is wrong
		return
	}
	pipeline, err := pare.Compile(append(rules.Standard(), shorten)...)
	if err != nil {
		fmt.Println(err)
		return
	}
	body, err := os.ReadFile("../examples/prune-me.json")
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := pare.Parse(body)
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := (&pare.Policy{Rules: pipeline}).Plan(context.Background(), r)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(plan)
	// Output:
	// archive messages.2.content.0         deduplication: the file was read again by call toolu_10ReadLast
	// archive messages.4.content.0         error-purging: it failed, and call toolu_09Test succeeded
	// archive messages.7.content.1         superseded-writes: the file was written as a whole by call toolu_06Write
	// archive messages.11.content.0        deduplication: the file was read again by call toolu_10ReadLast
}
