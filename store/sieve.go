package store

import "sync"

// A sieve knows the ids of a session that this process has followed from its first entry on,
// by two bytes each: of an id that is not in it, it is certain that no entry has it. Ids may be
// in it that no entry has. Many goroutines may use it.
type sieve struct {
	mu     sync.Mutex
	layers [][]uint64 // bits, each layer twice as many as the one in front
	room   int        // ids that the last one still takes
}

const (
	firstSieve = 512 // ids that the first layer takes
	sieveBits  = 16  // for each id
	sieveSet   = 3   // of these, by each id: one of 200 that are not there seems to be
	partBits   = 20  // of a mark, for each that is set
	// maxSieve is how many layers there are: the last one has as many bits as a part can name.
	// That is 130,560 ids.
	maxSieve = 8
)

// add takes ids in by their marks, and reports whether it is certain that all are new.
func (s *sieve) add(marks ...int64) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh := true
	for _, m := range marks {
		fresh = s.one(m) && fresh
	}
	return fresh
}

func (s *sieve) one(mark int64) bool {
	for _, layer := range s.layers {
		if holds(layer, mark) {
			return false
		}
	}
	if s.room == 0 {
		if len(s.layers) == maxSieve {
			return false // nothing is certain any more
		}
		s.room = firstSieve << len(s.layers)
		s.layers = append(s.layers, make([]uint64, s.room*sieveBits/64))
	}
	s.room--
	layer := s.layers[len(s.layers)-1]
	for i := range sieveSet {
		word, bit := sieveBit(layer, mark, i)
		*word |= bit
	}
	return true
}

// holds reports whether a layer has all bits of a mark.
func holds(layer []uint64, mark int64) bool {
	for i := range sieveSet {
		if word, bit := sieveBit(layer, mark, i); *word&bit == 0 {
			return false
		}
	}
	return true
}

// sieveBit is one of the bits of a mark, which is a hash: each takes a part of its own of it.
func sieveBit(layer []uint64, mark int64, i int) (word *uint64, bit uint64) {
	at := uint64(mark) >> (i * partBits) % uint64(64*len(layer))
	return &layer[at/64], 1 << (at % 64)
}
