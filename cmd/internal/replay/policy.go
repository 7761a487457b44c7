package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A Policy says what is sent in the place of each request of a history. Many goroutines may
// use one; each history gets a Send of its own, which belongs to one.
type Policy struct {
	Name string
	Doc  string // one line
	// Prepare is called once for each history. A nil Send sends everything.
	Prepare func(Setting) (Send, error)
}

// A Send returns what is sent in the place of a request: the very same one if it is
// to stay as it is. It is called for each request of a history in order. If its error is a
// *pare.WindowTooSmall the request is sent as it is, and counted as one that the policy could
// not make fit.
type Send func(*wire.Request) (*wire.Request, error)

// A Setting is what a policy is to work with. Many goroutines may read it.
type Setting struct {
	Model   string
	Tokens  int // what a request may have
	Low     int // what it is to be trimmed to when it has more; less than Tokens
	Counter wire.Counter
	Cache   tokens.Cache
	// Beside is how many tokens each request has that the history does not show; Tokens leaves
	// room for them.
	Beside int
	// Cold lists the requests before which the cache had expired, by how many messages they had.
	// Nil: the clock is not known.
	Cold []int

	// What the history costs, if that is known: beside the list, and by message.
	head  int
	costs []int
	// What calls will need, for the policy that knows it.
	future *memory
	// asks says that a model has been asked for a summary, and what it wrote; nil: nobody counts.
	asks func(text string)
}

// message is what message i of a request costs.
func (s *Setting) message(r *wire.Request, i int) int {
	if s.costs != nil {
		return s.costs[i]
	}
	return dialect.MessageTokens(r, s.Counter, i)
}

// Standard lists the policies that are compared where none are named.
func Standard() []Policy {
	return []Policy{Everything(), Sliding(0), Trim(nil, TrimOptions{}), Trim(nil, TrimOptions{Stable: true}), Trim(nil, TrimOptions{Cache: true}), Prune(nil)}
}

// sending makes a policy of the engine that of a setting.
func sending(p pare.Policy, s Setting) Send {
	p.Model, p.SkipTokenCounts = s.Model, true // nobody reads the receipts
	p.Counter = func(string) (wire.Counter, error) { return s.Counter, nil }
	if p.Window != nil {
		w := *p.Window
		w.Tokens = s.Tokens
		p.Window = &w
	}
	return func(r *wire.Request) (*wire.Request, error) {
		plan, err := p.Plan(context.Background(), r)
		if err != nil {
			return nil, err
		}
		return plan.Result(), nil
	}
}

// Everything sends the history as it is.
func Everything() Policy {
	return Policy{"everything", "the whole history, each time", func(Setting) (Send, error) { return nil, nil }}
}

// Sliding sends the messages of the system at the beginning and the last messages:
// as many as fit the limit of tokens, or so many if messages is not zero. It cuts
// wherever that falls, as careless agents do.
func Sliding(messages int) Policy {
	p := Policy{Name: "sliding", Doc: "the last messages that fit, cut anywhere"}
	if messages > 0 {
		p.Name, p.Doc = fmt.Sprintf("sliding:messages=%d", messages), "the last messages, cut anywhere"
	}
	p.Prepare = func(s Setting) (Send, error) {
		return func(r *wire.Request) (*wire.Request, error) { return slide(r, s, messages) }, nil
	}
	return p
}

// slide keeps the system's messages in front and the last ones, with commas in between.
func slide(r *wire.Request, s Setting, messages int) (*wire.Request, error) {
	all := r.Transcript().Messages()
	head, size := 0, s.head
	if s.costs == nil {
		size = dialect.HeadTokens(r, s.Counter)
	}
	for head < len(all) && all[head].Role == transcript.System {
		size += s.message(r, head)
		head++
	}
	from := len(all)
	for from > head {
		size += s.message(r, from-1)
		tooMuch := size > s.Tokens
		if messages > 0 {
			tooMuch = len(all)-from >= messages
		}
		if tooMuch && from < len(all) { // never nothing
			break
		}
		from--
	}
	if from == head {
		return r, nil
	}
	raw := r.Raw()
	body := append(make([]byte, 0, len(raw)), raw[:all[0].Span.Start]...)
	for i, m := range append(slices.Clone(all[:head]), all[from:]...) {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, raw[m.Span.Start:m.Span.End]...)
	}
	body = append(body, raw[all[len(all)-1].Span.End:]...)
	return wire.Parse(body, wire.Options{Dialect: r.Dialect, Profile: r.Profile.Name, Model: r.Model(), Structural: true})
}

