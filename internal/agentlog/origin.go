package agentlog

import (
	"bytes"
	"fmt"
)

// origins says for each line of a file that is half repaired which line of the original it
// is; 0 is a line that was put in. nil is the original.
type lineOrigins []int

// name gives changes the numbers that their lines have in the original.
func (o lineOrigins) renumberLines(changes []Change) {
	if o == nil {
		return
	}
	for i := range changes {
		c := &changes[i]
		if c.Line < 1 || c.Line > len(o) || c.File != "" {
			continue
		}
		if c.Path == fmt.Sprintf("line.%d", c.Line) {
			c.Path = ""
			if o[c.Line-1] > 0 {
				c.Path = fmt.Sprintf("line.%d", o[c.Line-1])
			}
		}
		c.Line = o[c.Line-1]
	}
}

// behind returns the origins of the lines that a round has made.
func (o lineOrigins) afterEdits(e *edits) lineOrigins {
	if e.file.files != nil {
		return nil
	}
	next := make(lineOrigins, 0, max(len(o), 16))
	line, begins := 1, true // of the file in front of the round; the next byte begins a line
	was := func(n int) int {
		if o == nil {
			return n
		}
		if n > len(o) {
			return 0
		}
		return o[n-1]
	}
	write := func(text []byte, old, step bool) {
		for len(text) > 0 {
			if begins {
				begins = false
				if old {
					next = append(next, was(line))
				} else {
					next = append(next, 0)
				}
			}
			i := bytes.IndexByte(text, '\n')
			if i < 0 {
				return
			}
			begins, text = true, text[i+1:]
			if step {
				line++
			}
		}
	}
	at := 0
	for _, x := range e.spliced {
		write(e.file.raw[at:x.Start], true, true)
		write(x.New, x.End > x.Start, false)
		line += bytes.Count(e.file.raw[x.Start:x.End], []byte{'\n'})
		at = x.End
	}
	write(e.file.raw[at:], true, true)
	return next
}
