package main

import (
	"cmp"
	"errors"

	"github.com/pare-llm/pare/cmd/internal/picture"
	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/cmd/internal/source"
	"github.com/pare-llm/pare/internal/atomicfile"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

type splitCmd struct {
	MinKeep     int    `default:"12" placeholder:"N" help:"Keep at least N messages after the cut. Default: 12."`
	Inside      bool   `help:"If there is no other place, cut inside an unbroken run of tool calls."`
	Head        string `placeholder:"FILE" help:"Write the part before the cut to FILE, as a request of its own."`
	Tail        string `placeholder:"FILE" help:"Write the part after the cut to FILE, as a request of its own."`
	reportFlags `embed:""`
	parts       *splitParts // of the only transcript, for --head and --tail
}

// splitParts are the requests on both sides of a cut. head is nil if there is no cut.
type splitParts struct{ head, tail []byte }

// Help returns the detailed help of the command.
func (c *splitCmd) Help() string {
	return `For example:

    pare split request.json
    pare split --min-keep 4 --json request.json | jq .cut
    pare split --inside --min-keep 20 sessions/
    pare split request.json --head old.json --tail new.json

The cut is the last one that leaves --min-keep messages behind it and has a person
speaking first. No call is separated from its results there.

--json prints {"source","line","cut","head","tail","cuts","inside"}: cut is the index
of the first message that stays, head how many go, tail how many stay; cuts lists every
cut with a person behind it, inside those in a run of tool use, whatever --min-keep
says. If there is no cut, cut and head are 0, so that nothing goes; that is no error,
and the status is 0.

--head and --tail write the two parts of one transcript. Each is a request with the head
of the whole: the model, the tools, the system prompt, and of the messages those on its
side, byte for byte. Pairs are whole in both; pare fix adds what either may still need to
be sent. If there is no cut, the tail is the whole, and no head is written.`
}

func (c *splitCmd) run(env *environment) int {
	if err := checkNotNegative("--min-keep", c.MinKeep); err != nil {
		return env.failUsage(err, "split")
	}
	if c.Head == "" && c.Tail == "" {
		return c.reportCuts(env)
	}
	if err := c.claimParts(env); err != nil {
		return env.failUsage(err, "split")
	}
	if status := c.reportCuts(env); status != statusClean || c.parts == nil {
		return status
	}
	if err := c.writeParts(env); err != nil {
		return env.fail(err.Error(), writeHint(err, false))
	}
	if c.parts.head == nil && c.Head != "" && !c.JSON {
		screen.Fprintf(env.stderr, "pare: there is no cut, so %s was not written\n", c.Head)
	}
	return statusClean
}

// claimParts claims the files of --head and --tail. The error is wrong usage.
func (c *splitCmd) claimParts(env *environment) error {
	switch {
	case c.Head == source.Stdin || c.Tail == source.Stdin:
		return hintedError{errors.New("--head and --tail need files: standard output is for the report"), "for example --head old.json --tail new.json"}
	case newInput(env, c.Paths).Many():
		return errors.New("--head and --tail are for one transcript, and several files are named")
	}
	return cmp.Or(env.claimOutput("--head", c.Head), env.claimOutput("--tail", c.Tail))
}

// writeParts writes both parts, or none.
func (c *splitCmd) writeParts(env *environment) error {
	var drafts []*atomicfile.Draft
	for _, part := range []struct {
		name string
		body []byte
	}{{c.Head, c.parts.head}, {c.Tail, c.parts.tail}} {
		if part.name == "" || part.body == nil {
			continue
		}
		draft, err := newDraft(env, part.name)
		if err != nil {
			return err
		}
		defer draft.Discard() // does nothing after Commit
		if _, err := draft.Write(part.body); err != nil {
			return err
		}
		if err := draft.Close(); err != nil {
			return err
		}
		drafts = append(drafts, draft)
	}
	for _, draft := range drafts {
		if err := draft.Commit(); err != nil {
			return err
		}
	}
	return nil
}

// reportCuts reports the cut of every transcript.
func (c *splitCmd) reportCuts(env *environment) int {
	return c.report(env, reportTask{
		command: "split", itemNoun: "cut", reportTranscript: c.splitTranscript,
		printTotals: func(totals *runTotals, hasManyFiles bool) {
			if hasManyFiles || totals.transcripts != 1 {
				screen.Fprintf(env.stderr, "%s: %d with a cut\n", plural(totals.transcripts, "transcript"), totals.items)
			}
		},
	})
}

// A divisionJSON is the output of --json for a transcript.
type divisionJSON struct {
	Source string `json:"source"`
	Line   int    `json:"line,omitempty"`
	Thread string `json:"thread,omitempty"`
	picture.Division
}

// splitTranscript finds the cut of one transcript.
func (c *splitCmd) splitTranscript(style picture.Style, from origin, req *wire.Request) (out outcome, err error) {
	t := req.Transcript()
	d := &picture.Division{Tail: len(t.Messages()), Cuts: []int{}, Inside: []int{}, MinKeep: c.MinKeep, Within: c.Inside}
	cut, found := t.Split(c.MinKeep, c.Inside)
	cuts := t.Cuts()
	if member := dialect.Delta(req); member != "" {
		found, cuts = false, func(func(transcript.Cut) bool) {}
		out.note = formatDeltaNote(from, member)
	}
	if c.Head != "" || c.Tail != "" {
		if from.isOneOfMany {
			return out, errors.New("--head and --tail are for one transcript, and this is one of several")
		}
		c.parts = &splitParts{tail: req.Raw()}
		if found {
			c.parts = &splitParts{req.Before(cut), req.After(cut)}
		}
	}
	if found {
		d.Cut, d.Head, d.Tail = cut.Before(), cut.Before(), d.Tail-cut.Before()
		out.rules = []string{"cut"}
	}
	preamble := t.Preamble()
	for cut := range cuts {
		switch {
		case cut.Before() <= preamble:
		case cut.Inside():
			d.Inside = append(d.Inside, cut.Before())
		default:
			d.Cuts = append(d.Cuts, cut.Before())
		}
	}
	if c.JSON {
		out.out = encodeLine(divisionJSON{from.source, from.line, from.thread, *d})
		return out, nil
	}
	out.out = style.RenderDivision(from.String(), req, d)
	return out, nil
}
