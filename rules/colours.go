package rules

import "strings"

// stripColors removes the sequences that color text on a terminal. Where every word has its own,
// they are a large part of the text.
func stripColors(text string) string {
	at := strings.IndexByte(text, escape)
	if at < 0 {
		return text
	}
	var out strings.Builder
	for ; at >= 0; at = strings.IndexByte(text, escape) {
		out.WriteString(text[:at])
		text = text[at:]
		n := colorSequenceLen(text)
		if n == 0 { // another kind of sequence
			out.WriteByte(escape)
			n = 1
		}
		text = text[n:]
	}
	out.WriteString(text)
	return out.String()
}

const escape = 0x1b

// colorSequenceLen returns the length of the color sequence at the start of text, or 0.
func colorSequenceLen(text string) int {
	if len(text) < 3 || text[1] != '[' {
		return 0
	}
	for i := 2; i < len(text) && i < 32; i++ {
		switch c := text[i]; {
		case c >= '0' && c <= '9', c == ';', c == ':':
		case c == 'm', c == 'K':
			return i + 1
		default:
			return 0
		}
	}
	return 0
}
