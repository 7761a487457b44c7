package agentlog

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/tally"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// OverWindow is the rule of a session that is longer than the window of its model. The
// provider refuses it, and the agent's own compaction fails for the same reason.
const OverWindow = "over-window"

// A Size is how much a thread takes of its model's window when the session is resumed.
// Many goroutines may read it.
type Size struct {
	Tokens int // of the whole request, as far as it is known
	// Recorded is how many of them the API itself has counted, for the last reply: the
	// system prompt and the tools included. The rest is estimated. 0: nothing is recorded,
	// and the system prompt and the tools are missing.
	Recorded int
	// Beside is how many of them stand beside the messages: the system prompt and the tools.
	Beside int
	Window int    // 0: not known
	Source string // where the window is from
	// Refused: the provider has refused the session as too long, and the agent has noted it.
	Refused bool
}

// Over reports whether the thread does not fit its window.
func (s Size) Over() bool { return s.Refused || s.Window > 0 && s.Tokens > s.Window }

// unseen is what the system prompt and the tools of a coding agent take, where nothing is
// recorded: about what Claude Code sends.
const unseen = 20_000

// Limits says how many tokens the messages of a thread may have, so that there is room for the
// system prompt, the tools and a reply, and whether they have more. Zero: it is not known.
func (s Size) Limits() (limit int, over bool) {
	if s.Window == 0 {
		if !s.Refused {
			return 0, false
		}
		return s.Tokens, true
	}
	beside := unseen
	if s.Recorded > 0 {
		beside = s.Beside
	}
	room := s.Window - min(32_000, s.Window/4) // for a reply
	limit = room - min(beside, s.Window/4)
	if s.Recorded > 0 {
		return limit, s.Refused || s.Tokens > room
	}
	return limit, s.Refused || s.Tokens > limit
}

// Rescue is a plan for a thread that is full: its oldest parts go, until it takes half of the
// room that there is. One that is not full is left alone.
func Rescue(t *Thread, s Size) (*pare.Plan, error) { return Rescued(t, s, pare.Policy{}, 0) }

// Rescued is Rescue with a policy that says what else is done, and a target in tokens, or as a
// share in percent if it is below 100. Zero: 50 %.
func Rescued(t *Thread, s Size, p pare.Policy, target int) (*pare.Plan, error) {
	limit, over := s.Limits()
	window := p.Window
	if p.Window = nil; !over {
		return p.Plan(context.Background(), t.Request)
	}
	if target == 0 {
		target = 50
	}
	if target < 100 {
		target = limit * target / 100
	}
	var w pare.Window
	if window != nil {
		w = *window
	}
	w.Tokens, w.ModelTokens, w.Low, w.LowPercent = min(target, limit), false, 0, 0
	if n := t.Request.Tokens(tokens.For(t.Request.Model())); n <= w.Tokens { // the count of the API goes by more than the file has
		w.Tokens = n / 2
	}
	p.Window = &w
	plan, err := p.Plan(context.Background(), t.Request)
	var small *pare.WindowTooSmall
	if errors.As(err, &small) && small.Unit == "tokens" && small.Minimum <= limit { // as small as it can be
		w.Tokens = small.Minimum
		plan, err = p.Plan(context.Background(), t.Request)
	}
	return plan, err
}

// String is the size in a sentence.
func (s Size) String() string {
	how := "estimated, without the system prompt and the tools"
	switch {
	case s.Recorded == s.Tokens && s.Recorded > 0:
		how = "counted by the API"
	case s.Recorded > 0:
		how = fmt.Sprintf("%d counted by the API, the rest estimated", s.Recorded)
	}
	return fmt.Sprintf("%d tokens (%s), and the window has %d (%s)", s.Tokens, how, s.Window, s.Source)
}

// Size weighs a thread.
func (l *Log) Size(t *Thread) Size { return l.size(t, true) }

// size weighs a thread; if exact is not set, a thread that cannot be over its window is not
// counted.
func (l *Log) size(t *Thread, exact bool) Size {
	m, known := tokens.Lookup(t.Request.Model())
	var s Size
	if known {
		s.Window, s.Source = m.Window, "published for "+t.Request.Model()
	}
	use := l.usage(t)
	if use.window > 0 {
		s.Window, s.Source = use.window, "recorded in the session"
	}
	if use.input > s.Window && s.Window > 0 {
		// The API has answered a request of that size: the window is a larger one, such as
		// the million tokens that some models have on request.
		s.Window, s.Source = max(1_000_000, use.input), "the API has answered a longer request than the published window"
	}
	if !exact && l.refusedAsTooLong(t) {
		s.Refused = true
		return s
	}
	if !exact && use.messages == 0 && (s.Window == 0 || len(t.Request.Raw()) <= s.Window) {
		return s // a token has a byte at least
	}
	s.Refused = l.refusedAsTooLong(t)
	s.Recorded = use.input + use.output
	s.Tokens = s.Recorded
	if use.messages < t.Messages() || exact {
		spent := tally.Of(t.Request, m.Estimator(), true)
		estimate := 0
		for i, one := range spent.ByMessage {
			if i >= use.messages && i < t.Messages() {
				s.Tokens += one.Tokens
			} else if i < t.Messages() {
				estimate += one.Tokens
			}
		}
		if use.messages == 0 {
			s.Tokens += spent.Head.System + spent.Head.Tools + spent.Head.Other
		} else {
			s.Beside = max(0, s.Recorded-estimate)
		}
	}
	return s
}

