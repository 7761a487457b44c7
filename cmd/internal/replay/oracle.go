package replay

import (
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/names"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// Oracle knows the future: of each result only the lines and names are ever sent that a later call uses,
// and from each cold moment on, of results and arguments, only those that are still to be used. Nobody can do better by leaving something out of them where nothing may be missed and no warm
// cache written again.
func Oracle() Policy {
	return Policy{"oracle", "knows the future: only what is still to be used of results and arguments, from where that is free", func(s Setting) (Send, error) {
		o := oracle{last: s.future.last(), since: make(map[transcript.BlockID]int)}
		return func(r *wire.Request) (*wire.Request, error) {
			return o.send(r, slices.Contains(s.Cold, len(r.Transcript().Messages())))
		}, nil
	}}
}

type oracle struct {
	last  map[transcript.BlockID]map[uint64]int // by block and mark: the message of the last call that uses it
	since map[transcript.BlockID]int            // only what is used from this message on is sent
}

// last is, by block and by line or name in it, the message of the last call that uses it.
func (m *memory) last() map[transcript.BlockID]map[uint64]int {
	all := make(map[transcript.BlockID]map[uint64]int)
	if m == nil {
		return all
	}
	for at, deeds := range m.deeds {
		for _, d := range deeds {
			for _, n := range slices.Concat(d.lines, d.names) {
				if all[n.source] == nil {
					all[n.source] = make(map[uint64]int)
				}
				all[n.source][n.mark] = max(all[n.source][n.mark], at)
			}
		}
	}
	return all
}

func (o *oracle) send(r *wire.Request, cold bool) (*wire.Request, error) {
	t := r.Transcript()
	var edits []wire.BlockEdit
	for _, x := range t.Exchanges() {
		if x.State != transcript.Whole {
			continue
		}
		for _, b := range append(slices.Clone(x.Results), x.Call) {
			if cold {
				o.since[b] = len(t.Messages())
			}
			if !dialect.Editable(r, b) || b == x.Call && o.since[b] == 0 {
				continue
			}
			if text := o.left(r, b); len(text) < t.Block(b).Body.Len()*3/4 {
				edits = append(edits, wire.BlockEdit{Block: b, Text: text})
			}
		}
	}
	if len(edits) == 0 {
		return r, nil
	}
	out, _, err := dialect.Rewrite(r, nil, edits)
	return out, err
}

// left is what is still to be used of a block: whole lines where the line is, else names.
func (o *oracle) left(r *wire.Request, b transcript.BlockID) string {
	var out strings.Builder
	used := func(text string) bool {
		at, ok := o.last[b][names.Hash(text)]
		return ok && at >= o.since[b]
	}
	add := func(text string) {
		for line := range strings.SplitSeq(text, "\n") {
			line = strings.TrimSpace(line)
			switch bare := unnumbered(line); {
			case used(line):
				out.WriteString(line + "\n")
			case used(bare):
				out.WriteString(bare + "\n")
			default:
				names.Each(line, func(name string) {
					if used(name) {
						out.WriteString(name + "\n")
					}
				})
			}
		}
	}
	if r.Transcript().Block(b).Kind == transcript.Call {
		each(wire.Arguments(r.Transcript(), b), "", func(_, text string) { add(text) })
	} else {
		add(r.Text(b))
	}
	if out.Len() == 0 {
		return "[left out]"
	}
	return out.String()
}
