package planner

import (
	"bytes"

	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// Mark is the beginning of every text that replaces removed content.
const Mark = wording.Mark

// fitMarked fits the window and, if exchanges or turns are dropped, puts in a mark where the first
// of them was, so that the model knows that content is missing. Without room for the mark, there is
// none.
func (p *windowPlanner) fitMarked() (fit, error) {
	if p.w.Unmarked {
		return p.fit(0, 0)
	}
	f, err := p.fit(0, p.markTokens())
	if err != nil {
		return fit{}, err
	}
	return p.withMark(f)
}

// handleLine returns the line of a mark that names an archive item.
func handleLine(handle string) string { return "\n" + Mark + wording.Recall(handle) + "]" }

// markTokens returns the tokens of a mark in its own message.
func (p *windowPlanner) markTokens() int {
	if p.w.Tokens == 0 {
		return 0
	}
	n := p.o.countText(wording.LeftOut) + dialect.FrameTokens(p.o.Counter)
	if p.w.Archive {
		const handleVariance = 4 // not all handles have the same number of tokens
		n += p.o.countText(handleLine(archive.Name(nil))) + handleVariance
	}
	return n
}

// withMark returns a fit with a mark, or the fit itself if nothing is lost, the mark does not fit
// or the provider rejects it.
func (p *windowPlanner) withMark(f fit) (fit, error) {
	lost := f.search.lostBlocks()
	if len(lost) == 0 {
		return f, nil
	}
	mark := p.markInsertion(f.search)
	if mark == nil {
		return f, nil
	}
	var items []archive.Item
	if p.w.Archive {
		for _, blocks := range lost {
			items = append(items, itemsOfBlocks(p.base.result(), blocks)...)
		}
		items = append(items, archive.Index(items)...)
		mark.Text += handleLine(items[len(items)-1].ID)
	}
	a, err := p.attempt(f.search, mark)
	if err != nil {
		return fit{}, err
	}
	if !a.isSound() || !p.isWithinLimits(a.result()) {
		return f, nil
	}
	return fit{search: f.search, attempt: a, indexes: items, events: f.events}, nil
}

// withMarkIfPossible returns a fit with a mark, or the fit itself if that is not possible.
func (p *windowPlanner) withMarkIfPossible(f fit) fit {
	if p.w.Unmarked {
		return f
	}
	marked, err := p.withMark(f)
	if err != nil {
		return f
	}
	return marked
}

// isWithinLimits reports whether a request with a mark is within the limits of messages and tokens.
// A mark adds neither exchanges nor turns.
func (p *windowPlanner) isWithinLimits(r *wire.Request) bool {
	t := r.Transcript()
	messages := len(t.Messages()) - t.StartMessage()
	if p.w.Messages > 0 && messages > p.w.Messages {
		return false
	}
	return p.w.Tokens == 0 || r.Tokens(p.o.Counter) <= p.w.Tokens
}

// markInsertion returns the mark before the first lost content. The mark follows the turn of that
// content if results remain in the turn, because they belong to the preceding calls. It returns nil
// if nothing follows, or if the mark of an earlier window is still there.
func (p *windowPlanner) markInsertion(s *windowSearch) *insertion {
	t := p.base.result().Transcript()
	first := transcript.NoBlock
	for i := range t.Blocks() {
		b := transcript.BlockID(i)
		step, isGone := s.stepOf(b)
		if isGone && first == transcript.NoBlock && step.losesContent() {
			first = b
		}
		if !isGone && isMark(t, b) {
			return nil
		}
	}
	if first == transcript.NoBlock {
		return nil
	}
	remains := func(b transcript.BlockID) bool {
		_, isGone := s.stepOf(b)
		return !isGone
	}
	before := t.Block(first).Message
	turn, turnEnd := turnAround(t, before)
	switch {
	case hasBlock(t, turn, turnEnd, func(b transcript.BlockID) bool { return remains(b) && t.Block(b).Kind == transcript.Result }):
		before = turnEnd
	case t.Messages()[before].Role == transcript.Assistant:
		before = turn
	}
	if t.IsCompacted() {
		before = max(before, t.StartMessage()+1) // the provider does not read earlier messages
	}
	if n := len(t.Messages()); before == n || !hasBlock(t, before, n, remains) {
		return nil
	}
	return &insertion{
		Insertion: wire.Insertion{Before: before, Role: transcript.User, Text: wording.LeftOut},
		rule:      "left-out",
		reason:    "shows the model that something is missing here",
	}
}

// isMark reports whether a block contains the mark of a window.
func isMark(t *transcript.Transcript, b transcript.BlockID) bool {
	block := t.Block(b)
	isUserText := block.Kind == transcript.Text && t.Messages()[block.Message].Role == transcript.User
	return isUserText && bytes.Contains(t.Bytes(block.Body), []byte(wording.LeftOut))
}

// hasBlock reports whether one of the blocks of some messages matches.
func hasBlock(t *transcript.Transcript, first, end int, matches func(transcript.BlockID) bool) bool {
	messages := t.Messages()
	for b := messages[first].First; b < messages[end-1].End; b++ {
		if matches(b) {
			return true
		}
	}
	return false
}

// turnAround returns the messages of the turn that contains message i.
func turnAround(t *transcript.Transcript, i int) (first, end int) {
	messages := t.Messages()
	first, end = i, i+1
	for first > 0 && messages[first-1].Turn == messages[i].Turn {
		first--
	}
	for end < len(messages) && messages[end].Turn == messages[i].Turn {
		end++
	}
	return first, end
}
