package rules

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// arguments returns the arguments of a call as JSON, or as the text of a tool that
// takes one; nil if it has none.
func arguments(t *transcript.Transcript, call transcript.BlockID) []byte {
	b := t.Block(call)
	switch {
	case b.Body == b.Span:
		return nil
	case !quoted(t, b.Body):
		return t.Bytes(b.Body)
	case bytes.IndexByte(t.Bytes(b.Body), '\\') < 0:
		return t.Bytes(b.Body)
	}
	return []byte(wire.Text(t, call))
}

// canonicalArgs returns the arguments in a form that does not depend on how they
// are written, for what is measured and quoted.
func canonicalArgs(t *transcript.Transcript, call transcript.BlockID) []byte {
	args := arguments(t, call)
	if i := space(args, 0); i < len(args) && args[i] == '{' {
		return wire.Canonical(args)
	}
	return args
}

// quoted reports whether a body is the inside of a string.
func quoted(t *transcript.Transcript, body transcript.Span) bool {
	raw := t.Raw()
	return body.Start > 0 && raw[body.Start-1] == '"' && body.End < len(raw) && raw[body.End] == '"'
}

// members yields the members of a JSON object, in order, values as they are
// written. It stops where the bytes stop being an object: what a model wrote need
// not be JSON.
func members(obj []byte, yield func(key string, value []byte)) {
	i := space(obj, 0)
	if i >= len(obj) || obj[i] != '{' {
		return
	}
	for i = space(obj, i+1); i < len(obj) && obj[i] == '"'; i = space(obj, i+1) {
		end := skipString(obj, i)
		colon := space(obj, end)
		if colon >= len(obj) || obj[colon] != ':' {
			return
		}
		from := space(obj, colon+1)
		to := skipValue(obj, from)
		if to <= from {
			return
		}
		yield(unquote(obj[i:end]), obj[from:to])
		if i = space(obj, to); i >= len(obj) || obj[i] != ',' {
			return
		}
	}
}

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the offset behind the string that begins at i.
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

// skipValue returns the offset behind the value that begins at i.
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

// unquote returns the text of a JSON string, and anything else as it is written.
func unquote(v []byte) string {
	if len(v) < 2 || v[0] != '"' {
		return string(v)
	}
	if bytes.IndexByte(v, '\\') < 0 {
		return string(v[1 : len(v)-1])
	}
	var s string
	if json.Unmarshal(v, &s) != nil {
		return string(v[1 : len(v)-1])
	}
	return s
}

// number reads a line number, also one that a model put into a string.
func number(v []byte) (int, bool) {
	n, err := strconv.ParseFloat(unquote(v), 64)
	if err != nil || n != float64(int32(n)) {
		return 0, false
	}
	return int(n), true
}

// jsonLen is how long a text is as the content of a JSON string.
func jsonLen(s string) int {
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

// escaped decodes the escape that raw begins with. Its size is 0 if it is none, or
// none of an ASCII character.
func escaped(raw []byte) (c byte, size int) {
	if len(raw) < 2 {
		return 0, 0
	}
	if i := strings.IndexByte(`"\/bfnrt`, raw[1]); i >= 0 {
		return "\"\\/\b\f\n\r\t"[i], 2
	}
	if raw[1] != 'u' || len(raw) < 6 || raw[2] != '0' || raw[3] != '0' || raw[4] < '0' || raw[4] > '7' {
		return 0, 0
	}
	n, err := strconv.ParseUint(string(raw[4:6]), 16, 8)
	if err != nil {
		return 0, 0
	}
	return byte(n), 6
}
