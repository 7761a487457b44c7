package source

import (
	"bufio"
	"errors"
	"io"
	"iter"
)

// Lines reads one line after the other and never waits for the next before the one at
// hand was handed out and worked on. Unlike a batch, every line counts, a blank one too.
// The last error, if it is none, ends it.
func Lines(r io.Reader) iter.Seq2[Text, error] {
	return func(yield func(Text, error) bool) {
		in := bufio.NewReaderSize(r, 64<<10)
		for n := 1; ; n++ {
			line, err := in.ReadBytes('\n')
			if len(line) > 0 {
				if !yield(textOf(line, n, 0), nil) {
					return
				}
			}
			if err != nil {
				if !errors.Is(err, io.EOF) {
					yield(Text{Line: n}, err)
				}
				return
			}
		}
	}
}
