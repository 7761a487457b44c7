package replay

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/plain"
)

// A Verdict is what a replay says in a few sentences: what the sessions cost, and what they would have
// cost with one of the policies. Many goroutines may read it.
type Verdict struct {
	// Lines are sentences: the first is the verdict, the others say what it rests on, where money was
	// lost to a cold cache, and what would have been missed, the worst first.
	Lines []string
}

// worst is how many regrets a verdict tells.
const worst = 5

// Served is what pare serve does where that is switched on; the verdict of commands and pages is about it.
const Served = "trim:cold,shorten"

// Judge says what came of a policy, which all results have; nil without money or requests.
func Judge(all []*Result, policy string) *Verdict {
	sum := Sum("", all)
	i := slices.IndexFunc(sum.Runs, func(r Run) bool { return r.Policy == policy })
	if i < 0 || sum.Requests == 0 || sum.Runs[0].Money == 0 {
		return nil
	}
	v := &Verdict{}
	v.add("%s", sum.verdict(all, &sum.Runs[i]))
	v.add("%s", sum.billed())
	if lost := sum.lost(); lost != "" {
		v.add("%s", lost)
	}
	v.regrets(all, i)
	return v
}

func (v *Verdict) add(format string, args ...any) {
	v.Lines = append(v.Lines, plain.Line(fmt.Sprintf(format, args...)))
}

// verdict is the first sentence.
func (r *Result) verdict(all []*Result, run *Run) string {
	first := &r.Runs[0]
	sessions := make(map[string]bool)
	for _, one := range all {
		name, _, _ := strings.Cut(one.Source, " part ")
		sessions[name] = true
	}
	net := ""
	if run.Net-run.Money >= 0.005 {
		net = fmt.Sprintf(", %s with what would be read again", Dollars(run.Net))
	}
	dearer := "No session would have cost more."
	if run.Dearer > 0 {
		dearer = fmt.Sprintf("%s of %s would have cost more.", grouped(run.Dearer), plural(r.Histories, "history", "histories"))
	}
	cost := "cost"
	if r.Bills.Requests == 0 {
		cost = "would cost about"
	}
	return fmt.Sprintf("%s %s %s. With %s %s (%s)%s. %s %s",
		plural(len(sessions), "session", "sessions"), cost, Dollars(first.Money), run.Policy, Dollars(run.Money), change(run.Money, first.Money), net, r.missed(run), dearer)
}

// change is by how many percent one sum differs from another.
func change(now, before float64) string {
	n := 100 * (now/before - 1)
	if math.Abs(n) < 0.05 {
		return "no change"
	}
	return strings.Replace(fmt.Sprintf("%+.1f%%", n), "-", "−", 1)
}

// missed is how often something is missed, beside how often the agent looks up again what it has.
func (r *Result) missed(run *Run) string {
	if r.Calls == 0 {
		return "There were no calls."
	}
	again := "."
	if r.Repeats > 0 {
		again = fmt.Sprintf("; the agent itself did so %s, with what it still had.", plural(r.Repeats, "time", "times"))
	}
	if run.Missed == 0 {
		return fmt.Sprintf("None of %s would have had to look something up again", plural(r.Calls, "call", "calls")) + again
	}
	edits := ""
	if r.Edits > 0 {
		edits = fmt.Sprintf(", %s of %s among them", grouped(run.Blind), plural(r.Edits, "edit", "edits"))
	}
	return fmt.Sprintf("Of %s, %s would have had to look something up again%s", plural(r.Calls, "call", "calls"), grouped(run.Missed), edits) + again
}

// billed says how far the figures can be trusted.
func (r *Result) billed() string {
	b := &r.Bills
	if b.Requests == 0 {
		return "No bill is recorded, so this is an estimate, and the system prompt and the tools are not in it."
	}
	text := fmt.Sprintf("The bill is recorded for %s of %s.", grouped(b.Requests), plural(r.Requests, "request", "requests"))
	if b.Requests < r.Requests {
		text += " The others are estimates."
	}
	text += fmt.Sprintf(" Where there is a bill, an estimate of the tokens is off by %s in all, by at most %s for half of the requests, and by at most %s for nine of ten.",
		change(float64(b.Fitted), float64(b.Sent)), permille(b.Median), permille(b.Most))
	if b.Money > 0 {
		text += fmt.Sprintf(" For %s of them the money is within 2%% of the bill.", grouped(b.PaidNear))
	}
	return text
}

func permille(n int) string { return fmt.Sprintf("%.1f%%", float64(n)/10) }

// lost says where the cache was lost, and why.
func (r *Result) lost() string {
	type sum struct {
		times, again int
		money        float64
		still        []int
	}
	causes := make(map[string]*sum)
	var total sum
	for _, b := range r.Breaks {
		s := causes[b.Cause]
		if s == nil {
			s = new(sum)
			causes[b.Cause] = s
		}
		s.times, s.again, s.money, s.still = s.times+1, s.again+b.Again, s.money+b.Money, append(s.still, b.Read)
		total.times, total.again, total.money = total.times+1, total.again+b.Again, total.money+b.Money
	}
	if total.times == 0 {
		return ""
	}
	var parts []string
	for _, c := range []struct{ cause, text string }{
		{ByPause, "after a pause"}, {ByModel, "for another model"}, {ByPrefix, "because the client changed what it sends first, or the provider forgot it"},
	} {
		s := causes[c.cause]
		if s == nil {
			continue
		}
		slices.Sort(s.still)
		part := fmt.Sprintf("%s %s for %s", grouped(s.times), c.text, Dollars(s.money))
		if n := s.still[len(s.still)/2]; n > 0 && c.cause == ByPrefix {
			part += fmt.Sprintf(" (half of them behind token %s)", grouped(n))
		}
		parts = append(parts, part)
	}
	return fmt.Sprintf("The cache was lost %s, and %s tokens were written again for %s: %s.", plural(total.times, "time", "times"), grouped(total.again), Dollars(total.money), strings.Join(parts, ", "))
}

// regrets tells the worst that would have been missed.
func (v *Verdict) regrets(all []*Result, policy int) {
	type regret struct {
		Regret
		source string
	}
	var every []regret
	for _, r := range all {
		for _, x := range r.Runs[policy].Regrets {
			every = append(every, regret{x, r.Source})
		}
	}
	slices.SortStableFunc(every, func(a, b regret) int { return cmp.Compare(b.Money, a.Money) })
	for _, x := range every[:min(len(every), worst)] {
		what := "misses a name"
		if x.Edit {
			what = "edits lines that are not in sight"
		}
		from := ""
		if len(x.Missing) > 0 {
			from = ", of " + strings.Join(x.Missing[:min(len(x.Missing), 3)], ", ")
		}
		v.add("  %s %s, request %d: %s %s %s%s", Dollars(x.Money), x.source, x.Request, x.Tool, x.Call, what, from)
	}
	if more := len(every) - worst; more > 0 {
		v.add("  and %s more; --json lists them all", grouped(more))
	}
}

// Text is the verdict for a terminal.
func (v *Verdict) Text() string {
	if v == nil {
		return ""
	}
	return strings.Join(v.Lines, "\n") + "\n\n"
}
