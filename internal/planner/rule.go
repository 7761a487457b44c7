package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A Rule votes on the atoms and blocks of a request. Prepare examines the request and returns the
// process that votes. The process keeps its findings to itself, so that rules and runs share
// nothing. Prepare must be safe for concurrent use.
type Rule struct {
	Name string
	Doc  string // one line
	// After and Before name rules of the same pipeline. A rule sees the votes of the rules that run
	// before it. A name that begins with ? is optional.
	After, Before []string
	// Excludes names rules that cannot be in the same pipeline.
	Excludes []string
	// Recent states that the rule protects only recent content, so that a store need not read older
	// content.
	Recent bool
	// Arriving states that the rule edits results before they are first sent. It votes on every
	// request, in a window before all other steps, and only its edits count. Its edit of a result may
	// depend only on that exchange, so that later requests contain the same bytes. Rules that protect
	// recent content do not stop it.
	Arriving bool
	// Prepare may run concurrently with other rules. It returns nil if the rule has no votes.
	Prepare func(*wire.Request) (Process, error)

	// replay replaces Prepare when a window replays the requests that led to a history. It reads the
	// history once and returns a function that votes on any number of first messages. Only its edits
	// count. Nil: Prepare reads each of these requests.
	replay func(*wire.Request) (func(b *Ballot, messages int), error)
}

// WithReplay returns a rule with a function that votes on any beginning of a history but reads the
// history only once. Only its edits count.
func WithReplay(r Rule, replay func(*wire.Request) (func(b *Ballot, messages int), error)) Rule {
	r.replay = replay
	return r
}

// A Process votes on the request that the rule was prepared for.
type Process func(*Ballot)

// A Pipeline is a set of rules that can run together.
type Pipeline struct {
	rules        []Rule
	onlyArriving bool // the pipeline has the rules for arriving results
}

// Rules returns the rules in the order in which they vote.
func (p *Pipeline) Rules() []Rule { return slices.Clone(p.rules) }

// A PipelineError names the rules that cannot run together.
type PipelineError struct {
	Rules  []string // the rules concerned; for a circle, in order
	Reason string
}

func (e *PipelineError) Error() string { return "compile rules: " + e.Reason }

// Compile checks that rules can run together, and orders them. The error is a *PipelineError if a
// name is missing or used twice, rules exclude each other, or After and Before form a circle.
func Compile(rules ...Rule) (*Pipeline, error) {
	index := make(map[string]int)
	for i, r := range rules {
		_, isDuplicate := index[r.Name]
		switch {
		case r.Name == "":
			return nil, &PipelineError{[]string{r.Name}, fmt.Sprintf("rule %d has no name", i)}
		case r.Prepare == nil:
			return nil, &PipelineError{[]string{r.Name}, fmt.Sprintf("rule %q has no Prepare", r.Name)}
		case isDuplicate:
			return nil, &PipelineError{[]string{r.Name}, fmt.Sprintf("rule %q stands twice", r.Name)}
		}
		index[r.Name] = i
	}
	predecessors, err := findPredecessors(rules, index)
	if err != nil {
		return nil, err
	}
	sorted, err := sortRules(rules, predecessors)
	if err != nil {
		return nil, err
	}
	return &Pipeline{rules: sorted}, nil
}

// findPredecessors returns, for each rule, the rules that it comes after.
func findPredecessors(rules []Rule, index map[string]int) ([][]int, error) {
	predecessors := make([][]int, len(rules))
	for i, r := range rules {
		for _, name := range r.Excludes {
			if _, found := index[strings.TrimPrefix(name, "?")]; found {
				return nil, &PipelineError{[]string{r.Name, name}, fmt.Sprintf("rules %q and %q exclude each other", r.Name, name)}
			}
		}
		after, err := findRules(rules, index, r, "after", r.After)
		if err != nil {
			return nil, err
		}
		before, err := findRules(rules, index, r, "before", r.Before)
		if err != nil {
			return nil, err
		}
		predecessors[i] = append(predecessors[i], after...)
		for _, successor := range before {
			predecessors[successor] = append(predecessors[successor], i)
		}
	}
	return predecessors, nil
}

// findRules returns the rules that a rule names in After or Before. It leaves out optional rules
// that are not in the pipeline.
func findRules(rules []Rule, index map[string]int, r Rule, relation string, names []string) (found []int, err error) {
	for _, name := range names {
		bare, isOptional := strings.CutPrefix(name, "?")
		i, ok := index[bare]
		switch {
		case ok:
			found = append(found, i)
		case !isOptional:
			reason := fmt.Sprintf("rule %q wants to run %s %q, which is not in the pipeline; the rules are %s", r.Name, relation, name, strings.Join(ruleNames(rules), ", "))
			return nil, &PipelineError{[]string{r.Name, name}, reason}
		}
	}
	return found, nil
}

// sortRules sorts rules by After and Before and then by name, so that the order of its input does
// not matter.
func sortRules(rules []Rule, predecessors [][]int) ([]Rule, error) {
	done := make([]bool, len(rules))
	var sorted []Rule
	for len(sorted) < len(rules) {
		next := -1
		for i, r := range rules {
			isReady := !done[i] && !slices.ContainsFunc(predecessors[i], func(j int) bool { return !done[j] })
			if isReady && (next < 0 || r.Name < rules[next].Name) {
				next = i
			}
		}
		if next < 0 {
			circle := findCircle(rules, predecessors, done)
			return nil, &PipelineError{circle, "rules wait for each other in a circle: " + strings.Join(append(circle, circle[0]), " → ")}
		}
		done[next] = true
		sorted = append(sorted, rules[next])
	}
	return sorted, nil
}

// findCircle returns rules that wait for each other. It follows predecessors that are not done
// until it meets a rule again.
func findCircle(rules []Rule, predecessors [][]int, done []bool) []string {
	i := slices.Index(done, false)
	var path []int
	for !slices.Contains(path, i) {
		path = append(path, i)
		next := slices.IndexFunc(predecessors[i], func(j int) bool { return !done[j] })
		i = predecessors[i][next]
	}
	var circle []string
	for _, j := range path[slices.Index(path, i):] {
		circle = append(circle, rules[j].Name)
	}
	return circle
}

func ruleNames(rules []Rule) []string {
	names := make([]string, len(rules))
	for i, r := range rules {
		names[i] = r.Name
	}
	return names
}

// A Reason gives the rule that caused a decision, its text, and the atom that pulled in this one:
// another atom, or itself.
type Reason struct {
	Rule string            `json:"rule"`
	Text string            `json:"text"`
	Via  transcript.AtomID `json:"via"`
}