// TrimOptions are the flags of pare trim. The zero value trims each request as if it were
// the only one. Many goroutines may read it.
type TrimOptions struct {
	Stable bool   // when the limit is passed, it is trimmed to a low mark
	Low    Amount // the mark of a stable window; zero: that of the setting
	Cache  bool   // stable, and also trimmed earlier when that pays
	Recent int    // see [pare.Window]; zero: that of the policy
	Rules  bool   // the standard rules go first, if the policy has none
	// Cold makes it stable, and clears what will hardly be needed again whenever the cache has
	// expired; Hazard says how.
	Cold   bool
	Hazard rules.Hazard
	// Shorten shortens results as they arrive; nil: it does not.
	Shorten *rules.Oversized
}

func (o TrimOptions) name() string {
	var more []string
	switch {
	case o.Low != (Amount{}):
		more = append(more, "low="+o.Low.String())
	case o.Stable && !o.Cache && !o.Cold:
		more = append(more, "low")
	}
	if o.Cache {
		more = append(more, "cache")
	}
	if o.Cold {
		more = append(more, "cold")
	}
	for _, x := range []struct {
		name string
		n    int
	}{{"horizon", o.Hazard.Horizon}, {"pin", o.Hazard.Pin}, {"names", o.Hazard.Names}} {
		if x.n != 0 {
			more = append(more, fmt.Sprintf("%s=%d", x.name, x.n))
		}
	}
	if o.Shorten != nil {
		more = append(more, shortens(o.Shorten)...)
	}
	if o.Recent != 0 {
		more = append(more, fmt.Sprintf("recent=%d", o.Recent))
	}
	if o.Rules {
		more = append(more, "rules")
	}
	if len(more) == 0 {
		return "trim"
	}
	return "trim:" + strings.Join(more, ",")
}

// Trim does what pare trim does with these flags. The policy is what its configuration
// makes of it, without limits; nil: there is none.
func Trim(base *pare.Policy, o TrimOptions) Policy {
	o.Stable = o.Stable || o.Cache || o.Cold || o.Low != (Amount{})
	out := Policy{Name: o.name(), Doc: "pare trim: every request trimmed to the limit"}
	switch {
	case o.Cold:
		out.Doc = "pare trim --cold: whenever the cache has expired, what will hardly be needed again is cleared"
	case o.Cache:
		out.Doc = "pare trim --cache: trimmed rarely, in one go, to the low mark, and when it pays"
	case o.Stable:
		out.Doc = "pare trim --low: trimmed rarely, in one go, to the low mark"
	}
	out.Prepare = func(s Setting) (Send, error) {
		var p pare.Policy
		if base != nil {
			p = *base
		}
		var w pare.Window
		if p.Window != nil {
			w = *p.Window
		}
		if o.Stable {
			if w.Low = s.Low; o.Low != (Amount{}) {
				w.Low = min(o.Low.Of(s.Tokens), s.Tokens-1)
			}
		}
		if o.Cache {
			w.Cache = s.Cache
		}
		if o.Cold {
			h := o.Hazard
			h.Beside = s.Beside
			rule, err := h.Rule()
			if err != nil {
				return nil, err
			}
			if w.ColdRules, err = pare.Compile(rule); err != nil {
				return nil, err
			}
			w.Cold = append([]int{}, s.Cold...)
		}
		if o.Recent > 0 {
			w.Recent = o.Recent
		}
		if err := o.rules(&p); err != nil {
			return nil, err
		}
		p.Window = &w
		return sending(p, s), nil
	}
	return out
}

// rules are those of the policy, or the standard ones, and the one for what arrives.
func (o *TrimOptions) rules(p *pare.Policy) (err error) {
	var all []pare.Rule
	if p.Rules != nil {
		all = p.Rules.Rules()
	} else if o.Rules {
		all = rules.Standard()
	}
	if o.Shorten != nil {
		first := *o.Shorten
		first.Arrival = true
		rule, err := first.Rule()
		if err != nil {
			return err
		}
		all = append(slices.DeleteFunc(all, func(r pare.Rule) bool { return r.Name == rule.Name }), rule)
	}
	if all != nil {
		p.Rules, err = pare.Compile(all...)
	}
	return err
}

// shortens is how a policy says what it shortens.
func shortens(o *rules.Oversized) []string {
	more := []string{"shorten"}
	if o.MaxBytes != 0 {
		more = append(more, fmt.Sprintf("max=%d", o.MaxBytes))
	}
	if o.ReadBytes != 0 {
		more = append(more, fmt.Sprintf("read=%d", o.ReadBytes))
	}
	return more
}

// Shorten shortens results as they arrive, and does nothing else.
func Shorten(o rules.Oversized) Policy {
	return Policy{strings.Replace(strings.Join(shortens(&o), ","), ",", ":", 1), "results shortened as they arrive, before they are first sent", func(s Setting) (Send, error) {
		var p pare.Policy
		if err := (&TrimOptions{Shorten: &o}).rules(&p); err != nil {
			return nil, err
		}
		return sending(p, s), nil
	}}
}

