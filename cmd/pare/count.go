package main

import (
	"cmp"

	"github.com/pare-llm/pare/cmd/internal/picture"
	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/internal/fullness"
	"github.com/pare-llm/pare/internal/tally"
	"github.com/pare-llm/pare/wire"
)

type countCmd struct {
	ByMessage bool   `help:"Count each message, too."`
	Above     string `placeholder:"LIMIT" help:"Exit with status 1 if a request is above that, and say how full it is: 80% of the room in the model's window, a number of tokens, '40 turns' of the person, or $5 that were billed."`
	counting  `embed:""`
	reporting `embed:""`

	limit *fullness.Limit // what Above says; nil: nothing
}

// Help is the page's first paragraph.
func (c *countCmd) Help() string {
	return `For example:

    pare count request.json
    pare count --by-message request.json
    pare count --above 80% request.json || pare trim request.json
    pare count --above '$5' session.jsonl || echo enough
    pare count --tokenizer exact --model gpt-5 request.json
    pare count --json sessions/ | jq '[.source, .tokens] | @tsv' -r

Everything that the model reads is counted: the system prompt, the declared tools, all
messages, and the marks around them. What comes before the provider's own
compaction is not read, and counts for nothing. An estimate is fitted to the model's family and
errs on the high side; media are always estimated, by what they show. What the API has
counted for the last reply of a session is taken as it is, and only the rest is estimated.

--json prints {"source","line","dialect","profile","model","tokenizer","messages",
"tokens","window","room","share","recorded","beside",
"over_window","above","head":{"system","tools","other"},
"roles","kinds","marks"}: window is the model's, room what it has for a request besides the reply, share
how much of that is taken; all three are left out for a model that is not known. head,
kinds, marks and beside add up to tokens, and so do head, roles and beside; "unread" is how
many messages the provider has compacted; "recorded" is what the API itself has counted for
the last reply of a session, "beside" how much of that the file does not hold: the system
prompt and the tools. "over_window" is there if the provider will refuse it for its length.
"above" says what --above asks. "fullness" has what is left at the pace so far: requests,
turns, dollars, and the same with _left, until the window is full. --by-message adds
"by_message":[{"message","path","role","tokens","kinds"}].`
}

func (c *countCmd) run(w *world) int {
	if err := c.check(c.Model); err != nil {
		return w.usage(err, "count")
	}
	c.hosting = true
	var err error
	if c.limit, err = readLimit(c.Above); err != nil {
		return w.usage(err, "count")
	}
	return c.tell(w, "count", "token", c.one, nil, func(sum *summary, many bool) {
		if sum.size != nil && (many || sum.transcripts != 1) {
			screen.Fprintf(w.stderr, "%s: %s, %s tokens\n", plural(sum.transcripts, "transcript"), plural(sum.size.Messages[0], "message"), grouped(sum.size.Tokens[0]))
		}
	})
}

// A counted is what --json prints about a transcript.
type counted struct {
	Source    string            `json:"source"`
	Line      int               `json:"line,omitempty"`
	Thread    string            `json:"thread,omitempty"` // of a session file that has several
	Dialect   string            `json:"dialect"`
	Profile   string            `json:"profile"`
	Model     string            `json:"model"`
	Tokenizer string            `json:"tokenizer"`
	Messages  int               `json:"messages"`
	Tokens    int               `json:"tokens"`
	Window    int               `json:"window,omitempty"`
	Room      int               `json:"room,omitempty"`
	Share     *float64          `json:"share,omitempty"`
	Recorded  int               `json:"recorded,omitempty"` // by the API, for the last reply of a session
	Beside    int               `json:"beside,omitempty"`   // of them are not in the file: the system prompt and the tools
	Over      bool              `json:"over_window,omitempty"`
	Above     *bool             `json:"above,omitempty"`    // only with --above
	Fullness  *fullness.Outlook `json:"fullness,omitempty"` // what is left; nil: the window is not known
	tally.Tally
}

// one counts one transcript.
func (c *countCmd) one(v report, from origin, req *wire.Request) (out outcome, err error) {
	model := cmp.Or(c.Model, req.Model())
	counter, err := c.counter(model)
	if err != nil {
		return out, err
	}
	size := fullness.Of(fullness.Question{Request: req, Model: model, Counter: counter, Counted: from.counted})
	n := &counted{Source: from.source, Line: from.line, Thread: from.thread, Dialect: from.dialect(req), Profile: req.Profile.Name, Model: model, Tokenizer: c.tokenizer(), Tally: tally.Of(req, size.Counter(), c.ByMessage)}
	n.Messages, n.Tokens, n.Beside, n.Recorded, n.Over = n.Tally.Messages, size.Tokens, size.Beside, size.Recorded, size.Over()
	if share, known := size.Share(); known {
		n.Window, n.Room, n.Share = size.Window, size.Room(), &share
	}
	full := outlook(from, req, size, model, n.Messages)
	if full.Window > 0 {
		n.Fullness = &full
	}
	if c.limit != nil {
		if out.note, err = judge(c.limit, from, n, &full); err != nil {
			return out, err
		}
		if *n.Above {
			out.status = statusFindings
		}
		if c.JSON || from.many && !*n.Above {
			out.note = nil
		}
	}
	out.size = &picture.Size{Messages: [2]int{n.Messages}, Tokens: [2]int{n.Tokens}}
	drawn := &picture.Tally{Tally: n.Tally, Tokens: n.Tokens, Beside: n.Beside, Estimated: n.Tokenizer == "estimate", Window: n.Window, Room: n.Room, Share: n.Share, Recorded: n.Recorded, Over: n.Over, Left: warning(&full)}
	switch {
	case c.JSON:
		out.out = encode(n)
	case from.many && !c.ByMessage:
		out.out = v.TallyLine(from.String(), drawn)
	default:
		out.out = v.Style.Tally(from.String(), req, drawn)
	}
	return out, nil
}

// outlook is what is left of a window: by what the API has counted of a session so far, or by the
// estimate.
func outlook(from origin, req *wire.Request, size fullness.Size, model string, messages int) fullness.Outlook {
	var pace fullness.Pace
	if from.pace != nil {
		pace = from.pace()
	}
	if pace.Requests == 0 {
		pace = size.Pace(req, messages)
	}
	return pace.Outlook(size.Position(model))
}

// warning is what is left of a window that is half full: before, it is far away.
func warning(f *fullness.Outlook) string {
	if f.Share < 0.5 {
		return ""
	}
	return f.String()
}
