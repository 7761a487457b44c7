package jsonspan

import (
	"bytes"
	"fmt"
	"sync"
)

// A Span is a half-open range of byte offsets.
type Span struct{ Start, End int }

// Len returns the number of bytes in the span.
func (s Span) Len() int { return s.End - s.Start }

// A Mode says how much of RFC 8259 a scan checks.
type Mode uint8

const (
	// Structural checks everything except the inside of strings.
	Structural Mode = iota
	// Strict also checks escapes, control characters and UTF-8.
	Strict
)

// A Kind is the type of a JSON value. Invalid means that no value starts here.
type Kind uint8

const (
	Invalid Kind = iota
	Object
	Array
	String
	Number
	Bool
	Null
)

func (k Kind) String() string {
	return [...]string{"nothing", "an object", "a list", "a string", "a number", "a boolean", "null"}[k]
}

// MaxDepth is how deep values may nest; the limit of encoding/json and jsontext.
const MaxDepth = 10_000

// maxFlaws bounds the list of flaws, so that a hostile body cannot turn each of
// its bytes into a record. Those behind it are counted.
const maxFlaws = 100_000

// A FlawKind tells which grammatical but dangerous thing was found.
type FlawKind uint8

const (
	// DuplicateKey marks the later of two equal keys of one object.
	DuplicateKey FlawKind = iota
	// LoneSurrogate marks a \u escape that is half of a UTF-16 pair.
	LoneSurrogate
)

// A Flaw is something grammatical yet dangerous; see the package comment.
type Flaw struct {
	Kind   FlawKind
	Offset int
}

// A SyntaxError says where the bytes stop being JSON, and why.
type SyntaxError struct {
	Offset  int
	Pointer string // RFC 6901; "" is the whole document
	Reason  string
}

func (e *SyntaxError) Error() string {
	at := e.Pointer
	if at == "" {
		at = "the top level"
	}
	if n := len(at); n > 200 { // a deep one would bury the reason
		at = at[:100] + "…" + at[n-100:]
	}
	if e.Reason == TooMany {
		return fmt.Sprintf("no history: at byte %d, in %s, there are %s", e.Offset, at, e.Reason)
	}
	return fmt.Sprintf("invalid JSON at byte %d, in %s: %s", e.Offset, at, e.Reason)
}

// A Scanner walks one JSON document by pulling: ask for the kind of the next
// value, enter it or skip it. After the first error every call does nothing and
// Err reports it, so a walk needs one check at its end.
type Scanner struct {
	data   []byte
	pos    int
	depth  int
	strict bool
	fresh  bool // nothing read yet in the container just entered

	scanned       bool // before: keys need not be compared
	keyEscaped    bool // the key read last has an escape
	anyKeyEscaped bool // some key of the document has
	err           *SyntaxError
	flaws         []Flaw
	unlisted      int      // flaws behind those
	keys          []Span   // keys of the open objects, innermost last
	marks         []mark   // one for each open object
	stack         bitStack // container kinds inside skip
	index         *index   // nil: there was none so far
	ahead         *index   // nil: strings are read one by one
}

// Reset makes s ready to scan data, keeping its buffers.
func (s *Scanner) Reset(data []byte, mode Mode) {
	s.data, s.pos, s.depth = data, 0, 0
	s.strict, s.fresh, s.scanned, s.anyKeyEscaped = mode == Strict, false, false, false
	s.err, s.flaws, s.unlisted, s.keys, s.marks = nil, nil, 0, s.keys[:0], s.marks[:0]
	s.ahead = nil
}

// scanners are those that nobody has borrowed.
var scanners = sync.Pool{New: func() any { return new(Scanner) }}

// Borrow returns a scanner that is ready to scan data, for those who scan something short
// now and then: a new one would take more time than the scan. It is given back by Return.
func Borrow(data []byte, mode Mode) *Scanner {
	s := scanners.Get().(*Scanner)
	s.Reset(data, mode)
	return s
}

// Return gives back a scanner that was borrowed; it must not be used any more.
func (s *Scanner) Return() {
	s.Reset(nil, Structural) // let go of the data
	scanners.Put(s)
}

// ReadAhead makes s look for the ends of strings in one pass ahead of the walk, until it
// is reset. That is faster for a document that is read to its end and has many strings.
func (s *Scanner) ReadAhead() {
	if s.index == nil {
		s.index = new(index)
	}
	s.ahead = s.index
	s.ahead.reset(s.strict)
}

