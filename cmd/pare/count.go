package main

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/pare-llm/pare/internal/screen"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

type countCmd struct {
	ByMessage bool `help:"Count each message, too."`
	counting  `embed:""`
	reporting `embed:""`
}

// Help is the page's first paragraph.
func (c *countCmd) Help() string {
	return `For example:

    pare count request.json
    pare count --by-message request.json
    pare count --tokenizer exact --model gpt-5 request.json
    pare count --json sessions/ | jq '[.source, .tokens] | @tsv' -r

Everything that is sent is counted: the system prompt, the declared tools, all
messages, and the marks around them. An estimate is fitted to the model's family and
errs on the high side; media are always estimated, by what they show.

--json prints {"source","line","dialect","profile","model","tokenizer","messages",
"tokens","window","room","share","head":{"system","tools","other"},"roles","kinds",
"marks"}: window is the model's, room what it has for a request beside the reply, share
how much of that is taken; all three are left out for a model that is not known. head,
kinds and marks add up to tokens, and so do head and roles. --by-message adds
"by_message":[{"message","path","role","tokens","kinds"}].`
}

func (c *countCmd) run(w *world) int {
	if err := c.check(c.Model); err != nil {
		return w.usage(err, "count")
	}
	return c.tell(w, "count", "token", c.one, nil, func(sum *summary, many bool) {
		if sum.size != nil && (many || sum.transcripts != 1) {
			screen.Fprintf(w.stderr, "%s: %s, %s tokens\n", plural(sum.transcripts, "transcript"), plural(sum.size.messages[0], "message"), grouped(sum.size.tokens[0]))
		}
	})
}

// A tally is what --json prints about a transcript.
type tally struct {
	Source    string   `json:"source"`
	Line      int      `json:"line,omitempty"`
	Thread    string   `json:"thread,omitempty"` // of a session file that has several
	Dialect   string   `json:"dialect"`
	Profile   string   `json:"profile"`
	Model     string   `json:"model"`
	Tokenizer string   `json:"tokenizer"`
	Messages  int      `json:"messages"`
	Tokens    int      `json:"tokens"`
	Window    int      `json:"window,omitempty"`
	Room      int      `json:"room,omitempty"`
	Share     *float64 `json:"share,omitempty"`
	Head      head     `json:"head"`
	Roles     byRole   `json:"roles"`
	Kinds     byKind   `json:"kinds"`
	Marks     int      `json:"marks"` // around messages

	ByMessage []weighed `json:"by_message,omitempty"`
}

// head is what stands beside the list of messages.
type head struct {
	System int `json:"system"`
	Tools  int `json:"tools"`
	Other  int `json:"other"` // the form of the answer, and the marks around the request
}

type byRole struct {
	System    int `json:"system"`
	User      int `json:"user"`
	Assistant int `json:"assistant"`
	Tool      int `json:"tool"`
	Other     int `json:"other"`
}

// byKind counts blocks; what the provider executes itself is among calls and results.
type byKind struct {
	Text     int `json:"text"`
	Thinking int `json:"thinking"`
	Calls    int `json:"calls"`
	Results  int `json:"results"`
	Media    int `json:"media"`
	Other    int `json:"other"`
}

// weighed is a message and what it costs.
type weighed struct {
	Message int    `json:"message"`
	Path    string `json:"path"`
	Role    string `json:"role"`
	Tokens  int    `json:"tokens"`
	Kinds   byKind `json:"kinds"`
}

// one counts one transcript.
func (c *countCmd) one(v report, from origin, req *wire.Request) (out outcome, err error) {
	model := cmp.Or(c.Model, req.Model())
	counter, err := c.counter(model)
	if err != nil {
		return out, err
	}
	n := &tally{Source: from.source, Line: from.line, Thread: from.thread, Dialect: req.Dialect.String(), Profile: req.Profile.Name, Model: model, Tokenizer: c.tokenizer()}
	n.add(req, counter, c.ByMessage)
	if m, known := tokens.Lookup(model); known {
		n.Window, n.Room = m.Window, m.Input(min(req.Reply(), m.Output))
		share := math.Round(1e6*float64(n.Tokens)/float64(n.Room)) / 1e6
		n.Share = &share
	}
	out.size = &size{}
	out.size.messages[0], out.size.tokens[0] = n.Messages, n.Tokens
	switch {
	case c.JSON:
		out.out = encode(n)
	case from.many && !c.ByMessage:
		out.out = v.tallyLine(from, n)
	default:
		out.out = v.tally(from, req, n)
	}
	return out, nil
}

