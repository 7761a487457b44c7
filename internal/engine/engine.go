// Package engine is Pare as programs in other languages call it: the name of a call, a body and
// options as JSON go in, a body and a report as JSON come out. The C library, WebAssembly and the
// co-process are three ways into it.
package engine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/hosts"
	"github.com/pare-llm/pare/internal/plain"
	"github.com/pare-llm/pare/internal/suggest"
	"github.com/pare-llm/pare/internal/tally"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A Result is what a call answers.
type Result struct {
	Body   []byte // nil: the body that came in stays as it is
	Report []byte // JSON; nil: there was nothing to do
}

// An Error is why a call has no result. Type says what kind it is: unknown_call, options, unreadable,
// window_too_small, unknown_model, compaction, callback or failed.
type Error struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	// Of a window that is too small.
	Unit    string `json:"unit,omitempty"`
	Limit   int    `json:"limit,omitempty"`
	Minimum int    `json:"minimum,omitempty"`

	cause error
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns what had failed, for a call that failed for another reason than its input.
func (e *Error) Unwrap() error { return e.cause }

// JSON is the error as other languages get it.
func (e *Error) JSON() []byte {
	text, err := plain.Marshal(e)
	if err != nil {
		panic(err) // our own type
	}
	return text
}

// Call does what its name says to a body. Options are a JSON object; nil has none. The body must not
// be changed until it returns; nothing of it is kept. The error is an *[Error].
func Call(name string, body, options []byte, cb Callbacks) (Result, error) {
	done, err := Do(context.Background(), nil, name, body, options, cb)
	if err != nil {
		return Result{}, err
	}
	return done.Result, nil
}

// Done is what came of a call, for a program that tells more of it than the result.
type Done struct {
	Result
	Request *wire.Request // as it was read
	Policy  *pare.Policy  // nil: the call changes nothing
	Plan    *pare.Plan    // nil: the call changes nothing
}

// Do is [Call] for a program that has a configuration of its own; nil: none.
func Do(ctx context.Context, on *Settings, name string, body, options []byte, cb Callbacks) (done Done, err error) {
	defer func() {
		if p := recover(); p != nil {
			done, err = Done{}, &Error{Type: "failed", Message: fmt.Sprint("pare failed: ", p)}
		}
	}()
	if done, err = call(ctx, on, name, body, options, &caller{Callbacks: cb}); err != nil {
		return Done{}, asError(err)
	}
	return done, nil
}

func call(ctx context.Context, on *Settings, name string, body, raw []byte, cb *caller) (done Done, err error) {
	row, ok := rowOf(name)
	if !ok {
		return done, &Error{Type: "unknown_call", Message: fmt.Sprintf("there is no call %q: the calls are %s", name, strings.Join(Calls(), ", "))}
	}
	if name == "fix" && on == nil && len(raw) == 0 && cb.none() {
		done.Result, err = planned(pare.Fix(body))
		if err == nil && done.Report == nil || !hosts.IsHostList(body) {
			return done, err
		}
		done = Done{}
	}
	o, err := parseOptions(row, raw)
	if err != nil {
		return done, err
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return done, &Error{Type: "unreadable", Message: "the body is empty: expected a request body, or a list of messages"}
	}
	if on == nil { // who has settings looks at the request itself
		if l, err := o.list(body); err != nil || l != nil {
			if err == nil {
				done.Result, err = o.inHost(ctx, row, l, cb)
			}
			return done, err
		}
	} else if o.host != "" {
		return done, misuse("as: %q is the list of a program, which is not read here", o.host)
	}
	if done.Request, err = wire.Parse(body, o.reading); err != nil {
		return done, err
	}
	if row.tell != nil {
		done.Result, err = row.tell(o, done.Request, cb)
		return done, err
	}
	if done.Policy, err = o.policy(on, row, cb); err != nil {
		return done, err
	}
	done.Plan, err = done.Policy.Plan(ctx, done.Request)
	if failed := cb.failed(); failed != nil {
		return done, failed
	}
	if err != nil {
		return done, err
	}
	out, err := done.Plan.Apply()
	done.Result, err = planned(out, done.Plan, err)
	return done, err
}

