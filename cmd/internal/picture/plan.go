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
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A Plan renders a plan: the changes by message, with the text before and after each change.
type Plan struct {
	Style
	Request *wire.Request
	Plan    *pare.Plan
	Size    *Size // nil if sizes are not counted
}

type planRenderer struct {
	Plan
	blocks blockIndex
}

// A blockIndex finds the blocks of a request and of the result by their paths.
type blockIndex struct {
	original map[string]transcript.BlockID   // the blocks of the request by path
	changed  map[string][]transcript.BlockID // the blocks of the result by the paths of their originals
	added    map[string]transcript.BlockID   // the blocks of the result without an original, by path
}

func newBlockIndex(request, result *wire.Request) blockIndex {
	index := blockIndex{
		original: make(map[string]transcript.BlockID),
		changed:  make(map[string][]transcript.BlockID),
		added:    make(map[string]transcript.BlockID),
	}
	for i := range request.Transcript().Blocks() {
		block := transcript.BlockID(i)
		index.original[request.Path(block)] = block
	}
	var buffer dialect.Paths
	for i := range result.Transcript().Blocks() {
		block := transcript.BlockID(i)
		originals := dialect.PathsIn(result, request, block, &buffer)
		for _, path := range originals {
			index.changed[path] = append(index.changed[path], block)
		}
		if len(originals) > 0 {
			continue
		}
		index.added[result.Path(block)] = block
		// the whole message may be new
		message := result.MessagePath(result.Transcript().Block(block).Message)
		if _, known := index.added[message]; !known {
			index.added[message] = block
		}
	}
	return index
}

// A Size is the number of messages and tokens of a transcript before and after a change.
type Size struct{ Before, After Amount }

type Amount struct{ Messages, Tokens int }

func (s *Size) String() string {
	messages := screen.Plural(s.Before.Messages, "message")
	if s.Before.Messages != s.After.Messages {
		messages = fmt.Sprintf("%s → %s messages", screen.Grouped(s.Before.Messages), screen.Grouped(s.After.Messages))
	}
	tokens := screen.Grouped(s.Before.Tokens) + " tokens"
	if s.Before.Tokens != s.After.Tokens {
		tokens = screen.FromTo(s.Before.Tokens, s.After.Tokens, "tokens")
	}
	return messages + ", " + tokens
}

