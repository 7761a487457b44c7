package main

import (
	"strings"

	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A pair is what check --json --pairs prints about a call and what answers it.
type pair struct {
	ID      string   `json:"id"`
	Tool    string   `json:"tool"`
	State   string   `json:"state"`
	Call    string   `json:"call"`              // its path; "": there is none
	Results []string `json:"results"`           // their paths, in order
	Server  bool     `json:"server,omitempty"`  // executed by the provider
	Guessed bool     `json:"guessed,omitempty"` // an id was missing: by name, or by order
	Thread  string   `json:"thread,omitempty"`  // of a session file
}

// pairsOf lists the pairs of a request, in the order of their first blocks.
func pairsOf(req *wire.Request, thread string) []pair {
	all := []pair{}
	for _, x := range req.Transcript().Exchanges() {
		p := pair{ID: x.CallID, Tool: x.Tool, State: strings.ReplaceAll(x.State.String(), " ", "-"), Results: []string{}, Server: x.Server, Guessed: x.Guessed, Thread: thread}
		if x.Call != transcript.NoBlock {
			p.Call = req.Path(x.Call)
		}
		for _, b := range x.Results {
			p.Results = append(p.Results, req.Path(b))
		}
		all = append(all, p)
	}
	return all
}

// pairs lists those of all threads of a session.
func (s logFile) pairs() []pair {
	all := []pair{}
	for _, t := range s.Threads {
		all = append(all, pairsOf(t.Request, t.Name)...)
	}
	return all
}
