package tokens

import (
	"bytes"
	"unicode/utf8"
)

// lanes is a table for the kernel: what it needs to look up in registers, which is about the
// classes of ASCII, the first 12, and what is rare enough to be looked up in memory.
type lanes struct {
	plain     [128]uint8      // the class of a byte
	meant     [128]uint8      // the class of what it stands for behind a backslash; odd: more than two bytes, or nothing
	low, high [192]uint8      // the halves of what a byte adds: 16 times the class in front of it, and its own
	upper     [128]uint8      // the class of a byte that is not of ASCII
	wide      [32 * 32]uint16 // what a byte adds, of any class, behind any; nothing of class 31
	hex       [256]int8       // hexDigit
}

const odd128 = 0x80

func (t *table) lanes() *lanes {
	l := &lanes{hex: hexDigit}
	for i := range l.plain {
		l.plain[i], l.meant[i], l.upper[i] = classOf[i], odd128, classOf[i+128]
		if c := escaped[i]; c != 0 {
			l.meant[i] = classOf[c]
		}
	}
	for i := range l.low {
		w := t[i>>4][i&15]
		l.low[i], l.high[i] = uint8(w), uint8(w>>8)
	}
	for a := range t {
		copy(l.wide[32*a:], t[a][:])
	}
	return l
}

// shortText is what is summed up faster without the kernel.
const shortText = 48

// longText is what the kernel can add up at once.
const longText = 1 << 26

// plain adds up what every byte but the first adds.
func (p *pairs) plain(text []byte) uint64 {
	if !useVBMI2 || len(text) < shortText {
		return p.sum(text)
	}
	return p.runs(text, false)
}

// json is plain for what a JSON string decodes to.
func (p *pairs) json(raw []byte) uint64 {
	if !useVBMI2 || len(raw) < shortText {
		return p.sum(raw) + p.escapes(raw)
	}
	return p.runs(raw, true)
}

// runs lets the kernel run. Where it stops, a character is summed up by itself, and more of
// them, in the end as if there were no kernel, where it does not come far.
func (p *pairs) runs(text []byte, escapes bool) uint64 {
	var last uint8 // as if a byte of the first class stood in front
	sum := -p.after(0, firstOf(text, escapes))
	piece := 1
	for i := 0; i < len(text); {
		n, more, next := runVBMI2(p.lanes, text[i:min(i+longText, len(text))], last, escapes)
		sum, last = sum+more, next
		if i += n; i == len(text) {
			break
		}
		if piece *= 4; n > piece {
			piece = 1
		}
		if piece < 64 {
			n, more, last = p.one(text[i:], piece, last, escapes)
		} else {
			n, more, last = p.many(text[i:], piece, last, escapes)
		}
		i, sum = i+n, sum+more
	}
	return sum
}

// after is what a byte adds behind one of a class.
func (p *pairs) after(class uint8, c byte) uint64 { return uint64(p.table[class][classOf[c]]) }

// word is how far a word goes that is not ASCII: to call the kernel between its letters
// takes longer than the word.
const word = 24

// one sums up character by character, and to the end of a word that is not ASCII.
func (p *pairs) one(text []byte, most int, last uint8, escapes bool) (n int, sum uint64, lastNext uint8) {
	for n < len(text) && (n < most || n < word && text[n] >= utf8.RuneSelf) {
		c := text[n]
		if c != '\\' || !escapes {
			sum += p.after(last, c)
			last, n = classOf[c], n+1
			continue
		}
		r, size := escape(text[n:])
		var utf [utf8.UTFMax]byte
		for _, c := range utf[:utf8.EncodeRune(utf[:], r)] {
			sum += p.after(last, c)
			last = classOf[c]
		}
		n += size
	}
	return n, sum, last
}

// many sums up without the kernel.
func (p *pairs) many(text []byte, most int, last uint8, escapes bool) (n int, sum uint64, lastNext uint8) {
	n = min(most, len(text))
	if most > 8<<10 {
		n = len(text) // this is no text for the kernel
	}
	sum, lastNext = p.after(last, firstOf(text, escapes)), classOf[text[n-1]]
	if !escapes {
		return n, sum + p.sum(text[:n]), lastNext
	}
	for i := 0; n < len(text); { // to where no escape is cut
		next := bytes.IndexByte(text[i:max(i, n)], '\\')
		if next < 0 {
			n = max(i, n)
			break
		}
		r, size := escape(text[i+next:])
		if i += next + size; i >= n {
			var utf [utf8.UTFMax]byte
			lastNext = classOf[utf[utf8.EncodeRune(utf[:], r)-1]]
		}
	}
	return n, sum + p.sum(text[:n]) + p.escapes(text[:n]), lastNext
}

// firstOf is the first byte of what a text stands for.
func firstOf(text []byte, escapes bool) byte {
	if !escapes || text[0] != '\\' {
		return text[0]
	}
	r, _ := escape(text)
	var utf [utf8.UTFMax]byte
	utf8.EncodeRune(utf[:], r)
	return utf[0]
}
