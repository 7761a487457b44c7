// Command proof uses another standard rule, by way of a configuration file.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/config"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/wire"
)

func main() {
	policy, err := config.Parse("pare.toml", []byte("keep_recent = 0\n[rules.toy]\ntool = \"Nap\"\nenabled = true\n"), os.Getenv)
	if err != nil {
		log.Fatal(err)
	}
	s := histories.MustParse(`user "go" | call a Nap x | result a one | call b Read y | result b two | say "done" | user "thanks"`)
	r, err := pare.Parse(s.Render(wire.Anthropic, histories.RenderOptions{}))
	if err != nil {
		log.Fatal(err)
	}
	plan, err := policy.Plan(context.Background(), r)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(plan)
}
