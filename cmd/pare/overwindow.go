package main

import (
	"fmt"

	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// overWindow is the finding about a request that is longer than the window of its model, if it
// is. The tokens are estimated; of a model that is not known nothing is said.
func overWindow(req *wire.Request) (f wire.Finding, over bool) {
	m, known := tokens.Lookup(req.Model())
	if !known || len(req.Raw()) <= m.Window { // a token has a byte at least
		return f, false
	}
	n := req.Tokens(m.Estimator())
	if n <= m.Window {
		return f, false
	}
	return wire.Finding{
		Rule: agentlog.OverWindow, Path: req.Dialect.List(), IDs: []string{}, Source: "pare/" + agentlog.OverWindow,
		Message: fmt.Sprintf("the request is %s tokens (estimated), and the window has %s (published for %s)", grouped(n), grouped(m.Window), req.Model()),
		Index:   -1, Block: transcript.NoBlock,
	}, true
}

// checkAll is the check of a request, with its size.
func checkAll(req *wire.Request, o wire.CheckOptions) []wire.Finding {
	found := req.Check(o)
	if f, over := overWindow(req); over {
		found = append(found, f)
	}
	return found
}
