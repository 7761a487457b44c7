package replay

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/names"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// Mask hides all results but the last ones at each request, as SWE-agent does.
func Mask(results int) Policy {
	return Policy{fmt.Sprintf("mask:results=%d", results), "all results but the last ones hidden, at each request", func(Setting) (Send, error) {
		return func(r *wire.Request) (*wire.Request, error) {
			return hide(r, len(r.Transcript().Exchanges())-results)
		}, nil
	}}
}

// keepAbove is the size from which on Keep hides anything: the default of Anthropic's own
// clearing of tool results.
const keepAbove = 100_000

// Keep hides all results but the last ones whenever what is sent has more than 100,000 tokens, or
// than the limit if that is less, as Anthropic's own clearing does where nobody says otherwise.
func Keep(results int) Policy {
	return Policy{fmt.Sprintf("keep:results=%d", results), "all results but the last ones hidden, whenever there are more than 100,000 tokens", func(s Setting) (Send, error) {
		hidden := 0
		return func(r *wire.Request) (*wire.Request, error) {
			out, err := hide(r, hidden)
			if err != nil || s.size(out) <= min(keepAbove, s.Tokens+s.Beside) {
				return out, err
			}
			hidden = max(len(r.Transcript().Exchanges())-results, hidden)
			return hide(r, hidden)
		}, nil
	}}
}

// size is what a request has, the head included that the history does not show.
func (s *Setting) size(r *wire.Request) int { return r.Tokens(s.Counter) + s.Beside }

// Opencode hides results in front of the last 40,000 tokens of them, whenever that hides 20,000
// tokens more, as opencode does.
func Opencode() Policy {
	const protect, least = 40_000, 20_000
	return Policy{"opencode", "results in front of the last 40,000 tokens of them hidden, 20,000 at a time", func(s Setting) (Send, error) {
		hidden := 0
		return func(r *wire.Request) (*wire.Request, error) {
			all := r.Transcript().Exchanges()
			kept, more := 0, 0
			for i := len(all) - 1; i >= hidden; i-- {
				cost := 0
				for _, b := range all[i].Results {
					cost += dialect.BlockTokens(r, s.Counter, b)
				}
				if kept += cost; kept > protect {
					more += cost
				}
			}
			if more > least {
				for kept = 0; more > 0; hidden++ {
					for _, b := range all[hidden].Results {
						more -= dialect.BlockTokens(r, s.Counter, b)
					}
				}
			}
			return hide(r, hidden)
		}, nil
	}}
}

// Cline drops half of what stands behind the first message whenever the limit is passed, as Cline
// does.
func Cline() Policy {
	return Policy{"cline", "half of the messages dropped, whenever the limit is passed", func(s Setting) (Send, error) {
		from := 0
		return func(r *wire.Request) (*wire.Request, error) {
			out, err := behind(r, from, "")
			if err != nil || s.size(out) <= s.Tokens+s.Beside {
				return out, err
			}
			all := r.Transcript().Messages()
			for half := max(from, 1) + (len(all)-max(from, 1))/2; half < len(all)-1; half++ {
				if planner.StartsModelTurn(all, half) {
					from = half
					break
				}
			}
			return behind(r, from, "")
		}, nil
	}}
}

// Compact puts the task and a summary in the place of everything whenever 83.5 % of the limit are
// passed, as Claude Code does. The summary is what persons said and the most frequent names. No model
// writes it, but it is paid as if one had: with a request that reads what was sent last.
func Compact() Policy {
	const permille, said, named = 835, 6000, 2000
	return Policy{"compact", "a summary in the place of everything, whenever 83.5 % of the limit are passed", func(s Setting) (Send, error) {
		from, summary := 0, ""
		return func(r *wire.Request) (*wire.Request, error) {
			out, err := behind(r, from, summary)
			if err != nil || s.size(out) <= (s.Tokens+s.Beside)*permille/1000 {
				return out, err
			}
			all := r.Transcript().Messages()
			last := 0
			for i := range all {
				if planner.StartsModelTurn(all, i) {
					last = i
				}
			}
			if last <= from {
				return out, nil
			}
			var told strings.Builder
			count := make(map[string]int)
			for b := range r.Transcript().Blocks() {
				blk := r.Transcript().Block(transcript.BlockID(b))
				if blk.Message >= last {
					break
				}
				text := r.Text(transcript.BlockID(b))
				if blk.Kind == transcript.Text && all[blk.Message].Role == transcript.User && told.Len() < said {
					told.WriteString(text[:min(len(text), said-told.Len())] + "\n")
				}
				names.Each(text, func(name string) { count[name]++ })
			}
			from, summary = last, strings.ToValidUTF8(told.String(), "")+names.Digest(names.Frequent(count), len(count), named)
			if s.asks != nil {
				s.asks(summary)
			}
			return behind(r, from, summary)
		}, nil
	}}
}

// behind keeps the system's messages, the first one of a person and those from a message on, which
// begins a turn of the model. A summary stands in the place of the first one, if there is one.
func behind(r *wire.Request, from int, summary string) (*wire.Request, error) {
	all, raw := r.Transcript().Messages(), r.Raw()
	head := 0
	for head < len(all) && all[head].Role == transcript.System {
		head++
	}
	if from <= head+1 || from >= len(all) {
		return r, nil
	}
	body := append(make([]byte, 0, len(raw)), raw[:all[0].Span.Start]...)
	for i, m := range append(slices.Clone(all[:head+1]), all[from:]...) {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, raw[m.Span.Start:m.Span.End]...)
	}
	body = append(body, raw[all[len(all)-1].Span.End:]...)
	out, err := wire.Parse(body, wire.Options{Dialect: r.Dialect, Profile: r.Profile.Name, Model: r.Model(), Structural: true})
	if err != nil || summary == "" {
		return out, err
	}
	for b := out.Transcript().Messages()[head].First; b < out.Transcript().Messages()[head].End; b++ {
		if out.Transcript().Block(b).Kind == transcript.Text {
			out, _, err = dialect.Rewrite(out, nil, []wire.BlockEdit{{Block: b, Text: summary}})
			break
		}
	}
	return out, err
}

// hide hides the results of the first exchanges.
func hide(r *wire.Request, exchanges int) (*wire.Request, error) {
	early := make(map[transcript.BlockID]bool)
	for i, x := range r.Transcript().Exchanges() {
		for _, b := range x.Results {
			early[b] = i < exchanges
		}
	}
	return hideThose(r, func(b transcript.BlockID) bool { return early[b] })
}

// hideThose hides results.
func hideThose(r *wire.Request, which func(transcript.BlockID) bool) (*wire.Request, error) {
	const gone = "[Old tool result content cleared]"
	var edits []wire.BlockEdit
	t := r.Transcript()
	for _, x := range t.Exchanges() {
		if x.State != transcript.Whole {
			continue
		}
		for _, b := range x.Results {
			if which(b) && dialect.Editable(r, b) && t.Block(b).Body.Len() > len(gone) {
				edits = append(edits, wire.BlockEdit{Block: b, Text: gone})
			}
		}
	}
	if len(edits) == 0 {
		return r, nil
	}
	out, _, err := dialect.Rewrite(r, nil, edits)
	return out, err
}
