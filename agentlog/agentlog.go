// Package agentlog checks and repairs the files in which coding agents keep their
// sessions. The format is detected; docs/agentlog.md lists which agents are read, and
// what each of them sends when a session is resumed.
package agentlog

import (
	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/wire"
)

// ErrFormat is wrapped by the error for a file of no known agent.
var ErrFormat = agentlog.ErrFormat

// A Finding is something that is wrong with a session file, and where.
type Finding = agentlog.Finding

// A Change is one thing that [Fix] did to a file.
type Change = agentlog.Change

// Fixed is what [Fix] made of a file.
type Fixed = agentlog.Fixed

// Check reports what is wrong with a session file and what would make the provider
// refuse the session when it is resumed, in the order of the file. The name of the file
// helps to detect the format and may be empty.
func Check(name string, raw []byte) ([]Finding, error) {
	l, err := agentlog.Read(name, raw, agentlog.Options{})
	if err != nil {
		return nil, err
	}
	return l.Check(wire.CheckOptions{}), nil
}

// Fix repairs what [Check] finds. Lines that need no change stay byte for byte; a file
// without faults comes back as the same slice. New lines are written in the shape of the
// agent's own.
func Fix(name string, raw []byte) (*Fixed, error) {
	l, err := agentlog.Read(name, raw, agentlog.Options{})
	if err != nil {
		return nil, err
	}
	return l.Fix(agentlog.Options{})
}

// Resume returns the request that the agent would go on with.
func Resume(raw []byte) (*wire.Request, error) {
	return agentlog.ResumeRequest(raw, agentlog.Options{})
}
