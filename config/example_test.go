package config_test

import (
	"context"
	"fmt"
	"log"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/config"
)

// A window of at most two exchanges, said in a file.
func ExampleParse() {
	policy, err := config.Parse("pare.toml", []byte("[window]\nexchanges = 2\n"), nil)
	if err != nil {
		log.Fatal(err) // each line of it names the file, the line and what to do
	}
	r, err := pare.Parse([]byte(`{"messages":[
		{"role":"user","content":"a"},{"role":"assistant","content":"1"},
		{"role":"user","content":"b"},{"role":"assistant","content":"2"},
		{"role":"user","content":"c"}]}`))
	if err != nil {
		log.Fatal(err)
	}
	plan, err := policy.Plan(context.Background(), r)
	fmt.Println(len(plan.Changes()), err)
	// Output: 0 <nil>
}

func ExampleErrors() {
	_, err := config.Parse("pare.toml", []byte("[windw]\nexchanges = 2\n"), nil)
	fmt.Println(err)
	// Output: pare.toml:1:2: windw: there is no key "windw" here; did you mean "window"?
}
