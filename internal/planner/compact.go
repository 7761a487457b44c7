package planner

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// CompactOptions controls how a summary replaces the head of a history.
type CompactOptions struct {
	Options
	// FoldTask removes the task with the head. Otherwise the first message in which the user speaks
	// stays, before the summary.
	FoldTask bool
	// MinConserved is the share of the bytes of all messages that must be accounted for: retained, in
	// the summary, or among Items and the result of Plan.Archive. Zero: any share.
	MinConserved float64
	// Archived states that the caller archives the result of Plan.Archive, so that its bytes are
	// accounted for.
	Archived bool
	// Items were archived by the summarizer.
	Items []archive.Item

	name func(together ...string) string // see CompactNamed
}

// A Conservation accounts for the bytes of the messages of a compacted history.
type Conservation struct {
	Original int `json:"original"`
	Retained int `json:"retained"`
	Summary  int `json:"summary"`
	Archived int `json:"archived"`
	Items    int `json:"items"`
}

// Share returns the share of the original bytes that is accounted for.
func (c Conservation) Share() float64 {
	if c.Original == 0 {
		return 1
	}
	return float64(c.Retained+c.Summary+c.Archived) / float64(c.Original)
}

// The reasons of a [CompactionError].
const (
	reasonBlank        = "blank"              // the summary has no visible text
	reasonNotText      = "not-text"           // the summary is not text
	reasonCalls        = "calls"              // the summary contains calls or results
	reasonLarger       = "larger"             // the summary is larger than the removed content or its limit
	reasonNoRoom       = "no-room"            // the limit of all summaries is too small for one more
	reasonNotConserved = "not-conserved"      // too few bytes are accounted for
	reasonNoCut        = "no-cut"             // the history has no cut there
	reasonNothing      = "nothing-to-compact" // there is nothing to remove before the cut
	reasonSummarizer   = "summarizer"         // the summarizer failed
	reasonTimeout      = "timeout"            // the summarizer took too long
	reasonLeftOut      = "left-out"           // the summarizer was not called because it failed too often
)

// A CompactionError says why a history was not compacted.
type CompactionError struct {
	Reason string
	Err    error
}

func (e *CompactionError) Error() string { return fmt.Sprintf("compact: %v", e.Err) }
func (e *CompactionError) Unwrap() error { return e.Err }

func newCompactionError(reason string, format string, args ...any) error {
	return &CompactionError{reason, fmt.Errorf(format, args...)}
}

// Removed is the content that a summary replaces.
type Removed struct {
	Request *wire.Request
	Blocks  []transcript.BlockID // in order, with gaps
	// Level is 2 or more if the content consists of summaries: each text is a summary, the oldest
	// first, and one summary will replace all of them. Otherwise the content is a part of the
	// conversation.
	Level int
	// Prior has the summaries of earlier content, or "". They stay before the new summary, which need
	// not repeat them.
	Prior string
	// MaxTokens is the limit of the summary; text after it is cut. Zero: the summary must be smaller
	// than the content.
	MaxTokens int
	// Counter counts the tokens of the request. It may be nil.
	Counter wire.Counter

	// Compacted is the text of the provider's own compaction before the content, or "" if there is
	// none or it cannot be read.
	Compacted string

	insertBefore int // the message before which the summary belongs
	summaries    []summaryBlock
}

// A summaryBlock is a block with the summary of an earlier compaction. Where a provider wants roles
// to alternate, a repair may have joined other texts to the summary.
type summaryBlock struct {
	block        transcript.BlockID
	kept         string // text before the summary that stays
	removed      string // other text
	priorSummary string
}

// Text returns the removed text of a block.
func (h *Removed) Text(b transcript.BlockID) string {
	for _, s := range h.summaries {
		if s.block == b {
			return s.removed
		}
	}
	return h.Request.Text(b)
}

// CompactAt replaces everything before a cut by a summary, except for the system's messages and the
// task. It keeps the summaries of earlier compactions before the new one, unchanged; the new one
// also stays unchanged when a [Compactor] condenses others. A summary that is blank, is not text,
// contains calls, is larger than the content that it replaces or does not conserve enough bytes is
// a *CompactionError.
func CompactAt(r *wire.Request, cut transcript.Cut, summary string, o CompactOptions) (*Plan, error) {
	if !r.Transcript().HasCut(cut) {
		return nil, newCompactionError(reasonNoCut, "message %d is no cut of this history", cut.Before())
	}
	h := removedHead(r, cut, o.FoldTask)
	return unchangedDraft(r).compact(context.Background(), h, o, func(h Removed, lost loss, _ nameFunc) (string, Summary, error) {
		s := Summary{Text: strings.TrimSpace(summary), Pinned: true, Items: o.Items}
		lost.pinned = true
		return joinRecords(append(parseRecords(h.Prior), record{lost, s.Text})), s, s.check()
	})
}

