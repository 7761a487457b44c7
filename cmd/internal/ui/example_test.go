package ui_test

import (
	"fmt"
	"net/http"
	"os"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/cmd/internal/ui"
	"github.com/pare-llm/pare/wire"
)

const talk = `[{"role":"user","content":"Read a.go."},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"Read","input":{"path":"a.go"}}]}]`

func ExampleNew() {
	r, err := pare.Parse([]byte(talk))
	if err != nil {
		panic(err)
	}
	page := ui.New(r, ui.Options{Source: "talk.json", Findings: r.Check(wire.CheckOptions{})})
	for _, m := range page.Before.Messages {
		for _, b := range m.Blocks {
			fmt.Println(m.Role, b.Kind, b.Tool, b.Tokens)
		}
	}
	fmt.Println(page.Before.Faults[0].Rule)
	// Output:
	// user text  3
	// assistant call Read 9
	// orphan-call
}

func ExamplePage_WriteHTML() {
	r, err := pare.Parse([]byte(talk))
	if err != nil {
		panic(err)
	}
	f, err := os.CreateTemp("", "talk-*.html")
	if err != nil {
		panic(err)
	}
	defer os.Remove(f.Name())
	if err := ui.New(r, ui.Options{Source: "talk.json"}).WriteHTML(f); err != nil {
		panic(err)
	}
	fmt.Println(f.Close())
	// Output: <nil>
}

func ExampleHandler() {
	h := ui.Handler(ui.Live{Load: func() (*ui.Page, error) {
		r, err := pare.Parse([]byte(talk))
		if err != nil {
			return nil, err
		}
		return ui.New(r, ui.Options{Source: "talk.json"}), nil
	}})
	server := &http.Server{Addr: "127.0.0.1:8080", Handler: h}
	_ = server // server.ListenAndServe()
}