// A usage is what the last reply of a thread says of its cost.
type usage struct {
	input, output int // tokens, as the API has counted them
	messages      int // of the thread, that are in it; 0: nothing is recorded
	window        int // of the model, if the agent notes it
}

// usage finds what the API has counted last. A reply that stands in the file in front of
// something that is sent before it was counted when other messages were sent: by a
// compaction, the agent has kept it.
func (l *Log) usage(t *Thread) usage {
	if l.Format == Codex {
		return l.codexUsage(t)
	}
	row, _ := l.Format.row()
	if row.usage == nil {
		return usage{}
	}
	first := make([]int, len(t.parts)+1) // by message: the last unit in front of it
	for i, p := range t.parts {
		first[i+1] = max(first[i], p.unit)
	}
	ms := t.Request.Transcript().Messages()
	for i := len(t.parts) - 1; i >= 0; i-- {
		if ms[i].Role != transcript.Assistant {
			continue
		}
		u := t.parts[i].unit
		if l.owners != nil {
			u = l.owners[u]
		}
		in, out := row.usage(l.object(u))
		if in == 0 {
			continue
		}
		if first[i] > t.parts[i].unit {
			return usage{}
		}
		return usage{input: in, output: out, messages: i + 1}
	}
	return usage{}
}

func claudeUsage(o object) (in, out int) {
	u := o.Object("message").Object("usage")
	return u.Number("input_tokens") + u.Number("cache_creation_input_tokens") + u.Number("cache_read_input_tokens"), u.Number("output_tokens")
}

func piUsage(o object) (in, out int) {
	u := o.Object("message").Object("usage")
	return u.Number("input") + u.Number("cacheRead") + u.Number("cacheWrite"), u.Number("output")
}

func geminiUsage(o object) (in, out int) {
	u := o.Object("tokens") // cached tokens are part of the input
	return u.Number("input"), u.Number("output") + u.Number("thoughts")
}

// codexUsage reads the last event that tells what a reply has cost, if it comes behind the last
// compaction.
func (l *Log) codexUsage(t *Thread) (use usage) {
	for u := len(l.units) - 1; u >= 0; u-- {
		o := l.object(u)
		if o.Text("type") == "compacted" {
			break
		}
		p := o.Object("payload")
		if o.Text("type") != "event_msg" || p.Text("type") != "token_count" {
			continue
		}
		info := p.Object("info")
		last := info.Object("last_token_usage")
		if use.window == 0 {
			use.window = info.Number("model_context_window")
		}
		if in := last.Number("input_tokens"); in > 0 {
			n := 0
			for n < len(t.parts) && t.parts[n].unit < u {
				n++
			}
			if n > 0 {
				use.input, use.output, use.messages = in, last.Number("output_tokens"), n
			}
			break
		}
	}
	return use
}

// refusedAsTooLong reports whether the last thing in a session of Claude Code is that the
// provider found it too long.
func (l *Log) refusedAsTooLong(t *Thread) bool {
	if t.tree == nil || t.Kind != Main {
		return false
	}
	for k := len(t.tree.path) - 1; k >= 0; k-- {
		u := t.tree.path[k]
		e := &t.tree.entries[u]
		if !e.assistant || !e.speaking() {
			continue
		}
		text := bytes.ToLower(l.raw[e.content.Start:e.content.End])
		return e.model == "<synthetic>" && l.object(u).Is("isApiErrorMessage") &&
			(bytes.Contains(text, []byte("prompt is too long")) || bytes.Contains(text, []byte("exceed context limit")))
	}
	return false
}

// overWindow finds threads that do not fit the window of their model.
func (l *Log) overWindow() (all []Finding) {
	for _, t := range l.Threads {
		if !l.sends(t) || len(t.parts) == 0 {
			continue
		}
		s := l.size(t, false)
		message := ""
		switch {
		case s.Refused:
			message = "the provider has refused the session as too long, and the agent has noted that in its last line"
		case s.Over():
			message = "when it is resumed it is " + s.String() + "; the provider refuses it, and the agent's own compaction, too"
		default:
			continue
		}
		f := l.locate(t, wire.Finding{Rule: OverWindow, Message: message, IDs: []string{}, Source: "agentlog/" + OverWindow,
			Index: len(t.parts) - 1, Block: transcript.NoBlock})
		f.Path = t.Request.MessagePath(len(t.parts) - 1)
		f.Instead = shortenIt
		all = append(all, f)
	}
	return all
}

// shortenIt is what to do about a session that is too long.
const shortenIt = "shorten it: pare trim --in-place FILE keeps the newest part, pare compact --in-place FILE puts a summary in front of that"
