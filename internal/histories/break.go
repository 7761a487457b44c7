package histories

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// A Mutation is one way in which histories break in practice. Many goroutines may read it.
type Mutation struct {
	Name string
	Doc  string // the incident that it imitates
	// Apply breaks a copy of the script at a place chosen by r and describes the change. It
	// returns false if the script has no such place.
	Apply func(r *rand.Rand, s Script) (broken Script, did string, ok bool)
}

// Mutations returns all mutations of scripts, sorted by name.
func Mutations() []Mutation {
	return []Mutation{
		{"drop-call", "a window lets go of a call and keeps its result", dropCall},
		{"drop-result", "a crash, an interrupt or a trim loses the result", dropResult},
		{"drop-turn", "a line of the session file is lost", dropTurn},
		{"duplicate-call", "a stream or a retry files the call twice", duplicateCall},
		{"duplicate-result", "the tool's answer and a synthetic one are both kept", duplicateResult},
		{"empty-text", "a streamed text ends before its first word", emptyText},
		{"interrupt", "a person writes while a tool runs", interrupt},
		{"move-result", "a result comes in after the talk went on", moveResult},
		{"rename-call", "an adapter rewrites the id of the call only", renameCall},
		{"rename-result", "an adapter rewrites the id of the result only", renameResult},
		{"reverse-results", "parallel tools finish in another order", reverseResults},
		{"truncate-head", "a window keeps the last messages", truncateHead},
		{"truncate-tail", "the process dies", truncateTail},
	}
}

// Break applies one to three mutations and returns a description of each. It returns a script
// unchanged if no mutation fits.
func Break(r *rand.Rand, s Script) (Script, []string) {
	var log []string
	all := Mutations()
	for range 1 + r.IntN(3) {
		m := all[r.IntN(len(all))]
		broken, did, ok := m.Apply(r, s)
		if ok && len(broken) > 0 {
			s, log = broken, append(log, m.Name+": "+did)
		}
	}
	return s, log
}

// pickStep returns a step for which is holds, or false.
func pickStep(r *rand.Rand, s Script, is func(i int) bool) (int, bool) {
	var all []int
	for i := range s {
		if is(i) {
			all = append(all, i)
		}
	}
	if all == nil {
		return 0, false
	}
	return all[r.IntN(len(all))], true
}

func (s Script) describeStep(i int) string { return fmt.Sprintf("step %d, %s", i+1, s.format(i, s[i])) }

func (s Script) withoutStep(i int) Script { return slices.Delete(slices.Clone(s), i, i+1) }

func (s Script) withStep(i int, step Step) Script { return slices.Insert(slices.Clone(s), i, step) }

func dropResult(r *rand.Rand, s Script) (Script, string, bool) {
	i, ok := pickStep(r, s, func(i int) bool { return s[i].isResult() })
	if !ok {
		return s, "", false
	}
	return s.withoutStep(i), "dropped " + s.describeStep(i), true
}

func dropCall(r *rand.Rand, s Script) (Script, string, bool) {
	i, ok := pickStep(r, s, func(i int) bool { return s[i].Op == Call })
	if !ok {
		return s, "", false
	}
	return s.withoutStep(i), "dropped " + s.describeStep(i), true
}

// dropTurn drops all that one speaker does in a row.
func dropTurn(r *rand.Rand, s Script) (Script, string, bool) {
	i, ok := pickStep(r, s, func(i int) bool { return s[i].speaker() != noSpeaker && (i == 0 || s[i-1].speaker() != s[i].speaker()) })
	if !ok {
		return s, "", false
	}
	end := i + 1
	for end < len(s) && s[end].speaker() == s[i].speaker() {
		end++
	}
	return slices.Delete(slices.Clone(s), i, end), fmt.Sprintf("dropped steps %d to %d", i+1, end), true
}

func duplicateResult(r *rand.Rand, s Script) (Script, string, bool) {
	i, ok := pickStep(r, s, func(i int) bool { return s[i].isResult() })
	if !ok {
		return s, "", false
	}
	copied := s[i]
	copied.Text = "aborted"
	return s.withStep(i+1, copied), "answered again " + s.describeStep(i), true
}

func duplicateCall(r *rand.Rand, s Script) (Script, string, bool) {
	i, ok := pickStep(r, s, func(i int) bool { return s[i].Op == Call })
	if !ok {
		return s, "", false
	}
	return s.withStep(i+1, s[i]), "doubled " + s.describeStep(i), true
}

func moveResult(r *rand.Rand, s Script) (Script, string, bool) {
	i, ok := pickStep(r, s, func(i int) bool { return s[i].isResult() && i+1 < len(s) })
	if !ok {
		return s, "", false
	}
	to := i + 1 + r.IntN(len(s)-i-1)
	return s.withoutStep(i).withStep(to, s[i]), fmt.Sprintf("moved behind step %d: %s", to+1, s.describeStep(i)), true
}

func interrupt(r *rand.Rand, s Script) (Script, string, bool) {
	i, ok := pickStep(r, s, func(i int) bool { return s[i].isResult() && i > 0 && (s[i-1].Op == Call || s[i-1].isResult()) })
	if !ok {
		return s, "", false
	}
	return s.withStep(i, Step{Op: User, Text: "wait"}), "a person spoke before " + s.describeStep(i), true
}

func truncateHead(r *rand.Rand, s Script) (Script, string, bool) {
	if len(s) < 2 {
		return s, "", false
	}
	n := 1 + r.IntN(len(s)-1)
	return slices.Clone(s[n:]), fmt.Sprintf("dropped the first %d steps", n), true
}

func truncateTail(r *rand.Rand, s Script) (Script, string, bool) {
	if len(s) < 2 {
		return s, "", false
	}
	n := 1 + r.IntN(len(s)-1)
	return slices.Clone(s[:n]), fmt.Sprintf("kept the first %d steps", n), true
}

func reverseResults(r *rand.Rand, s Script) (Script, string, bool) {
	i, ok := pickStep(r, s, func(i int) bool {
		return s[i].isResult() && (i == 0 || !s[i-1].isResult()) && i+1 < len(s) && s[i+1].isResult()
	})
	if !ok {
		return s, "", false
	}
	end := i
	for end < len(s) && s[end].isResult() {
		end++
	}
	out := slices.Clone(s)
	slices.Reverse(out[i:end])
	return out, fmt.Sprintf("reversed steps %d to %d", i+1, end), true
}

func emptyText(r *rand.Rand, s Script) (Script, string, bool) {
	i, ok := pickStep(r, s, func(i int) bool { return s[i].Op == User || s[i].Op == Say })
	if !ok {
		return s, "", false
	}
	out := slices.Clone(s)
	out[i].Text = ""
	return out, "emptied " + s.describeStep(i), true
}

// foreignID is an id that no script uses, until it is renamed to it.
const foreignID = "renamed0"

func renameCall(r *rand.Rand, s Script) (Script, string, bool) {
	return rename(r, s, func(step Step) bool { return step.Op == Call })
}

func renameResult(r *rand.Rand, s Script) (Script, string, bool) {
	return rename(r, s, Step.isResult)
}

func rename(r *rand.Rand, s Script, is func(Step) bool) (Script, string, bool) {
	i, ok := pickStep(r, s, func(i int) bool { return is(s[i]) })
	if !ok {
		return s, "", false
	}
	out := slices.Clone(s)
	out[i].ID = foreignID
	return out, "renamed the id of " + s.describeStep(i), true
}
