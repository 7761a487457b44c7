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
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// CompactOptions says how to put a summary in the place of the head of a history.
// The zero value is the default. Many goroutines may read it.
type CompactOptions struct {
	Options
	// FoldTask lets the first message in which a person speaks go with the head; otherwise it
	// stays, in front of the summary.
	FoldTask bool
	// MinConserved is the share of the bytes of all messages that must be accounted for:
	// retained, in the summary, or among Items and what [Plan.Archive] returns; 1 asks for
	// all of them. Zero: no share.
	MinConserved float64
	// Archived says that what Plan.Archive returns will be kept, so that it counts.
	Archived bool
	// Items were archived by the summarizer itself.
	Items []archive.Item

	name func(together ...string) string // see CompactNamed
}

// Conservation accounts for the bytes of the messages of a history that was
// compacted. Many goroutines may read it.
type Conservation struct {
	Original int `json:"original"`
	Retained int `json:"retained"`
	Summary  int `json:"summary"`
	Archived int `json:"archived"`
	Items    int `json:"items"`
}

// Share is how much of the original is accounted for.
func (c Conservation) Share() float64 {
	if c.Original == 0 {
		return 1
	}
	return float64(c.Retained+c.Summary+c.Archived) / float64(c.Original)
}

// Why a history was not compacted.
const (
	reasonBlank        = "blank"              // the summary says nothing
	reasonNotText      = "not-text"           // it is no text
	reasonCalls        = "calls"              // it holds calls or results
	reasonLarger       = "larger"             // it is larger than what it stands for, or than it may be
	reasonNoRoom       = "no-room"            // summaries may have too few tokens for one more
	reasonNotConserved = "not-conserved"      // too few bytes are accounted for
	reasonNoCut        = "no-cut"             // the place is no cut
	reasonNothing      = "nothing-to-compact" // there is nothing before the cut
	reasonSummarizer   = "summarizer"         // the summarizer failed
	reasonTimeout      = "timeout"            // it took too long
	reasonLeftOut      = "left-out"           // the summarizer failed too often and was not called
)

// A CompactionError says why a history was not compacted. The history is untouched. Many
// goroutines may read it.
type CompactionError struct {
	Reason string
	Err    error
}

func (e *CompactionError) Error() string { return fmt.Sprintf("compact: %v", e.Err) }
func (e *CompactionError) Unwrap() error { return e.Err }

func uncompacted(reason string, format string, args ...any) error {
	return &CompactionError{reason, fmt.Errorf(format, args...)}
}

// CompactAt replaces everything before a cut by a summary, except for the system's messages and the
// task. It keeps the summaries of earlier compactions before the new one, unchanged; the new one also
// stays as it is when a [Compactor] condenses others. A summary that is blank, is not text, contains
// calls, is larger than the content that it replaces or does not conserve enough bytes is a
// *CompactionError.
func CompactAt(r *wire.Request, cut transcript.Cut, summary string, o CompactOptions) (*Plan, error) {
	if !r.Transcript().HasCut(cut) {
		return nil, uncompacted(reasonNoCut, "message %d is no cut of this history", cut.Before())
	}
	return unchangedDraft(r).compact(context.Background(), headOf(r, cut, o.FoldTask), o, func(h Removed, lost loss, _ nameFunc) (string, Summary, error) {
		s := Summary{Text: strings.TrimSpace(summary), Pinned: true, Items: o.Items}
		lost.pinned = true
		return join(append(recordsOf(h.Prior), record{lost, s.Text})), s, s.wrong()
	})
}

// Offload archives everything before a cut and replaces it by a note with the handle of the archive.
func Offload(r *wire.Request, cut transcript.Cut, o CompactOptions) (*Plan, error) {
	return new(Compactor).at(context.Background(), unchangedDraft(r), headOf(r, cut, o.FoldTask), o)
}

// A nameFunc returns the handle of the content that several summaries replace, or "" if it has none.
type nameFunc func([]record) string

// A summaryFunc returns the text of all summaries of a history after the removal of h, and the summary
// of h.
type summaryFunc func(h Removed, lost loss, name nameFunc) (string, Summary, error)

