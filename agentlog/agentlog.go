// Package agentlog checks and repairs the files in which coding agents keep their sessions. It
// detects the format. docs/agentlog.md lists the agents and the messages that each of them sends
// when a session is resumed.
package agentlog

import (
	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/wire"
)

// ErrFormat is wrapped by the error for a file of no known agent.
var ErrFormat = agentlog.ErrFormat

// A Finding is a fault of a session file, with its place.
type Finding = agentlog.Finding

// A Change is one change that [Fix] made.
type Change = agentlog.Change

// Fixed is the result of [Fix].
type Fixed = agentlog.Fixed

// Check reports damage of a session file and everything that would make the provider reject the
// resumed session, in file order. The name of the file helps to detect the format and may be empty.
func Check(name string, raw []byte) ([]Finding, error) {
	l, err := agentlog.Read(name, raw, agentlog.Options{})
	if err != nil {
		return nil, err
	}
	return l.Check(wire.CheckOptions{}), nil
}

// Fix repairs the findings of [Check]. Lines without changes keep their bytes; a file without
// faults is returned as the same slice. New lines have the form of the agent's own lines.
func Fix(name string, raw []byte) (*Fixed, error) {
	l, err := agentlog.Read(name, raw, agentlog.Options{})
	if err != nil {
		return nil, err
	}
	return l.Fix(agentlog.Options{})
}

// Resume returns the request with which the agent would resume the session.
func Resume(raw []byte) (*wire.Request, error) {
	return agentlog.ResumeRequest(raw, agentlog.Options{})
}