// Offload archives everything before a cut and replaces it by a note with the handle of the
// archive.
func Offload(r *wire.Request, cut transcript.Cut, o CompactOptions) (*Plan, error) {
	h := removedHead(r, cut, o.FoldTask)
	return new(Compactor).compactHead(context.Background(), unchangedDraft(r), h, o)
}

// A nameFunc returns the handle of the content that several summaries replace, or "" if it has
// none.
type nameFunc func([]record) string

// A summaryFunc returns the text of all summaries of a history after the removal of h, and the
// summary of h.
type summaryFunc func(h Removed, lost loss, name nameFunc) (string, Summary, error)

// compact replaces the head of the draft's result by summaries.
func (d draft) compact(ctx context.Context, h Removed, o CompactOptions, summarize summaryFunc) (plan *Plan, err error) {
	o.Options = o.guarded()
	defer CatchFault(&plan, &err)
	if len(h.Blocks) == 0 {
		return nil, newCompactionError(reasonNothing, "nothing stands in front of the cut that could be summarized")
	}
	before := d.result()
	s := settleHead(before.Transcript(), h)
	removal := Step{From: before, Drops: s.drops(before.Transcript()), Edits: s.edits}
	removed := append(d.archiveItems(), itemsOfStep(d.input(), removal)...)
	handles := newHandles(removed, o)
	lost := lossOf(&h)
	lost.archive = handles.removed
	text, summary, err := summarize(h, lost, handles.nameRecords)
	if err != nil {
		return nil, err
	}
	insert := summaryInsertion(h.insertBefore, text)
	step, err := d.rewrite(s, insert, o.Options)
	if err != nil {
		return nil, err
	}
	if d, err = d.with(step).finish(ctx, before, o.Options); err != nil {
		return nil, err
	}
	if err := checkCompaction(d, before, o); err != nil {
		return nil, err
	}
	conserved, err := conserve(d.input(), removed, len(insert.Text), summary.Items, o)
	if err != nil {
		return nil, err
	}
	plan = d.plan(o.Options)
	plan.conserved, plan.indexes = &conserved, handles.indexes
	return plan, nil
}

// checkCompaction returns an error if the result of a draft breaks a promise, or is not smaller
// than the request before the compaction.
func checkCompaction(d draft, before *wire.Request, o CompactOptions) error {
	var unpin Pin
	if o.FoldTask {
		unpin = PinTask
	}
	if err := checkPromises(d.input(), before, d.result(), unpin); err != nil {
		return err
	}
	return checkSmaller(before, d.result(), o.Options)
}

// compactionHandles names the content that summaries replace.
type compactionHandles struct {
	removed string // the handle of the content that is removed now, or ""
	indexes []archive.Item
	name    func(together ...string) string // of the caller, or nil
}

// newHandles returns the handles for removed items. Without an archive, they are "".
func newHandles(removed []archive.Item, o CompactOptions) *compactionHandles {
	c := &compactionHandles{name: o.name}
	switch {
	case o.name != nil:
		c.removed = o.name()
	case o.Archived:
		c.indexes = archive.Index(removed)
		c.removed = c.indexes[len(c.indexes)-1].ID
	}
	return c
}

// nameRecords returns the handle of the content that several summaries replace, or "" if no summary
// has a handle. It adds the archive item that the handle names.
func (c *compactionHandles) nameRecords(records []record) string {
	if c.name == nil {
		handle, items := indexRecords(records)
		c.indexes = append(c.indexes, items...)
		return handle
	}
	var handles []string
	for _, r := range records {
		if r.archive != "" {
			handles = append(handles, r.archive)
		}
	}
	if len(handles) == 0 {
		return ""
	}
	return c.name(handles...)
}

// A headReader collects the content before a cut that a summary replaces.
type headReader struct {
	Removed
	t              *transcript.Transcript
	start          transcript.BlockID // earlier blocks are compacted by the provider, and stay
	hasTask        bool               // the task was found, or does not stay
	personalBlocks map[transcript.BlockID]bool
	newestBlocks   map[transcript.BlockID]bool
}

