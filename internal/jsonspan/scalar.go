package jsonspan

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// scalar reads a number or a literal.
func (s *Scanner) scalar(k Kind) {
	if s.err != nil {
		return
	}
	if s.pos >= len(s.data) {
		s.fail(s.pos, truncated)
		return
	}
	end, reason := scalarEnd(s.data, s.pos, k)
	if reason != "" {
		s.fail(end, reason)
		return
	}
	s.pos = end
}

// scalarEnd returns the offset behind the scalar of kind k at i, or the offset
// of the fault and a reason.
func scalarEnd(data []byte, i int, k Kind) (int, string) {
	switch k {
	case Number:
		return numberEnd(data, i)
	case Bool, Null:
		word := "null"
		switch data[i] {
		case 't':
			word = "true"
		case 'f':
			word = "false"
		}
		for j := range len(word) {
			if i+j >= len(data) {
				return len(data), truncated
			}
			if data[i+j] != word[j] {
				return i + j, "not a literal: expected " + word
			}
		}
		return i + len(word), ""
	}
	return i, "expected a value, found " + sign(data[i:])
}

// sign is the sign that data begin with, in quotes; a byte that begins none as it is.
func sign(data []byte) string {
	if r, n := utf8.DecodeRune(data); r != utf8.RuneError || n > 1 {
		return strconv.QuoteRune(r)
	}
	return fmt.Sprintf(`'\x%02x'`, data[0])
}

func numberEnd(data []byte, i int) (int, string) {
	if data[i] == '-' {
		i++
	}
	switch {
	case i >= len(data):
		return i, truncated
	case data[i] == '0':
		i++
	case data[i] >= '1' && data[i] <= '9':
		i = digits(data, i)
	default:
		return i, "a number needs a digit here"
	}
	if i < len(data) && data[i] == '.' {
		j := digits(data, i+1)
		if j == i+1 {
			return j, "a number needs a digit after its point"
		}
		i = j
	}
	if i < len(data) && data[i]|0x20 == 'e' {
		i++
		if i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		j := digits(data, i)
		if j == i {
			return j, "a number needs a digit in its exponent"
		}
		i = j
	}
	return i, ""
}

func digits(data []byte, i int) int {
	for i < len(data) && data[i] >= '0' && data[i] <= '9' {
		i++
	}
	return i
}
