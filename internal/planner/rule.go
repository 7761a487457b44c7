package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A Rule is a value. Prepare looks at the history and returns the closure that
// votes; it keeps what it found in that closure, so nothing is shared between rules
// or between runs. Many goroutines call Prepare at once if they share a pipeline.
type Rule struct {
	Name string
	Doc  string // one line
	// After and Before name rules of the same pipeline. A rule sees the votes of
	// those it comes after. A name with a leading ? may be absent.
	After, Before []string
	// Excludes names rules that cannot run beside this one.
	Excludes []string
	// Recent says that the rule protects nothing but what is recent: then a store need not read
	// what is old.
	Recent bool
	// Arriving says that the rule is for results as they arrive, before they are first sent: it
	// votes on every request, in a window before anything else, and only its edits count. What it
	// makes of a result must follow from that exchange alone: then what was sent once is sent again
	// in the same bytes. What other rules protect because it is recent does not hold it back.
	Arriving bool
	// Prepare may run beside those of other rules. It may return a nil Process: the
	// rule has nothing to say.
	Prepare func(*wire.Request) (Process, error)

	// replay takes the place of Prepare where a window looks at the requests that led to a history: it
	// reads the whole history once and returns how the rule votes on a number of first messages. Only
	// edits count. Nil: Prepare reads each beginning.
	replay func(*wire.Request) (func(b *Ballot, messages int), error)
}

// WithReplay returns the rule with a function that votes on all beginnings of a history but reads the
// history only once. Only its edits count.
func WithReplay(r Rule, replay func(*wire.Request) (func(b *Ballot, messages int), error)) Rule {
	r.replay = replay
	return r
}

// A Process votes.
type Process func(*Ballot)

// A Reason says why: which rule, in its own words, and which atom pulled this one
// in, or itself. Many goroutines may read it.
type Reason struct {
	Rule string            `json:"rule"`
	Text string            `json:"text"`
	Via  transcript.AtomID `json:"via"`
}

// A Pipeline is a set of rules that has been found to be possible. It may be used
// by many goroutines.
type Pipeline struct {
	rules []Rule
	// onlyArriving is set for the rules that vote on results as they arrive.
	onlyArriving bool
}

// A PipelineError says why rules cannot run together, and names them. Many goroutines may
// read it.
type PipelineError struct {
	Rules  []string // the rules concerned; a circle in order
	Reason string
}

func (e *PipelineError) Error() string { return "compile rules: " + e.Reason }

// Compile checks that the rules can run together and derives an order. Nothing is
// run if they cannot: a name that is missing or stands twice, a circle, two rules
// that exclude each other are a *PipelineError.
func Compile(rules ...Rule) (*Pipeline, error) {
	byName := make(map[string]int)
	for i, r := range rules {
		switch _, twice := byName[r.Name]; {
		case r.Name == "":
			return nil, &PipelineError{[]string{r.Name}, fmt.Sprintf("rule %d has no name", i)}
		case r.Prepare == nil:
			return nil, &PipelineError{[]string{r.Name}, fmt.Sprintf("rule %q has no Prepare", r.Name)}
		case twice:
			return nil, &PipelineError{[]string{r.Name}, fmt.Sprintf("rule %q stands twice", r.Name)}
		}
		byName[r.Name] = i
	}
	after, err := edges(rules, byName)
	if err != nil {
		return nil, err
	}
	order, err := sortRules(rules, after)
	if err != nil {
		return nil, err
	}
	return &Pipeline{rules: order}, nil
}

// edges returns, for each rule, those it comes after.
func edges(rules []Rule, byName map[string]int) ([][]int, error) {
	after := make([][]int, len(rules))
	look := func(r Rule, name, how string) (int, bool, error) {
		bare := strings.TrimPrefix(name, "?")
		j, ok := byName[bare]
		if !ok && bare == name {
			return 0, false, &PipelineError{[]string{r.Name, name}, fmt.Sprintf("rule %q wants to run %s %q, which is not in the pipeline; the rules are %s", r.Name, how, name, strings.Join(names(rules), ", "))}
		}
		return j, ok, nil
	}
	for i, r := range rules {
		for _, name := range r.Excludes {
			if _, ok := byName[strings.TrimPrefix(name, "?")]; ok {
				return nil, &PipelineError{[]string{r.Name, name}, fmt.Sprintf("rules %q and %q exclude each other", r.Name, name)}
			}
		}
		for _, name := range r.After {
			j, ok, err := look(r, name, "after")
			if err != nil {
				return nil, err
			}
			if ok {
				after[i] = append(after[i], j)
			}
		}
		for _, name := range r.Before {
			j, ok, err := look(r, name, "before")
			if err != nil {
				return nil, err
			}
			if ok {
				after[j] = append(after[j], i)
			}
		}
	}
	return after, nil
}

// sortRules sorts by constraint, then by name, so that the order in which the
// rules were given does not matter.
func sortRules(rules []Rule, after [][]int) ([]Rule, error) {
	done := make([]bool, len(rules))
	var order []Rule
	for len(order) < len(rules) {
		next := -1
		for i, r := range rules {
			ready := !done[i] && !slices.ContainsFunc(after[i], func(j int) bool { return !done[j] })
			if ready && (next < 0 || r.Name < rules[next].Name) {
				next = i
			}
		}
		if next < 0 {
			circle := circleOf(rules, after, done)
			return nil, &PipelineError{circle, "rules wait for each other in a circle: " + strings.Join(append(circle, circle[0]), " → ")}
		}
		done[next] = true
		order = append(order, rules[next])
	}
	return order, nil
}

// circleOf walks backwards from a rule that waits until it meets one again.
func circleOf(rules []Rule, after [][]int, done []bool) []string {
	i := slices.Index(done, false)
	var path []int
	for !slices.Contains(path, i) {
		path = append(path, i)
		for _, j := range after[i] {
			if !done[j] {
				i = j
				break
			}
		}
	}
	var circle []string
	for _, j := range path[slices.Index(path, i):] {
		circle = append(circle, rules[j].Name)
	}
	return circle
}

func names(rules []Rule) []string {
	all := make([]string, len(rules))
	for i, r := range rules {
		all[i] = r.Name
	}
	return all
}

// Rules returns the rules in the order that was derived.
func (p *Pipeline) Rules() []Rule { return slices.Clone(p.rules) }
