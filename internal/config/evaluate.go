package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"

	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// env is what an expression sees of one exchange. The comments are its manual.
type env struct {
	// Name of the tool.
	Tool string `expr:"tool"`
	// What the tool does, by the tool table: read, write, edit, search, run or other.
	Kind string `expr:"kind"`
	// The file the call is about, by the tool table; "" if it is about none.
	Path string `expr:"path"`
	// The arguments of the call. A missing one is nil.
	Args map[string]any `expr:"args"`
	// One argument as text: strings as they are, anything else as JSON, "" if it is missing.
	Arg func(name string) string `expr:"arg"`
	// What the result says, as plain text.
	Result string `expr:"result"`
	// Bytes of the result, as they stand in the request.
	Size int `expr:"size"`
	// Bytes of the arguments, as they stand in the request.
	ArgsSize int `expr:"args_size"`
	// Estimate of what the exchange costs: a quarter of size + args_size.
	Tokens int `expr:"tokens"`
	// How often a person has spoken since.
	Age int `expr:"age"`
	// How many messages have come since.
	AgeMessages int `expr:"age_messages"`
	// Number of the exchange in the history, from 0.
	Index int `expr:"index"`
	// The result reports an error.
	Failed bool `expr:"failed"`
	// No later exchange is of the same tool.
	Last bool `expr:"last"`
	// whole, or open if there is no result yet.
	State string `expr:"state"`
	// The provider ran the tool itself.
	Server bool `expr:"server"`
	// The wire format, such as anthropic or openai-chat.
	Dialect string `expr:"dialect"`

	Matches func(text any, pattern int) (bool, error) `expr:"matches "`
}

// An EvalError is an expression that failed while it ran. Nothing was decided. Many
// goroutines may read it.
type EvalError struct {
	Rule     string
	Exchange int    // its number in the history
	Path     string // of its first block
	Tool     string
	Err      error
}

func (e *EvalError) Error() string {
	return fmt.Sprintf("exchange %d (%s at %s): %v", e.Exchange, e.Tool, e.Path, e.Err)
}

func (e *EvalError) Unwrap() error { return e.Err }

// errTooMuch is wrapped by the error for an evaluation that would take too long.
var errTooMuch = errors.New("too much work")

// A walker runs one program over the exchanges of one history.
type walker struct {
	*program
	rule  string
	r     *wire.Request
	t     *transcript.Transcript
	use   func(call transcript.BlockID) (kind, file string)
	vm    vm.VM
	env   env
	call  transcript.BlockID // of the exchange at hand
	spent int                // work of the evaluation at hand
	since []int              // by message: how often a person spoke after it
	later map[string]int     // by tool: the last exchange of it
}

func newWalker(p *program, rule string, r *wire.Request, tools []Tool) *walker {
	w := &walker{program: p, rule: rule, r: r, t: r.Transcript(), use: rulesx.Use(r, tools), vm: vm.VM{MemoryBudget: maxMemory}}
	w.env.Dialect = r.Dialect.String()
	w.env.Arg = w.arg
	w.env.Matches = w.matches
	w.since = planner.TurnsSince(w.t)
	w.later = make(map[string]int)
	for i, x := range w.t.Exchanges() {
		w.later[x.Tool] = i
	}
	return w
}

// holds evaluates the expression on exchange i.
func (w *walker) holds(i int) (bool, error) {
	x := w.t.Exchanges()[i]
	w.look(i, x)
	out, err := w.vm.Run(w.code, &w.env)
	if err != nil {
		return false, w.fail(i, x, err)
	}
	yes, ok := out.(bool)
	if !ok {
		return false, w.fail(i, x, fmt.Errorf("the expression gave %T, not true or false", out))
	}
	return yes, nil
}

func (w *walker) fail(i int, x transcript.Exchange, err error) error {
	var at *file.Error
	if errors.As(err, &at) { // the library prints a picture over several lines
		if at.Prev != nil && errors.Is(at.Prev, errTooMuch) {
			err = at.Prev
		} else {
			err = errors.New(at.Message)
		}
	}
	return &EvalError{Rule: w.rule, Exchange: i, Path: w.r.Path(firstBlock(x)), Tool: x.Tool, Err: err}
}

func firstBlock(x transcript.Exchange) transcript.BlockID {
	if x.Call != transcript.NoBlock {
		return x.Call
	}
	return x.Results[0]
}

// look fills the environment. What is costly to know is found out only if the
// expression mentions it.
func (w *walker) look(i int, x transcript.Exchange) {
	e := &w.env
	w.call, w.spent = x.Call, 0
	e.Tool, e.Index, e.Server = x.Tool, i, x.Server
	e.State = "whole"
	if len(x.Results) == 0 {
		e.State = "open"
	}
	e.Last = w.later[x.Tool] == i
	e.Size, e.ArgsSize, e.Failed = 0, 0, false
	last := w.t.Block(firstBlock(x)).Message
	for _, b := range x.Results {
		blk := w.t.Block(b)
		e.Size += blk.Body.Len()
		e.Failed = e.Failed || w.uses["failed"] && w.r.Outcome(b) == transcript.OutcomeFailed
		last = max(last, blk.Message)
	}
	if x.Call != transcript.NoBlock {
		e.ArgsSize = w.t.Block(x.Call).Body.Len()
	}
	e.Tokens = (e.Size + e.ArgsSize) / 4
	e.Age = w.since[w.t.Block(firstBlock(x)).Message]
	e.AgeMessages = len(w.t.Messages()) - 1 - last
	e.Kind, e.Path, e.Args, e.Result = string("other"), "", nil, ""
	if (w.uses["kind"] || w.uses["path"]) && x.Call != transcript.NoBlock {
		var kind string
		kind, e.Path = w.use(x.Call)
		e.Kind = string(kind)
	}
	if w.uses["args"] && x.Call != transcript.NoBlock {
		// What is no object has no arguments to ask for.
		_ = json.Unmarshal(wire.Arguments(w.t, x.Call), &e.Args)
	}
	if w.uses["result"] {
		e.Result = w.result(x)
	}
}

func (w *walker) result(x transcript.Exchange) string {
	if len(x.Results) == 1 {
		return w.r.Text(x.Results[0])
	}
	var parts []string
	for _, b := range x.Results {
		parts = append(parts, w.r.Text(b))
	}
	return strings.Join(parts, "\n")
}

func (w *walker) arg(name string) string {
	if w.call == transcript.NoBlock {
		return ""
	}
	v, _ := wire.Argument(w.t, w.call, name)
	return v
}

// matches is the operator of that name. Nothing matches nil.
func (w *walker) matches(on any, which int) (bool, error) {
	p := w.patterns[which]
	var s string
	switch v := on.(type) {
	case nil:
		return false, nil
	case string:
		s = v
	default:
		return false, fmt.Errorf("matches looks at texts, and this is %T", on)
	}
	// The count depends on the bytes alone, so it stops on every machine or on none.
	if w.spent += len(s) * p.size; w.spent > maxWork {
		return false, fmt.Errorf("the pattern %q on %d bytes is %w; test the size first, as in size < 100000 and …", p.re, len(s), errTooMuch)
	}
	return p.re.MatchString(s), nil
}
