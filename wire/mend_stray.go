package wire

import (
	"fmt"
	"strings"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// strayResult quotes a result that answers no call, or drops it. A result that
// some repair made up says nothing worth keeping.
func (m *mender) strayResult(f *Finding) {
	if m.isHomeless(f.Block) {
		return // its call is about to fetch it
	}
	if f.fault == orphanResult && m.awaitsRelink(f.Block) {
		return
	}
	blk := m.t.Block(f.Block)
	text := m.resultText(f.Block)
	if m.repair.OrphanResult == RemedyDrop || Synthetic(text) || strings.TrimSpace(text) == "" {
		m.dropBlock(f.Block)
		m.log(f, "drop", f.Block, f.Index, -blk.Span.Len(), "a result whose call is not in the history")
		return
	}
	quoted := m.quoteResult(blk, text)
	m.dropBlock(f.Block)
	media := m.resultMedia(blk)
	raw := m.textMessage(quoted, media)
	if m.g.nested && m.t.Messages()[blk.Message].Role == transcript.User {
		raw = m.g.text(transcript.User, quoted)
		l := m.listOf(blk.Message, m.where[f.Block].in)
		for _, one := range append([][]byte{raw}, media...) {
			l.insert(m.behindResults(f.Block), item{raw: one, from: m.at(f.Block)})
		}
		m.messages.drop[blk.Message] = false
	} else {
		m.insertMessage(m.behindTool(blk.Message), raw, m.fresh(), repeat(m.at(f.Block), 1+len(media))...)
	}
	m.log(f, "edit", f.Block, f.Index, len(raw)-blk.Span.Len(), "a result whose call is not in the history, kept as quoted text")
}

// isHomeless reports whether the result stands in the assistant's turn behind a
// call of its own that nothing answers.
func (m *mender) isHomeless(b transcript.BlockID) bool {
	blk := m.t.Block(b)
	msg := m.t.Messages()[blk.Message]
	if msg.Role != transcript.Assistant || !m.g.nested {
		return false
	}
	for c, _ := m.turnBlocks(msg.Turn); c < b; c++ {
		if m.t.Block(c).Kind != transcript.Call {
			continue
		}
		x := m.t.Exchanges()[m.t.ExchangeOf(c)]
		if len(x.Results) == 0 && x.State != transcript.Duplicate && m.ownResult(x) == b {
			return true
		}
	}
	return false
}

// awaitsRelink reports whether the result will be given to the call before it.
func (m *mender) awaitsRelink(b transcript.BlockID) bool {
	turn := m.t.Messages()[m.t.Block(b).Message].Turn
	for c, end := m.turnBlocks(turn - 1); c < end; c++ {
		if m.t.Block(c).Kind == transcript.Call {
			x := m.t.Exchanges()[m.t.ExchangeOf(c)]
			return x.State == transcript.OrphanCall && x.CallID != "" && m.loneStray(x) == b
		}
	}
	return false
}

// resultMedia returns the images and documents in a result, which may stand in a
// message as they are.
func (m *mender) resultMedia(blk transcript.Block) [][]byte {
	if blk.Body.Len() == 0 || m.raw[blk.Body.Start] != '[' {
		return nil
	}
	var media [][]byte
	for _, e := range jsonspan.Elements(m.raw, jsonspan.Span(blk.Body)) {
		switch m.g.medium(m.draft, tspan(e)) {
		case "image", "document", "video", "image_url", "input_audio", "file":
			media = append(media, m.raw[e.Start:e.End])
		}
	}
	return media
}

// textMessage writes a message of the user that says text and shows media.
func (m *mender) textMessage(text string, media [][]byte) []byte {
	if len(media) == 0 {
		return m.g.textMessage(transcript.User, text)
	}
	return m.g.turn(append([][]byte{m.g.text(transcript.User, text)}, media...))
}

// quoteResult words a result as a quotation, so that nobody takes it for the
// user's own words.
func (m *mender) quoteResult(blk transcript.Block, text string) string {
	name := "A tool result"
	if blk.Tool != "" {
		name = "A result of " + blk.Tool
	}
	return fmt.Sprintf("[%s without its call; quoted, not written by the user]\n%s", name, text)
}

// behindResults returns the place behind the results that follow block b.
func (m *mender) behindResults(b transcript.BlockID) int {
	msg := m.t.Messages()[m.t.Block(b).Message]
	i := int(m.where[b].index) + 1
	for o := b + 1; o < msg.End; o++ {
		if m.t.Block(o).Kind == transcript.Result {
			i = int(m.where[o].index) + 1
		}
	}
	return i
}

// behindTool returns the place behind the run of tool messages that i is in.
func (m *mender) behindTool(i int) int {
	ms := m.t.Messages()
	j := i + 1
	for j < len(ms) && ms[j].Role == transcript.Tool {
		j++
	}
	return j
}
