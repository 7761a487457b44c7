package jsonspan

import (
	"bytes"
	"encoding/binary"
)

// A mark is what is known of an open object: where its keys start, and of which kinds they
// are. As long as no two are of one kind, none stands twice.
type mark struct {
	keys  int
	kinds uint64
	twice bool // two keys are of one kind
}

// kindOfKey is a bit that equal keys share.
func kindOfKey(key []byte) uint64 {
	if len(key) == 0 {
		return 1
	}
	return 1 << ((uint(key[0]) + 5*uint(key[len(key)-1]) + 11*uint(len(key))) & 63)
}

// Key moves to the next member of the entered object and returns the span of its
// key. It returns false at the end of the object, which it reads.
func (s *Scanner) Key() (Span, bool) {
	// Nearly always it is ," or " and all that is known of the string.
	data, i := s.data, s.pos
	if x := s.ahead; x != nil && i < len(data) {
		c := data[i]
		if c == ',' && !s.fresh && i+2 < len(data) {
			if i++; data[i] == ' ' {
				i++
			}
			c = data[i]
			if c != '"' {
				return s.anyKey()
			}
		} else if !s.fresh {
			return s.anyKey()
		}
		if c == '"' {
			if end := x.end(); end >= 0 && end+1 < len(data) && data[end+1] == ':' {
				x.next += 2
				s.fresh, s.pos = false, end+2
				key := Span{i + 1, end}
				s.noteKey(key)
				return key, true
			}
		}
	}
	return s.anyKey()
}

// anyKey is Key, step by step.
func (s *Scanner) anyKey() (Span, bool) {
	if !s.next('}') {
		if n := len(s.marks); s.err == nil && n > 0 {
			m := s.marks[n-1]
			if m.twice || s.anyKeyEscaped {
				s.duplicates(s.keys[m.keys:])
			}
			s.keys, s.marks = s.keys[:m.keys], s.marks[:n-1]
		}
		return Span{}, false
	}
	if s.pos >= len(s.data) || s.data[s.pos] != '"' {
		s.fail(s.pos, s.insteadOf("a key in double quotes"))
		return Span{}, false
	}
	key := s.str()
	s.space()
	if s.err != nil {
		return Span{}, false
	}
	if s.pos >= len(s.data) || s.data[s.pos] != ':' {
		s.fail(s.pos, s.insteadOf("a colon after the key"))
		return Span{}, false
	}
	s.pos++
	s.noteKey(key)
	return key, true
}

// noteKey keeps a key to be compared with the others of its object.
func (s *Scanner) noteKey(key Span) {
	s.keyEscaped = s.escapedKey(key)
	if s.scanned {
		return
	}
	s.keys = append(s.keys, key)
	if s.keyEscaped {
		s.anyKeyEscaped = true
	}
	if n := len(s.marks); n > 0 {
		m, kind := &s.marks[n-1], kindOfKey(s.data[key.Start:key.End])
		if m.kinds&kind != 0 {
			m.twice = true
		}
		m.kinds |= kind
	}
}

// escapedKey reports whether a key has an escape. Most are short.
func (s *Scanner) escapedKey(key Span) bool {
	if n := key.Len(); n <= 16 && key.Start+16 <= len(s.data) {
		word := (*[16]byte)(s.data[key.Start:])
		a, b := binary.LittleEndian.Uint64(word[:8])^'\\'*lows, binary.LittleEndian.Uint64(word[8:])^'\\'*lows
		// The lowest mark is right, and those above it do not matter.
		a, b = (a-lows)&^a&highs, (b-lows)&^b&highs
		if n <= 8 {
			return a<<(64-8*uint(n)) != 0 && n > 0
		}
		return a != 0 || b<<(128-8*uint(n)) != 0
	}
	return bytes.IndexByte(s.data[key.Start:key.End], '\\') >= 0
}

// KeyEscaped reports whether the key read last has an escape, so that it must be decoded.
func (s *Scanner) KeyEscaped() bool { return s.keyEscaped }

// Value reads the next value, whatever it is, and returns its kind and its span: of a
// string without its quotes.
func (s *Scanner) Value() (Kind, Span) {
	if x, i := s.ahead, s.pos; x != nil && i < len(s.data) && s.data[i] == '"' {
		if end := x.end(); end >= 0 {
			x.next += 2
			s.pos = end + 1
			return String, Span{i + 1, end}
		}
	}
	if k := s.Peek(); k != String {
		return k, s.Skip()
	}
	return String, s.str()
}

// Str reads the next value, a string, and returns the span of its content. Any
// other value is an error, so callers ask Peek first.
func (s *Scanner) Str() Span {
	if s.Peek() != String {
		s.fail(s.pos, s.insteadOf("a string"))
		return Span{s.pos, s.pos}
	}
	return s.str()
}
