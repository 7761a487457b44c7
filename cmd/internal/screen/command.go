package screen

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/pare-llm/pare/internal/plain"
)

type Command struct{ line string }

func NewCommand(words ...string) Command { return Command{}.Words(words...) }

func (c Command) Words(words ...string) Command {
	for _, w := range words {
		c = c.add(QuoteWord(w))
	}
	return c
}

func (c Command) Files(names ...string) Command {
	for _, n := range names {
		c = c.add(QuoteFile(n))
	}
	return c
}

// HomeFile returns the command with the path of a file relative to the home folder.
func (c Command) HomeFile(name string) Command {
	if name == "" {
		return c.add("~")
	}
	return c.add("~/" + QuoteWord(name))
}

func (c Command) Assign(name, value string) Command {
	return c.add(QuoteWord(name) + "=" + QuoteWord(value))
}

// Input returns the command with its standard input redirected from a file.
func (c Command) Input(name string) Command { return c.add("< " + QuoteFile(name)) }

func (c Command) Then(next Command) Command { return c.add("&& " + next.line) }

func (c Command) add(quoted string) Command {
	if c.line == "" {
		return Command{quoted}
	}
	return Command{c.line + " " + quoted}
}

func (c Command) IsZero() bool { return c.line == "" }

func (c Command) String() string { return c.line }

// FillFileName returns an advice with the word FILE replaced by the name of a file.
func FillFileName(advice, name string) string {
	return strings.ReplaceAll(advice, "FILE", QuoteFile(name))
}

// QuoteFile quotes the name of a file for a command. A name that begins with a dash gets its
// folder, so that it is not taken for a flag.
func QuoteFile(name string) string {
	if strings.HasPrefix(name, "-") {
		name = "./" + name
	}
	return QuoteWord(name)
}

// QuoteWord quotes a word of a command for the shells of this system.
func QuoteWord(word string) string {
	if runtime.GOOS == "windows" {
		return windowsWord(word)
	}
	return posixWord(word)
}

func isBare(word, punctuation string) bool {
	for _, r := range word {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && !strings.ContainsRune(punctuation, r) {
			return false
		}
	}
	return word != "" && word[0] != '='
}

func posixWord(word string) string {
	switch {
	case isBare(word, "._-/+,:@%="):
		return word
	case plain.Line(word) == word:
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	case strings.HasSuffix(word, "\n"):
		return "$'" + strings.ReplaceAll(escapePrintf(word), "%%", "%") + "'"
	}
	return `"$(printf '` + escapePrintf(word) + `')"`
}

// escapePrintf returns a word as a format for printf that needs no quotes.
func escapePrintf(word string) string {
	var b strings.Builder
	for i, c := range []byte(word) {
		switch {
		case c == '%':
			b.WriteString("%%")
		case c == '\'' || c == '\\' || c < ' ' || c >= 0x7f || c == '-' && i == 0:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// unquotable replaces a word that no quotes protect in both shells of Windows.
const unquotable = "NAME"

func windowsWord(word string) string {
	switch {
	case isBare(word, `._-/\+:`):
		return word
	case plain.Line(word) != word || strings.ContainsAny(word, "\"“”„$`%!\n"):
		return unquotable
	}
	if trimmed := strings.TrimRight(word, `\`); trimmed != word {
		word += word[len(trimmed):]
	}
	return `"` + word + `"`
}
