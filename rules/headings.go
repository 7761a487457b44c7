package rules

import (
	"strings"

	"github.com/pare-llm/pare/internal/excerpt"
	"github.com/pare-llm/pare/internal/wording"
)

// searchHit parses the prefix that search tools print before a line: file, colon, line number,
// colon. It returns the file and the offset of the line number, or 0 if there is no such prefix.
func searchHit(line string) (file string, from int) {
	colon := strings.IndexByte(line, ':')
	if colon < 1 || colon > 500 || line[0] <= ' ' || strings.ContainsAny(line[:colon], "\t\"'(){}<>|") {
		return "", 0
	}
	if i := afterNumber(line, colon+1); i < len(line) && line[i] == ':' && i > colon+1 {
		return line[:colon], colon + 1
	}
	return "", 0
}

// contextStart returns the offset of the line number in a line of context around a hit in file, or
// 0.
func contextStart(line, file string) (from int) {
	if len(line) <= len(file) || !strings.HasPrefix(line, file) || line[len(file)] != '-' {
		return 0
	}
	if i := afterNumber(line, len(file)+1); i < len(line) && line[i] == '-' && i > len(file)+1 {
		return len(file) + 1
	}
	return 0
}

func afterNumber(line string, i int) int {
	for i < len(line) && line[i] >= '0' && line[i] <= '9' {
		i++
	}
	return i
}

// underHeadings replaces the file name before each of two or more consecutive hits by one heading.
func underHeadings(text string) string {
	out := make([]byte, 0, len(text))
	lines := strings.SplitAfter(text, "\n")
	for i := 0; i < len(lines); {
		file, _ := searchHit(lines[i])
		end := i
		for file != "" && end < len(lines) && lineStartIn(lines[end], file) > 0 {
			end++
		}
		if end-i < 2 {
			out = append(out, lines[i]...)
			i++
			continue
		}
		out = append(append(out, file...), ":\n"...)
		for ; i < end; i++ {
			out = append(out, lines[i][lineStartIn(lines[i], file):]...)
		}
	}
	return string(out)
}

// lineStartIn returns the offset of the line number in a hit or a line of context in file, or 0.
func lineStartIn(line, file string) int {
	if f, from := searchHit(line); f == file {
		return from
	}
	return contextStart(line, file)
}

// tidyResult removes the parts of a result that carry no information: terminal colors and, in
// results that show files, most line numbers and repeated file names. The note lists the removed
// parts and the archive handle; it is empty if nothing was removed.
func tidyResult(text string, files bool, handle func() string) (tidy, note string) {
	tidy = stripColors(text)
	var what []string
	if len(tidy) < len(text) {
		what = append(what, "colours")
	}
	if plain := len(tidy); files {
		if tidy = stripLineNumbers(tidy); len(tidy) < plain {
			what = append(what, "line numbers but every tenth")
		} else if tidy = underHeadings(tidy); len(tidy) < plain {
			what = append(what, "repeated file names")
		}
	}
	if len(tidy)+noteRoom >= len(text) {
		return text, ""
	}
	note = "\n" + placeholderMark + strings.Join(what, " and ") + " left out by " + oversizedName
	if h := handle(); h != "" {
		note += "; " + wording.Recall(excerpt.Brief(h, 64))
	}
	return tidy, note + "]"
}

// noteRoom is larger than a note and its JSON syntax.
const noteRoom = 160