// planned is what came of a plan. What could not be repaired is in the report.
func planned(out []byte, plan *pare.Plan, err error) (Result, error) {
	var refused *pare.RefusedError
	switch {
	case errors.As(err, &refused):
		out = plan.Result().Raw()
	case err != nil:
		return Result{}, err
	case plan.Empty():
		return Result{}, nil
	}
	report, err := plain.Marshal(plan)
	if err != nil {
		return Result{}, err
	}
	if plan.Empty() {
		out = nil
	}
	return Result{out, report}, nil
}

// check reports what the provider would refuse.
func (o *options) check(r *wire.Request, _ *caller) (Result, error) {
	found := r.Check(wire.CheckOptions{Strict: o.Strict != nil && *o.Strict, Advice: o.Advice})
	t := r.Transcript()
	n := map[transcript.Kind]int{}
	for _, b := range t.Blocks() {
		n[b.Kind]++
	}
	return reported(struct {
		Dialect  string         `json:"dialect"`
		Profile  string         `json:"profile"`
		Messages int            `json:"messages"`
		Calls    int            `json:"calls"`
		Results  int            `json:"results"`
		Delta    string         `json:"delta,omitempty"`
		Findings []wire.Finding `json:"findings"`
	}{r.Dialect.String(), r.Profile.Name, len(t.Messages()), n[transcript.Call], n[transcript.Result], dialect.Delta(r), append([]wire.Finding{}, found...)})
}

// count counts tokens.
func (o *options) count(r *wire.Request, cb *caller) (Result, error) {
	model := cmp.Or(o.Model, r.Model())
	counter, err := cb.counter(counterOf(o.Tokenizer))(model)
	if err != nil {
		return Result{}, err
	}
	t := struct {
		Dialect string   `json:"dialect"`
		Profile string   `json:"profile"`
		Model   string   `json:"model"`
		Window  int      `json:"window,omitempty"`
		Room    int      `json:"room,omitempty"`
		Share   *float64 `json:"share,omitempty"`
		tally.Tally
	}{Dialect: r.Dialect.String(), Profile: r.Profile.Name, Model: model, Tally: tally.Of(r, counter, o.ByMessage)}
	if err := cb.failed(); err != nil {
		return Result{}, err
	}
	if m, known := tokens.Lookup(model); known && dialect.Delta(r) == "" {
		t.Window, t.Room = m.Window, m.Input(min(r.MaxOutputTokens(), m.Output))
		share := math.Round(1e6*float64(t.Tally.Tokens)/float64(t.Room)) / 1e6
		t.Share = &share
	}
	return reported(t)
}

// A Pair is a call and what answers it.
type Pair struct {
	ID      string   `json:"id"`
	Tool    string   `json:"tool"`
	State   string   `json:"state"`
	Call    string   `json:"call"`              // its path; "": there is none
	Results []string `json:"results"`           // their paths, in order
	Server  bool     `json:"server,omitempty"`  // executed by the provider
	Guessed bool     `json:"guessed,omitempty"` // an id was missing: by name, or by order
	Thread  string   `json:"thread,omitempty"`  // of a session file
}

// Pairs lists the pairs of a request, in the order of their first blocks.
func Pairs(r *wire.Request, thread string) []Pair {
	all := []Pair{}
	for _, x := range r.Transcript().Exchanges() {
		p := Pair{ID: x.CallID, Tool: x.Tool, State: strings.ReplaceAll(x.State.String(), " ", "-"), Results: []string{}, Server: x.Server, Guessed: x.Guessed, Thread: thread}
		if x.Call != transcript.NoBlock {
			p.Call = r.Path(x.Call)
		}
		for _, b := range x.Results {
			p.Results = append(p.Results, r.Path(b))
		}
		all = append(all, p)
	}
	return all
}

