package rules

import (
	"bytes"
	"hash/maphash"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/jsonspan"
	"github.com/pare-llm/pare/transcript"
)

// arguments returns the arguments of a call as JSON, or as plain text for a tool that takes text.
// It returns nil if the call has none. The result is valid until the next call of arguments.
func (s *historyView) arguments(call transcript.BlockID) []byte {
	args, _ := s.firstArguments(call, math.MaxInt)
	return args
}

// firstArguments returns about the first n bytes of the arguments, decoded, and whether those are
// all of them.
func (s *historyView) firstArguments(call transcript.BlockID, n int) (args []byte, all bool) {
	b := s.t.Block(call)
	raw := s.t.Bytes(b.Body)
	switch {
	case b.Body == b.Span:
		return nil, true
	case !isQuoted(s.t, b.Body):
		return raw, true
	}
	if len(raw) > n {
		raw = raw[:n]
	} else {
		all = true
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw, all
	}
	s.argumentBuffer = jsonspan.Decode(s.argumentBuffer[:0], raw)
	return s.argumentBuffer, all
}

// readCall parses the arguments of a call. If only the path matters, it does not decode the rest,
// which may be long.
func (s *historyView) readCall(k *numberedTool, x *transcript.Exchange) callUse {
	if k.onlyPathMatters {
		const enough = 512
		args, all := s.firstArguments(x.Call, enough)
		if u := s.parseCall(k, args); all || u.isPathFinal {
			return u
		}
	}
	return s.parseCall(k, s.arguments(x.Call))
}

// canonicalArguments returns the arguments in a form that does not depend on their spelling.
func (s *historyView) canonicalArguments(call transcript.BlockID) []byte {
	args := s.arguments(call)
	if i := skipSpace(args, 0); i < len(args) && args[i] == '{' {
		return dialect.Canonical(args)
	}
	return args
}

// isQuoted reports whether a body is the content of a JSON string.
func isQuoted(t *transcript.Transcript, body transcript.Span) bool {
	return body.Start > 0 && t.Raw()[body.Start-1] == '"' // the end of the string need not be read
}

// memberScanner reads the members of a JSON object in order:
//
//	for m := scanMembers(obj); m.next(); { … m.key, m.value … }
//
// It stops where the bytes are no longer an object, because models do not always write JSON.
type memberScanner struct {
	obj        []byte
	at         int
	key, value []byte // the key decoded, the value as JSON
}

func scanMembers(obj []byte) memberScanner {
	i := skipSpace(obj, 0)
	if i >= len(obj) || obj[i] != '{' {
		i = len(obj)
	}
	return memberScanner{obj: obj, at: i}
}

func (m *memberScanner) next() bool {
	if !m.readName() {
		return false
	}
	from := m.at
	to := skipValue(m.obj, from)
	if to <= from {
		return false
	}
	m.value = m.obj[from:to]
	if m.at = skipSpace(m.obj, to); m.at < len(m.obj) && m.obj[m.at] != ',' {
		m.at = len(m.obj)
	}
	return true
}

// readName reads the next name and stops before its value.
func (m *memberScanner) readName() bool {
	m.key = nil
	i := skipSpace(m.obj, m.at+1)
	if i >= len(m.obj) || m.obj[i] != '"' {
		return false
	}
	end := skipString(m.obj, i)
	colon := skipSpace(m.obj, end)
	if colon >= len(m.obj) || m.obj[colon] != ':' {
		return false
	}
	m.key, m.at = m.obj[i+1:end-1], skipSpace(m.obj, colon+1)
	if bytes.IndexByte(m.key, '\\') >= 0 {
		m.key = jsonspan.Decode(nil, m.key)
	}
	return true
}

// isOneOf reports whether the member has one of the names.
func (m *memberScanner) isOneOf(names []string) bool { return m.rank(names) >= 0 }

// isNamed reports whether the member has the given name or, if that is empty, one of the usual
// names.
func (m *memberScanner) isNamed(given string, usual []string) bool {
	if given != "" {
		return string(m.key) == given
	}
	return m.isOneOf(usual)
}

// rank returns the index of the member's name in a list, or -1.
func (m *memberScanner) rank(names []string) int {
	for i, n := range names {
		if string(m.key) == n {
			return i
		}
	}
	return -1
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the offset after the string that begins at i.
func skipString(b []byte, i int) int {
	for i++; ; i++ {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return len(b)
		}
		i += n
		// A quote is escaped by an odd number of backslashes before it.
		slashes := 0
		for b[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1
		}
	}
}

// skipValue returns the offset after the value that begins at i.
func skipValue(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			i = skipString(b, i)
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return i
}

// unquoteString returns the text of a JSON string, or any other value unchanged.
func unquoteString(v []byte) string {
	if len(v) < 2 || v[0] != '"' {
		return string(v)
	}
	if bytes.IndexByte(v, '\\') < 0 {
		return string(v[1 : len(v)-1])
	}
	return string(jsonspan.Decode(nil, v[1:len(v)-1]))
}

// parseLineNumber parses a line number. Models also write numbers as strings.
func parseLineNumber(v []byte) (int, bool) {
	if len(v) < 10 && !slices.ContainsFunc(v, func(c byte) bool { return c < '0' || c > '9' }) {
		n := 0
		for _, c := range v {
			n = 10*n + int(c-'0')
		}
		return n, len(v) > 0
	}
	n, err := strconv.ParseFloat(unquoteString(v), 64)
	if err != nil || n != float64(int32(n)) {
		return 0, false
	}
	return int(n), true
}

// jsonLength returns the length of s as the content of a JSON string.
func jsonLength(s string) int {
	n := len(s)
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"', c == '\\', c == '\n', c == '\t', c == '\r':
			n++
		case c < ' ':
			n += 5
		}
	}
	return n
}

// argumentsSize returns the size of the decoded arguments, independent of their spelling.
func argumentsSize(args []byte) int {
	size, n := 0, 0
	for m := scanMembers(args); m.next(); n++ {
		if size += len(m.key); m.value[0] == '"' {
			n, _ := jsonspan.DecodedLen(m.value[1 : len(m.value)-1])
			size += n
		} else if m.value[0] == '{' || m.value[0] == '[' {
			size += len(dialect.Canonical(m.value))
		} else {
			size += len(m.value)
		}
	}
	if n == 0 {
		return len(args)
	}
	return size
}

// hashArguments returns the same hash for arguments that are canonically equal: the order of
// members and the spelling of strings do not matter.
func hashArguments(args []byte) uint64 {
	sum, n := uint64(0), 0
	for m := scanMembers(args); m.next(); n++ {
		sum += maphash.Bytes(seed, m.key)*31 + hashValue(m.value)
	}
	if n == 0 {
		return maphash.Bytes(seed, bytes.TrimSpace(args))
	}
	return sum
}

// hashValue hashes only the beginning of a string, up to the first character beyond ASCII. That is
// cheap to decode and distinguishes most strings.
func hashValue(v []byte) uint64 {
	if v[0] == '{' || v[0] == '[' {
		return 0
	}
	if v[0] != '"' {
		return maphash.Bytes(seed, v)
	}
	const enough = 128
	var text [enough]byte
	n := 0
	for i := 1; i < len(v) && n < enough && v[i] != '"' && v[i] < utf8.RuneSelf; i++ {
		c := v[i]
		if c == '\\' {
			r, size := jsonspan.Unescape(v[i:])
			if size == 0 || r >= utf8.RuneSelf {
				break
			}
			c, i = byte(r), i+size-1
		}
		text[n] = c
		n++
	}
	return maphash.Bytes(seed, text[:n])
}