// removedHead returns the content before a cut that a summary replaces.
func removedHead(r *wire.Request, cut transcript.Cut, foldTask bool) Removed {
	t := r.Transcript()
	h := headReader{
		Removed: Removed{Request: r, insertBefore: cut.Before()},
		t:       t,
		hasTask: foldTask,
	}
	if t.IsCompacted() && t.StartMessage() < cut.Before() {
		// The provider's compaction stays, and contains the task.
		h.start, h.hasTask = t.Start()+1, true
		h.Compacted = dialect.Compaction(r, t.Start())
	}
	task, newest := personTexts(r)
	if foldTask {
		if len(task) > 0 && len(newest) > 0 && task[0].block == newest[0].block {
			newest = nil
		}
		task = nil
	}
	h.newestBlocks = blocksOfTexts(newest)
	h.personalBlocks = blocksOfTexts(slices.Concat(task, newest))
	for i, m := range t.Messages()[:cut.Before()] {
		isCompacted := m.End <= h.start && h.start > 0
		if m.Role != transcript.System && !isCompacted {
			h.addMessage(i)
		}
	}
	return h.Removed
}

func blocksOfTexts(texts []personText) map[transcript.BlockID]bool {
	blocks := make(map[transcript.BlockID]bool)
	for _, text := range texts {
		blocks[text.block] = true
	}
	return blocks
}

// addMessage adds the blocks of a message that do not stay. Where roles must alternate, the task, a
// summary and later content share a message: the blocks before the summary are the task.
func (h *headReader) addMessage(i int) {
	m := h.t.Messages()[i]
	isTask := m.Begins && UserSpeaks(m)
	isKept := m.First < h.start // a part of the message stays
	isAfterSummary := false
	remove := func(b transcript.BlockID) {
		h.insertBy(i, isKept)
		h.Blocks = append(h.Blocks, b)
	}
	for b := max(m.First, h.start); b < m.End; b++ {
		summary, found := findSummary(h.Request, b)
		if !found {
			staysAsTask := !h.hasTask && isTask && !isAfterSummary
			if staysAsTask || h.personalBlocks[b] {
				isKept = true
			} else {
				remove(b)
			}
			continue
		}
		h.Prior = strings.TrimSpace(h.Prior + "\n\n" + summary.priorSummary)
		beginsWithTask := !isKept && !h.hasTask && summary.kept != ""
		switch {
		case h.newestBlocks[b]:
			summary.kept, summary.removed = joinTexts(summary.kept, summary.removed), ""
			isKept = true
		case beginsWithTask:
			isKept = true
		default:
			summary.kept, summary.removed = "", joinTexts(summary.kept, summary.removed)
		}
		isTask, isAfterSummary = isKept, true
		h.summaries = append(h.summaries, summary)
		if summary.removed != "" {
			remove(b)
		} else {
			h.insertBy(i, isKept)
		}
	}
	if isTask && !h.hasTask {
		h.insertBefore, h.hasTask = i+1, true
	}
}

// insertBy moves the place of the summary to message i at the latest, or after it if a part of the
// message stays.
func (h *headReader) insertBy(i int, isKept bool) {
	if isKept {
		i++
	}
	h.insertBefore = min(h.insertBefore, i)
}

func joinTexts(a, b string) string { return strings.TrimSpace(a + "\n\n" + b) }

// findSummary finds the summary of an earlier compaction in a block.
func findSummary(r *wire.Request, b transcript.BlockID) (s summaryBlock, found bool) {
	if !isSummary(r, b) {
		return summaryBlock{}, false
	}
	before, summary, after, _ := cutSummary(r.Text(b))
	return summaryBlock{b, strings.TrimSpace(before), strings.TrimSpace(after), strings.TrimSpace(summary)}, true
}

// cutSummary splits a text at a summary of Pare. The mark of a summary begins the text, or follows
// an empty line where a repair has joined other text to it. A mark inside a sentence is a
// quotation.
func cutSummary(text string) (before, summary, after string, found bool) {
	rest, found := strings.CutPrefix(text, wording.SummaryBegin+"\n")
	if !found {
		const joint = "\n\n" + wording.SummaryBegin + "\n"
		at := strings.LastIndex(text, joint)
		if at < 0 {
			return text, "", "", false
		}
		before, rest = text[:at], text[at+len(joint):]
	}
	summary, after, found = strings.Cut(rest, "\n"+wording.SummaryEnd)
	return before, summary, after, found
}

