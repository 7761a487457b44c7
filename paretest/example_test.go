package paretest_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/pare-llm/pare/paretest"
	"github.com/pare-llm/pare/wire"
)

func Example() {
	s := paretest.MustParse(`user "fix it" | call r1 Read a.go | call b1 Bash command="go test" | result r1 package a`)
	for _, d := range wire.Dialects() {
		r, err := wire.Parse(s.Render(d, paretest.RenderOptions{}), wire.Options{})
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
	_, err := paretest.Parse("user \"fix it\"\ncall r1 Read a.go | result r2 package a")
	fmt.Println(err)
	// Output: script:2:28: no call r2 before it; write orphan for a result without a call
}

func ExampleScript_Render() {
	s := paretest.MustParse(`user "look" | image | say "A pixel." | user "thanks"`)
	fmt.Printf("%.61s…\n", s.Render(wire.Gemini, paretest.RenderOptions{Bare: true}))
	fmt.Println(s.Paths(wire.Gemini, paretest.RenderOptions{}))
	// Output:
	// [{"role":"user","parts":[{"text":"look"},{"inlineData":{"mime…
	// [contents.0.parts.0 contents.0.parts.1 contents.1.parts.0 contents.2.parts.0]
}

func ExampleScript_Valid() {
	s := paretest.MustParse(`user "fix it" | call r1 Read a.go | user "wait" | result r1 package a`)
	fmt.Println(s.Valid())
	// Output: step 3 (user): the calls before it are not all answered
}

func ExampleRandom() {
	s := paretest.Random(22, paretest.GenOptions{Turns: 1, Steps: 1})
	fmt.Println(s.Valid())
	// Output: <nil>
}

func ExampleBreak() {
	s := paretest.MustParse(`user "fix it" | call r1 Read a.go | result r1 package a | say "done" | user "thanks"`)
	broken, did := paretest.Break(rand.New(rand.NewPCG(1, 2)), s)
	for _, d := range did {
		fmt.Println(d)
	}
	fmt.Println(broken)
	// Output:
	// rename-call: renamed the id of step 2, call r1 Read a.go
	// duplicate-call: doubled step 2, call renamed0 Read a.go
	// user "fix it" | call renamed0 Read a.go | call renamed0 Read a.go | orphan r1 package a | say "done" | user "thanks"
}

func ExampleRespell() {
	body, err := paretest.Respell([]byte(`{"text":"café","n":1.0}`), paretest.Spelling{Keys: paretest.KeysSorted, Escapes: paretest.EscapeNonASCII})
	fmt.Println(string(body), err)
	// Output: {"n":1.0,"text":"caf\u00e9"} <nil>
}

// A test of one's own that reads whatever the generator and the mutators make.
func ExampleCheckReading() {
	t := new(testing.T) // the test's own
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 0))
		s, _ := paretest.Break(r, paretest.Random(seed, paretest.GenOptions{}))
		paretest.CheckReading(t, s.Render(wire.Bedrock, paretest.RenderOptions{}), wire.Options{})
	}
	fmt.Println(t.Failed())
	// Output: false
}

// An agent lost the result of a call. The stand-in answers what the provider would.
func ExampleMock() {
	server := httptest.NewServer(&paretest.Mock{})
	defer server.Close()
	s := paretest.MustParse(`user "fix it" | call r1 Read a.go | user "go on"`)
	body := s.Render(wire.OpenAIChat, paretest.RenderOptions{})
	answer, err := http.Post(server.URL+"/v1/chat/completions", "application/json", bytes.NewReader(body))
	if err != nil {
		panic(err)
	}
	defer answer.Body.Close()
	said, _ := io.ReadAll(answer.Body)
	fmt.Printf("%s\n%.115s…\n", answer.Status, said)
	// Output:
	// 400 Bad Request
	// {"error":{"message":"An assistant message with 'tool_calls' must be followed by tool messages responding to each 't…
}
