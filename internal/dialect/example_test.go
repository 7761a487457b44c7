package dialect_test

import (
	"fmt"

	"github.com/pare-llm/pare/internal/dialect"
)

const unanswered = `{"model":"claude-sonnet-4-5","max_tokens":1000,"messages":[
	{"role":"user","content":"Fix the test."},
	{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"go test"}}]},
	{"role":"user","content":"Well?"}]}`

// A check says what the provider would refuse, in its own words, and where.
func ExampleRequest_Check() {
	r, err := dialect.Parse([]byte(unanswered), dialect.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Dialect, r.Profile.Name)
	for _, f := range r.Check(dialect.CheckOptions{}) {
		fmt.Println(f.Path, f.Rule)
	}
	// Output:
	// anthropic anthropic
	// messages.1.content.0 orphan-call
}

func ExampleDetect() {
	d, err := dialect.Detect([]byte(`{"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}`))
	fmt.Println(d.Dialect, d.Sure, d.Why, err)
	// Output: gemini true the member "contents" <nil>
}

// A transcript says which result answers which call.
func ExampleRequest_Transcript() {
	r, err := dialect.Parse([]byte(unanswered), dialect.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	t := r.Transcript()
	for _, x := range t.Exchanges() {
		command, _ := dialect.Argument(t, x.Call, "command")
		fmt.Println(x.Tool, command, x.State)
	}
	// Output: Bash go test orphan call
}
