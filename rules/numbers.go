package rules

import "strings"

// Tools that show a file number its lines, and the numbers take a fifth of what they print. The
// first and every tenth tell the model where it is.

const (
	fewestNumbered = 20 // lines that are worth it
	numberedEvery  = 10
)

// numberSigns stand between the number of a line and its text.
var numberSigns = []string{"→", "\t", "| ", "|", ": "}

// numbering reads the number that a line begins with; end is where its text begins, 0 without one.
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

// unnumber takes the numbers off the lines of a file, but for the first and every tenth. The lines
// are numbered one by one from the first line of the text on, or from the second if the first one
// opens an element; what stands behind them stays as it is. The text is returned as it was if there
// are few, or if that leaves nothing out.
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
