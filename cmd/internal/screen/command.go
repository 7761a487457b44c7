package screen

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/pare-llm/pare/internal/plain"
)

// A Command is a line to copy into a shell. Its words are quoted, so that the shell passes each on
// as it is, on one line and without characters that a terminal obeys. The zero value is no command.
type Command struct{ line string }

// NewCommand returns the command of a program and its words.
func NewCommand(words ...string) Command { return Command{}.Words(words...) }

// Words returns the command with more words.
func (c Command) Words(words ...string) Command {
	for _, w := range words {
		c = c.add(QuoteWord(w))
	}
	return c
}

// Files returns the command with the names of files, which are no flags.
func (c Command) Files(names ...string) Command {
	for _, n := range names {
		c = c.add(QuoteFile(n))
	}
	return c
}

// HomeFile returns the command with the name of a file that is relative to the home folder.
func (c Command) HomeFile(name string) Command {
	if name == "" {
		return c.add("~")
	}
	return c.add("~/" + QuoteWord(name))
}

// Assign returns the command with a variable and its value, for export and alias.
func (c Command) Assign(name, value string) Command {
	return c.add(QuoteWord(name) + "=" + QuoteWord(value))
}

// Input returns the command with its standard input from a file.
func (c Command) Input(name string) Command { return c.add("< " + QuoteFile(name)) }

// Then returns a line that runs next if the command succeeds.
func (c Command) Then(next Command) Command { return c.add("&& " + next.line) }

func (c Command) add(quoted string) Command {
	if c.line == "" {
		return Command{quoted}
	}
	return Command{c.line + " " + quoted}
}

// IsZero reports whether there is no command.
func (c Command) IsZero() bool { return c.line == "" }

// String returns the line.
func (c Command) String() string { return c.line }

// ForFile returns an advice with the name of a file in the place of the word FILE.
func FillFileName(advice, name string) string {
	return strings.ReplaceAll(advice, "FILE", QuoteFile(name))
}

// File quotes the name of a file for a command. A name that begins with a dash gets its folder, so
// that it is no flag.
func QuoteFile(name string) string {
	if strings.HasPrefix(name, "-") {
		name = "./" + name
	}
	return QuoteWord(name)
}

// Word quotes a word of a command for the shells of this system.
func QuoteWord(word string) string {
	if runtime.GOOS == "windows" {
		return windowsWord(word)
	}
	return posixWord(word)
}

// isBare reports whether a word needs no quotes in any shell. Some shells expand = at the beginning of
// a word, and ~ after = as well.
func isBare(word, punctuation string) bool {
	for _, r := range word {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && !strings.ContainsRune(punctuation, r) {
			return false
		}
	}
	return word != "" && word[0] != '='
}

// posixWord quotes a word for sh and the shells that are like it. A word with control characters becomes
// an argument of printf, since $'…' is not known to all of them; it is needed for a newline at the
// end, which the shell takes away from the output of a command.
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

// escaped is a word as a format of printf that needs no quotes.
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

// unquotable stands for a word that no quotes protect in both shells of Windows.
const unquotable = "NAME"

// windowsWord quotes a word for cmd.exe and PowerShell. Both keep most characters within double quotes.
// A word with one that either of them expands there is replaced by a placeholder.
func windowsWord(word string) string {
	switch {
	case isBare(word, `._-/\+:`):
		return word
	case plain.Line(word) != word || strings.ContainsAny(word, "\"“”„$`%!\n"):
		return unquotable
	}
	if trimmed := strings.TrimRight(word, `\`); trimmed != word {
		word += word[len(trimmed):] // a backslash before the quote would escape it
	}
	return `"` + word + `"`
}
