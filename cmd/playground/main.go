//go:build js && wasm

// Command playground is the engine and the page of pare view for a browser: a body goes in, what was
// repaired and a page of it come out. Nothing leaves the browser.
package main

import (
	"bytes"
	"context"
	"syscall/js"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/cmd/internal/ui"
	"github.com/pare-llm/pare/internal/fullness"
	"github.com/pare-llm/pare/wire"
)

func main() {
	js.Global().Set("parePlay", js.FuncOf(func(_ js.Value, args []js.Value) any {
		out, err := play([]byte(args[0].String()), args[1].Int())
		if err != nil {
			return map[string]any{"error": err.Error()}
		}
		return out
	}))
	select {}
}

// play repairs a body, makes it fit so many tokens if that is not zero, and draws it.
func play(body []byte, limit int) (map[string]any, error) {
	r, err := pare.Parse(body)
	if err != nil {
		return nil, err
	}
	p := &pare.Policy{}
	if limit > 0 {
		p.Window = &pare.Window{Tokens: limit}
	}
	plan, err := p.Plan(context.Background(), r)
	if err != nil {
		return nil, err
	}
	page := ui.New(r, ui.Options{
		Source: "what you pasted", Findings: r.Check(wire.CheckOptions{}), Plan: plan, Size: fullness.Of(fullness.Question{Request: r}),
	})
	var html bytes.Buffer
	if err := page.WriteHTML(&html); err != nil {
		return nil, err
	}
	return map[string]any{
		"html": html.String(), "fixed": string(plan.Result().Raw()), "dialect": r.Dialect.String(),
		"findings": len(r.Check(wire.CheckOptions{})), "changes": len(plan.Changes()), "left": len(plan.Remaining()),
	}, nil
}
