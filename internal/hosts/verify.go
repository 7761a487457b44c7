package hosts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// checkWritten returns an error unless the written list matches the plan.
func (l *List) checkWritten(out []byte, want *wire.Request) error {
	reread, err := Read(out, Options{As: l.Shape, Model: l.options.Model})
	if err != nil {
		return fmt.Errorf("%w: it could not be read again: %w", ErrWrite, err)
	}
	got, wanted := reread.blockTexts(reread.Request), l.blockTexts(want)
	for i := range max(len(got), len(wanted)) {
		if i >= len(got) || i >= len(wanted) || got[i] != wanted[i] {
			return fmt.Errorf("%w: block %d would be another one", ErrWrite, i)
		}
	}
	return nil
}

// A blockText is the comparable content of a block.
type blockText struct {
	role transcript.Role
	kind transcript.Kind
	id   string
	name string
	text string
}

// blockTexts returns the content of each block of a request. Made-up ids are numbered in order.
// Results of one turn are sorted, and so are all results if they are in the parts of their calls.
func (l *List) blockTexts(r *wire.Request) (all []blockText) {
	t := r.Transcript()
	ids := make(map[string]string)
	for i := range t.Blocks() {
		b := t.Block(transcript.BlockID(i))
		if len(all) == 0 && t.Messages()[b.Message].Role == transcript.System {
			continue // leading instructions are not a message
		}
		if h, ok := l.blockOrigins[dialect.PathIn(r, l.Request, transcript.BlockID(i))]; ok && h.unit < 0 {
			continue
		}
		s := blockText{t.Messages()[b.Message].Role, b.Kind, b.CallID, b.Tool, ""}
		if strings.HasPrefix(s.id, madeUpPrefix) || strings.HasPrefix(s.id, newIDPrefix) {
			if ids[s.id] == "" {
				ids[s.id] = fmt.Sprint(madeUpPrefix, len(ids))
			}
			s.id = ids[s.id]
		}
		if s.kind != transcript.Media {
			s.text = r.Text(transcript.BlockID(i))
		}
		if s.kind == transcript.Result {
			s.name = ""
		}
		all = append(all, s)
	}
	byID := func(a, b blockText) int { return cmp.Or(strings.Compare(a.id, b.id), strings.Compare(a.text, b.text)) }
	if l.shape.endCall != nil {
		slices.SortStableFunc(all, func(a, b blockText) int {
			switch ra, rb := a.kind == transcript.Result, b.kind == transcript.Result; {
			case ra && rb:
				return byID(a, b)
			case ra:
				return 1
			case rb:
				return -1
			}
			return 0
		})
		return all
	}
	for i := 0; i < len(all); i++ {
		n := i
		for n < len(all) && all[n].kind == transcript.Result {
			n++
		}
		slices.SortStableFunc(all[i:n], byID)
		i = max(i, n-1)
	}
	return all
}