// compact replaces the head of the draft's result by summaries.
func (d draft) compact(ctx context.Context, h Removed, o CompactOptions, summarize summaryFunc) (plan *Plan, err error) {
	o.Options = o.guarded()
	defer CatchFault(&plan, &err)
	if len(h.Blocks) == 0 {
		return nil, uncompacted(reasonNothing, "nothing stands in front of the cut that could be summarized")
	}
	before := d.result()
	s := settleHead(before.Transcript(), h)
	items := append(d.archiveItems(), itemsOfStep(d.input(), Step{From: before, Drops: s.drops(before.Transcript()), Edits: s.edits})...)
	var indexes []archive.Item
	lost := lossOf(&h)
	switch {
	case o.name != nil:
		lost.archive = o.name()
	case o.Archived:
		indexes = archive.Index(items)
		lost.archive = indexes[len(indexes)-1].ID
	}
	text, summary, err := summarize(h, lost, func(run []record) string {
		if o.name != nil {
			return nameTogether(run, o.name)
		}
		return indexed(run, func(item archive.Item) { indexes = append(indexes, item) })
	})
	if err != nil {
		return nil, err
	}
	insert := summaryInsertion(h.at, text)
	step, err := d.rewrite(s, insert, o.Options)
	if err != nil {
		return nil, err
	}
	if d, err = d.with(step).finish(ctx, before, o.Options); err != nil {
		return nil, err
	}
	var unpin Pin
	if o.FoldTask {
		unpin = PinTask
	}
	if err := checkPromises(d.input(), before, d.result(), unpin); err != nil {
		return nil, err
	}
	if err := checkSmaller(before, d.result(), o.Options); err != nil {
		return nil, err
	}
	conserved, err := conserve(d.input(), items, len(insert.Text), summary.Items, o)
	if err != nil {
		return nil, err
	}
	plan = d.plan(o.Options)
	plan.conserved, plan.indexes = &conserved, indexes
	return plan, nil
}

// nameTogether returns the caller's handle of the content that several summaries replace, or "" if no
// summary has a handle.
func nameTogether(run []record, name func(together ...string) string) string {
	var handles []string
	for _, r := range run {
		if r.archive != "" {
			handles = append(handles, r.archive)
		}
	}
	if len(handles) == 0 {
		return ""
	}
	return name(handles...)
}

// Removed is what a summary is to stand for. Many goroutines may read it.
type Removed struct {
	Request *wire.Request
	Blocks  []transcript.BlockID // in order; they need not stand together
	// Level is 2 or more if what is to be summarized are summaries themselves: each text is one, the oldest
	// first, and one summary is to take the place of all of them. Otherwise it is the conversation.
	Level int
	// Prior are the summaries of what went before, "" if there is none. They stand in front
	// of the new one, which need not repeat them.
	Prior string
	// MaxTokens is how long the summary may be; zero: shorter than what it stands for. Lines at the end of
	// a longer one are left out.
	MaxTokens int
	// Counter is what the request is counted with; nil: with nothing.
	Counter wire.Counter

	// Compacted is what the provider's own compaction says that stands in front, and stays;
	// "" if there is none, or nobody can read it.
	Compacted string

	at   int // the message in front of which the summary belongs
	told []telling
}

// A telling is a block that holds the summary of an earlier compaction, and maybe what
// was joined to it.
type telling struct {
	block        transcript.BlockID
	before, rest string
}

// Text returns what was removed of a block, as plain text.
func (h *Removed) Text(b transcript.BlockID) string {
	for _, t := range h.told {
		if t.block == b {
			return t.rest
		}
	}
	return h.Request.Text(b)
}

// headOf collects what stands in front of a cut and is not to stay.
func headOf(r *wire.Request, cut transcript.Cut, foldTask bool) Removed {
	h := Removed{Request: r, at: cut.Before()}
	t := r.Transcript()
	task := foldTask // whether the task has been seen
	start := transcript.BlockID(0)
	if t.IsCompacted() && t.StartMessage() < cut.Before() {
		// It stays, and stands for the task, too. Nobody reads what is in front of it.
		start, task = t.Start()+1, true
		h.Compacted = wirex.Compaction(r, t.Start())
	}
	taskTexts, newest := personTexts(r)
	if foldTask && len(taskTexts) > 0 && len(newest) > 0 && taskTexts[0].block == newest[0].block {
		newest = nil
	}
	if foldTask {
		taskTexts = nil
	}
	isIn := func(texts []personText, b transcript.BlockID) bool {
		return slices.ContainsFunc(texts, func(p personText) bool { return p.block == b })
	}
	for i, m := range t.Messages()[:cut.Before()] {
		if m.Role == transcript.System || m.End <= start && start > 0 {
			continue
		}
		isTask := m.Begins && UserSpeaks(m) // unless there is nothing in it but a summary
		// Where roles must alternate, task, summary and what follows share a message: blocks
		// in front of the summary are the task, those behind it are not.
		kept, past := m.First < start, false
		remove := func(b transcript.BlockID) {
			at := i
			if kept {
				at++
			}
			h.at = min(h.at, at)
			h.Blocks = append(h.Blocks, b)
		}
		for b := max(m.First, start); b < m.End; b++ {
			told, ok := toldIn(r, b)
			if !ok {
				if !task && isTask && !past || isIn(taskTexts, b) || isIn(newest, b) {
					kept = true
				} else {
					remove(b)
				}
				continue
			}
			h.Prior = strings.TrimSpace(h.Prior + "\n\n" + told.prior)
			if isIn(newest, b) {
				told.before, told.rest = strings.TrimSpace(told.before+"\n\n"+told.rest), ""
				kept = true
			} else if own := !kept && !task && told.before != ""; own {
				kept = true // the task stands in front of the summary, in the same text
			} else {
				told.rest, told.before = strings.TrimSpace(told.before+"\n\n"+told.rest), ""
			}
			isTask = kept
			past = true
			h.told = append(h.told, told.telling)
			if told.rest != "" {
				remove(b)
			} else if kept {
				h.at = min(h.at, i+1)
			} else {
				h.at = min(h.at, i)
			}
		}
		if isTask && !task {
			h.at, task = i+1, true // behind it, whatever goes that stands in front of it
		}
	}
	return h
}

