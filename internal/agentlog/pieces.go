package agentlog

import (
	"bytes"
	"sort"
	"strconv"
	"strings"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A piece is one message of a repaired thread, in the form for the file.
type piece struct {
	message int    // index in the old thread; -1 for a new one
	raw     []byte // nil if unchanged
	role    transcript.Role
	offPath bool // Claude Code: a child of its call, which is not on the path
}

// A blockSource is the origin of a block of a repaired thread.
type blockSource struct {
	message int                // -1 for a new block
	was     transcript.BlockID // in the old thread
	now     transcript.BlockID
}

// buildPieces derives the messages of a repaired Anthropic thread from the old ones. The provider
// joins neighboring messages of one role, so moved and new blocks become separate messages, and the
// message they were moved to stays unchanged.
//
// If joined is true, such blocks stay in that message, for agents with one message per turn.
func buildPieces(t *Thread, before, after *wire.Request, joined bool) []piece {
	w := pieceBuilder{thread: t, old: before.Transcript(), now: after.Transcript(), lastEmpty: -1, keepTogether: joined}
	byPath := make(map[string]transcript.BlockID, len(w.old.Blocks()))
	for b := range w.old.Blocks() {
		byPath[before.Path(transcript.BlockID(b))] = transcript.BlockID(b)
	}
	for _, m := range w.now.Messages() {
		var from []blockSource
		for b := m.First; b < m.End; b++ {
			s := blockSource{-1, transcript.NoBlock, b}
			path := dialect.PathIn(after, before, b)
			o, ok := byPath[path]
			if !ok { // a string with a new neighbor was rewritten as a block
				o, ok = byPath[strings.TrimSuffix(path, ".0")]
			}
			if ok {
				s.message, s.was = w.old.Block(o).Message, o
			}
			from = append(from, s)
		}
		w.addMessage(m, from)
	}
	w.reusePlaces()
	return w.pieces
}

// reusePlaces assigns new messages the place of a dropped message that they replace, so that a
// quoted result stays in its line.
func (b *pieceBuilder) reusePlaces() {
	kept := make([]bool, len(b.thread.sources))
	for _, p := range b.pieces {
		if p.message >= 0 {
			kept[p.message] = true
		}
	}
	prev := -1
	for k := range b.pieces {
		p := &b.pieces[k]
		if next := prev + 1; p.message < 0 && next < len(kept) && !kept[next] && b.old.Messages()[next].Role == p.role {
			message := b.old.Bytes(b.old.Messages()[next].Span)
			now := objectOf(p.raw)
			if content := now.Value("content"); content != nil {
				p.raw = setMembers(message, "content", content)
				p.message, kept[next] = next, true
			}
		}
		if p.message >= 0 {
			prev = max(prev, p.message)
		}
	}
}

type pieceBuilder struct {
	thread       *Thread
	old, now     *transcript.Transcript
	pieces       []piece
	lastEmpty    int  // the last matched message without blocks
	keepTogether bool // leave moved and new blocks in their message
}

func (b *pieceBuilder) addMessage(message transcript.Message, from []blockSource) {
	if len(from) == 0 {
		b.addEmpty(message)
		return
	}
	home := b.originOf(message.Role, from)
	if home < 0 {
		b.addNew(message, from)
		return
	}
	if b.keepTogether && home < len(b.thread.sources) {
		b.addKept(message, home, from, true)
		return
	}
	first, last := 0, len(from)
	for from[first].message != home {
		first++
	}
	for from[last-1].message != home {
		last--
	}
	b.addNew(message, from[:first])
	b.addKept(message, home, from[first:last], first == 0 && last == len(from))
	b.addNew(message, from[last:])
}

// originOf returns the old message from which a repaired one mainly comes: the one that contributes
// text, since only results move between messages. A message with another role is chosen only if
// none with the same role contributes. It returns -1 if there is none.
func (b *pieceBuilder) originOf(role transcript.Role, from []blockSource) int {
	home, best := -1, -1
	for _, s := range from {
		if s.message < 0 {
			continue
		}
		fits := 0
		if b.old.Block(s.was).Kind != transcript.Result && b.now.Block(s.now).Kind != transcript.Result {
			fits += 2
		}
		if b.old.Messages()[s.message].Role == role {
			fits++
		}
		if fits > best {
			home, best = s.message, fits
		}
	}
	return home
}

// addEmpty matches a message without blocks by its bytes.
func (b *pieceBuilder) addEmpty(m transcript.Message) {
	raw := b.now.Bytes(m.Span)
	for i := b.lastEmpty + 1; i < len(b.thread.sources); i++ {
		o := b.old.Messages()[i]
		if o.First == o.End && bytes.Equal(b.old.Bytes(o.Span), raw) {
			b.lastEmpty = i
			b.pieces = append(b.pieces, piece{message: i, role: m.Role})
			return
		}
	}
	b.pieces = append(b.pieces, piece{message: -1, raw: raw, role: m.Role})
}

// addKept adds a message that existed before. alone is true if all blocks of m come from it.
func (b *pieceBuilder) addKept(m transcript.Message, home int, from []blockSource, alone bool) {
	if home >= len(b.thread.sources) {
		return // the added prompt
	}
	was := b.old.Messages()[home]
	p := piece{message: home, role: was.Role}
	switch {
	case b.isUnchanged(was, from) && (!alone || bytes.Equal(b.old.Bytes(was.Span), b.now.Bytes(m.Span))):
	case alone:
		p.raw = b.now.Bytes(m.Span)
	default:
		message := b.old.Bytes(was.Span)
		p.raw = setMembers(message, "content", b.content(from))
	}
	b.pieces = append(b.pieces, p)
}

// addNew adds new or moved blocks, one piece for each origin.
func (b *pieceBuilder) addNew(m transcript.Message, from []blockSource) {
	for i := 0; i < len(from); {
		k := i + 1
		for k < len(from) && from[k].message == from[i].message {
			k++
		}
		run := from[i:k]
		i = k
		src := run[0].message
		if src >= len(b.thread.sources) {
			continue // the added prompt
		}
		if src >= 0 && b.isUnchanged(b.old.Messages()[src], run) {
			b.pieces = append(b.pieces, piece{message: src, role: b.old.Messages()[src].Role})
			continue
		}
		b.pieces = append(b.pieces, piece{message: -1, raw: write("role", m.Role.String(), "content", b.content(run)), role: m.Role})
	}
}

// isUnchanged reports whether the blocks are exactly those of an old message.
func (b *pieceBuilder) isUnchanged(old transcript.Message, from []blockSource) bool {
	if len(from) != int(old.End-old.First) {
		return false
	}
	for i, s := range from {
		if s.was != old.First+transcript.BlockID(i) || !b.isSameBlock(s) {
			return false
		}
	}
	return true
}

// isSameBlock reports whether a block is unchanged. A string rewritten as a text block counts as
// unchanged.
func (b *pieceBuilder) isSameBlock(s blockSource) bool {
	a, other := b.old.Bytes(b.old.Block(s.was).Span), b.now.Bytes(b.now.Block(s.now).Span)
	if bytes.Equal(a, other) {
		return true
	}
	return len(a) > 0 && a[0] == '"' && bytes.Equal(other, textBlock(a))
}

// content returns blocks as a list. Strings become text blocks.
func (b *pieceBuilder) content(from []blockSource) []byte {
	var raws [][]byte
	for _, s := range from {
		raw := b.now.Bytes(b.now.Block(s.now).Span)
		if len(raw) > 0 && raw[0] == '"' {
			raw = textBlock(raw)
		}
		raws = append(raws, raw)
	}
	return array(raws...)
}

// longestIncreasing marks the pieces of the longest increasing run of old messages. They keep their
// places.
func longestIncreasing(pieces []piece) []bool {
	var tails []int // by length: the last piece of the run with the smallest message
	back := make([]int, len(pieces))
	for k, p := range pieces {
		if p.message < 0 {
			continue
		}
		n := sort.Search(len(tails), func(i int) bool { return pieces[tails[i]].message >= p.message })
		back[k] = -1
		if n > 0 {
			back[k] = tails[n-1]
		}
		if n == len(tails) {
			tails = append(tails, k)
		} else {
			tails[n] = k
		}
	}
	inPlace := make([]bool, len(pieces))
	if len(tails) == 0 {
		return inPlace
	}
	for k := tails[len(tails)-1]; k >= 0; k = back[k] {
		inPlace[k] = true
	}
	return inPlace
}

// dropUnused drops the units of old messages without a piece and returns them.
func (e *edits) dropUnused(t *Thread, pieces []piece) (removed []int) {
	kept := make(map[int]bool)
	for _, p := range pieces {
		if p.message >= 0 {
			kept[p.message] = true
		}
	}
	for i, p := range t.sources {
		if !kept[i] {
			e.unit(p.unit).drop = true
			removed = append(removed, p.unit)
		}
	}
	return removed
}

// allowDroppedBlocks marks the text of dropped calls, results and thoughts as named in a receipt.
// Strings in other members are not marked, because no repair reads them.
func (e *edits) allowDroppedBlocks(t *Thread, changes []wire.Change) {
	tr := t.Request.Transcript()
	var blocks map[string]transcript.BlockID // by path
	for _, c := range changes {
		if c.Action != wire.ActionDrop {
			continue
		}
		if blocks == nil {
			blocks = make(map[string]transcript.BlockID, len(tr.Blocks()))
			for b := range tr.Blocks() {
				blocks[t.Request.Path(transcript.BlockID(b))] = transcript.BlockID(b)
			}
		}
		if b, ok := blocks[c.Path]; ok {
			e.allowBlock(t, b)
			continue
		}
		_, number, _ := strings.Cut(c.Path, ".")
		if i, err := strconv.Atoi(number); err == nil && i >= 0 && i < len(t.sources) {
			for b := tr.Messages()[i].First; b < tr.Messages()[i].End; b++ {
				e.allowBlock(t, b)
			}
		}
	}
}

// allowBlock marks the text of a call, a result or a thought as named in a receipt.
func (e *edits) allowBlock(t *Thread, b transcript.BlockID) {
	tr := t.Request.Transcript()
	blk := tr.Block(b)
	if blk.Message >= len(t.sources) || t.sources[blk.Message].start < 0 {
		return
	}
	switch role := tr.Messages()[blk.Message].Role; blk.Kind {
	case transcript.Call, transcript.ServerCall, transcript.ServerResult, transcript.Thinking:
		if role != transcript.Assistant {
			return
		}
	case transcript.Result:
		if role != transcript.User {
			return
		}
	default:
		return
	}
	unit, start := t.locate(e.file, blk.Message, b)
	start -= blk.Span.Start
	e.allowLoss(unit, jsonspan.Span{Start: start + blk.Body.Start, End: start + blk.Body.End})
}
