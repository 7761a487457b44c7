package config

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/suggest"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A Window says what a request must fit. Without any limit it is the window of the
// request's model. Many goroutines may read it.
type Window struct {
	// Tokens of the whole request: a number, or "model" for what the window of its model has room for besides the reply. Default: "model", unless there is another limit.
	Tokens Limit `json:"tokens,omitempty"`
	// How many messages. Default: no limit.
	Messages int `json:"messages,omitempty" min:"1"`
	// How many exchanges: calls with their results. Default: no limit.
	Exchanges int `json:"exchanges,omitempty" min:"1"`
	// How many turns; a turn begins where a person speaks. Default: no limit.
	Turns int `json:"turns,omitempty" min:"1"`
	// How many messages at the end stay as they are, every byte of them. Default: 0, none but what is pinned.
	MinKeep int `json:"min_keep,omitempty"`
	// When the limit of tokens is passed, trim to this mark, and leave the history alone until it is passed again: a number of tokens, or a share of the limit such as "50%". Default: none, each request is trimmed for itself.
	Low Mark `json:"low,omitzero"`
	// Trim earlier, too, when that pays at the prices of the model's cache; without low, the mark is "50%". Default: false.
	Cache bool `json:"cache,omitempty"`
	// Whenever the provider's cache has expired, clear the results that will hardly be needed again, and leave a list of the names in them: nothing is written to the cache that would not be anyway. With cache, they also go when that pays. Without low, the mark is "50%". Default: false.
	Cold bool `json:"cold,omitempty"`
	// What goes first: "oldest", "middle" (the beginning and the end stay longest) or "priority". Default: oldest.
	Order string `json:"order,omitempty" enum:"oldest,middle,priority"`
	// The ranks of tools, for order = "priority"; the lowest go first, tools without one have 0. Of those that match, the first counts. Default: none.
	Priority []Rank `json:"priority,omitempty"`
	// What may go although it stays otherwise: "system" (what the system says), "task" (the first message of the user), "newest" (the last turn). Default: none.
	Unpin []string `json:"unpin,omitempty" enum:"system,task,newest"`
	// How many of the last exchanges keep their results until they go themselves. Default: 8.
	Recent int `json:"recent,omitempty" min:"1"`
	// Let the window be smaller than the smallest exchange. Default: false.
	AllowTiny bool `json:"allow_tiny,omitempty"`
	// Leave out the mark that shows the model where something was dropped. Default: false.
	Unmarked bool `json:"unmarked,omitempty"`
}

// A Rank says how long the exchanges of some tools stay. Many goroutines may read it.
type Rank struct {
	// Name of the tools, a glob.
	Tool string `json:"tool" required:"\"Read*\""`
	// Their rank; the lowest go first. Default: 0.
	Rank int `json:"rank" min:"-1000000" max:"1000000"`
}

// A Limit is a number of tokens. Zero is none.
type Limit int

// ModelLimit is what the window of a request's model has room for.
const ModelLimit Limit = -1

// MarshalJSON writes a number or "model".
func (l Limit) MarshalJSON() ([]byte, error) {
	if l == ModelLimit {
		return []byte(`"model"`), nil
	}
	return strconv.AppendInt(nil, int64(l), 10), nil
}

func (l *Limit) read(s *source, v *value, path string) {
	const hint = `write a number such as 100000, or "model"`
	switch {
	case v.kind == text && v.text == "model":
		*l = ModelLimit
	case v.kind == text && isInt(v.text):
		s.fail(path, "write "+v.text+" without quotes", "%s is a text, not a whole number", s.shown(v))
	case v.kind == text && suggest.Nearest(v.text, []string{"model"}) != "":
		s.fail(path, `did you mean "model"?`, "%s is no limit", s.shown(v))
	case v.kind != integer:
		s.fail(path, hint, "%s is no limit", s.shown(v))
	case s.bounded(v, path, `min:"1"`):
		*l = Limit(v.integer)
	}
}

func (Limit) shape() (types []string, pattern string) {
	return []string{"integer", "string"}, "^model$"
}

// A Mark is a number of tokens, or a share of a limit. Zero is none. Many goroutines may
// read it.
type Mark struct{ Tokens, Percent int }

// MarshalJSON writes a number or, for example, "50%".
func (m Mark) MarshalJSON() ([]byte, error) {
	if m.Percent > 0 {
		return fmt.Appendf(nil, `"%d%%"`, m.Percent), nil
	}
	return strconv.AppendInt(nil, int64(m.Tokens), 10), nil
}

func (m *Mark) read(s *source, v *value, path string) {
	const hint = `write a number of tokens, or a share of the limit such as "50%"`
	switch v.kind {
	case integer:
		if s.bounded(v, path, `min:"1"`) {
			m.Tokens = int(v.integer)
		}
	case text:
		number, percent := strings.CutSuffix(strings.TrimSpace(v.text), "%")
		n, err := strconv.Atoi(strings.TrimSpace(number))
		switch {
		case err != nil || !percent:
			s.fail(path, hint, "%s is no mark", s.shown(v))
		case n < 1 || n > 99:
			s.fail(path, "write 1% to 99%", "%s is not between nothing and all", s.shown(v))
		default:
			m.Percent = n
		}
	default:
		s.fail(path, hint, "%s is no mark", s.shown(v))
	}
}

