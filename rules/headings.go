package rules

import (
	"strings"

	"github.com/pare-llm/pare/internal/ladder"
	"github.com/pare-llm/pare/internal/wording"
)

// Searches name the file in front of each line that they find. Once above them says as much.

// found reads what a search prints in front of a line: the file and a colon, the number of the line
// and another one. The line begins anew at from; 0: it is none.
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

// around reports whether a line stands around what a search has found in a file.
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

// underHeadings names each file once, above the lines of it that a search has found, where there are
// two or more of them in a row.
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

// cutAt is where a line begins that a search has found in a file, or that stands around one.
func lineStartIn(line, file string) int {
	if f, from := searchHit(line); f == file {
		return from
	}
	return contextStart(line, file)
}

// tidied is what a tool prints without what says nothing: the colours of a terminal and, where it shows
// files, what it prints again and again, most numbers of their lines and the files of lines that were
// found. note says what was left out and where the whole is; "": nothing was.
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
		note += "; " + wording.Recall(ladder.Brief(h, 64))
	}
	return tidy, note + "]"
}

// noteRoom is more than a note takes, and what the dialect writes around it.
const noteRoom = 160
