package wire

import (
	"bytes"

	"github.com/pare-llm/pare/transcript"
)

// A Tally is how many tokens a request takes, and what they are spent on. Head, kinds and
// marks add up to tokens, and so do head and roles. It is a value that many goroutines may
// read, and so are its parts.
type Tally struct {
	Messages int       `json:"messages"`
	Tokens   int       `json:"tokens"`
	Head     HeadTally `json:"head"`
	Roles    RoleTally `json:"roles"`
	Kinds    KindTally `json:"kinds"`
	Marks    int       `json:"marks"` // around messages
	// Unread is how many messages stand in front of the provider's own compaction: they are
	// not read any more, and cost nothing.
	Unread    int            `json:"unread,omitempty"`
	ByMessage []MessageTally `json:"by_message,omitempty"`
}

// A HeadTally is what stands beside the list of messages. Many goroutines may read it.
type HeadTally struct {
	System int `json:"system"`
	Tools  int `json:"tools"`
	Other  int `json:"other"` // the form of the answer, and the marks around the request
}

// A RoleTally is messages by who speaks, marks included. Many goroutines may read it.
type RoleTally struct {
	System    int `json:"system"`
	User      int `json:"user"`
	Assistant int `json:"assistant"`
	Tool      int `json:"tool"`
	Other     int `json:"other"`
}

// A KindTally is blocks by what they are; what the provider executes itself is among calls and results.
// Many goroutines may read it.
type KindTally struct {
	Text     int `json:"text"`
	Thinking int `json:"thinking"`
	Calls    int `json:"calls"`
	Results  int `json:"results"`
	Media    int `json:"media"`
	// Compaction is the provider's own summary.
	Compaction int `json:"compaction,omitempty"`
	Other      int `json:"other"`
}

// A MessageTally is a message and what it costs. Many goroutines may read it.
type MessageTally struct {
	Message int       `json:"message"`
	Path    string    `json:"path"`
	Role    string    `json:"role"`
	Tokens  int       `json:"tokens"`
	Kinds   KindTally `json:"kinds"`
}

// Tally counts a request as c does: what [Request.Tokens] adds up, by what it is spent on.
func (r *Request) Tally(c Counter, byMessage bool) Tally {
	t := r.t
	n := Tally{Messages: len(t.Messages()), Head: r.headTally(c), Unread: transcriptx.StartMessage(t)}
	n.Tokens = n.Head.System + n.Head.Tools + n.Head.Other
	for i, m := range t.Messages() {
		w := MessageTally{Message: i, Path: r.MessagePath(i), Role: m.Role.String()}
		if i >= transcriptx.StartMessage(t) {
			w.Tokens = frameTokens(c)
		}
		n.Marks += w.Tokens
		for b := max(m.First, transcriptx.Start(t)); b < m.End; b++ {
			cost := r.blockTokens(c, b)
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

func (k *KindTally) of(kind transcript.Kind) *int {
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

func (r *RoleTally) of(role transcript.Role) *int {
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

// headTally tells what the head's tokens go to.
func (r *Request) headTally(c Counter) HeadTally {
	l := &ledger{Counter: c}
	total := r.headTokens(l)
	return HeadTally{System: l.said, Tools: l.tools, Other: total - l.said - l.tools}
}

// A ledger is a counter that notes, while the head is counted, what was what: only
// prompts are made of strings, and only the tools are a list, or an object with one.
type ledger struct {
	Counter
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
