//go:build ignore

// Sends a history with an unanswered call to a provider: as it is, then repaired.
//
//	go run agent.go http://127.0.0.1:8899
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"

	"github.com/pare-llm/pare"
)

// The agent was interrupted before the result came.
const broken = `{
  "model": "claude-sonnet-4-5",
  "max_tokens": 1024,
  "messages": [
    {"role": "user", "content": "Run the tests."},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_01", "name": "bash", "input": {"cmd": "make test"}}]},
    {"role": "user", "content": "Still there?"}
  ]
}`

// send returns the status of the provider's answer, and what it says.
func send(base string, body []byte) (int, string) {
	reply, err := http.Post(base+"/v1/messages", "application/json", bytes.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	defer reply.Body.Close()
	var said struct {
		Content []struct{ Text string }
		Error   struct{ Message string }
	}
	if err := json.NewDecoder(reply.Body).Decode(&said); err != nil {
		return reply.StatusCode, err.Error()
	}
	if len(said.Content) > 0 {
		return reply.StatusCode, said.Content[0].Text
	}
	return reply.StatusCode, said.Error.Message
}

func main() {
	base := os.Args[1]
	fmt.Println(send(base, []byte(broken)))

	fixed, plan, err := pare.Fix([]byte(broken)) // the same bytes if there is nothing to do
	if err != nil {
		fmt.Println("refused:", err)
		os.Exit(1)
	}
	fmt.Println(send(base, fixed))
	_ = plan // says what was changed, and why

	if _, _, err := pare.Fix([]byte(`{"no": "messages"}`)); err != nil {
		fmt.Println("refused:", err)
	}
	fmt.Println(send(base, fixed))
}
