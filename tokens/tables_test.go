package tokens

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
)

// TestVocabularyFresh: the tables in the program are what comes of the vocabulary that they
// spell; that it is the published one is tested in tools/engine.
func TestVocabularyFresh(t *testing.T) {
	trial.Long(t, "makes the tables of both vocabularies anew")
	for _, e := range encodings {
		tables, err := buildTables(spelled(e))
		if err != nil {
			t.Fatalf("%s: %v", e.Name(), err)
		}
		if string(tables) != *e.tables {
			t.Errorf("vocab/%s.tables is not what comes of its own vocabulary", e.Name())
		}
	}
}

// buildTables makes what openVocabulary reads. It refuses a vocabulary for which the
// proof behind vocabulary.beside does not hold.
func buildTables(tokens []string) ([]byte, error) {
	if len(tokens) > tokenMask {
		return nil, fmt.Errorf("%d tokens", len(tokens))
	}
	ranks := make(map[string]uint32, len(tokens))
	for rank, token := range tokens {
		ranks[token] = uint32(rank)
	}
	table := make([]uint64, len(tokens))
	for i, token := range tokens {
		rank := uint32(i)
		left, right, prefix := rank, rank, rank
		if (rank < merged) != (len(token) == 1) || len(token) > maxToken {
			return nil, fmt.Errorf("token %d is %q", rank, token)
		}
		if rank >= merged {
			parts := lastTwo(token, ranks)
			if len(parts) != 2 || parts[0]+parts[1] != token {
				return nil, fmt.Errorf("token %d, %q, becomes %q", rank, token, parts)
			}
			left, right = ranks[parts[0]], ranks[parts[1]]
			if left >= rank || right >= rank {
				return nil, fmt.Errorf("token %d, %q, is made of later ones, %q", rank, token, parts)
			}
			for n := len(token) - 1; prefix == rank; n-- {
				if p, ok := ranks[token[:n]]; ok {
					prefix = p
				}
			}
		}
		table[i] = uint64(left) | uint64(right)<<tokenBits | uint64(prefix)<<(2*tokenBits) | uint64(len(token))<<(3*tokenBits)
	}
	nodes := packNodes(tokens)
	unions, moves := packUnions(table)
	var b []byte
	for _, n := range []int{len(table), len(nodes), len(unions), len(moves)} {
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
	}
	for _, n := range table {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	for _, table := range [][]uint32{nodes, unions} {
		for _, n := range table {
			b = binary.LittleEndian.AppendUint32(b, n)
		}
	}
	tags := make([]byte, len(unions))
	for i, u := range unions {
		if u != 0 {
			tags[i] = pairTag(pairHash(made(table[u]).left(), made(table[u]).right()))
		}
	}
	return append(append(b, tags...), moves...), nil
}

// lastTwo joins the bytes of a token as the definition says, and stops before the two
// parts that are left become one.
func lastTwo(token string, ranks map[string]uint32) []string {
	parts := make([]string, len(token))
	for i := range parts {
		parts[i] = token[i : i+1]
	}
	for len(parts) > 2 {
		if !joinLowest(&parts, ranks) {
			break
		}
	}
	return parts
}

// joinLowest joins the two neighbours of the lowest rank, leftmost first.
func joinLowest(parts *[]string, ranks map[string]uint32) bool {
	best, low := -1, uint32(noToken)
	p := *parts
	for i := range len(p) - 1 {
		if rank, ok := ranks[p[i]+p[i+1]]; ok && rank < low {
			best, low = i, rank
		}
	}
	if best < 0 {
		return false
	}
	p[best] += p[best+1]
	*parts = slices.Delete(p, best+1, best+2)
	return true
}

// packUnions finds a place for each union such that no two want the same: those that
// share a bucket are moved on together until all of them hit free places, the largest
// buckets first.
func packUnions(table []uint64) (unions []uint32, moves []byte) {
	unions = make([]uint32, 1<<bits.Len(uint(len(table))))
	moves = make([]byte, len(unions)/4)
	buckets := make([][]uint32, len(moves))
	for i := merged; i < len(table); i++ {
		b := bucket(pairHash(made(table[i]).left(), made(table[i]).right()), len(moves))
		buckets[b] = append(buckets[b], uint32(i))
	}
	order := make([]int, len(buckets))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(buckets[b]) - len(buckets[a]) })
	for _, b := range order {
		for !place(unions, table, buckets[b], moves[b]) {
			moves[b]++ // to 0 only if there is no way, and then forever
		}
	}
	return unions, moves
}

func place(unions []uint32, table []uint64, tokens []uint32, move byte) bool {
	for i, token := range tokens {
		h := pairHash(made(table[token]).left(), made(table[token]).right())
		at := &unions[slot(h, move, len(unions))]
		if *at != 0 {
			for _, token := range tokens[:i] {
				h := pairHash(made(table[token]).left(), made(table[token]).right())
				unions[slot(h, move, len(unions))] = 0
			}
			return false
		}
		*at = token
	}
	return true
}

// A branch is a node of the trie before it has its place.
type branch struct {
	token uint32 // or noToken
	first uint32 // the lowest token below, and so a measure of how often it is met
	label byte
	kids  []*branch
	slot  int
}

// packNodes lays the trie out, what is met most often first: each node takes the first
// base where there is room for all of its children.
func packNodes(tokens []string) []uint32 {
	root := &branch{token: noToken, first: 0}
	all := []*branch{root}
	for rank, token := range tokens {
		at := root
		for _, c := range []byte(token) {
			i := slices.IndexFunc(at.kids, func(b *branch) bool { return b.label == c })
			if i < 0 {
				i = len(at.kids)
				at.kids = append(at.kids, &branch{token: noToken, first: uint32(rank), label: c})
				all = append(all, at.kids[i])
			}
			at = at.kids[i]
		}
		at.token = uint32(rank)
	}
	// all is in order of first already.
	const room = 2 << 20
	nodes, used, bases := make([]uint32, room), make([]bool, room), make([]bool, room)
	for i := range nodes {
		nodes[i] = merged // no byte
	}
	var from [257]int // where to look for a base, by the number of children
	end := 0
	for _, b := range all {
		if len(b.kids) == 0 {
			nodes[b.slot] = uint32(b.label) | isLeaf | b.token<<baseBits
			continue
		}
		base := from[len(b.kids)]
		fits := func() bool {
			if bases[base] || b.token != noToken && used[base] {
				return false
			}
			for _, kid := range b.kids {
				if used[base+1+int(kid.label)] {
					return false
				}
			}
			return true
		}
		for !fits() {
			base++
		}
		// Most of what is left before has been tried in vain. The root keeps base 0.
		from[len(b.kids)] = max(from[len(b.kids)], base-1024)
		bases[base] = true
		if b.token != noToken {
			used[base], nodes[base] = true, merged|b.token<<baseBits
		}
		for _, kid := range b.kids {
			kid.slot = base + 1 + int(kid.label)
			used[kid.slot] = true
			end = max(end, kid.slot)
		}
		if b == root {
			continue
		}
		node := uint32(b.label) | uint32(base)<<baseBits
		if b.token != noToken {
			node |= isToken
		}
		nodes[b.slot] = node
		end = max(end, base)
	}
	return nodes[:end+1+merged] // a look for a child never leaves the table
}
