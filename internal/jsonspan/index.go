package jsonspan

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// An index holds the quotes of a piece of the document that the walk has not come to yet:
// to find them all in one pass is faster than to look for the end of each string. What is
// wrong inside of a string is kept until the walk comes to it, so that the first error of
// the document is the one that is reported.
type index struct {
	strict   bool
	base     int // no offset in at is below it, and none 4 GB above
	next, n  int // the quotes at[next:n] have not been read
	pos      int // everything in front is indexed; -1: nothing yet
	ahead    int // how many bytes to index at once; grows, for the walk may end soon
	escaped  uint64
	inside   uint64
	lone     []Flaw // halves of pairs that the walk has not come to
	unlisted int    // such halves behind as many as a scanner lists
	fault    int    // offset of what is wrong
	reason   string // why; "" if nothing is
	at       [indexRoom]uint32
}

// hang is how far an index looks beyond the block that it is at: an escape of a pair, and
// the words in which plain bytes are skipped.
const hang = 32

const (
	indexRoom  = 512
	firstAhead = 512
	mostAhead  = 32 << 10
)

func (x *index) reset(strict bool) {
	x.strict, x.next, x.n, x.pos, x.ahead = strict, 0, 0, -1, firstAhead
	x.escaped, x.inside, x.lone, x.unlisted, x.reason = 0, 0, x.lone[:0], 0, ""
}

// end is where the next string ends: its quotes stand side by side, and strings are read in
// order. It is -1 if the index does not reach that far, or has flaws to tell.
func (x *index) end() int {
	if x.next+1 < x.n && len(x.lone) == 0 {
		return x.base + int(x.at[(x.next+1)&(indexRoom-1)]-uint32(x.base))
	}
	return -1
}

// aheadEnd is str where the index does not reach, or has flaws to tell.
func (s *Scanner) aheadEnd(start int) Span {
	x := s.ahead
	if x.pos < 0 {
		x.pos = start - 1
	}
	// The opening quote may be the last of a piece, and its partner the first of the next.
	for x.next+1 >= x.n {
		if x.reason != "" || x.pos >= len(s.data) {
			return s.noEnd(start)
		}
		x.more(s.data)
	}
	end := x.base + int(x.at[x.next+1]-uint32(x.base))
	x.next += 2
	s.loneUpTo(end)
	s.pos = end + 1
	return Span{start, end}
}

// noEnd fails in a string that has no end, or something wrong inside.
func (s *Scanner) noEnd(start int) Span {
	s.loneUpTo(len(s.data))
	if s.ahead.reason != "" {
		s.fail(s.ahead.fault, s.ahead.reason)
	} else {
		s.fail(len(s.data), midString)
	}
	return Span{start, start}
}

// loneUpTo tells of halves of pairs in front of end.
func (s *Scanner) loneUpTo(end int) {
	x := s.ahead
	k := 0
	for k < len(x.lone) && x.lone[k].Offset < end {
		s.flaw(LoneSurrogate, x.lone[k].Offset)
		k++
	}
	x.lone = append(x.lone[:0], x.lone[k:]...)
	if k > 0 {
		s.unlisted, x.unlisted = s.unlisted+x.unlisted, 0
	}
}

// more indexes the next piece.
func (x *index) more(data []byte) {
	x.n = copy(x.at[:], x.at[x.next:x.n]) // a few
	x.next, x.base = 0, x.pos-x.back(data)
	to := min(len(data), x.pos+x.ahead)
	x.ahead = min(2*x.ahead, mostAhead)
	x.upTo(data, to, len(x.at))
}

// upTo indexes the blocks in front of to, as far as the first so many places hold it.
func (x *index) upTo(data []byte, to, places int) {
	for x.pos < to && places-x.n >= 128 && x.reason == "" {
		next, n, escaped, inside, odd := quotes(data, x.pos, to, x.at[x.n:places], x.escaped, x.inside, x.strict)
		x.pos, x.n, x.escaped, x.inside = next, x.n+n, escaped, inside
		switch rest := x.pos+64 > len(data) && to == len(data); {
		case !odd && !rest && x.pos+64 > to:
			return
		case (odd || rest) && places-x.n < 64+hang: // there may be as many quotes as bytes
			return
		case odd || rest:
			x.careful(data, min(x.pos+64, to))
		}
	}
}

// back is how far the quote that is left over lies in front of pos.
func (x *index) back(data []byte) int {
	if x.n == 0 {
		return 0
	}
	return int(uint32(x.pos) - x.at[0])
}

