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
	ByMessage     bool   `help:"Count each message, too."`
	Above         string `placeholder:"LIMIT" help:"Exit with status 1 if a request is above that, and say how full it is: 80% of the room in the model's window, a number of tokens, '40 turns' of the person, or $5 that were billed."`
	countingFlags `embed:""`
	reportFlags   `embed:""`

	limit *fullness.Limit // the parsed --above; nil if it is not given
}

// Help returns the detailed help of the command.
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

func (c *countCmd) run(env *environment) int {
	if err := c.checkModel(c.Model); err != nil {
		return env.failUsage(err, "count")
	}
	c.acceptHosts = true
	var err error
	if c.limit, err = parseLimit(c.Above); err != nil {
		return env.failUsage(err, "count")
	}
	return c.report(env, reportTask{
		command: "count", itemNoun: "token", reportTranscript: c.countTranscript,
		printTotals: func(totals *runTotals, hasManyFiles bool) {
			if totals.size != nil && (hasManyFiles || totals.transcripts != 1) {
				screen.Fprintf(env.stderr, "%s: %s, %s tokens\n", plural(totals.transcripts, "transcript"), plural(totals.size.Before.Messages, "message"), grouped(totals.size.Before.Tokens))
			}
		},
	})
}

// A countJSON is the output of count --json for a transcript.
type countJSON struct {
	Source     string            `json:"source"`
	Line       int               `json:"line,omitempty"`
	Thread     string            `json:"thread,omitempty"` // if the session file has several
	Dialect    string            `json:"dialect"`
	Profile    string            `json:"profile"`
	Model      string            `json:"model"`
	Tokenizer  string            `json:"tokenizer"`
	Messages   int               `json:"messages"`
	Tokens     int               `json:"tokens"`
	Window     int               `json:"window,omitempty"`
	Room       int               `json:"room,omitempty"`
	Share      *float64          `json:"share,omitempty"`
	Recorded   int               `json:"recorded,omitempty"` // counted by the API for the last reply
	Beside     int               `json:"beside,omitempty"`   // recorded tokens that are not in the file: the system prompt and the tools
	OverWindow bool              `json:"over_window,omitempty"`
	Above      *bool             `json:"above,omitempty"`    // only with --above
	Fullness   *fullness.Outlook `json:"fullness,omitempty"` // nil if the window is not known
	tally.Tally
}

// countTranscript counts one transcript.
func (c *countCmd) countTranscript(style picture.Style, from origin, req *wire.Request) (out outcome, err error) {
	model := cmp.Or(c.Model, req.Model())
	counter, err := c.counter(model)
	if err != nil {
		return out, err
	}
	size := fullness.Of(fullness.Question{Request: req, Model: model, Counter: counter, Counted: from.counted})
	count := &countJSON{Source: from.source, Line: from.line, Thread: from.thread, Dialect: from.dialectName(req), Profile: req.Profile.Name, Model: model, Tokenizer: c.tokenizerName(), Tally: tally.Of(req, size.Counter(), c.ByMessage)}
	count.Messages, count.Tokens, count.Beside, count.Recorded, count.OverWindow = count.Tally.Messages, size.Tokens, size.Beside, size.Recorded, size.Over()
	if share, known := size.Share(); known {
		count.Window, count.Room, count.Share = size.Window, size.Room(), &share
	}
	outlook := findOutlook(from, req, size, model, count.Messages)
	if outlook.Window > 0 {
		count.Fullness = &outlook
	}
	if c.limit != nil {
		if out.note, err = compareWithLimit(c.limit, from, count, &outlook); err != nil {
			return out, err
		}
		if *count.Above {
			out.status = statusFindings
		}
		if c.JSON || from.isOneOfMany && !*count.Above {
			out.note = nil
		}
	}
	out.size = &picture.Size{Before: picture.Amount{Messages: count.Messages, Tokens: count.Tokens}}
	drawn := &picture.Tally{Tally: count.Tally, Tokens: count.Tokens, Beside: count.Beside, Estimated: count.Tokenizer == "estimate", Window: count.Window, Room: count.Room, Share: count.Share, Recorded: count.Recorded, IsOverWindow: count.OverWindow, Outlook: formatOutlook(&outlook)}
	switch {
	case c.JSON:
		out.out = encodeLine(count)
	case from.isOneOfMany && !c.ByMessage:
		out.out = style.RenderTallyLine(from.String(), drawn)
	default:
		out.out = style.RenderTally(from.String(), req, drawn)
	}
	return out, nil
}

// findOutlook returns the remaining capacity of a window, from the recorded pace of a session or
// from an estimate.
func findOutlook(from origin, req *wire.Request, size fullness.Size, model string, messages int) fullness.Outlook {
	var pace fullness.Pace
	if from.pace != nil {
		pace = from.pace()
	}
	if pace.Requests == 0 {
		pace = size.Pace(req, messages)
	}
	return pace.Outlook(size.Position(model))
}

// formatOutlook returns the outlook of a window that is at least half full, or "".
func formatOutlook(f *fullness.Outlook) string {
	if f.Share < 0.5 {
		return ""
	}
	return f.String()
}
