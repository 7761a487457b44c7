// Command proof reads and repairs the session of another agent.
package main

import (
	"fmt"
	"log"

	"github.com/pare-llm/pare/agentlog"
)

func main() {
	raw := []byte(`{"toy_session":[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Read","input":{}}]},{"role":"user","content":"well?"}],"kept":true}`)
	found, err := agentlog.Check("session.json", raw)
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range found {
		fmt.Println(f.Rule, f.Path)
	}
	fixed, err := agentlog.Fix("session.json", raw)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(fixed.Raw))
	if found, err = agentlog.Check("session.json", fixed.Raw); err != nil || len(found) > 0 {
		log.Fatal(found, err)
	}
}
