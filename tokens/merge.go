package tokens

import "encoding/binary"

const (
	// maxScan is the longest word whose merges are found by scanning, which is
	// quadratic but has no overhead; longer ones use a heap.
	maxScan = 40
	// maxCached is the longest word that the cache keeps.
	maxCached = 15
	cacheBits = 12
)

// A merger counts the tokens of single words. It is the scratch of one goroutine
// at a time.
type merger struct {
	vocab *vocabulary
	cache [1 << cacheBits]cached
	scan  [maxScan + 1]part

	next, prev []int32
	ranks      []uint32
	heap       []uint64 // rank above, position below
}

// A cached count belongs to exactly the bytes that head and tail spell out: the
// length is in the top byte of tail, so a collision cannot be mistaken for a hit.
type cached struct {
	head, tail uint64
	count      uint8
}

// A part of a word: where it starts, and the rank of its union with the next.
type part struct {
	rank  uint32
	start int32
}

// count is the number of tokens of the word text[at:end].
func (m *merger) count(text []byte, at, end int) int {
	if m.vocab.rank(text, at, end) != noRank {
		return 1
	}
	switch n := end - at; {
	case n <= maxCached:
		c, head, tail := m.slot(text, at, end)
		if c.head != head || c.tail != tail {
			*c = cached{head, tail, uint8(m.mergeByScan(text, at, end))}
		}
		return int(c.count)
	case n <= maxScan:
		return m.mergeByScan(text, at, end)
	default:
		return m.mergeByHeap(text, at, end)
	}
}

func (m *merger) slot(text []byte, at, end int) (c *cached, head, tail uint64) {
	var word [16]byte
	copy(word[:], text[at:end])
	word[15] = byte(end - at)
	head, tail = binary.LittleEndian.Uint64(word[:]), binary.LittleEndian.Uint64(word[8:])
	return &m.cache[(head^tail*mix)*mix>>(64-cacheBits)], head, tail
}

// mergeByScan joins the two neighbours of lowest rank, leftmost first, until no two
// neighbours are a token. That order is the definition of the encoding.
func (m *merger) mergeByScan(text []byte, at, end int) int {
	n := end - at
	parts := m.scan[:n+1]
	for i := range n {
		rank := uint32(noRank)
		if i+2 <= n {
			rank = m.vocab.rank(text, at+i, at+i+2)
		}
		parts[i] = part{rank, int32(at + i)}
	}
	parts[n] = part{noRank, int32(end)}
	for {
		best, low := -1, uint32(noRank)
		for i := range parts {
			if parts[i].rank < low {
				best, low = i, parts[i].rank
			}
		}
		if best < 0 {
			return len(parts) - 1
		}
		parts = append(parts[:best+1], parts[best+2:]...)
		parts[best].rank = m.union(text, parts, best)
		if best > 0 {
			parts[best-1].rank = m.union(text, parts, best-1)
		}
	}
}

func (m *merger) union(text []byte, parts []part, i int) uint32 {
	if i+2 >= len(parts) {
		return noRank
	}
	return m.vocab.rank(text, int(parts[i].start), int(parts[i+2].start))
}

// mergeByHeap does the same in n log n, for the words that only a run of one
// letter, a wall of spaces or an attacker writes. Entries of the heap are not
// removed when they go stale but passed over: one counts only while ranks agrees.
func (m *merger) mergeByHeap(text []byte, at, end int) int {
	n := end - at
	m.next, m.prev, m.ranks = resize(m.next, n), resize(m.prev, n), resize(m.ranks, n)
	m.heap = m.heap[:0]
	for i := range n {
		m.next[i], m.prev[i], m.ranks[i] = int32(i+1), int32(i-1), noRank
	}
	for i := range n - 1 {
		m.offer(text, at, i, i+2)
	}
	count := n
	for len(m.heap) > 0 {
		top := m.pop()
		rank, i := uint32(top>>32), int(uint32(top))
		if m.ranks[i] != rank {
			continue
		}
		gone := int(m.next[i])
		after := int(m.next[gone])
		m.ranks[gone], m.ranks[i] = noRank, noRank
		m.next[i] = int32(after)
		count--
		if after < n {
			m.prev[after] = int32(i)
			m.offer(text, at, i, int(m.next[after]))
		}
		if p := int(m.prev[i]); p >= 0 {
			m.ranks[p] = noRank
			m.offer(text, at, p, after)
		}
	}
	return count
}

// offer puts the union of the part at i with its neighbour, which ends at end, on
// the heap if it is a token.
func (m *merger) offer(text []byte, at, i, end int) {
	if rank := m.vocab.rank(text, at+i, at+end); rank != noRank {
		m.ranks[i] = rank
		m.push(uint64(rank)<<32 | uint64(i))
	}
}

func (m *merger) push(x uint64) {
	h := append(m.heap, x)
	i := len(h) - 1
	for i > 0 && h[(i-1)/2] > x {
		h[i] = h[(i-1)/2]
		i = (i - 1) / 2
	}
	h[i] = x
	m.heap = h
}

func (m *merger) pop() uint64 {
	h := m.heap
	top, x := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	m.heap = h
	i := 0
	for {
		c := 2*i + 1
		if c >= len(h) {
			break
		}
		if c+1 < len(h) && h[c+1] < h[c] {
			c++
		}
		if h[c] >= x {
			break
		}
		h[i] = h[c]
		i = c
	}
	if len(h) > 0 {
		h[i] = x
	}
	return top
}

func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
