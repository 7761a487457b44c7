package replay

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A Policy says what is sent in the place of each request of a history.
type Policy struct {
	Name string
	Doc  string // one line
	// Prepare is called once for each history. A nil Send sends everything.
	Prepare func(Setting) (Send, error)
}

// A Send returns what is sent in the place of a request: the very same one if it is
// to stay as it is. It is called for each request of a history in order. If its error
// is a *pare.WindowTooSmall the request is sent as it is, and counted as one that the
// policy could not make fit.
type Send func(*wire.Request) (*wire.Request, error)

// A Setting is what a policy is to work with.
type Setting struct {
	Model   string
	Tokens  int // what a request may have
	Low     int // what it is to be trimmed to when it has more; less than Tokens
	Counter wire.Counter
	Cache   tokens.Cache
}

// Standard lists the policies that are compared where none are named.
func Standard() []Policy {
	return []Policy{Everything(), Sliding(0), Trim(TrimOptions{}), Trim(TrimOptions{Each: true}), Prune(nil)}
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

// slide keeps the system's messages in front and the last ones.
func slide(r *wire.Request, s Setting, messages int) (*wire.Request, error) {
	all := r.Transcript().Messages()
	head, size := 0, r.HeadTokens(s.Counter)
	for head < len(all) && all[head].Role == transcript.System {
		size += r.MessageTokens(s.Counter, head)
		head++
	}
	from := len(all)
	for from > head {
		size += r.MessageTokens(s.Counter, from-1)
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
	body := slices.Clone(raw[:all[0].Span.Start])
	for i, m := range append(slices.Clone(all[:head]), all[from:]...) {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, raw[m.Span.Start:m.Span.End]...)
	}
	body = append(body, raw[all[len(all)-1].Span.End:]...)
	return wire.Parse(body, wire.Options{Dialect: r.Dialect, Profile: r.Profile.Name, Model: r.Model(), Structural: true})
}

// TrimOptions says how to trim. The zero value is a stable window that heeds what
// the cache costs.
type TrimOptions struct {
	Low     Amount         // the low mark; zero: that of the setting
	Each    bool           // each request is trimmed as if it were the only one
	NoCache bool           // trimmed only when it must be
	Recent  int            // see [pare.Window]
	Rules   *pare.Pipeline // votes on the first rung; nil: none
}

func (o TrimOptions) name() string {
	name, more := "trim", []string{}
	if o.Each {
		name = "trim-each"
	}
	if o.Low != (Amount{}) {
		more = append(more, "low="+o.Low.String())
	}
	if o.Recent != 0 {
		more = append(more, fmt.Sprintf("recent=%d", o.Recent))
	}
	if o.NoCache {
		more = append(more, "nocache")
	}
	if o.Rules != nil {
		more = append(more, "rules")
	}
	if len(more) > 0 {
		name += ":" + strings.Join(more, ",")
	}
	return name
}

// Trim sends what [pare.Trim] makes of each request.
func Trim(o TrimOptions) Policy {
	p := Policy{Name: o.name(), Doc: "pare's stable window: trimmed rarely, in one go, to the low mark"}
	if o.Each {
		p.Doc = "pare's window without a low mark: every request trimmed to the limit"
	}
	p.Prepare = func(s Setting) (Send, error) {
		w := pare.Window{Tokens: s.Tokens, Recent: o.Recent, Rules: o.Rules}
		if !o.Each {
			w.Low = s.Low
			if o.Low != (Amount{}) {
				w.Low = min(o.Low.Of(s.Tokens), s.Tokens-1)
			}
			if !o.NoCache {
				w.Cache = s.Cache
			}
		}
		return func(r *wire.Request) (*wire.Request, error) {
			plan, err := pare.Trim(r, w, pare.Options{Counter: s.Counter})
			if err != nil {
				return nil, err
			}
			return plan.Result(), nil
		}, nil
	}
	return p
}

// Prune lets rules vote on each request and heeds no limit; nil: the standard rules.
func Prune(by *pare.Pipeline) Policy {
	return Policy{"rules", "what the rules find useless is removed from each request", func(Setting) (Send, error) {
		p := by
		if p == nil {
			var err error
			if p, err = pare.Compile(rules.Standard()...); err != nil {
				return nil, err
			}
		}
		return func(r *wire.Request) (*wire.Request, error) {
			plan, err := p.Plan(r, pare.Options{})
			if err != nil {
				return nil, err
			}
			return plan.Result(), nil
		}, nil
	}}
}

// ParsePolicy makes a policy from a text: everything, sliding, trim, trim-each or
// rules. Behind a colon there may be messages=N for sliding; recent=N and rules for trim
// and trim-each; low=N or low=N% and nocache for trim. They are the fields of
// [TrimOptions]. The rules are those of the pipeline; nil: the standard ones.
func ParsePolicy(text string, by *pare.Pipeline) (Policy, error) {
	name, options, _ := strings.Cut(text, ":")
	if by == nil {
		var err error
		if by, err = pare.Compile(rules.Standard()...); err != nil {
			return Policy{}, err
		}
	}
	o := TrimOptions{Each: name == "trim-each"}
	messages := 0
	for option := range strings.SplitSeq(options, ",") {
		key, value, _ := strings.Cut(option, "=")
		var err error
		trim := name == "trim" || name == "trim-each"
		switch {
		case option == "" && options == "":
		case name == "sliding" && key == "messages":
			messages, err = natural(value)
		case name == "trim" && key == "low":
			o.Low, err = ParseAmount(value)
		case trim && key == "recent":
			o.Recent, err = natural(value)
		case trim && option == "rules":
			o.Rules = by
		case name == "trim" && option == "nocache":
			o.NoCache = true
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
	case "trim", "trim-each":
		return Trim(o), nil
	case "rules":
		return Prune(by), nil
	}
	return Policy{}, fmt.Errorf("unknown policy %q; the policies are %s", name, strings.Join(PolicyNames(), ", "))
}

// PolicyNames lists the names that ParsePolicy knows.
func PolicyNames() []string { return []string{"everything", "sliding", "trim", "trim-each", "rules"} }

func natural(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return 0, errors.New("a number of 1 or more is needed")
	}
	return n, nil
}

// An Amount is a number of tokens, or a share of another number of them. The zero
// Amount is none.
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
