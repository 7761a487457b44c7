package agentlog

import (
	"bytes"
	"fmt"
)

// lineOrigins holds, for each line of a partly repaired file, its line in the original, or 0 for a
// new line. A nil value means the original itself.
type lineOrigins []int

// renumberLines replaces the lines of changes by those of the original. It modifies changes.
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

// afterEdits returns the origins of the lines after a round of edits.
func (o lineOrigins) afterEdits(e *edits) lineOrigins {
	if e.file.files != nil {
		return nil
	}
	next := make(lineOrigins, 0, max(len(o), 16))
	line, begins := 1, true // line in the file before the round; the next byte begins a line
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