// pairs tells which result answers which call.
func (o *options) pairs(r *wire.Request, _ *caller) (Result, error) {
	return reported(struct {
		Dialect string `json:"dialect"`
		Profile string `json:"profile"`
		Pairs   []Pair `json:"pairs"`
	}{r.Dialect.String(), r.Profile.Name, Pairs(r, "")})
}

// split finds the cut for a compaction; the body is the part that was asked for.
func (o *options) split(r *wire.Request, _ *caller) (Result, error) {
	t := r.Transcript()
	cut, found := t.Split(or(o.MinKeep, 12), o.Inside)
	cuts := t.Cuts()
	if dialect.Delta(r) != "" { // its beginning is on the server
		found, cuts = false, func(func(transcript.Cut) bool) {}
	}
	d := struct {
		Cut    int   `json:"cut"`
		Head   int   `json:"head"`
		Tail   int   `json:"tail"`
		Cuts   []int `json:"cuts"`
		Inside []int `json:"inside"`
	}{Tail: len(t.Messages()), Cuts: []int{}, Inside: []int{}}
	for c := range cuts {
		switch {
		case c.Before() <= t.Preamble():
		case c.Inside():
			d.Inside = append(d.Inside, c.Before())
		default:
			d.Cuts = append(d.Cuts, c.Before())
		}
	}
	var part []byte
	if found {
		d.Cut, d.Head, d.Tail = cut.Before(), cut.Before(), d.Tail-cut.Before()
		switch o.Part {
		case "head":
			part = r.Before(cut)
		case "tail":
			part = r.After(cut)
		}
	}
	res, err := reported(d)
	res.Body = part
	return res, err
}

func reported(v any) (Result, error) {
	text, err := plain.Marshal(v)
	return Result{Report: text}, err
}

func or(n *int, otherwise int) int {
	if n == nil {
		return otherwise
	}
	return *n
}

// asError gives an error its type.
func asError(err error) *Error {
	var (
		own     *Error
		syntax  *wire.SyntaxError
		small   *pare.WindowTooSmall
		unknown *pare.UnknownModelError
		compact *pare.CompactionError
	)
	switch {
	case errors.As(err, &own):
		return own
	case misconfigured(err):
		return &Error{Type: "options", Message: err.Error()}
	case errors.As(err, &syntax), errors.Is(err, wire.ErrNotRequest), errors.Is(err, hosts.ErrShape):
		return &Error{Type: "unreadable", Message: err.Error()}
	case errors.As(err, &small):
		return &Error{Type: "window_too_small", Message: err.Error(), Unit: string(small.Unit), Limit: small.Limit, Minimum: small.Minimum}
	case errors.As(err, &unknown):
		return &Error{Type: "unknown_model", Message: err.Error()}
	case errors.As(err, &compact):
		return &Error{Type: "compaction", Message: err.Error()}
	}
	return &Error{Type: "failed", Message: err.Error(), cause: err}
}

// misuse is the error for options that cannot be.
func misuse(format string, args ...any) error {
	return &Error{Type: "options", Message: fmt.Sprintf(format, args...)}
}

// unknownMember adds what may have been meant to the error of a JSON decoder.
func unknownMember(err error, call string, known []string) error {
	if _, name, ok := strings.Cut(err.Error(), `unknown field "`); ok {
		name = strings.TrimSuffix(name, `"`)
		return misuse("%s has no option %q%s", call, name, hint(suggest.Sentence(name, known)))
	}
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return misuse("the option %q cannot be a %s", wrong.Field, wrong.Value)
	}
	return misuse("the options are no JSON object: %v", err)
}

func hint(sentence string) string {
	if sentence == "" {
		return ""
	}
	return "; " + sentence
}
