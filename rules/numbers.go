package rules

import "strings"

// Line numbers take a fifth of the output of tools that show files. The first and every tenth
// are enough for the model.
const (
	fewestNumbered = 20 // lines
	numberedEvery  = 10
)

// numberSigns are the separators between the number of a line and its text.
var numberSigns = []string{"→", "\t", "| ", "|", ": "}

// lineNumberOf parses the number at the start of a line. The text of the line begins at end, which
// is 0 if there is no number.
func lineNumberOf(line, sign string) (n, end int) {
	i := 0
	for i < len(line) && line[i] == ' ' {
		i++
	}
	from := i
	for i < len(line) && line[i] >= '0' && line[i] <= '9' && i-from < 8 {
		n = 10*n + int(line[i]-'0')
		i++
	}
	if i == from || !strings.HasPrefix(line[i:], sign) {
		return 0, 0
	}
	return n, i + len(sign)
}

// stripLineNumbers removes line numbers from the text of a file, except for the first and every
// tenth. The numbers must be consecutive from the first line on, or from the second if the first
// opens an XML element. Text after the numbered lines stays. If there are fewer than 20 numbered
// lines, stripLineNumbers returns the text unchanged.
func stripLineNumbers(text string) string {
	at := 0
	if strings.HasPrefix(text, "<") {
		at = strings.IndexByte(text, '\n') + 1
	}
	for _, sign := range numberSigns {
		if _, end := lineNumberOf(text[at:], sign); end > 0 {
			return stripLineNumbersBy(text, at, sign)
		}
	}
	return text
}

func stripLineNumbersBy(text string, at int, sign string) string {
	out := append(make([]byte, 0, len(text)), text[:at]...)
	want, lines := 0, 0
	for line := range strings.Lines(text[at:]) {
		n, end := lineNumberOf(line, sign)
		if end == 0 || lines > 0 && n != want {
			break
		}
		if lines > 0 && n%numberedEvery != 0 {
			out = append(out, line[end:]...)
		} else {
			out = append(out, line...)
		}
		want, at, lines = n+1, at+len(line), lines+1
	}
	if lines < fewestNumbered {
		return text
	}
	return string(append(out, text[at:]...))
}
