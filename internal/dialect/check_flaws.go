package dialect

import (
	"fmt"
	"slices"

	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// flawFindings turns what the scanner found dangerous into findings, at the
// block or message that holds it.
func (c *checker) flawFindings() {
	paths := flawPaths{message: -1, holder: -1}
	for i, f := range c.flaws {
		kind := duplicateKey
		if f.Kind == jsonspan.LoneSurrogate {
			kind = loneSurrogate
		}
		if !c.wants(kind) {
			continue
		}
		m, arg := c.messageAt(f.Offset), fmt.Sprintf("byte %d", f.Offset)
		if c.unlisted > 0 && i == len(c.flaws)-1 {
			arg += fmt.Sprintf("; %d more behind it are listed once these are gone, so repair the result again", c.unlisted)
		}
		if kind == duplicateKey {
			c.report(kind, m, transcript.NoBlock, paths.at(c, m, f.Offset+1), arg)
			continue
		}
		b := paths.block(c, m, f.Offset)
		switch {
		case b != transcript.NoBlock:
			c.report(kind, m, b, c.Path(b), arg)
		case m >= 0:
			c.report(kind, m, b, c.MessagePath(m), arg)
		default:
			c.report(kind, -1, b, paths.at(c, -1, f.Offset), arg)
		}
	}
}

// flawPaths tells where flaws are, which come in order and may be very many: each message is
// walked once, and what stands beside them.
type flawPaths struct {
	message         int
	inside, outside *jsonspan.Walker
	holder          int                  // the message whose blocks these are
	blocks          []transcript.BlockID // by where they begin; nil for those that overlap
}

// at is the path of what stands at an offset, in message m or, if that is -1, beside the
// messages.
func (p *flawPaths) at(c *checker, m, offset int) string {
	if m < 0 {
		if p.outside == nil {
			p.outside = jsonspan.NewWalker(c.raw)
		}
		return p.outside.PathAt(offset)
	}
	s := c.t.Messages()[m].Span
	if p.inside == nil || p.message != m {
		p.inside, p.message = jsonspan.NewWalker(c.raw[s.Start:s.End]), m
	}
	return join(c.MessagePath(m), p.inside.PathAt(offset-s.Start))
}

// messageAt returns the message that holds the byte at offset, or -1.
func (c *checker) messageAt(offset int) int {
	ms := c.t.Messages()
	i, found := slices.BinarySearchFunc(ms, offset, func(m transcript.Message, off int) int {
		switch {
		case m.Span.End <= off:
			return -1
		case m.Span.Start > off:
			return 1
		}
		return 0
	})
	if !found {
		return -1
	}
	return i
}

// block is the block of message m that holds the byte at an offset, if any does.
func (p *flawPaths) block(c *checker, m, offset int) transcript.BlockID {
	if m < 0 {
		return transcript.NoBlock
	}
	span := func(b transcript.BlockID) transcript.Span { return c.t.Block(b).Span }
	msg := c.t.Messages()[m]
	if p.holder != m {
		p.holder, p.blocks = m, p.blocks[:0]
		for b := msg.First; b < msg.End; b++ {
			p.blocks = append(p.blocks, b)
		}
		slices.SortFunc(p.blocks, func(a, b transcript.BlockID) int { return span(a).Start - span(b).Start })
		for i := 1; i < len(p.blocks); i++ {
			if span(p.blocks[i]).Start < span(p.blocks[i-1]).End {
				p.blocks = nil
			}
		}
	}
	if p.blocks == nil { // a message of few blocks, one within the other
		for b := msg.First; b < msg.End; b++ {
			if s := span(b); s.Start <= offset && offset < s.End {
				return b
			}
		}
		return transcript.NoBlock
	}
	i, _ := slices.BinarySearchFunc(p.blocks, offset, func(b transcript.BlockID, at int) int { return span(b).End - 1 - at })
	if i < len(p.blocks) && span(p.blocks[i]).Start <= offset {
		return p.blocks[i]
	}
	return transcript.NoBlock
}
