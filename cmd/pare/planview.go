package main

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/picture"
	"github.com/pare-llm/pare/internal/screen"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A planView renders a plan for people: the changes by message, each with what is
// there before and after.
type planView struct {
	report
	req  *wire.Request
	plan *pare.Plan
	size *size // nil: nobody asks
}

func (v planView) render(from origin) []byte {
	var b bytes.Buffer
	screen.Fprintf(&b, "%s  %s\n", v.paint.Bold(from.String()), v.paint.Faint(v.about(v.req, count(v.req))))
	v.outline(&b)
	last := -2
	for _, c := range v.byMessage() {
		if m := v.messageOf(c.Path); m != last {
			screen.Fprintf(&b, "\n  %s\n", v.heading(m))
			last = m
		}
		v.change(&b, c)
	}
	if len(v.plan.Left()) > 0 {
		screen.Fprintf(&b, "\n  %s\n", v.paint.Bold("cannot be repaired"))
		for _, f := range v.plan.Left() {
			v.finding(&b, f, false, false)
		}
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// outline tells what all changes come to, and how far they had to go.
func (v planView) outline(b *bytes.Buffer) {
	if v.size != nil {
		screen.Fprintf(b, "\n  %s\n", v.size)
	}
	if len(v.plan.Rungs()) > 0 {
		var steps []screen.Text
		for _, c := range v.plan.Rungs() {
			steps = append(steps, screen.Printf("%s %d", v.paint.Bold(c.Rung), c.Changes))
		}
		screen.Fprintf(b, "  steps, gentle first: %s\n", screen.Join(steps, " → "))
	}
	for i, t := range v.plan.Batches() {
		v.batch(b, i+1, t)
	}
	if c := v.plan.Conserved(); c.Original > 0 {
		screen.Fprintf(b, "  accounted for: %.1f %% of %s bytes · %s retained, %s in the summary, %s archived\n",
			100*c.Share(), grouped(c.Original), grouped(c.Retained), grouped(c.Summary), grouped(c.Archived))
	}
}

// batch tells of one time that a stable window was trimmed, with the sum that it was
// done for.
func (v planView) batch(b *bytes.Buffer, n int, t pare.Batch) {
	why := "it pays"
	if t.Forced {
		why = "the limit was passed"
	}
	screen.Fprintf(b, "  batch %d, at %s, because %s: %s\n", n, plural(t.Messages, "message"), why, fromTo(t.Before, t.After, "tokens"))
	line := fmt.Sprintf("%s tokens behind the first change are written to the cache again", grouped(t.Kept))
	switch {
	case t.PaysAfter == math.MaxInt:
		line += "; at the price of this cache that never pays"
	case t.PaysAfter > 0:
		line += fmt.Sprintf(", %s are read no more: that pays after %s", grouped(t.Before-t.After), plural(t.PaysAfter, "further request"))
	}
	screen.Fprintf(b, "    %s\n", v.paint.Faint(line))
}

// byMessage returns the changes in the order of the messages, what is about none of
// them last.
func (v planView) byMessage() []wire.Change {
	all := slices.Clone(v.plan.Changes())
	key := func(c wire.Change) int {
		if m := v.messageOf(c.Path); m >= 0 {
			return m
		}
		return math.MaxInt
	}
	slices.SortStableFunc(all, func(a, b wire.Change) int { return cmp.Compare(key(a), key(b)) })
	return all
}

// messageOf returns the message that a path leads into, or -1.
func (v planView) messageOf(path string) int {
	parts := strings.SplitN(path, ".", 3)
	if len(parts) < 2 {
		return -1
	}
	n, err := strconv.Atoi(parts[1])
	if err != nil || n < 0 || n >= len(v.req.Transcript().Messages()) || v.req.MessagePath(n) != parts[0]+"."+parts[1] {
		return -1
	}
	return n
}

func (v planView) heading(m int) screen.Text {
	if m < 0 {
		return v.paint.Bold("the request")
	}
	return v.paint.Bold(fmt.Sprintf("message %d", m)) + v.paint.Faint(" · "+v.req.Transcript().Messages()[m].Role.String())
}

func (v planView) change(b *bytes.Buffer, c wire.Change) {
	action := screen.Printf("%-6s", c.Action)
	switch c.Action {
	case "drop":
		action = v.paint.Fault(action)
	case "insert":
		action = v.paint.Good(action)
	default:
		action = v.paint.Advice(action)
	}
	path := c.Path
	summed := c.Action == "insert" && c.Rule == "compaction"
	switch {
	case summed:
		path = "(the summary)"
	case path == "":
		path = "(what the changes above lead to)"
	}
	screen.Fprintf(b, "    %s  %s  %s%s\n", action, v.paint.Place(path), c.Rule, v.paint.Faint(bytesChanged(c.Bytes)))
	for _, line := range screen.Wrap(c.Reason, v.width-12) {
		screen.Fprintf(b, "            %s\n", line)
	}
	if summed {
		v.summary(b)
	}
	old := v.blockAt(c.Path)
	if old == transcript.NoBlock || c.Action == "insert" || c.Action == "move" {
		return
	}
	before := v.snippet(v.req, old)
	after := ""
	if c.Action == "edit" {
		after = v.counterpart(v.req.Transcript().Block(old))
	}
	if before != "" && before != after {
		screen.Fprintf(b, "            %s\n", v.paint.Fault("− "+before))
	}
	if after != "" && before != after {
		screen.Fprintf(b, "            %s\n", v.paint.Good("+ "+after))
	}
}

// summary shows the summary that the result holds.
func (v planView) summary(b *bytes.Buffer) {
	r := v.plan.Result()
	for id, blk := range r.Transcript().Blocks() {
		if blk.Kind != transcript.Text {
			continue
		}
		text, ok := strings.CutPrefix(r.Text(transcript.BlockID(id)), pare.SummaryBegin)
		if !ok {
			continue
		}
		text, _, _ = strings.Cut(text, pare.SummaryEnd)
		for _, line := range screen.Paragraphs(strings.TrimSpace(text), v.width-14) {
			screen.Fprintf(b, "            %s\n", v.paint.Good("+ "+line))
		}
		return
	}
}

func bytesChanged(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("  %+d bytes", n)
}

// blockAt returns the block that a path of the original names, or NoBlock.
func (v planView) blockAt(path string) transcript.BlockID {
	m := v.messageOf(path)
	if m < 0 {
		return transcript.NoBlock
	}
	msg := v.req.Transcript().Messages()[m]
	for b := msg.First; b < msg.End; b++ {
		if v.req.Path(b) == path {
			return b
		}
	}
	return transcript.NoBlock
}

// counterpart shows the block of the result that is the same half of the same
// exchange, or "" if there is none or several.
func (v planView) counterpart(old transcript.Block) string {
	if old.CallID == "" {
		return ""
	}
	found := transcript.NoBlock
	for i, b := range v.plan.Result().Transcript().Blocks() {
		if b.Kind == old.Kind && b.CallID == old.CallID {
			if found != transcript.NoBlock {
				return ""
			}
			found = transcript.BlockID(i)
		}
	}
	if found == transcript.NoBlock {
		return ""
	}
	return v.snippet(v.plan.Result(), found)
}

// snippet is the beginning of what a block says.
func (v planView) snippet(req *wire.Request, id transcript.BlockID) string {
	b := req.Transcript().Block(id)
	room := v.width - 16
	name := ""
	switch b.Kind {
	case transcript.Call, transcript.ServerCall:
		name = screen.Clip(screen.OneLine(b.Tool), 24) + " "
	case transcript.Result, transcript.ServerResult:
		name = "result "
	case transcript.Thinking:
		name = "thinking "
	}
	return name + screen.Clip(picture.Start(req.Transcript(), b.Body, room), room-screen.Columns(name))
}