// toldIn finds the summary of an earlier compaction in a block. Where a provider
// wants roles to alternate, other texts may have been joined to it.
func toldIn(r *wire.Request, b transcript.BlockID) (found struct {
	telling
	prior string
}, ok bool) {
	if !isSummary(r, b) {
		return found, false
	}
	before, prior, rest, _ := cutSummary(r.Text(b))
	found.telling = telling{b, strings.TrimSpace(before), strings.TrimSpace(rest)}
	found.prior = strings.TrimSpace(prior)
	return found, true
}

// cutSummary parts a text into what stands in front of a summary of ours, the summary, and what
// stands behind it. The mark begins the text, or follows an empty line where a repair has joined
// another text to it. Who quotes the mark in a sentence speaks for himself.
func cutSummary(text string) (before, summary, behind string, ok bool) {
	rest, ok := strings.CutPrefix(text, wording.SummaryBegin+"\n")
	if !ok {
		const joint = "\n\n" + wording.SummaryBegin + "\n"
		at := strings.LastIndex(text, joint)
		if at < 0 {
			return text, "", "", false
		}
		before, rest = text[:at], text[at+len(joint):]
	}
	summary, behind, ok = strings.Cut(rest, "\n"+wording.SummaryEnd)
	return before, summary, behind, ok
}

// visible reports whether a sign says something: marks without a width do not.
func visible(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) || r == 0 }

// wrong is an error if a summary is none.
func (s *Summary) wrong() error {
	text := strings.TrimSpace(s.Text)
	switch {
	case strings.IndexFunc(text, visible) < 0:
		return uncompacted(reasonBlank, "the summary is blank")
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return uncompacted(reasonNotText, "the summary is no text: it holds bytes that are not UTF-8, or a zero")
	case holdsCalls(text):
		return uncompacted(reasonCalls, "the summary holds calls or results in place of text: %.60q", text)
	case strings.Contains(text, wording.SummaryEnd):
		return uncompacted(reasonNotText, "the summary holds the line that ends a summary: %s", wording.SummaryEnd)
	}
	return nil
}

// holdsCalls reports whether a text is, as JSON, a call or result of some dialect.
func holdsCalls(text string) bool {
	text = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(text, "```json"), "```"), "```"))
	if text == "" || text[0] != '{' && text[0] != '[' || jsonspan.Valid([]byte(text)) != nil {
		return false
	}
	for _, word := range []string{`"tool_use"`, `"tool_result"`, `"tool_calls"`, `"function_call"`, `"function_call_output"`, `"functionCall"`, `"functionResponse"`, `"toolUse"`, `"toolResult"`, `"tool_call_id"`} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// settleHead returns the settlement that drops the head of a history. It edits the blocks that contain
// more than an earlier summary.
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
	for _, told := range h.told {
		if told.before == "" {
			decide(told.block, wire.ActionDrop)
			continue
		}
		why := decide(told.block, wire.ActionEdit)
		s.edits = append(s.edits, wire.BlockEdit{Block: told.block, Text: told.before})
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
		return uncompacted(reasonLarger, "the summary is larger than what it stands for: the history would grow from %d to %d %s", was, is, unit)
	}
	return nil
}

// conserve accounts for every message of the input. The error is a *CompactionError if an item of the
// summarizer has a wrong name, or too few bytes are accounted for.
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
			return c, uncompacted(reasonNotConserved, "item %d of the summarizer is named %s, which is not the name of its bytes, %s", i, item.ID, archive.ID(item.Raw))
		}
		c.Archived += len(item.Raw)
		c.Items++
	}
	c.Retained = c.Original - removedBytes
	if math.IsNaN(o.MinConserved) || c.Share() < o.MinConserved {
		return c, uncompacted(reasonNotConserved, "only %.3f of the history is accounted for, %.3f must be: %d bytes retained, %d in the summary, %d archived, of %d", c.Share(), o.MinConserved, c.Retained, c.Summary, c.Archived, c.Original)
	}
	return c, nil
}