func (Mark) shape() (types []string, pattern string) {
	return []string{"integer", "string"}, `^\s*[1-9][0-9]?\s*%$`
}

// window makes what the engine takes and reports what does not go together.
func (w *Window) window(s *source) *pare.Window {
	w.check(s)
	out := &pare.Window{
		Tokens: max(int(w.Tokens), 0), Messages: w.Messages, Exchanges: w.Exchanges, Turns: w.Turns,
		ModelTokens: w.byModel(), MinKeep: w.MinKeep, Low: w.Low.Tokens, LowPercent: w.Low.Percent, ModelCache: w.Cache,
		Recent: w.Recent, AllowTiny: w.AllowTiny, Unmarked: w.Unmarked, MiddleOut: w.Order == "middle",
	}
	if (w.Cache || w.Cold) && w.Low == (Mark{}) {
		out.LowPercent = 50
	}
	if w.Cold {
		out.ColdRules = coldRules()
	}
	for _, u := range w.Unpin {
		out.Unpin |= pins[u]
	}
	if len(w.Priority) > 0 {
		out.Priority = w.priority
	}
	return out
}

// coldRules are those for moments at which the cache has expired.
func coldRules() *pare.Pipeline {
	rule, _ := rules.Hazard{}.Rule() // the zero value is right, and alone it is in order
	p, _ := pare.Compile(rule)
	return p
}

var (
	pins = map[string]pare.Pin{"system": pare.PinSystem, "task": pare.PinTask, "newest": pare.PinNewest}
)

// byModel reports whether the limit of tokens is that of the model.
func (w *Window) byModel() bool {
	return w.Tokens == ModelLimit || w.Tokens == 0 && w.Messages+w.Exchanges+w.Turns == 0
}

func (w *Window) check(s *source) {
	s.choose("window.order", w.Order, "oldest", "middle", "priority")
	for i, u := range w.Unpin {
		s.choose(fmt.Sprintf("window.unpin.%d", i), u, "system", "task", "newest")
	}
	for _, n := range []struct {
		key   string
		value int
		least int
	}{
		{"tokens", int(w.Tokens), int(ModelLimit)}, {"messages", w.Messages, 0}, {"exchanges", w.Exchanges, 0}, {"turns", w.Turns, 0},
		{"min_keep", w.MinKeep, 0}, {"recent", w.Recent, 0}, {"low", w.Low.Tokens, 0}, {"low", w.Low.Percent, 0},
	} {
		s.atLeast("window."+n.key, n.value, n.least)
	}
	stable, key := w.Low != (Mark{}), "low"
	if w.Cache {
		stable, key = true, "cache"
	}
	if w.Cold {
		stable, key = true, "cold"
	}
	switch {
	case stable && w.Tokens == 0 && !w.byModel():
		s.failKey("window."+key, "write "+s.assign("tokens", `"model"`)+" or a number, too", "%s is about a limit of tokens, and there is none", key)
	case stable && (w.Order == "middle" || w.Order == "priority"):
		s.failKey("window."+key, "remove it, or set "+s.assign("order", `"oldest"`), "%s goes from the oldest on, not by %q", key, w.Order)
	case w.Low.Tokens > 0 && w.Tokens > 0 && w.Low.Tokens >= int(w.Tokens):
		s.fail("window.low", fmt.Sprintf("write less than %d, or a share such as \"50%%\"", w.Tokens), "%d is not below the limit, %d", w.Low.Tokens, w.Tokens)
	}
	switch {
	case w.Order == "priority" && len(w.Priority) == 0 && !s.failedBelow("window.priority"):
		s.fail("window.order", "write "+s.assign("priority", "["+s.inline("tool", `"Read*"`)+"]")+" with the rank of each", "the ranks of the tools are missing")
	case w.Order != "priority" && len(w.Priority) > 0 && !s.failed("window.order"):
		s.failKey("window.priority", "set "+s.assign("order", `"priority"`)+", or remove it", "priority is about another order")
	}
	for i, r := range w.Priority {
		path := fmt.Sprintf("window.priority.%d", i)
		if r.Tool == "" {
			s.fail(path, "write "+s.assign("tool", `"Read*"`), "tool is missing")
			continue
		}
		_, err := rulesx.Compile(rules.Selection{Tools: []string{r.Tool}})
		all, _ := err.(rules.OptionErrors)
		for _, e := range all {
			s.fail(join(path, "tool"), e.Expected, "%s", e.Problem)
		}
	}
}

// atLeast reports a number of a Config made in Go that is too small.
func (s *source) atLeast(path string, n, least int) {
	if n < least && !s.failed(path) {
		s.fail(path, fmt.Sprintf("write %d or more", least), "%d is too small", n)
	}
}

// priority is the highest rank among the tools of an atom.
func (w *Window) priority(r *wire.Request, a transcript.AtomID) int {
	best, found := 0, false
	for _, b := range r.Transcript().Atoms()[a].Blocks {
		tool := r.Transcript().Block(b).Tool
		if tool == "" {
			continue
		}
		if n := w.rank(tool); !found || n > best {
			best, found = n, true
		}
	}
	return best
}

func (w *Window) rank(tool string) int {
	for _, k := range w.Priority {
		if rulesx.MatchTool(k.Tool, tool) {
			return k.Rank
		}
	}
	return 0
}
