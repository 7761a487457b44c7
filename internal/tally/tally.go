// Package tally says what the tokens of a request are spent on.
package tally

import (
	"bytes"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// What other packages of this module keep for it.
var ()

// A Tally is how many tokens a request takes, and what they are spent on. Head, kinds and
// marks add up to tokens, and so do head and roles.
type Tally struct {
	Messages int   `json:"messages"`
	Tokens   int   `json:"tokens"`
	Head     Head  `json:"head"`
	Roles    Roles `json:"roles"`
	Kinds    Kinds `json:"kinds"`
	Marks    int   `json:"marks"` // around messages
	// Unread is how many messages stand in front of the provider's own compaction: they are
	// not read any more, and cost nothing.
	Unread    int       `json:"unread,omitempty"`
	ByMessage []Message `json:"by_message,omitempty"`
}

// A Head is what stands beside the list of messages.
type Head struct {
	System int `json:"system"`
	Tools  int `json:"tools"`
	Other  int `json:"other"` // the form of the answer, and the marks around the request
}

// A Roles is messages by who speaks, marks included.
type Roles struct {
	System    int `json:"system"`
	User      int `json:"user"`
	Assistant int `json:"assistant"`
	Tool      int `json:"tool"`
	Other     int `json:"other"`
}

// A Kinds is blocks by what they are; what the provider executes itself is among calls and results.
type Kinds struct {
	Text     int `json:"text"`
	Thinking int `json:"thinking"`
	Calls    int `json:"calls"`
	Results  int `json:"results"`
	Media    int `json:"media"`
	// Compaction is the provider's own summary.
	Compaction int `json:"compaction,omitempty"`
	Other      int `json:"other"`
}

// A Message is a message and what it costs.
type Message struct {
	Message int    `json:"message"`
	Path    string `json:"path"`
	Role    string `json:"role"`
	Tokens  int    `json:"tokens"`
	Kinds   Kinds  `json:"kinds"`
}

// Of counts a request as c does: what [wire.Request.Tokens] adds up, by what it is spent on.
func Of(r *wire.Request, c wire.Counter, byMessage bool) Tally {
	t := r.Transcript()
	n := Tally{Messages: len(t.Messages()), Head: head(r, c), Unread: t.StartMessage()}
	n.Tokens = n.Head.System + n.Head.Tools + n.Head.Other
	for i, m := range t.Messages() {
		w := Message{Message: i, Path: r.MessagePath(i), Role: m.Role.String()}
		if i >= t.StartMessage() {
			w.Tokens = dialect.FrameTokens(c)
		}
		n.Marks += w.Tokens
		for b := max(m.First, t.Start()); b < m.End; b++ {
			cost := dialect.BlockTokens(r, c, b)
			w.Tokens += cost
			*w.Kinds.of(t.Block(b).Kind) += cost
			*n.Kinds.of(t.Block(b).Kind) += cost
		}
		*n.Roles.of(m.Role) += w.Tokens
		n.Tokens += w.Tokens
		if byMessage {
			n.ByMessage = append(n.ByMessage, w)
		}
	}
	return n
}

func (k *Kinds) of(kind transcript.Kind) *int {
	switch kind {
	case transcript.Text:
		return &k.Text
	case transcript.Thinking:
		return &k.Thinking
	case transcript.Call, transcript.ServerCall:
		return &k.Calls
	case transcript.Result, transcript.ServerResult:
		return &k.Results
	case transcript.Media:
		return &k.Media
	case transcript.Compaction:
		return &k.Compaction
	}
	return &k.Other
}

func (r *Roles) of(role transcript.Role) *int {
	switch role {
	case transcript.System:
		return &r.System
	case transcript.User:
		return &r.User
	case transcript.Assistant:
		return &r.Assistant
	case transcript.Tool:
		return &r.Tool
	}
	return &r.Other
}

// head tells what the head's tokens go to.
func head(r *wire.Request, c wire.Counter) Head {
	l := &ledger{Counter: c}
	total := dialect.HeadTokens(r, l)
	return Head{System: l.said, Tools: l.tools, Other: total - l.said - l.tools}
}

// A ledger is a counter that notes, while the head is counted, what was what: only
// prompts are made of strings, and only the tools are a list, or an object with one.
type ledger struct {
	wire.Counter
	said, tools int
}

func (l *ledger) CountJSON(raw []byte) int {
	n := l.Counter.CountJSON(raw)
	l.said += n
	return n
}

func (l *ledger) Media(mime string, data []byte, low bool) int {
	n := l.Counter.Media(mime, data, low)
	l.said += n
	return n
}

func (l *ledger) Count(text []byte) int {
	n := l.Counter.Count(text)
	if bytes.HasPrefix(text, []byte("[")) || bytes.Contains(text, []byte(`"toolSpec"`)) {
		l.tools += n
	}
	return n
}

func (l *ledger) Overhead(messages, tools int) int {
	n := l.Counter.Overhead(messages, tools)
	if tools > 0 {
		l.tools += n - l.Counter.Overhead(messages, 0)
	}
	return n
}