// check returns an error if a summary is not a text.
func (s *Summary) check() error {
	text := strings.TrimSpace(s.Text)
	switch {
	case strings.IndexFunc(text, isVisible) < 0:
		return newCompactionError(reasonBlank, "the summary is blank")
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return newCompactionError(reasonNotText, "the summary is no text: it holds bytes that are not UTF-8, or a zero")
	case containsCalls(text):
		return newCompactionError(reasonCalls, "the summary holds calls or results in place of text: %.60q", text)
	case strings.Contains(text, wording.SummaryEnd):
		return newCompactionError(reasonNotText, "the summary holds the line that ends a summary: %s", wording.SummaryEnd)
	}
	return nil
}

// isVisible reports whether a character is visible, unlike marks without a width. A zero byte
// counts, so that it is reported as text that is not valid.
func isVisible(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) || r == 0 }

// callKeys are strings of calls and results in the JSON of the dialects.
var callKeys = []string{
	`"tool_use"`, `"tool_result"`, `"tool_calls"`, `"function_call"`, `"function_call_output"`,
	`"functionCall"`, `"functionResponse"`, `"toolUse"`, `"toolResult"`, `"tool_call_id"`,
}

// containsCalls reports whether a text is the JSON of a call or result.
func containsCalls(text string) bool {
	text = strings.TrimPrefix(strings.TrimPrefix(text, "```json"), "```")
	text = strings.TrimSpace(strings.TrimSuffix(text, "```"))
	isJSON := text != "" && (text[0] == '{' || text[0] == '[') && jsonspan.Valid([]byte(text)) == nil
	return isJSON && slices.ContainsFunc(callKeys, func(key string) bool { return strings.Contains(text, key) })
}

// settleHead returns the settlement that drops the head of a history. It edits the blocks that
// contain more than an earlier summary.
func settleHead(t *transcript.Transcript, h Removed) settlement {
	s := settlement{decisions: keepAll(t)}
	decide := func(b transcript.BlockID, action wire.Action) Reason {
		d := &s.decisions[t.AtomOf(b)]
		why := Reason{"compaction", "a summary stands for it", d.Atom}
		d.Action, d.Reasons = action, []Reason{why}
		return why
	}
	for _, b := range h.Blocks {
		decide(b, wire.ActionDrop)
	}
	for _, summary := range h.summaries {
		if summary.kept == "" {
			decide(summary.block, wire.ActionDrop)
			continue
		}
		why := decide(summary.block, wire.ActionEdit)
		s.edits = append(s.edits, wire.BlockEdit{Block: summary.block, Text: summary.kept})
		s.editReasons = append(s.editReasons, why)
	}
	return s
}

// checkSmaller returns an error if a summary has not made the history smaller.
func checkSmaller(before, after *wire.Request, o Options) error {
	was, is, unit := len(before.Raw()), len(after.Raw()), "bytes"
	if o.Counter != nil {
		was, is, unit = before.Tokens(o.Counter), after.Tokens(o.Counter), "tokens"
	}
	if is >= was {
		return newCompactionError(reasonLarger, "the summary is larger than what it stands for: the history would grow from %d to %d %s", was, is, unit)
	}
	return nil
}

// conserve accounts for every message of the input. The error is a *CompactionError if an item of
// the summarizer has a wrong name, or too few bytes are accounted for.
func conserve(input *wire.Request, removed []archive.Item, summaryBytes int, items []archive.Item, o CompactOptions) (Conservation, error) {
	c := Conservation{Summary: summaryBytes}
	for _, m := range input.Transcript().Messages() {
		c.Original += m.Span.Len()
	}
	removedBytes := 0
	for _, item := range removed {
		removedBytes += len(item.Raw)
	}
	if o.Archived {
		c.Archived, c.Items = removedBytes, len(removed)
	}
	for i, item := range items {
		if !item.Genuine() {
			return c, newCompactionError(reasonNotConserved, "item %d of the summarizer is named %s, which is not the name of its bytes, %s", i, item.ID, archive.ID(item.Raw))
		}
		c.Archived += len(item.Raw)
		c.Items++
	}
	c.Retained = c.Original - removedBytes
	if math.IsNaN(o.MinConserved) || c.Share() < o.MinConserved {
		return c, newCompactionError(reasonNotConserved, "only %.3f of the history is accounted for, %.3f must be: %d bytes retained, %d in the summary, %d archived, of %d", c.Share(), o.MinConserved, c.Retained, c.Summary, c.Archived, c.Original)
	}
	return c, nil
}
