// Command proof uses a seventh dialect: it is detected, read, repaired, pruned, fitted and
// sent through the proxy.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/wire"
)

func main() {
	s := histories.MustParse(`user "go" | call a Read x | result a one | call b Read y | result b two | say "done" | user "thanks"`)
	body := s.Render(wire.Toy, histories.RenderOptions{})
	found, err := wire.Detect(body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(found.Dialect, found.Sure, found.Why)
	r, err := pare.Parse(body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(r.Transcript().Exchanges()), "exchanges,", len(r.Check(wire.CheckOptions{})), "findings, profile", r.Profile.Name)

	broken := []byte(`{"dialogue":[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use","id":"toy_1","name":"Read","input":{}}]},{"role":"user","content":"well?"}],"model":"toy-1"}`)
	if r, err = pare.Parse(broken); err != nil {
		log.Fatal(err)
	}
	for _, f := range r.Check(wire.CheckOptions{}) {
		fmt.Println(f.Rule, f.Path)
	}
	_, plan, err := pare.Fix(broken)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(plan)

	rule, err := pare.Compile(pare.Each("reads", "no reads", func(x pare.Exchange) pare.Vote { return pare.Vote{Drop: x.Argument("path") == "x"} }))
	if err != nil {
		log.Fatal(err)
	}
	if r, err = pare.Parse(body); err != nil {
		log.Fatal(err)
	}
	for _, policy := range []pare.Policy{{Rules: rule}, {Window: &pare.Window{Messages: 5}}} {
		plan, err := policy.Plan(context.Background(), r)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(plan)
	}

	api := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, came *http.Request) {
		sent, _ := io.ReadAll(came.Body)
		fmt.Println(bytes.Contains(sent, []byte(`"tool_result"`)), "at", came.URL.Path)
	}))
	defer api.Close()
	client := &http.Client{Transport: &proxy.Transport{}}
	resp, err := client.Post(api.URL+"/v1/toy", "application/json", bytes.NewReader(broken))
	if err != nil {
		log.Fatal(err)
	}
	resp.Body.Close()
}
