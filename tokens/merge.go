package tokens

import (
	"bytes"
	"encoding/binary"
)

const (
	// maxCached is the longest word that the cache keeps.
	maxCached = 15
	cacheBits = 12
)

// A merger counts the tokens of single words. It is the scratch of one goroutine
// at a time.
type merger struct {
	vocab *vocabulary
	cache [1 << cacheBits]cached
	out   []uint32 // tokens of a word
	dead  []uint64 // a bit for each place of a word: nothing goes on from there

	parts, unions [2 * maxToken]uint32

	near  []byte // of the word, where guess is the first token
	guess uint32
}

// A cached count belongs to exactly the bytes that head and tail spell out: the
// length is in the top byte of tail, so a collision cannot be mistaken for a hit.
type cached struct {
	head, tail uint64
	count      uint8
}

// count is the number of tokens of a word.
func (m *merger) count(text []byte, at, end int) int {
	if end-at > maxCached {
		return m.merge(text[at:end])
	}
	c, head, tail := m.slot(text, at, end)
	if c.head != head || c.tail != tail {
		*c = cached{head, tail, uint8(m.merge(text[at:end]))}
	}
	return int(c.count)
}

func (m *merger) slot(text []byte, at, end int) (c *cached, head, tail uint64) {
	n := end - at
	if at+16 <= len(text) {
		head, tail = binary.LittleEndian.Uint64(text[at:]), binary.LittleEndian.Uint64(text[at+8:])
		if n < 8 {
			head, tail = head&(1<<(8*n)-1), 0
		} else {
			tail &= 1<<(8*(n-8)) - 1
		}
	} else {
		var word [16]byte
		copy(word[:], text[at:end])
		head, tail = binary.LittleEndian.Uint64(word[:]), binary.LittleEndian.Uint64(word[8:])
	}
	tail |= uint64(n) << 56
	return &m.cache[(head^tail*mix)*mix>>(64-cacheBits)], head, tail
}

// merge is the number of tokens of a word. By definition they are what is left when
// the two neighbours with the lowest union, leftmost first, are joined until no two
// have one. So all neighbours stay apart, and only one way to cut the word is like
// that; the same goes for its beginnings. To find it, the longest token that may stand
// beside the one before is taken, or a shorter one if the word does not go on behind
// it. As the tokens up to a place are always the same, a place is given up only once,
// so that the time is linear.
func (m *merger) merge(word []byte) int {
	m.near = nil
	token, length := m.propose(word)
	if length == len(word) {
		return 1
	}
	v, at, out := m.vocab, 0, m.out[:0]
	dead := zeroed(m.dead, len(word)/64+1)
	for {
		end := at + length
		if dead[end/64]>>(end%64)&1 == 0 && (at == 0 || v.beside(out[len(out)-1]&tokenMask, token&tokenMask)) {
			out = append(out, token)
			if end == len(word) {
				m.out, m.dead = out, dead
				return len(out)
			}
			at = end
			token, length = m.propose(word[at:])
			continue
		}
		for token < merged { // there is no shorter one
			dead[at/64] |= 1 << (at % 64)
			token, out = out[len(out)-1], out[:len(out)-1]
			at -= v.tokens[token&tokenMask].length()
		}
		if token&guessed != 0 {
			token, length = v.longest(word[at:])
		} else {
			token = v.tokens[token].prefix()
			length = v.tokens[token].length()
		}
	}
}

const (
	// guessed marks a token that is not the longest one.
	guessed = 1 << 31
	// maxSure is the longest token that is not doubted. Longer ones are mostly runs of
	// one character, all of whose beginnings are tokens, too: there are many ways to
	// cut a run, and the longest token is seldom in the right one.
	maxSure = 9
)

// propose is the token to try first where text begins.
func (m *merger) propose(text []byte) (token uint32, length int) {
	token, length = m.vocab.longest(text)
	if length <= maxSure || length == len(text) {
		return token, length
	}
	// A run is the same from one token to the next.
	if near := text[:min(2*length, len(text))]; !bytes.Equal(near, m.near) {
		m.near, m.guess = near, m.first(near)
	}
	if m.guess == token {
		return token, length
	}
	return m.guess | guessed, m.vocab.tokens[m.guess].length()
}

// first is the first token of text, which is at most twice as long as the longest token.
// It does what the definition says, but joins all that have the lowest union in one go:
// what comes of it has only higher ones.
func (m *merger) first(text []byte) uint32 {
	v, low := m.vocab, uint32(noToken)
	parts, unions := m.parts[:0], m.unions[:len(text)]
	for i, c := range text {
		parts = append(parts, v.bytes[c])
		if i > 0 {
			unions[i-1] = v.union(parts[i-1], parts[i])
			low = min(low, unions[i-1])
		}
	}
	unions[len(text)-1] = noToken
	for low != noToken {
		n, next, stale := 0, uint32(noToken), false
		for i := 0; i < len(parts); i++ {
			fresh := unions[i] == low
			token := parts[i]
			if fresh {
				token = low
				i++
			}
			parts[n], unions[n] = token, unions[i]
			if n > 0 {
				if fresh || stale {
					unions[n-1] = v.union(parts[n-1], token)
				}
				next = min(next, unions[n-1])
			}
			stale = fresh
			n++
		}
		parts, low = parts[:n], next
	}
	return parts[0]
}

func zeroed(s []uint64, n int) []uint64 {
	if cap(s) < n {
		return make([]uint64, n)
	}
	s = s[:n]
	clear(s)
	return s
}