// careful indexes up to end, or a little further, looking at every byte that is not plain.
func (x *index) careful(data []byte, end int) {
	i := x.start(data)
	for i < end && x.reason == "" {
		switch {
		case x.inside == 0:
			n := bytes.IndexByte(data[i:end], '"')
			if n < 0 {
				i = end
				break
			}
			i = x.quote(i + n)
		case x.strict:
			i = x.strictStep(data, i, end)
		default:
			i = x.looseStep(data, i)
		}
	}
	x.pos, x.escaped = i, 0
}

// start is where careful begins: not inside of an escape or of a rune.
func (x *index) start(data []byte) int {
	i := x.pos
	if x.escaped != 0 {
		return i - 1
	}
	for j := i - 1; j >= max(0, i-3) && x.inside != 0 && data[j] >= utf8.RuneSelf; j-- {
		if data[j] >= 0xC0 {
			if j+runeLen(data[j]) > i {
				return j
			}
			break
		}
	}
	return i
}

// runeLen is how long the rune is that a byte leads.
func runeLen(lead byte) int {
	switch {
	case lead >= 0xF0:
		return 4
	case lead >= 0xE0:
		return 3
	}
	return 2
}

// quote notes the quote at i.
func (x *index) quote(i int) int {
	x.at[x.n] = uint32(i)
	x.n, x.inside = x.n+1, ^x.inside
	return i + 1
}

// strictStep moves on inside of a string that is checked.
func (x *index) strictStep(data []byte, i, end int) int {
	i = swarRun(data[:min(end+8, len(data))], i)
	if i >= len(data) {
		return i
	}
	switch c := data[i]; {
	case c == '"':
		return x.quote(i)
	case c == '\\':
		next, lone, reason := escapeEnd(data, i)
		if reason != "" {
			return x.wrong(next, reason)
		}
		switch {
		case lone && len(x.lone) < maxFlaws:
			x.lone = append(x.lone, Flaw{LoneSurrogate, i})
		case lone:
			x.unlisted++ // as many as a scanner lists wait already
		}
		return next
	case c < ' ':
		return x.wrong(i, controlChar(c))
	case c >= utf8.RuneSelf:
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return x.wrong(i, notUTF8)
		}
		return i + n
	}
	return i + 1
}

// looseStep moves on inside of a string that is not.
func (x *index) looseStep(data []byte, i int) int {
	switch data[i] {
	case '"':
		return x.quote(i)
	case '\\':
		return min(i+2, len(data))
	}
	return i + 1
}

func (x *index) wrong(i int, reason string) int {
	x.fault, x.reason = i, reason
	return i
}

// quotesBlocks is quotes in portable code, 64 bytes at a time.
func quotesBlocks(data []byte, from, to int, dst []uint32, escaped, inside uint64, strict bool) (next, n int, escapedNext, insideNext uint64, odd bool) {
	i := from
	for i+64 <= to && len(dst)-n >= 64 {
		ahead := 64
		quote, slash, unusual := blockMasks((*[64]byte)(data[i:]))
		escapes := escapedBy(slash, escaped)
		quote &^= escapes.bits
		in := prefixXor(quote) ^ inside
		if strict && escapes.bits != 0 && !legal(data, i, escapes.bits) {
			return i, n, escaped, inside, true
		}
		if strict && unusual != 0 {
			if ahead = usual(data, i, in); ahead == 0 {
				return i, n, escaped, inside, true
			}
		}
		for ; quote != 0; quote &= quote - 1 {
			dst[n] = uint32(i + bits.TrailingZeros64(quote))
			n++
		}
		escaped, inside = escapes.next, uint64(int64(in)>>63)
		i += ahead
	}
	return i, n, escaped, inside, false
}

// legal reports whether the escaped bytes of the block at i are what may be escaped: not
// half of a pair.
func legal(data []byte, i int, escaped uint64) bool {
	for ; escaped != 0; escaped &= escaped - 1 {
		if !legalEscape(data, i+bits.TrailingZeros64(escaped)) {
			return false
		}
	}
	return true
}

// legalEscape reports whether the byte at j may be escaped: not as half of a pair.
func legalEscape(data []byte, j int) bool {
	if escapes[data[j]] {
		return true
	}
	r, ok := hex4(data, j+1)
	return data[j] == 'u' && ok && (r < 0xD800 || r > 0xDFFF)
}

