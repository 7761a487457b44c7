package histories_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/wire"
)

func Example() {
	s := histories.MustParse(`user "fix it" | call r1 Read a.go | call b1 Bash command="go test" | result r1 package a`)
	for _, d := range wire.Dialects() {
		r, err := wire.Parse(s.Render(d, histories.RenderOptions{}), wire.Options{})
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, f := range r.Check(wire.CheckOptions{}) {
			fmt.Println(r.Dialect, f.Rule, f.Path)
		}
	}
	// Output:
	// anthropic orphan-call messages.1.content.1
	// openai-chat orphan-call messages.1.tool_calls.1
	// openai-responses orphan-call input.2
	// gemini orphan-call contents.1.parts.1
	// bedrock orphan-call messages.1.content.1
	// gemini-interactions orphan-call input.2
}

func ExampleParse() {
	_, err := histories.Parse("user \"fix it\"\ncall r1 Read a.go | result r2 package a")
	fmt.Println(err)
	// Output: script:2:28: no call r2 before it; write orphan for a result without a call
}

func ExampleScript_Render() {
	s := histories.MustParse(`user "look" | image | say "A pixel." | user "thanks"`)
	fmt.Printf("%.61s…\n", s.Render(wire.Gemini, histories.RenderOptions{Bare: true}))
	fmt.Println(s.Paths(wire.Gemini, histories.RenderOptions{}))
	// Output:
	// [{"role":"user","parts":[{"text":"look"},{"inlineData":{"mime…
	// [contents.0.parts.0 contents.0.parts.1 contents.1.parts.0 contents.2.parts.0]
}

func ExampleScript_Valid() {
	s := histories.MustParse(`user "fix it" | call r1 Read a.go | user "wait" | result r1 package a`)
	fmt.Println(s.Valid())
	// Output: step 3 (user): the calls before it are not all answered
}

func ExampleRandom() {
	s := histories.Random(22, histories.GenOptions{Turns: 1, Steps: 1})
	fmt.Println(s.Valid())
	// Output: <nil>
}

func ExampleBreak() {
	s := histories.MustParse(`user "fix it" | call r1 Read a.go | result r1 package a | say "done" | user "thanks"`)
	broken, did := histories.Break(rand.New(rand.NewPCG(1, 2)), s)
	for _, d := range did {
		fmt.Println(d)
	}
	fmt.Println(broken)
	// Output:
	// rename-call: renamed the id of step 2, call r1 Read a.go
	// duplicate-call: doubled step 2, call renamed0 Read a.go
	// user "fix it" | call renamed0 Read a.go | call renamed0 Read a.go | orphan r1 package a | say "done" | user "thanks"
}

// This test reads random broken histories.
func ExampleCheckReading() {
	t := new(testing.T) // the test's own
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 0))
		s, _ := histories.Break(r, histories.Random(seed, histories.GenOptions{}))
		histories.CheckReading(t, s.Render(wire.Bedrock, histories.RenderOptions{}), wire.Options{})
	}
	fmt.Println(t.Failed())
	// Output: false
}
