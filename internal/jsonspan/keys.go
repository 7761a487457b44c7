package jsonspan

import (
	"bytes"
	"cmp"
	"slices"
)

// duplicates records a flaw for each key that repeats an earlier one of its
// object. Small objects are compared pairwise, larger ones by sorting in place.
func (s *Scanner) duplicates(keys []Span) {
	const pairwise = 12
	switch {
	case len(keys) < 2:
	case s.anyKeyEscaped && s.anyEscaped(keys):
		s.decodedDuplicates(keys)
	case len(keys) <= pairwise:
		for i := 1; i < len(keys); i++ {
			for j := range i {
				if keys[i].Len() == keys[j].Len() && bytes.Equal(s.bytes(keys[i]), s.bytes(keys[j])) {
					s.flaw(DuplicateKey, keys[i].Start-1)
					break
				}
			}
		}
	default:
		slices.SortFunc(keys, func(a, b Span) int {
			return cmp.Or(cmp.Compare(a.Len(), b.Len()), bytes.Compare(s.bytes(a), s.bytes(b)), cmp.Compare(a.Start, b.Start))
		})
		for i := 1; i < len(keys); i++ {
			if bytes.Equal(s.bytes(keys[i]), s.bytes(keys[i-1])) {
				s.flaw(DuplicateKey, keys[i].Start-1)
			}
		}
	}
}

func (s *Scanner) bytes(k Span) []byte { return s.data[k.Start:k.End] }

// anyEscaped reports whether a key must be decoded before it can be compared:
// "\u0072ole" is "role".
func (s *Scanner) anyEscaped(keys []Span) bool {
	for _, k := range keys {
		if bytes.IndexByte(s.bytes(k), '\\') >= 0 {
			return true
		}
	}
	return false
}

func (s *Scanner) decodedDuplicates(keys []Span) {
	seen := make(map[string]bool, len(keys))
	for _, k := range keys {
		name := string(Decode(nil, s.bytes(k)))
		if seen[name] {
			s.flaw(DuplicateKey, k.Start-1)
		}
		seen[name] = true
	}
}
