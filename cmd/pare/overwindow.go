package main

import (
	"fmt"

	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/internal/fullness"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// findOverWindow returns the finding about a request that is longer than the window of its model.
// It estimates the tokens, and returns false if the window is not known.
func findOverWindow(req *wire.Request) (finding wire.Finding, over bool) {
	q := fullness.Question{Request: req}
	if s := fullness.Frame(q); s.Guess || len(req.Raw()) <= s.Window { // a token has at least one byte
		return finding, false
	}
	s := fullness.Of(q)
	if !s.Over() {
		return finding, false
	}
	return wire.Finding{
		Rule: agentlog.OverWindow, Path: req.Dialect.List(), IDs: []string{}, Source: "pare/" + agentlog.OverWindow,
		Message: fmt.Sprintf("the request is %s tokens (estimated), %s", grouped(s.Tokens), s.Fill()),
		Index:   -1, Block: transcript.NoBlock,
	}, true
}

// checkRequest returns the findings about a request, including its length.
func checkRequest(req *wire.Request, o wire.CheckOptions) []wire.Finding {
	findings := req.Check(o)
	if finding, over := findOverWindow(req); over {
		findings = append(findings, finding)
	}
	return findings
}
