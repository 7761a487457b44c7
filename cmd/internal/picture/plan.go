package picture

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A Plan shows a plan: the changes by message, each with what is there before and after.
type Plan struct {
	Style
	Request *wire.Request
	Plan    *pare.Plan
	Size    *Size // nil: nobody asks

	seen *lookup
}

// A lookup finds blocks for very many changes: what it looks through, it looks through once.
type lookup struct {
	paths map[int]map[string]transcript.BlockID // by message
	made  map[string][]transcript.BlockID       // blocks of the result, by the paths of what they were made from
	added map[string]transcript.BlockID         // those that were made from nothing, by their own path
}

// A Size is how much a transcript was, and will be.
type Size struct{ Messages, Tokens [2]int }

func (s *Size) String() string {
	messages, tokens := screen.Plural(s.Messages[0], "message"), screen.Grouped(s.Tokens[0])+" tokens"
	if s.Messages[0] != s.Messages[1] {
		messages = fmt.Sprintf("%s → %s messages", screen.Grouped(s.Messages[0]), screen.Grouped(s.Messages[1]))
	}
	if s.Tokens[0] != s.Tokens[1] {
		tokens = screen.FromTo(s.Tokens[0], s.Tokens[1], "tokens")
	}
	return messages + ", " + tokens
}