// Err returns the first error, with its pointer worked out.
func (s *Scanner) Err() error {
	if s.err == nil {
		return nil
	}
	if s.err.Pointer == "" {
		s.err.Pointer = PointerAt(s.data, s.err.Offset)
	}
	return s.err
}

// Failed reports whether the scan has stopped.
func (s *Scanner) Failed() bool { return s.err != nil }

// Torn reports whether the scan has stopped because the data ends: nothing in it is wrong,
// and more of it might make it whole.
func (s *Scanner) Torn() bool { return s.err != nil && s.err.Offset == len(s.data) }

// Flaws lists what is grammatical yet dangerous, in order of detection.
func (s *Scanner) Flaws() []Flaw { return s.flaws }

// Unlisted is how many flaws there are behind those that are listed.
func (s *Scanner) Unlisted() int { return s.unlisted }

// Offset is the position of the next unread byte.
func (s *Scanner) Offset() int { return s.pos }

// Depth is how many objects and lists are open.
func (s *Scanner) Depth() int { return s.depth }

// Seek goes on at an offset, at a depth, for a caller who knows what lies in front of it: a
// value, or what follows one. It is not for a scanner that reads ahead.
func (s *Scanner) Seek(offset, depth int) { s.pos, s.depth, s.fresh = offset, depth, false }

func (s *Scanner) fail(offset int, reason string) {
	if s.err == nil {
		s.err = &SyntaxError{Offset: offset, Reason: reason}
	}
	s.pos = len(s.data)
}

// TooMany is why a scan has stopped that [Scanner.Stop] ended.
const TooMany = "more messages, blocks or faults than are looked at"

// Stop ends the scan here, because there are too many values.
func (s *Scanner) Stop() { s.fail(s.pos, TooMany) }

func (s *Scanner) flaw(k FlawKind, offset int) {
	if len(s.flaws) < maxFlaws {
		s.flaws = append(s.flaws, Flaw{k, offset})
	} else {
		s.unlisted++
	}
}