// usual looks at a block that has control characters or bytes beyond ASCII. It returns how
// much of it is right: all, or all but a rune that hangs over its end; 0 if it is not.
func usual(data []byte, i int, inside uint64) int {
	var control, high uint64
	for w := 0; w < 8; w++ {
		v := binary.LittleEndian.Uint64(data[i+8*w:])
		control |= gather(^(v&^highs+('\x80'-' ')*lows|v)&highs) << (8 * w)
		high |= gather(v&highs) << (8 * w)
	}
	if control&inside != 0 {
		return 0
	}
	for high != 0 {
		k := bits.TrailingZeros64(high)
		if k+runeLen(data[i+k]) > 64 {
			for _, c := range data[i+k+1 : i+64] {
				if c&0xC0 != 0x80 {
					return 0
				}
			}
			return k
		}
		r, n := utf8.DecodeRune(data[i+k:])
		if r == utf8.RuneError && n == 1 {
			return 0
		}
		high &= ^uint64(0) << (k + n)
	}
	return 64
}

// masks tells of a block where quotes and backslashes stand, and whether there are control
// characters or bytes beyond ASCII. It is written out: shifts by constants are much faster.
// Bytes lose their top bit first, so that nothing is carried from one to the next; what
// that makes equal to a quote or a backslash is taken out again.
func masks(b *[64]byte) (quote, slash, unusual uint64) {
	word := binary.LittleEndian.Uint64
	v0, v1, v2, v3, v4, v5, v6, v7 := word(b[0:]), word(b[8:]), word(b[16:]), word(b[24:]), word(b[32:]), word(b[40:]), word(b[48:]), word(b[56:])
	unusual = (v0 | v1 | v2 | v3 | v4 | v5 | v6 | v7) & highs
	var high uint64
	if unusual != 0 {
		high = gather(v0&highs) | gather(v1&highs)<<8 | gather(v2&highs)<<16 | gather(v3&highs)<<24 |
			gather(v4&highs)<<32 | gather(v5&highs)<<40 | gather(v6&highs)<<48 | gather(v7&highs)<<56
		v0, v1, v2, v3, v4, v5, v6, v7 = v0&^highs, v1&^highs, v2&^highs, v3&^highs, v4&^highs, v5&^highs, v6&^highs, v7&^highs
	}
	quote = ^(others(v0, '"'*lows) | others(v1, '"'*lows)<<8 | others(v2, '"'*lows)<<16 | others(v3, '"'*lows)<<24 |
		others(v4, '"'*lows)<<32 | others(v5, '"'*lows)<<40 | others(v6, '"'*lows)<<48 | others(v7, '"'*lows)<<56 | high)
	slash = ^(others(v0, '\\'*lows) | others(v1, '\\'*lows)<<8 | others(v2, '\\'*lows)<<16 | others(v3, '\\'*lows)<<24 |
		others(v4, '\\'*lows)<<32 | others(v5, '\\'*lows)<<40 | others(v6, '\\'*lows)<<48 | others(v7, '\\'*lows)<<56 | high)
	const up = ('\x80' - ' ') * lows // takes all but control characters to the top bit
	unusual |= ^((v0 + up) & (v1 + up) & (v2 + up) & (v3 + up) & (v4 + up) & (v5 + up) & (v6 + up) & (v7 + up)) & highs
	return quote, slash, unusual
}

// others has a bit for each byte of w that is not the one that all of c are. Neither has
// bytes beyond ASCII.
func others(w, c uint64) uint64 { return gather(((w ^ c) + (highs - lows)) & highs) }

// gather moves the top bits of eight bytes together.
func gather(tops uint64) uint64 { return tops >> 7 * 0x0102040810204080 >> 56 }

// An escaping is which bytes of a block are escaped, and whether the first of the next is.
type escaping struct{ bits, next uint64 }

// escapedBy works out what backslashes escape; the kernel for AVX2 says how.
func escapedBy(slash, first uint64) escaping {
	slash &^= first
	if slash == 0 {
		return escaping{first, 0}
	}
	const odds = 0xAAAAAAAAAAAAAAAA
	starts := slash &^ (slash << 1) &^ odds
	escapers := (slash&^(starts+slash) ^ odds) & slash
	return escaping{first | escapers<<1, escapers >> 63}
}

// prefixXor adds up, without carry, the bits up to each.
func prefixXor(w uint64) uint64 {
	w ^= w << 1
	w ^= w << 2
	w ^= w << 4
	w ^= w << 8
	w ^= w << 16
	return w ^ w<<32
}