// add counts a request.
func (n *tally) add(req *wire.Request, c wire.Counter, details bool) {
	t := req.Transcript()
	n.Messages, n.Head = len(t.Messages()), headOf(req, c)
	n.Tokens = n.Head.System + n.Head.Tools + n.Head.Other
	for i, m := range t.Messages() {
		w := weighed{Message: i, Path: req.MessagePath(i), Role: m.Role.String(), Tokens: wire.FrameTokens(c)}
		n.Marks += w.Tokens
		for b := m.First; b < m.End; b++ {
			cost := req.BlockTokens(c, b)
			w.Tokens += cost
			*w.Kinds.of(t.Block(b).Kind) += cost
			*n.Kinds.of(t.Block(b).Kind) += cost
		}
		*n.Roles.of(m.Role) += w.Tokens
		n.Tokens += w.Tokens
		if details {
			n.ByMessage = append(n.ByMessage, w)
		}
	}
}

func (k *byKind) of(kind transcript.Kind) *int {
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
	}
	return &k.Other
}

func (r *byRole) of(role transcript.Role) *int {
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

// headOf tells what the head's tokens go to.
func headOf(req *wire.Request, c wire.Counter) head {
	l := &ledger{Counter: c}
	total := req.HeadTokens(l)
	return head{System: l.said, Tools: l.tools, Other: total - l.said - l.tools}
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

// tallyLine is a transcript of many in one line.
func (v report) tallyLine(from origin, n *tally) []byte {
	taken := screen.Line(strings.Repeat(" ", 8) + bar(0, 12)) // of an unknown window
	if n.Share != nil {
		taken = screen.Line(percent(*n.Share)+" ") + v.paint.Place(bar(*n.Share, 12))
	}
	return screen.Appendf(nil, "%11s tokens  %s  %s\n", grouped(n.Tokens), taken, from.String())
}

// tally draws what the tokens of a transcript go to.
func (v report) tally(from origin, req *wire.Request, n *tally) []byte {
	var b bytes.Buffer
	screen.Fprintf(&b, "%s  %s\n\n", v.paint.Bold(from.String()), v.paint.Faint(v.about(req, count(req))))
	screen.Fprintf(&b, "  %s", v.paint.Bold(grouped(n.Tokens)+" tokens"))
	if n.Tokenizer == "estimate" {
		screen.Fprint(&b, v.paint.Faint(", estimated"))
	}
	if n.Share != nil {
		screen.Fprintf(&b, " · %s of the room for a request, %s of a window of %s", strings.TrimSpace(percent(*n.Share)), grouped(n.Room), grouped(n.Window))
	}
	b.WriteString("\n\n")
	v.bars(&b, n.Tokens, []part{
		{"system prompt", n.Head.System}, {"tools", n.Head.Tools}, {"rest of head", n.Head.Other}, {"text", n.Kinds.Text}, {"thinking", n.Kinds.Thinking},
		{"calls", n.Kinds.Calls}, {"results", n.Kinds.Results}, {"media", n.Kinds.Media}, {"other", n.Kinds.Other}, {"marks", n.Marks},
	})
	b.WriteByte('\n')
	v.bars(&b, n.Tokens, []part{
		{"by system", n.Roles.System}, {"by user", n.Roles.User}, {"by assistant", n.Roles.Assistant}, {"by tools", n.Roles.Tool}, {"by others", n.Roles.Other},
	})
	if len(n.ByMessage) > 0 {
		b.WriteByte('\n')
		var parts []part
		for _, m := range n.ByMessage {
			parts = append(parts, part{fmt.Sprintf("%*d  %-9s", len(fmt.Sprint(n.Messages-1)), m.Message, m.Role), m.Tokens})
		}
		v.bars(&b, n.Tokens, parts)
	}
	b.WriteByte('\n')
	return b.Bytes()
}

type part struct {
	name   string
	tokens int
}

// bars draws the parts that there are.
func (v report) bars(b *bytes.Buffer, total int, parts []part) {
	widest := 13
	for _, p := range parts {
		widest = max(widest, screen.Columns(p.name))
	}
	for _, p := range parts {
		if p.tokens == 0 {
			continue
		}
		share := float64(p.tokens) / float64(total)
		line := screen.Printf("  %-*s %11s  %s  %s", widest, p.name, grouped(p.tokens), percent(share), v.paint.Place(strings.TrimSpace(bar(share, 32))))
		screen.Fprintln(b, screen.TrimRight(line))
	}
}

func percent(share float64) string { return fmt.Sprintf("%5.1f %%", 100*share) }

// bar draws a share in so many cells, to an eighth of one.
func bar(share float64, cells int) string {
	eighths := min(int(share*float64(8*cells)+0.5), 8*cells)
	s := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		s += string([]rune(" ▏▎▍▌▋▊▉")[rest])
	}
	return s + strings.Repeat(" ", cells-screen.Columns(s))
}
