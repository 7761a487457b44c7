package jsonspan

// Most objects of a history are written by the same few clients, so it is known how they
// begin. What comes as predicted is compared as a whole; what does not is read as ever. All
// of this works on strings that are indexed already, so that one can go back.

// A Bookmark is a place to go back to, until anything but a prediction has been read.
type Bookmark struct{ pos, next int }

// Here returns the place of the next unread byte. So that what is predicted behind it does not
// end with the index, there are some strings ahead of it, if that is possible.
func (s *Scanner) Here() Bookmark {
	x := s.ahead
	if x == nil {
		return Bookmark{pos: s.pos}
	}
	if x.n-x.next < fewAhead {
		x.topUp(s.data)
	}
	return Bookmark{s.pos, x.next}
}

// fewAhead is twice as many strings as the usual ones of a block.
const fewAhead = 32

// topUp indexes one more piece.
func (x *index) topUp(data []byte) {
	if x.pos >= 0 && x.pos < len(data) && x.reason == "" {
		x.more(data)
	}
}

// Back goes back.
func (s *Scanner) Back(b Bookmark) {
	s.pos = b.pos
	if s.ahead != nil {
		s.ahead.next = b.next
	}
}

// Predict reads text if that is what comes next. It has so many strings, all of them whole
// and plain.
func (s *Scanner) Predict(text string, strings int) bool {
	x, end := s.ahead, s.pos+len(text)
	if x == nil || len(x.lone) > 0 || x.next+2*strings > x.n || end > len(s.data) || string(s.data[s.pos:end]) != text {
		return false
	}
	x.next += 2 * strings
	s.pos = end
	return true
}

// Known reads a string if one comes next and it is known where it ends.
func (s *Scanner) Known() (Span, bool) {
	if x, i := s.ahead, s.pos; x != nil && i < len(s.data) && s.data[i] == '"' {
		if end := x.end(); end >= 0 {
			x.next += 2
			s.pos = end + 1
			return Span{i + 1, end}, true
		}
	}
	return Span{}, false
}

// Closes reads the end of an object that was predicted up to here, if it comes next.
func (s *Scanner) Closes() bool {
	if s.pos < len(s.data) && s.data[s.pos] == '}' {
		s.pos++
		s.fresh = false
		return true
	}
	return false
}

// Descend says that an object was predicted, whose next value is about to be read. Ascend
// is its end, if that comes next.
func (s *Scanner) Descend() {
	if s.depth++; s.depth > MaxDepth {
		s.fail(s.pos, tooDeep)
	}
}

// Ascend reads the end of an object that was descended into, if it comes next.
func (s *Scanner) Ascend() bool {
	if !s.Closes() {
		return false
	}
	s.depth--
	return true
}

// Resume goes on with an object that was descended into, by [Scanner.Key]: it has had these
// keys.
func (s *Scanner) Resume(keys ...Span) {
	s.fresh = false
	if s.scanned {
		return
	}
	s.marks = append(s.marks, mark{keys: len(s.keys)})
	for _, k := range keys {
		s.noteKey(k)
	}
}

// A Pair is a key and its value, a string; both without their quotes.
type Pair struct{ Key, Value Span }

// Strings reads an object of a few strings without a space between them, all of whose keys
// differ at a glance, into pairs, and returns those that it has. If these are none, it has
// read nothing.
func (s *Scanner) Strings(pairs []Pair) []Pair {
	x, data, i := s.ahead, s.data, s.pos
	if x == nil || len(x.lone) > 0 || s.depth >= MaxDepth || i >= len(data) || data[i] != '{' {
		return nil
	}
	next, base, kinds := x.next, uint32(x.base), uint64(0)
	for n := range pairs {
		if next+3 >= x.n {
			return nil
		}
		at := (*[4]uint32)(x.at[next:])
		key := Span{x.base + int(at[0]-base) + 1, x.base + int(at[1]-base)}
		value := Span{x.base + int(at[2]-base) + 1, x.base + int(at[3]-base)}
		if key.Start != i+2 || value.Start != key.End+3 || data[key.End+1] != ':' || value.End+1 >= len(data) {
			return nil
		}
		kind := kindOfKey(data[key.Start:key.End])
		if kinds&kind != 0 || s.escapedKey(key) {
			return nil
		}
		kinds |= kind
		pairs[n] = Pair{key, value}
		next += 4
		i = value.End + 1
		switch data[i] {
		case ',':
		case '}':
			x.next, s.pos, s.fresh = next, i+1, false
			return pairs[:n+1]
		default:
			return nil
		}
	}
	return nil
}

// flat reads an object of strings and digits without a space between them, all of whose keys
// differ at a glance: the arguments of most calls. If it reports false, it has read nothing.
func (s *Scanner) flat() bool {
	x, data, i, next := s.ahead, s.data, s.pos+1, s.ahead.next
	if len(x.lone) > 0 || s.depth >= MaxDepth {
		return false
	}
	str := func() bool { // the string at i
		if i >= len(data) || data[i] != '"' || next+1 >= x.n {
			return false
		}
		i = x.base + int(x.at[(next+1)&(indexRoom-1)]-uint32(x.base)) + 1
		next += 2
		return true
	}
	var kinds uint64
	for {
		start := i + 1
		if !str() || i >= len(data) || data[i] != ':' {
			return false
		}
		key := Span{start, i - 1}
		kind := kindOfKey(data[key.Start:key.End])
		if kinds&kind != 0 || s.escapedKey(key) {
			return false
		}
		kinds |= kind
		i++
		if i < len(data) && data[i]-'1' <= '9'-'1' {
			i = digits(data, i)
		} else if !str() {
			return false
		}
		if i >= len(data) {
			return false
		}
		switch data[i] {
		case ',':
			i++
		case '}':
			x.next, s.pos, s.fresh = next, i+1, false
			return true
		default:
			return false
		}
	}
}