// Render draws the plan of the transcript that is called from.
func (v Plan) Render(from string) []byte {
	var b bytes.Buffer
	v.seen = &lookup{paths: make(map[int]map[string]transcript.BlockID)}
	screen.Fprintf(&b, "%s  %s\n", v.Paint.Bold(from), v.Paint.Faint(v.DescribeRequest(v.Request, Count(v.Request))))
	v.writeOverview(&b)
	last := -2
	for _, c := range v.sortedChanges() {
		if m := v.findMessage(c.Path); m != last {
			screen.Fprintf(&b, "\n  %s\n", v.formatHeading(m))
			last = m
		}
		v.writeChange(&b, c)
	}
	if len(v.Plan.Left()) > 0 {
		screen.Fprintf(&b, "\n  %s\n", v.Paint.Bold("cannot be repaired"))
		for _, f := range v.Plan.Left() {
			v.WriteFinding(&b, f, false, false)
		}
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// outline tells what all changes come to, and how far they had to go.
func (v Plan) writeOverview(b *bytes.Buffer) {
	if v.Size != nil {
		screen.Fprintf(b, "\n  %s\n", v.Size)
	}
	if len(v.Plan.Rungs()) > 0 {
		var steps []screen.Text
		for _, c := range v.Plan.Rungs() {
			steps = append(steps, screen.Printf("%s %d", v.Paint.Bold(c.Rung), c.Changes))
		}
		screen.Fprintf(b, "  steps, gentle first: %s\n", screen.Join(steps, " → "))
	}
	for i, t := range v.Plan.Batches() {
		v.writeBatch(b, i+1, t)
	}
	if c := v.Plan.Conserved(); c.Original > 0 {
		screen.Fprintf(b, "  accounted for: %.1f %% of %s bytes · %s retained, %s in the summary, %s archived\n",
			100*c.Share(), screen.Grouped(c.Original), screen.Grouped(c.Retained), screen.Grouped(c.Summary), screen.Grouped(c.Archived))
	}
}

// batch tells of one time that a stable window was trimmed, with the sum that it was
// done for.
func (v Plan) writeBatch(b *bytes.Buffer, n int, t pare.Batch) {
	why := "it pays"
	switch {
	case t.Forced:
		why = "the limit was passed"
	case t.Cold:
		why = "the cache has expired"
	}
	screen.Fprintf(b, "  batch %d, at %s, because %s: %s\n", n, screen.Plural(t.Messages, "message"), why, screen.FromTo(t.Before, t.After, "tokens"))
	line := fmt.Sprintf("%s tokens after the first change are written to the cache again", screen.Grouped(t.Kept))
	switch {
	case t.Cold:
		line += ", as they would be anyway"
	case t.PaysAfter == math.MaxInt:
		line += "; at the price of this cache that never pays"
	case t.PaysAfter > 0:
		line += fmt.Sprintf(", %s are read no more: that pays after %s", screen.Grouped(t.Before-t.After), screen.Plural(t.PaysAfter, "further request"))
	}
	screen.Fprintf(b, "    %s\n", v.Paint.Faint(line))
}

// byMessage returns the changes in the order of the messages, what is about none of
// them last.
func (v Plan) sortedChanges() []wire.Change {
	all := slices.Clone(v.Plan.Changes())
	key := func(c wire.Change) int {
		if m := v.findMessage(c.Path); m >= 0 {
			return m
		}
		return math.MaxInt
	}
	slices.SortStableFunc(all, func(a, b wire.Change) int { return cmp.Compare(key(a), key(b)) })
	return all
}

// messageOf returns the message that a path leads into, or -1.
func (v Plan) findMessage(path string) int {
	parts := strings.SplitN(path, ".", 3)
	if len(parts) < 2 {
		return -1
	}
	n, err := strconv.Atoi(parts[1])
	if err != nil || n < 0 || n >= len(v.Request.Transcript().Messages()) || v.Request.MessagePath(n) != parts[0]+"."+parts[1] {
		return -1
	}
	return n
}

func (v Plan) formatHeading(m int) screen.Text {
	if m < 0 {
		return v.Paint.Bold("the request")
	}
	return v.Paint.Bold(fmt.Sprintf("message %d", m)) + v.Paint.Faint(" · "+v.Request.Transcript().Messages()[m].Role.String())
}

func (v Plan) writeChange(b *bytes.Buffer, c wire.Change) {
	action := screen.Printf("%-7s", c.Action)
	switch c.Action {
	case wire.ActionDrop:
		action = v.Paint.Fault(action)
	case wire.ActionInsert:
		action = v.Paint.Good(action)
	default:
		action = v.Paint.Advice(action)
	}
	path := c.Path
	summed := c.Action == wire.ActionInsert && c.Rule == "compaction"
	switch {
	case summed:
		path = "(the summary)"
	case path == "":
		path = "(what the changes above lead to)"
	}
	screen.Fprintf(b, "    %s %s  %s%s\n", action, v.Paint.Place(path), c.Rule, v.Paint.Faint(FormatByteChange(c.Bytes)))
	for _, line := range screen.Wrap(c.Reason, v.Width-12) {
		screen.Fprintf(b, "            %s\n", line)
	}
	if summed {
		v.writeSummary(b)
	}
	before, after := v.beforeAndAfter(c)
	if before != "" && before != after {
		screen.Fprintf(b, "            %s\n", v.Paint.Fault("− "+before))
	}
	if after != "" && before != after {
		screen.Fprintf(b, "            %s\n", v.Paint.Good("+ "+after))
	}
}

// summary shows the summary that the result holds.
func (v Plan) writeSummary(b *bytes.Buffer) {
	r := v.Plan.Result()
	for id, blk := range r.Transcript().Blocks() {
		if blk.Kind != transcript.Text {
			continue
		}
		text, ok := strings.CutPrefix(r.Text(transcript.BlockID(id)), wording.SummaryBegin)
		if !ok {
			continue
		}
		text, _, _ = strings.Cut(text, wording.SummaryEnd)
		for _, line := range screen.Paragraphs(strings.TrimSpace(text), v.Width-14) {
			screen.Fprintf(b, "            %s\n", v.Paint.Good("+ "+line))
		}
		return
	}
}

// BytesChanged is how many more bytes there are, for a line of a plan.
func FormatByteChange(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("  %+d bytes", n)
}

// blockAt returns the block that a path of the original names, or NoBlock.
func (v Plan) findBlock(path string) transcript.BlockID {
	m := v.findMessage(path)
	if m < 0 {
		return transcript.NoBlock
	}
	in := v.seen.paths[m]
	if in == nil {
		in = make(map[string]transcript.BlockID)
		msg := v.Request.Transcript().Messages()[m]
		for b := msg.First; b < msg.End; b++ {
			in[v.Request.Path(b)] = b
		}
		v.seen.paths[m] = in
	}
	if b, ok := in[path]; ok {
		return b
	}
	return transcript.NoBlock
}

// sides are what was there and is not any more, and what is there in its place; "" for nothing.
func (v Plan) beforeAndAfter(c wire.Change) (before, after string) {
	old := v.findBlock(c.Path)
	switch {
	case c.Action == wire.ActionInsert:
		return "", v.findInserted(c.Path)
	case old == transcript.NoBlock || c.Action == wire.ActionMove:
		return "", ""
	}
	before = v.excerpt(v.Request, old)
	if c.Action == wire.ActionEdit || c.Action == wire.ActionArchive {
		after = v.findChanged(c.Path, before)
	}
	return before, after
}

// became shows what the block at a path of the original is in the result: of several blocks the
// first that says something else than before.
func (v Plan) findChanged(path, before string) (after string) {
	v.compare()
	for _, b := range v.seen.made[path] {
		if after = v.excerpt(v.Plan.Result(), b); after != before {
			break
		}
	}
	return after
}

// inserted shows what is new at a path of the result.
func (v Plan) findInserted(path string) string {
	v.compare()
	if b, ok := v.seen.added[path]; ok {
		return v.excerpt(v.Plan.Result(), b)
	}
	return ""
}

// compare finds out what the blocks of the result were made from.
func (v Plan) compare() {
	if v.seen.made != nil {
		return
	}
	v.seen.made, v.seen.added = make(map[string][]transcript.BlockID), make(map[string]transcript.BlockID)
	var room wire.Paths
	r := v.Plan.Result()
	for i := range r.Transcript().Blocks() {
		b := transcript.BlockID(i)
		from := wirex.PathsIn(r, v.Request, b, &room)
		for _, path := range from {
			v.seen.made[path] = append(v.seen.made[path], b)
		}
		if len(from) == 0 {
			v.seen.added[r.Path(b)] = b
			m := r.MessagePath(r.Transcript().Block(b).Message)
			if _, ok := v.seen.added[m]; !ok { // a whole message may be new
				v.seen.added[m] = b
			}
		}
	}
}

// snippet is the beginning of what a block says.
func (v Plan) excerpt(req *wire.Request, id transcript.BlockID) string {
	b := req.Transcript().Block(id)
	room := v.Width - 16
	name := ""
	switch b.Kind {
	case transcript.Call, transcript.ServerCall:
		name = screen.Clip(screen.OneLine(b.Tool), 24) + " "
	case transcript.Result, transcript.ServerResult:
		name = "result "
	case transcript.Thinking:
		name = "thinking "
	}
	return name + screen.Clip(TextStart(req.Transcript(), b.Body, room), room-screen.Columns(name))
}
