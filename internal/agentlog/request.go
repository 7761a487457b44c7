package agentlog

import (
	"bytes"
	"fmt"

	"github.com/pare-llm/pare/wire"
)

// First returns the request of the first sent thread.
func (l *Log) First() *wire.Request {
	for _, t := range l.Threads {
		if l.isSent(t) {
			return t.Request
		}
	}
	if len(l.Threads) > 0 {
		return l.Threads[0].Request
	}
	return nil
}

// ResumeRequest reads the lines of a session and returns the request with which the agent would
// resume. For a file with only a sub-agent's conversation, it returns that conversation.
func ResumeRequest(lines []byte, o Options) (*wire.Request, error) {
	l, err := Read("", lines, o)
	if err != nil {
		return nil, err
	}
	all := append(l.Sent(), l.Threads...)
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: it holds no message", ErrFormat)
	}
	return all[0].Stored(), nil
}

// Lines returns a function from messages of a thread to their lines. It returns nil if the messages
// share one line or have separate files.
func (l *Log) Lines(t *Thread) func(int) int {
	if n := t.Messages(); l.Format == OpenCode || n > 1 && l.Line(t, 0) == l.Line(t, n-1) {
		return nil
	}
	return func(i int) int { return l.Line(t, i) }
}

// Stored returns the request of a thread without the added prompt.
func (t *Thread) Stored() *wire.Request {
	all := t.Request.Transcript().Messages()
	n := t.Messages()
	if n == len(all) || n == 0 {
		return t.Request
	}
	raw := t.Request.Raw()
	kept := append(bytes.Clone(raw[:all[n-1].Span.End]), raw[all[len(all)-1].Span.End:]...)
	r, err := wire.Parse(kept, wire.Options{Dialect: t.Request.Dialect, Profile: t.Request.Profile.Name, Model: t.Request.Model()})
	if err != nil {
		panic(err) // a part of a valid request
	}
	return r
}