// Prune does what pare prune does: rules vote on each request, and no limit is heeded. Nil:
// the standard rules.
func Prune(base *pare.Policy) Policy {
	return Policy{"prune", "pare prune: what the rules find useless is removed from each request", func(s Setting) (Send, error) {
		var p pare.Policy
		if base != nil {
			p = *base
		}
		if p.Rules == nil {
			var err error
			if p.Rules, err = pare.Compile(rules.Standard()...); err != nil {
				return nil, err
			}
		}
		p.Window, p.Compact = nil, nil
		return sending(p, s), nil
	}}
}

// ParsePolicy makes a policy from a text, which begins with one of [PolicyNames].
// Behind a colon there may be messages=N for sliding, results=N for keep and mask, max=N and read=N
// for shorten, and the flags of pare trim for trim: low=N, low=N% or low, cache, cold, recent=N,
// rules, horizon=N, pin=N, names=N for cold, and shorten with its own; see [TrimOptions]. Trim and
// prune are what a configuration makes of these commands; nil: there is none.
func ParsePolicy(text string, trim, prune *pare.Policy) (Policy, error) {
	name, options, _ := strings.Cut(text, ":")
	var o TrimOptions
	var shorten rules.Oversized
	messages := 0
	for option := range strings.SplitSeq(options, ",") {
		key, value, valued := strings.Cut(option, "=")
		var err error
		switch {
		case option == "" && options == "":
		case name == "sliding" && key == "messages":
			messages, err = natural(value)
		case name == "trim" && key == "low" && valued:
			o.Low, err = ParseAmount(value)
		case name == "trim" && option == "low":
			o.Stable = true
		case name == "trim" && option == "cache":
			o.Cache = true
		case name == "trim" && key == "recent":
			o.Recent, err = natural(value)
		case name == "trim" && option == "rules":
			o.Rules = true
		case name == "trim" && option == "cold":
			o.Cold = true
		case name == "trim" && key == "horizon":
			o.Hazard.Horizon, err = natural(value)
		case name == "trim" && key == "pin":
			o.Hazard.Pin, err = natural(value)
		case name == "trim" && key == "names":
			o.Hazard.Names, err = natural(value)
		case name == "trim" && option == "shorten":
			o.Shorten = &shorten
		case (name == "trim" || name == "shorten") && key == "max":
			shorten.MaxBytes, err = natural(value)
		case (name == "trim" || name == "shorten") && key == "read":
			if shorten.ReadBytes = -1; value != "-1" {
				shorten.ReadBytes, err = natural(value)
			}
		case (name == "keep" || name == "mask") && key == "results":
			messages, err = natural(value)
		default:
			err = errors.New("there is no such option")
		}
		if err != nil {
			return Policy{}, fmt.Errorf("policy %q: %q: %w", text, option, err)
		}
	}
	switch name {
	case "everything":
		return Everything(), nil
	case "sliding":
		return Sliding(messages), nil
	case "trim":
		return Trim(trim, o), nil
	case "shorten":
		return Shorten(shorten), nil
	case "prune":
		return Prune(prune), nil
	case "keep":
		return Keep(cmp.Or(messages, 3)), nil
	case "mask":
		return Mask(cmp.Or(messages, 10)), nil
	case "opencode":
		return Opencode(), nil
	case "cline":
		return Cline(), nil
	case "compact":
		return Compact(), nil
	case "oracle":
		return Oracle(), nil
	}
	return Policy{}, fmt.Errorf("unknown policy %q; the policies are %s", name, strings.Join(PolicyNames(), ", "))
}

// PolicyNames lists the names that ParsePolicy knows.
func PolicyNames() []string {
	return []string{"everything", "sliding", "trim", "shorten", "prune", "keep", "mask", "opencode", "cline", "compact", "oracle"}
}

func natural(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return 0, errors.New("a number of 1 or more is needed")
	}
	return n, nil
}

// An Amount is a number of tokens, or a share of another number of them. The zero
// Amount is none. Many goroutines may read it.
type Amount struct {
	Tokens  int
	Percent int
}

// ParseAmount reads 8000, or 50%.
func ParseAmount(s string) (Amount, error) {
	share, isShare := strings.CutSuffix(s, "%")
	n, err := strconv.Atoi(share)
	switch {
	case err != nil || n < 1:
		return Amount{}, fmt.Errorf("%q is neither a number of tokens nor a share such as 50%%", s)
	case isShare && n > 100:
		return Amount{}, fmt.Errorf("%q is more than there is", s)
	case isShare:
		return Amount{Percent: n}, nil
	}
	return Amount{Tokens: n}, nil
}

// Of is the amount in tokens; a share is one of whole.
func (a Amount) Of(whole int) int {
	if a.Percent > 0 {
		return int(int64(whole) * int64(a.Percent) / 100)
	}
	return a.Tokens
}

func (a Amount) String() string {
	if a.Percent > 0 {
		return fmt.Sprintf("%d%%", a.Percent)
	}
	return strconv.Itoa(a.Tokens)
}
