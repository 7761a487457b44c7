package planner

import (
	"bytes"

	"github.com/pare-llm/pare/archive"
	"github.com/pare-llm/pare/internal/ladder"
	"github.com/pare-llm/pare/internal/wording"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// Mark is how everything begins that takes the place of something.
const Mark = wording.Mark

// fitMarked climbs and, if exchanges or turns are dropped, puts a mark where the first of them
// were. There is none within what a mark costs of the least limit, nor where a limit of messages
// leaves no room: it is not worth a message of somebody's.
func (f *windowPlanner) fitMarked() (fit, error) {
	mark := f.markTokens
	if f.w.Unmarked {
		mark = nil
	}
	t, err := f.fit(0, mark)
	if err != nil || f.w.Unmarked || len(t.ladder.Lost()) == 0 {
		return t, err
	}
	return f.marked(t)
}

// archived is the line that names what is left out.
func archived(handle string) string { return "\n" + Mark + wording.Recall(handle) + "]" }

// markTokens is what the mark costs in a message of its own.
func (f *windowPlanner) markTokens() int {
	n := f.o.countText(wording.LeftOut) + wirex.FrameTokens(f.o.Counter)
	if f.w.Archive {
		n += f.o.countText(archived(archive.Name(nil))) + 4 // not all handles cost the same
	}
	return n
}

// marked returns a fit with a mark, or the fit itself if the mark does not fit or the provider
// rejects it.
func (f *windowPlanner) marked(t fit) (fit, error) {
	mark := f.mark(t.ladder)
	if mark == nil {
		return t, nil
	}
	var kept []archive.Item
	if f.w.Archive {
		for _, blocks := range t.ladder.Lost() {
			kept = append(kept, itemsOf(f.base.result(), blocks)...)
		}
		kept = append(kept, archive.Index(kept)...)
		mark.Text += archived(kept[len(kept)-1].ID)
	}
	a, err := f.attempt(t.ladder, mark)
	if err != nil {
		return fit{}, err
	}
	out, w := a.result(), &f.w
	messages := len(out.Transcript().Messages()) - out.Transcript().StartMessage()
	fits := (w.Messages == 0 || messages <= w.Messages) && (w.Tokens == 0 || out.Tokens(f.o.Counter) <= w.Tokens)
	if !fits || !a.Sound() {
		return t, nil
	}
	return fit{ladder: t.ladder, attempt: a, indexes: kept, events: t.events}, nil
}

// orMarked returns the fit with a mark, if that is possible.
func (f *windowPlanner) orMarked(t fit) fit {
	if f.w.Unmarked {
		return t
	}
	marked, err := f.marked(t)
	if err != nil {
		return t
	}
	return marked
}

// mark is what stands in front of what was lost first, be it a message of the user's or a turn of the
// model's, or behind its turn if results stay there, which belong to the calls in front. Nil: nothing follows, or a mark of an
// earlier window is still there.
func (f *windowPlanner) mark(l *ladder.Ladder) *insertion {
	t := f.base.result().Transcript()
	first := transcript.NoBlock
	for b := range t.Blocks() {
		id, blk := transcript.BlockID(b), &t.Blocks()[b]
		by, gone := l.Rung(id)
		switch {
		case gone && first == transcript.NoBlock && by.Loses():
			first = id
		case !gone && blk.Kind == transcript.Text && t.Messages()[blk.Message].Role == transcript.User && bytes.Contains(t.Bytes(blk.Body), []byte(wording.LeftOut)):
			return nil
		}
	}
	if first == transcript.NoBlock {
		return nil
	}
	stays := func(from, end int, is func(*transcript.Block) bool) bool {
		for b := t.Messages()[from].First; b < t.Messages()[end-1].End; b++ {
			if _, gone := l.Rung(b); !gone && is(&t.Blocks()[b]) {
				return true
			}
		}
		return false
	}
	at := t.Block(first).Message
	switch from, end := turnAround(t, at); {
	case stays(from, end, func(b *transcript.Block) bool { return b.Kind == transcript.Result }):
		at = end
	case t.Messages()[at].Role == transcript.Assistant:
		at = from
	}
	if t.IsCompacted() {
		at = max(at, t.StartMessage()+1) // in front of it nobody would read the mark
	}
	if n := len(t.Messages()); at == n || !stays(at, n, func(*transcript.Block) bool { return true }) {
		return nil
	}
	return &insertion{wire.Insertion{Before: at, Role: transcript.User, Text: wording.LeftOut}, "left-out", "shows the model that something is missing here"}
}

// turnAround is the messages of the turn that message i stands in.
func turnAround(t *transcript.Transcript, i int) (first, end int) {
	ms := t.Messages()
	for first = i; first > 0 && ms[first-1].Turn == ms[i].Turn; first-- {
	}
	for end = i + 1; end < len(ms) && ms[end].Turn == ms[i].Turn; end++ {
	}
	return first, end
}
