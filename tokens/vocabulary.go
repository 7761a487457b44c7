package tokens

import (
	"encoding/binary"
	"unsafe"
)

// A vocabulary is what an encoding has to know, in tables that are read where they
// lie in the program: nothing is unpacked, and what no text asks for is never loaded.
// TestVocabularyFresh holds how they are made. All numbers are little-endian. A token is its rank.
type vocabulary struct {
	// nodes is a trie of all tokens, in four bytes each. The child of a node for byte c
	// is at its base + 1 + c, and it is its child if the lowest nine bits are c: no two
	// nodes have the same base. Above are two flags and the base of its own children or,
	// in a leaf, its token. A node that is a token and has children, too, has the token
	// at its base.
	nodes []uint32
	// unions has for two tokens the one that they become, in four bytes each: the token
	// below, bits of the hash above. Each two have a place of their own: moves says, in
	// one byte for all that share a bucket, how far from where the hash points.
	unions      []uint32
	tags, moves string
	// tokens has for each token, in eight bytes: the two of which it is made, the longest
	// one that it begins with, and its length.
	tokens []made

	bytes [256]uint32 // the tokens of single bytes
}

const (
	isLeaf   = 1 << 9
	isToken  = 1 << 10
	baseBits = 11 // where base or token begins

	tokenBits = 18
	tokenMask = 1<<tokenBits - 1

	maxToken = 128 // length of the longest

	// merged is the first token that is not a single byte.
	merged = 256
	// noToken is greater than every token.
	noToken = 1<<32 - 1
)

// openVocabulary cuts tables into what a vocabulary consists of: four numbers say how
// much there is of each.
func openVocabulary(tables string) *vocabulary {
	head, at := view[uint32](tables[:16]), 16
	cut := func(n uint32, width int) string {
		start := at
		at += width * int(n)
		return tables[start:at]
	}
	v := &vocabulary{
		tokens: view[made](cut(head[0], 8)),
		nodes:  view[uint32](cut(head[1], 4)),
		unions: view[uint32](cut(head[2], 4)),
		tags:   cut(head[2], 1),
		moves:  cut(head[3], 1),
	}
	for c := range v.bytes {
		v.bytes[c], _ = v.longest([]byte{byte(c)})
	}
	return v
}

// view is a table as the numbers that it consists of. It is a copy only where the
// processor or the linker makes it one.
func view[T uint32 | made](table string) []T {
	var number T
	size, start := int(unsafe.Sizeof(number)), unsafe.Pointer(unsafe.StringData(table))
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 && uintptr(start)%uintptr(size) == 0 {
		return unsafe.Slice((*T)(start), len(table)/size)
	}
	numbers := make([]T, len(table)/size)
	for i := range len(table) {
		numbers[i/size] |= T(table[i]) << (i % size * 8)
	}
	return numbers
}

// A made is what the vocabulary knows of a token.
type made uint64

func (m made) left() uint32   { return uint32(m) & tokenMask }
func (m made) right() uint32  { return uint32(m>>tokenBits) & tokenMask }
func (m made) prefix() uint32 { return uint32(m>>(2*tokenBits)) & tokenMask } // of a single byte: itself
func (m made) length() int    { return int(m >> (3 * tokenBits)) }

// of tells whether the token is made of a and b.
func (m made) of(a, b uint32) bool {
	return uint64(m)&(1<<(2*tokenBits)-1) == uint64(a)|uint64(b)<<tokenBits
}

// longest is the longest token that text begins with, which is not empty, and its length.
func (v *vocabulary) longest(text []byte) (token uint32, length int) {
	base, last := uint32(0), uint32(0)
	for i, c := range text {
		node := v.nodes[base+1+uint32(c)]
		if node&0x1FF != uint32(c) {
			break
		}
		base = node >> baseBits
		if node&isLeaf != 0 {
			return base, i + 1
		}
		if node&isToken != 0 {
			last, length = base, i+1
		}
	}
	return v.nodes[last] >> baseBits, length
}

// spelled returns all tokens of a vocabulary, by rank: each is made of two earlier ones, or of a byte.
func spelled(e *Encoding) []string {
	v := openVocabulary(*e.tables)
	all := make([]string, len(v.tokens))
	for c, token := range v.bytes {
		all[token] = string([]byte{byte(c)})
	}
	for rank := merged; rank < len(all); rank++ {
		all[rank] = all[v.tokens[rank].left()] + all[v.tokens[rank].right()]
	}
	return all
}

// mix is an odd number without pattern; a product's upper bits depend on all bits
// of the factor.
const mix = 0x9E3779B97F4A7C15

// union is the token that a and b become where they stand side by side.
func (v *vocabulary) union(a, b uint32) uint32 {
	h := pairHash(a, b)
	i := v.slotOf(h)
	if v.tags[i] != pairTag(h) {
		return noToken
	}
	u := v.unions[i]
	if !v.tokens[u].of(a, b) {
		return noToken
	}
	return u
}

func pairHash(a, b uint32) uint64 { return (uint64(a)<<tokenBits | uint64(b)) * mix }

// bucket, slot and pairTag take bits of a hash that have little to do with each other.
// The numbers of buckets and slots are powers of two.
func bucket(h uint64, buckets int) uint32 { return uint32(h>>44) & uint32(buckets-1) }

func slot(h uint64, move byte, slots int) uint32 {
	return uint32(h>>20+uint64(move)*(h>>2|1)) & uint32(slots-1)
}

func pairTag(h uint64) byte { return byte(h >> 36) }

func (v *vocabulary) slotOf(h uint64) uint32 {
	return slot(h, v.moves[bucket(h, len(v.moves))], len(v.tags))
}

// beside tells whether a and b stay apart where they come to stand side by side. It
// takes back what made them, the last first, and asks at each step whether the two at
// the seam would rather have been joined: what is joined first is the lower token, and
// of two that are the same the left one.
func (v *vocabulary) beside(a, b uint32) bool {
	for limit := uint32(noToken); ; {
		h := pairHash(a, b)
		i := v.slotOf(h)
		if v.tags[i] == pairTag(h) {
			if u := v.unions[i]; u < limit && v.tokens[u].of(a, b) {
				return false
			}
		}
		// Which of the two was made last nobody can foresee, so there is no jump: isA is
		// all ones or nothing.
		isA := uint32((int64(b) - int64(a)) >> 63)
		last := b ^ (a^b)&isA
		if last < merged {
			return true
		}
		m := v.tokens[last]
		limit = last + 1 + isA
		a ^= (a ^ m.right()) & isA
		b ^= (b ^ m.left()) &^ isA
	}
}