// space skips white space.
func (s *Scanner) space() {
	data, i := s.data, s.pos
	for i < len(data) && data[i] <= ' ' && isSpace(data[i]) {
		i++
	}
	s.pos = i
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// Peek returns the kind of the next value without reading it.
func (s *Scanner) Peek() Kind {
	if s.err != nil {
		return Invalid
	}
	s.space()
	if s.pos >= len(s.data) {
		return Invalid
	}
	return kindOf[s.data[s.pos]]
}

var kindOf = [256]Kind{
	'{': Object, '[': Array, '"': String, 't': Bool, 'f': Bool, 'n': Null,
	'-': Number, '0': Number, '1': Number, '2': Number, '3': Number, '4': Number,
	'5': Number, '6': Number, '7': Number, '8': Number, '9': Number,
}

// Enter reads the opening bracket of the next value, an object or a list. It
// returns false, without having read anything, for any other value.
func (s *Scanner) Enter() bool {
	k := s.Peek()
	if k != Object && k != Array {
		return false
	}
	s.pos++
	if s.depth++; s.depth > MaxDepth {
		s.fail(s.pos-1, tooDeep)
		return false
	}
	if k == Object && !s.scanned {
		s.marks = append(s.marks, mark{keys: len(s.keys)})
	}
	s.fresh = true
	return true
}

// Element moves to the next element of the entered list. It returns false at the
// end of the list, which it reads.
func (s *Scanner) Element() bool { return s.next(']') }

// next reads the comma before a member or element, or the closing bracket.
func (s *Scanner) next(closing byte) bool {
	if s.err != nil {
		return false
	}
	s.space()
	if s.pos >= len(s.data) {
		s.fail(s.pos, truncated)
		return false
	}
	c, fresh := s.data[s.pos], s.fresh
	s.fresh = false
	if c == closing {
		s.pos++
		s.depth--
		return false
	}
	if fresh {
		return true
	}
	if c != ',' {
		s.fail(s.pos, s.insteadOf("a comma or '"+string(closing)+"'"))
		return false
	}
	comma := s.pos
	s.pos++
	s.space()
	if s.pos < len(s.data) && s.data[s.pos] == closing {
		s.fail(comma, "a comma with nothing after it")
		return false
	}
	return true
}

// Skip reads the next value, whatever it is, and returns its span, quotes and
// brackets included.
func (s *Scanner) Skip() Span {
	k := s.Peek()
	start := s.pos
	switch k {
	case String:
		s.str()
	case Object, Array:
		s.skipContainer()
	default:
		s.scalar(k)
	}
	return Span{start, s.pos}
}

// End checks that nothing but white space follows.
func (s *Scanner) End() {
	if s.err != nil {
		return
	}
	s.space()
	if s.pos < len(s.data) {
		s.fail(s.pos, "more data after the end of the document")
	}
}

const (
	truncated = "the document ends in the middle of a value"
	tooDeep   = "values nest deeper than 10000 levels"
	midString = "the document ends in the middle of a string"
	notUTF8   = "bytes that are not UTF-8"
)

// insteadOf describes what stands at the position where want was expected.
func (s *Scanner) insteadOf(want string) string {
	if s.pos >= len(s.data) {
		return truncated
	}
	return "expected " + want + ", found " + sign(s.data[s.pos:])
}

// str reads the string that starts at pos.
func (s *Scanner) str() Span {
	start := s.pos + 1
	if x := s.ahead; x != nil {
		if end := x.end(); end >= 0 {
			x.next += 2
			s.pos = end + 1
			return Span{start, end}
		}
		return s.aheadEnd(start)
	}
	end := s.stringEnd(start)
	if end < 0 {
		return Span{start, start}
	}
	s.pos = end + 1
	return Span{start, end}
}

// stringEnd returns the offset of the quote that ends the string whose content
// starts at i, or -1 after an error.
func (s *Scanner) stringEnd(i int) int {
	// Most strings that the index looks at are short: keys, roles, types, ids.
	data := s.data
	short := min(i+16, len(data))
	for j := i; j < short; j++ {
		c := data[j]
		if c == '"' {
			return j
		}
		if c == '\\' || c < ' ' || c >= 0x80 {
			break
		}
	}
	if s.strict {
		return s.strictEnd(i)
	}
	return s.structuralEnd(i)
}

// structuralEnd looks for quotes only, and counts the backslashes before each.
// A run of backslashes ends at the quote before it, so the counting is linear.
func (s *Scanner) structuralEnd(i int) int {
	data := s.data
	i = structuralRun(data, i)
	for j := i; ; j++ {
		n := bytes.IndexByte(data[j:], '"')
		if n < 0 {
			s.fail(len(data), midString)
			return -1
		}
		j += n
		k := j
		for k > i && data[k-1] == '\\' {
			k--
		}
		if (j-k)&1 == 0 {
			return j
		}
	}
}

// skipContainer reads the object or list at pos with everything in it. The kinds
// of the open containers are bits, so depth costs neither stack nor allocation.
func (s *Scanner) skipContainer() {
	base := s.depth
	outer := len(s.marks)
	obj := false
	for {
		// Here a value starts.
		s.space()
		if s.pos >= len(s.data) {
			s.fail(s.pos, truncated)
			return
		}
		switch c := s.data[s.pos]; c {
		case '{', '[':
			s.pos++
			if s.depth++; s.depth > MaxDepth {
				s.fail(s.pos-1, tooDeep)
				return
			}
			s.stack.set(s.depth, obj)
			obj = c == '{'
			if obj && s.strict {
				s.marks = append(s.marks, mark{keys: len(s.keys)})
			}
			s.fresh = true
		case '"':
			s.str()
		default:
			s.scalar(kindOf[c])
		}
		if s.err != nil {
			return
		}
		// Close what ends here, then step to the next value.
		for {
			if obj {
				if s.skipKey() {
					break
				}
			} else if s.next(']') {
				break
			}
			if s.err != nil {
				return
			}
			obj = s.stack.get(s.depth + 1)
			if s.depth == base {
				s.marks = s.marks[:outer]
				return
			}
		}
	}
}

// skipKey is Key for objects nobody looks into: their keys are compared in
// strict mode only.
func (s *Scanner) skipKey() bool {
	if s.strict {
		_, ok := s.Key()
		return ok
	}
	if !s.next('}') {
		return false
	}
	if s.pos >= len(s.data) || s.data[s.pos] != '"' {
		s.fail(s.pos, s.insteadOf("a key in double quotes"))
		return false
	}
	s.str()
	s.space()
	if s.err != nil {
		return false
	}
	if s.pos >= len(s.data) || s.data[s.pos] != ':' {
		s.fail(s.pos, s.insteadOf("a colon after the key"))
		return false
	}
	s.pos++
	return true
}

// A bitStack holds one bit per level of nesting.
type bitStack [MaxDepth/64 + 1]uint64

func (b *bitStack) set(i int, v bool) {
	if v {
		b[i>>6] |= 1 << (i & 63)
		return
	}
	b[i>>6] &^= 1 << (i & 63)
}

func (b *bitStack) get(i int) bool { return b[i>>6]>>(i&63)&1 == 1 }