// Render returns the plan of the transcript with the name from.
func (v Plan) Render(from string) []byte {
	r := planRenderer{v, newBlockIndex(v.Request, v.Plan.Result())}
	var b bytes.Buffer
	screen.Fprintf(&b, "%s  %s\n", r.Paint.Bold(from), r.Paint.Faint(r.DescribeRequest(r.Request, Count(r.Request))))
	r.writeOverview(&b)
	const none = -2 // rules whose meaning was written
	last := none
	for _, change := range r.sortedChanges() {
		if message := r.findMessage(change.Path); message != last {
			screen.Fprintf(&b, "\n  %s\n", r.formatHeading(message))
			last = message
		}
		r.writeChange(&b, change)
	}
	if remaining := r.Plan.Plan.Remaining(); len(remaining) > 0 {
		screen.Fprintf(&b, "\n  %s\n", r.Paint.Bold("cannot be repaired"))
		for _, finding := range remaining {
			r.WriteFinding(&b, finding, false, false)
		}
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// writeOverview writes the sizes, the steps of the window and the conserved bytes.
func (r planRenderer) writeOverview(b *bytes.Buffer) {
	if r.Size != nil {
		screen.Fprintf(b, "\n  %s\n", r.Size)
	}
	if len(r.Plan.Plan.WindowSteps()) > 0 {
		var steps []screen.Text
		for _, c := range r.Plan.Plan.WindowSteps() {
			steps = append(steps, screen.Printf("%s %d", r.Paint.Bold(c.Name), c.Changes))
		}
		screen.Fprintf(b, "  steps, gentle first: %s\n", screen.Join(steps, " → "))
	}
	for i, t := range r.Plan.Plan.Batches() {
		r.writeBatch(b, i+1, t)
	}
	if c := r.Plan.Plan.Conserved(); c.Original > 0 {
		screen.Fprintf(b, "  accounted for: %.1f %% of %s bytes · %s retained, %s in the summary, %s archived\n",
			100*c.Share(), screen.Grouped(c.Original), screen.Grouped(c.Retained), screen.Grouped(c.Summary), screen.Grouped(c.Archived))
	}
}

// writeBatch writes one trim of a stable window and its effect on the prompt cache.
func (r planRenderer) writeBatch(b *bytes.Buffer, n int, t pare.Batch) {
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
	screen.Fprintf(b, "    %s\n", r.Paint.Faint(line))
}

// sortedChanges returns the changes in the order of the messages. Changes outside of messages are
// last.
func (r planRenderer) sortedChanges() []wire.Change {
	all := slices.Clone(r.Plan.Plan.Changes())
	key := func(change wire.Change) int {
		if m := r.findMessage(change.Path); m >= 0 {
			return m
		}
		return math.MaxInt
	}
	slices.SortStableFunc(all, func(a, b wire.Change) int { return cmp.Compare(key(a), key(b)) })
	return all
}

// findMessage returns the message that a path leads to, or -1.
func (r planRenderer) findMessage(path string) int {
	parts := strings.SplitN(path, ".", 3)
	if len(parts) < 2 {
		return -1
	}
	n, err := strconv.Atoi(parts[1])
	if err != nil || n < 0 || n >= len(r.Request.Transcript().Messages()) || r.Request.MessagePath(n) != parts[0]+"."+parts[1] {
		return -1
	}
	return n
}

func (r planRenderer) formatHeading(m int) screen.Text {
	if m < 0 {
		return r.Paint.Bold("the request")
	}
	return r.Paint.Bold(fmt.Sprintf("message %d", m)) + r.Paint.Faint(" · "+r.Request.Transcript().Messages()[m].Role.String())
}

func (r planRenderer) writeChange(b *bytes.Buffer, change wire.Change) {
	action := screen.Printf("%-7s", change.Action)
	switch change.Action {
	case wire.ActionDrop:
		action = r.Paint.Fault(action)
	case wire.ActionInsert:
		action = r.Paint.Good(action)
	default:
		action = r.Paint.Advice(action)
	}
	path := change.Path
	summed := change.Action == wire.ActionInsert && change.Rule == "compaction"
	switch {
	case summed:
		path = "(the summary)"
	case path == "":
		path = "(what the changes above lead to)"
	}
	screen.Fprintf(b, "    %s %s  %s%s\n", action, r.Paint.Place(path), change.Rule, r.Paint.Faint(FormatByteChange(change.Bytes)))
	for _, line := range screen.Wrap(change.Reason, r.Width-12) {
		screen.Fprintf(b, "            %s\n", line)
	}
	if summed {
		r.writeSummary(b)
	}
	before, after := r.beforeAndAfter(change)
	if before != "" && before != after {
		screen.Fprintf(b, "            %s\n", r.Paint.Fault("− "+before))
	}
	if after != "" && before != after {
		screen.Fprintf(b, "            %s\n", r.Paint.Good("+ "+after))
	}
}

// writeSummary writes the summary in the result.
func (r planRenderer) writeSummary(b *bytes.Buffer) {
	result := r.Plan.Plan.Result()
	for id, blk := range result.Transcript().Blocks() {
		if blk.Kind != transcript.Text {
			continue
		}
		text, ok := strings.CutPrefix(result.Text(transcript.BlockID(id)), wording.SummaryBegin)
		if !ok {
			continue
		}
		text, _, _ = strings.Cut(text, wording.SummaryEnd)
		for _, line := range screen.Paragraphs(strings.TrimSpace(text), r.Width-14) {
			screen.Fprintf(b, "            %s\n", r.Paint.Good("+ "+line))
		}
		return
	}
}

// FormatByteChange returns the difference in bytes for a line of a plan, or "" for zero.
func FormatByteChange(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("  %+d bytes", n)
}

// findBlock returns the block at a path of the original, or NoBlock.
func (r planRenderer) findBlock(path string) transcript.BlockID {
	block, ok := r.blocks.original[path]
	if !ok || r.findMessage(path) < 0 {
		return transcript.NoBlock
	}
	return block
}

// beforeAndAfter returns the text that a change removes and the text that it adds; "" for none.
func (r planRenderer) beforeAndAfter(change wire.Change) (before, after string) {
	old := r.findBlock(change.Path)
	switch {
	case change.Action == wire.ActionInsert:
		return "", r.findInserted(change.Path)
	case old == transcript.NoBlock || change.Action == wire.ActionMove:
		return "", ""
	}
	before = r.excerpt(r.Request, old)
	if change.Action == wire.ActionEdit || change.Action == wire.ActionArchive {
		after = r.findChanged(change.Path, before)
	}
	return before, after
}

// findChanged returns the text in the result of the block at a path of the original. If it became
// several blocks, it returns the first text that differs from before.
func (r planRenderer) findChanged(path, before string) (after string) {
	for _, block := range r.blocks.changed[path] {
		if after = r.excerpt(r.Plan.Plan.Result(), block); after != before {
			break
		}
	}
	return after
}

// findInserted returns the text of a new block at a path of the result.
func (r planRenderer) findInserted(path string) string {
	if block, ok := r.blocks.added[path]; ok {
		return r.excerpt(r.Plan.Plan.Result(), block)
	}
	return ""
}

// excerpt returns the start of a block.
func (r planRenderer) excerpt(req *wire.Request, id transcript.BlockID) string {
	b := req.Transcript().Block(id)
	room := r.Width - 16
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
