package tokens

import (
	"compress/flate"
	"encoding/binary"
	"io"
	"math/bits"
	"strings"
)

// noRank is what a lookup returns for bytes that are not a token; it is greater
// than every rank.
const noRank = 1<<32 - 1

// shortest and longest tokens are kept apart: of the lookups of a count nine in
// ten are of at most seven bytes, and those fit with their length into one word
// that is key and proof at once.
const maxShort = 7

// A vocabulary maps the bytes of a token to its rank. Both tables are open
// addressed and at most two thirds full.
type vocabulary struct {
	keys  []uint64 // short tokens: bytes below, length above; zero is free
	ranks []uint32 // of keys

	slots  []uint32 // long tokens: 1 + index into starts; zero is free
	tags   []uint16 // of slots: bits of the hash, so that most misses stay here
	starts []uint32 // into text, and one more for the end
	base   []uint32 // rank of each long token
	text   []byte   // all long tokens

	shortShift, longShift uint8
	longest               int
}

// unpackVocabulary reads what vocab/generate.go wrote. It panics on anything else:
// the bytes are our own.
func unpackVocabulary(packed string, size int) *vocabulary {
	raw := make([]byte, size)
	if _, err := io.ReadFull(flate.NewReader(strings.NewReader(packed)), raw); err != nil {
		panic("unpack vocabulary: " + err.Error())
	}
	short, long, bytes := 0, 0, 0
	for i := 0; i < len(raw); i += 1 + int(raw[i]) {
		if n := int(raw[i]); n <= maxShort {
			short++
		} else {
			long++
			bytes += n
		}
	}
	v := &vocabulary{
		starts: make([]uint32, 0, long+1),
		base:   make([]uint32, 0, long),
		text:   make([]byte, 0, bytes),
	}
	shortBits, longBits := bits.Len(uint(short*3/2)), bits.Len(uint(long*3/2))
	v.shortShift, v.longShift = uint8(64-shortBits), uint8(64-longBits)
	v.keys, v.ranks = make([]uint64, 1<<shortBits), make([]uint32, 1<<shortBits)
	v.slots, v.tags = make([]uint32, 1<<longBits), make([]uint16, 1<<longBits)
	rank := uint32(0)
	for i := 0; i < len(raw); i += 1 + int(raw[i]) {
		v.add(raw, i+1, i+1+int(raw[i]), rank)
		rank++
	}
	v.starts = append(v.starts, uint32(len(v.text)))
	return v
}

func (v *vocabulary) add(raw []byte, at, end int, rank uint32) {
	v.longest = max(v.longest, end-at)
	if end-at <= maxShort {
		key := shortKey(raw, at, end)
		i := key * mix >> v.shortShift
		for v.keys[i] != 0 {
			i = (i + 1) & uint64(len(v.keys)-1)
		}
		v.keys[i], v.ranks[i] = key, rank
		return
	}
	h := longHash(raw, at, end)
	i := h >> v.longShift
	for v.slots[i] != 0 {
		i = (i + 1) & uint64(len(v.slots)-1)
	}
	v.starts = append(v.starts, uint32(len(v.text)))
	v.base = append(v.base, rank)
	v.text = append(v.text, raw[at:end]...)
	v.slots[i], v.tags[i] = uint32(len(v.base)), uint16(h)
}

// rank looks up text[at:end], which is not empty.
func (v *vocabulary) rank(text []byte, at, end int) uint32 {
	if end-at <= maxShort {
		key := shortKey(text, at, end)
		for i := key * mix >> v.shortShift; v.keys[i] != 0; i = (i + 1) & uint64(len(v.keys)-1) {
			if v.keys[i] == key {
				return v.ranks[i]
			}
		}
		return noRank
	}
	if end-at > v.longest {
		return noRank
	}
	h := longHash(text, at, end)
	for i := h >> v.longShift; v.slots[i] != 0; i = (i + 1) & uint64(len(v.slots)-1) {
		if v.tags[i] != uint16(h) {
			continue
		}
		k := v.slots[i] - 1
		if string(v.text[v.starts[k]:v.starts[k+1]]) == string(text[at:end]) {
			return v.base[k]
		}
	}
	return noRank
}

// mix is an odd number without pattern; a product's upper bits depend on all bits
// of the factor.
const mix = 0x9E3779B97F4A7C15

func shortKey(text []byte, at, end int) uint64 {
	n := uint(end - at)
	if at+8 <= len(text) {
		return binary.LittleEndian.Uint64(text[at:])&(1<<(8*n)-1) | uint64(n)<<56
	}
	key := uint64(n) << 56
	for i := at; i < end; i++ {
		key |= uint64(text[i]) << (8 * uint(i-at))
	}
	return key
}

// longHash reads the first and the last eight bytes and the length; tokens that
// agree in all three are rare enough for a probe or two.
func longHash(text []byte, at, end int) uint64 {
	head := binary.LittleEndian.Uint64(text[at:])
	tail := binary.LittleEndian.Uint64(text[end-8:])
	h := (head ^ bits.RotateLeft64(tail*mix, 31) + uint64(end-at)) * mix
	return h ^ h>>29
}
