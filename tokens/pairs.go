package tokens

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// pairs is a table laid out by bytes instead of classes: what the second of two
// neighbours adds, at the index that a little-endian load of both gives. So one load
// and one lookup do for a byte, and no byte waits for the one before it.
type pairs struct {
	weights [1 << 16]uint16
	turns   [16]turn // by the number of the escape; see short
}

// A turn is what becomes different where an escape of two bytes, such as \n, is read
// as what it stands for: by the byte in front of it, and by the one behind it, with the
// escape itself.
type turn struct{ in, out [256]int32 }

// short numbers the escapes of two bytes, from 1 on.
var short = func() (t [256]uint8) {
	n := uint8(0)
	for letter, c := range escaped {
		if c != 0 {
			n++
			t[letter] = n
		}
	}
	return t
}()

func (t *table) pairs() *pairs {
	p := new(pairs)
	for i := range p.weights {
		p.weights[i] = t[classOf[i&0xFF]][classOf[i>>8]]
	}
	for letter, n := range short {
		if n == 0 {
			continue
		}
		c, l := escaped[letter], byte(letter)
		for i := range 256 {
			b := byte(i)
			p.turns[n].in[i] = int32(p.of(b, c)) - int32(p.of(b, '\\'))
			p.turns[n].out[i] = int32(p.of(c, b)) - int32(p.of('\\', l)) - int32(p.of(l, b))
		}
	}
	return p
}

// of is what b adds after a.
func (p *pairs) of(a, b byte) uint64 { return uint64(p.weights[uint(a)|uint(b)<<8]) }

// at is what the second byte of text adds after the first.
func (p *pairs) at(text []byte) uint64 { return uint64(p.weights[binary.LittleEndian.Uint16(text)]) }

// sum adds up what every byte but the first adds. Four sums keep the additions from
// waiting for each other.
func (p *pairs) sum(text []byte) uint64 {
	var a, b, c, d uint64
	for len(text) > 8 {
		a += p.at(text)
		b += p.at(text[1:])
		c += p.at(text[2:])
		d += p.at(text[3:])
		a += p.at(text[4:])
		b += p.at(text[5:])
		c += p.at(text[6:])
		d += p.at(text[7:])
		text = text[8:]
	}
	for ; len(text) > 1; text = text[1:] {
		a += p.at(text)
	}
	return a + b + c + d
}

// sumJSON is sum of what the content of a JSON string decodes to.
func (p *pairs) sumJSON(raw []byte) uint64 { return p.sum(raw) + p.escapes(raw) }

// window is how much of a string is searched for backslashes before they are looked
// at. To find and to treat them in two loops costs a second look at each, but a jump
// at every escape, which no processor foresees, would cost more.
const window = 1 << 10

// escapes is the difference, modulo 2⁶⁴, between the sum over what a JSON string
// decodes to and the sum over the string as it lies.
func (p *pairs) escapes(raw []byte) (change uint64) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return 0
	}
	var at [window + flock]uint16
	end, last := 0, byte(0) // of the escape before: where it ends, and what with
	for from := 0; from < len(raw); from += window {
		n := backslashes(&at, raw[from:min(len(raw), from+window)])
		for _, k := range at[:n] {
			i := from + int(k)
			if i < end { // escaped by the backslash before it
				continue
			}
			if i == 0 || i+2 >= len(raw) || short[raw[i+1]] == 0 {
				var more uint64
				more, end, last = p.escape(raw, i, end, last)
				change += more
				continue
			}
			near := (*[4]byte)(raw[i-1:])
			before, letter, next := near[0], near[2], near[3]
			if i == end {
				before = last
			}
			// What lies behind is still as it was, so a backslash there counts as
			// next to this one until its turn comes.
			t := &p.turns[short[letter]&15]
			change += uint64(int64(t.in[before] + t.out[next]))
			end, last = i+2, escaped[letter]
		}
	}
	return change
}

// escape does the same for an escape of any kind, wherever it lies, and for all \u
// that follow it at once: some encoders write whole texts in them.
func (p *pairs) escape(raw []byte, i, end int, last byte) (change uint64, newEnd int, newLast byte) {
	start := i
	if i > end {
		last = raw[i-1]
	}
	if i > 0 {
		change -= p.of(last, '\\')
	}
	for {
		r, n := escape(raw[i:])
		var utf [utf8.UTFMax]byte
		for k, b := range utf[:utf8.EncodeRune(utf[:], r)] {
			if i+k > 0 {
				change += p.of(last, b)
			}
			last = b
		}
		i += n
		if i+1 >= len(raw) || raw[i] != '\\' || raw[i+1] != 'u' {
			break
		}
	}
	change -= p.sum(raw[start:min(i+1, len(raw))])
	if i < len(raw) {
		change += p.of(last, raw[i])
	}
	return change, i, last
}

// flock is how many backslashes are noted at once, wanted or not.
const flock = 4

// backslashes notes where text, of at most window bytes, has them.
func backslashes(at *[window + flock]uint16, text []byte) (n int) {
	i := 0
	for ; i+64 <= len(text); i += 64 {
		found := backslashes64((*[64]byte)(text[i:]))
		end := n + bits.OnesCount64(found)
		for n < end {
			next := (*[flock]uint16)(at[n:])
			next[0] = uint16(i + bits.TrailingZeros64(found))
			found &= found - 1
			next[1] = uint16(i + bits.TrailingZeros64(found))
			found &= found - 1
			next[2] = uint16(i + bits.TrailingZeros64(found))
			found &= found - 1
			next[3] = uint16(i + bits.TrailingZeros64(found))
			found &= found - 1
			n += flock
		}
		n = end
	}
	for ; i < len(text); i++ {
		if text[i] == '\\' {
			at[n] = uint16(i)
			n++
		}
	}
	return n
}

// backslashes64 has a bit for each byte that is one.
func backslashes64(text *[64]byte) uint64 {
	a, b := backslashes8(text[0:]), backslashes8(text[8:])
	c, d := backslashes8(text[16:]), backslashes8(text[24:])
	e, f := backslashes8(text[32:]), backslashes8(text[40:])
	g, h := backslashes8(text[48:]), backslashes8(text[56:])
	if a|b|c|d|e|f|g|h == 0 {
		return 0
	}
	return gather(a) | gather(b)<<8 | gather(c)<<16 | gather(d)<<24 | gather(e)<<32 | gather(f)<<40 | gather(g)<<48 | gather(h)<<56
}

// backslashes8 has the lowest bit of each byte set that is one.
func backslashes8(text []byte) uint64 {
	const low = 0x7F7F7F7F7F7F7F7F
	v := binary.LittleEndian.Uint64(text) ^ '\\'*0x0101010101010101
	return ^(v&low + low | v | low) >> 7
}

// gather moves the lowest bits of eight bytes into one.
func gather(v uint64) uint64 { return v * 0x0102040810204080 >> 56 }
