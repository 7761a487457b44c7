package truth

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pare-llm/pare/internal/histories"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/corpus"
	"github.com/pare-llm/pare/internal/oracle"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/wire"
)

// TestMain: the tests make small, short-lived trees; collecting them often would be a third of
// the work.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	status := m.Run()
	if builtFile != "" {
		os.Remove(builtFile)
	}
	os.Exit(status)
}

// historyCount is how many histories are tried: two million in a soak.
func historyCount() int {
	if trial.Soak() {
		return trial.Histories(20_000)
	}
	return trial.Histories(500)
}

// TestPlansKeepEveryLeaf checks random histories with every block that a dialect knows, valid and broken,
// under every command: no leaf is lost unnoticed, every receipt leads to the input, the edits
// give the output, and the oracle agrees about pairs.
func TestPlansKeepEveryLeaf(t *testing.T) {
	t.Parallel()
	n := historyCount()
	found := run(t, n, commands(t), func(i int) sample {
		seed := trial.FirstSeed() + uint64(i)
		rnd := rand.New(rand.NewPCG(seed, 11))
		all := dialects()
		d := all[rnd.IntN(len(all))]
		breaks := rnd.IntN(4)
		if seed%4 == 0 {
			s := histories.Random(seed, histories.GenOptions{})
			for range breaks {
				s, _ = histories.Break(rnd, s)
			}
			return sample{d, s.Render(d, histories.RenderOptions{NoIDs: rnd.IntN(3) == 0}), seed}
		}
		body, _ := histories.Mixed(seed, d, histories.MixOptions{Breaks: breaks, Escapes: rnd.IntN(4) == 0})
		return sample{d, body, seed}
	}, leaves, trail, edits, pairs)
	if found.changed < found.tried/3 {
		t.Errorf("only %d plans of %d change something: the histories are too tame", found.changed, found.tried)
	}
	found.report(t)
}

// TestAcceptedHistoriesHaveNoFinding checks that histories which the provider accepts, by its documentation, have no
// finding.
func TestAcceptedHistoriesHaveNoFinding(t *testing.T) {
	t.Parallel()
	run(t, historyCount(), commands(t)[:1], func(i int) sample {
		all := dialects()
		seed := trial.FirstSeed() + uint64(i)
		d := all[seed%uint64(len(all))]
		body, _ := histories.Mixed(seed, d, histories.MixOptions{Escapes: seed%3 == 0})
		return sample{d, body, seed}
	}, whole).report(t)
}

// TestCorpus: requests that were really sent.
func TestCorpus(t *testing.T) {
	t.Parallel()
	all := corpus.Requests(t)
	step := max(1, 200/trial.Size(200))
	run(t, len(all)/step, commands(t), func(i int) sample {
		return sample{wire.Auto, all[i*step].Raw, uint64(i)}
	}, leaves, trail, edits).report(t)
}

// dialects are those that there are mixtures of.
func dialects() []wire.Dialect { return wire.Dialects() }

// A sample is a body to try everything on.
type sample struct {
	dialect wire.Dialect
	body    []byte
	seed    uint64
}

// A judge returns the classes of violations of a plan, or none.
type findViolations func(in *input, plan *pare.Plan) []string

// An input is a parsed sample, with the values that all commands share.
type input struct {
	*wire.Request
	leaves []histories.Leaf
	pairs  []oracle.Fault
	judged error // the oracle has nothing to judge
	found  []wire.Finding
}

// read reads a sample, nil if it is not a request.
func (s sample) read() *input {
	r, err := wire.Parse(s.body, wire.Options{Dialect: s.dialect})
	if err != nil {
		return nil // while a body is shrunk, and some of the corpus
	}
	in := &input{Request: r, leaves: histories.Leaves(s.body), found: r.Check(wire.CheckOptions{})}
	in.pairs, in.judged = oracle.Judge(r.Dialect.String(), s.body)
	return in
}

// leaves checks that every leaf is in the output or below a change that removes it, and that
// cleared and shortened content is in the plan's archive.
func leaves(in *input, plan *pare.Plan) (all []string) {
	if plan.Empty() {
		return nil
	}
	out, changes := plan.Result().Raw(), plan.Changes()
	lost := histories.Lost(in.leaves, out, changes)
	for _, l := range lost {
		all = append(all, fmt.Sprintf("%s: %s by %q", in.Dialect, l.Kind, l.By))
	}
	rest := slices.DeleteFunc(slices.Clone(changes), func(c wire.Change) bool { return c.Action == "archive" })
	if len(rest) == len(changes) {
		return all
	}
	// A leaf that only an archiving change covers must be in the archive.
	cleared := map[string]bool{}
	for _, l := range histories.Lost(in.leaves, out, rest) {
		cleared[l.Marker] = true
	}
	for _, l := range lost {
		delete(cleared, l.Marker)
	}
	for _, item := range plan.Archive() {
		for marker := range cleared {
			if bytes.Contains(item.Raw, []byte(marker)) {
				delete(cleared, marker)
			}
		}
	}
	if len(cleared) > 0 {
		all = append(all, fmt.Sprintf("%s: what was cleared is not in the archive", in.Dialect))
	}
	return all
}

// trail: every receipt leads to something in the input, or is about something new.
func trail(in *input, plan *pare.Plan) (all []string) {
	changes := plan.Changes()
	if len(changes) == 0 {
		return nil
	}
	for _, c := range histories.Unresolved(in.Raw(), changes) {
		where := "a path that is not there"
		if c.Path == "" {
			where = "no path"
		}
		all = append(all, fmt.Sprintf("%s: %s %s has %s", in.Dialect, c.Action, c.Rule, where))
	}
	return all
}

// edits: applied to the input by nothing but cutting and joining, they give the output.
func edits(in *input, plan *pare.Plan) []string {
	var out []byte
	raw, last := in.Raw(), 0
	for _, e := range plan.Edits() {
		if e.Start < last || e.End < e.Start || e.End > len(raw) {
			return []string{fmt.Sprintf("%s: edits that are not in order", in.Dialect)}
		}
		out = append(append(out, raw[last:e.Start]...), e.New...)
		last = e.End
	}
	if out = append(out, raw[last:]...); !bytes.Equal(out, plan.Result().Raw()) {
		return []string{fmt.Sprintf("%s: the edits give other bytes", in.Dialect)}
	}
	return nil
}

// pairSlugs are the findings that are about pairs.
var pairSlugs = []string{"orphan-call", "orphan-result", "displaced-result", "duplicate-result", "duplicate-call-id", "server-tool-unpaired", "result-wrong-role", "call-wrong-role", "split-results"}

// pairs checks that the oracle and the check agree about the pairs of the input, and that the
// oracle finds no fault in the pairs of the output.
func pairs(in *input, plan *pare.Plan) (all []string) {
	if in.judged != nil {
		return nil
	}
	if len(in.pairs) > 0 && len(in.found) == 0 {
		all = append(all, fmt.Sprintf("%s: the check is clean, the oracle says %s", in.Dialect, in.pairs[0].Kind))
	}
	for _, f := range in.found {
		if len(in.pairs) == 0 && slices.Contains(pairSlugs, f.Rule) {
			all = append(all, fmt.Sprintf("%s: the check says %s, the oracle nothing", in.Dialect, f.Rule))
		}
	}
	if plan.Empty() {
		return all
	}
	after, err := oracle.Judge(in.Dialect.String(), plan.Result().Raw())
	if err == nil && len(after) > 0 && len(plan.Remaining()) == 0 {
		all = append(all, fmt.Sprintf("%s: the oracle says %s of the output", in.Dialect, after[0].Kind))
	}
	return all
}

// whole: there is nothing to find.
func whole(in *input, _ *pare.Plan) (all []string) {
	for _, f := range in.found {
		all = append(all, fmt.Sprintf("%s: %s in a whole history", in.Dialect, f.Rule))
	}
	return all
}

// A tally counts failures by class and keeps the smallest of each.
type tally struct {
	judges                  []findViolations
	tried, changed, refused int
	kinds                   map[string]bool // types of blocks with leaves
	classes                 map[string]*class
}

// A class groups failures of one kind.
type class struct {
	name     string
	count    int
	commands map[string]bool
	sample   sample // the smallest that failed so
	command  command
}

// underAll is the number of samples that run under every command. Further samples run under
// one command each, in turn, because more histories find more than more commands on the same
// ones.
const underAll = 20_000

// stage is how many samples are tried between two lines that tell how far a long run is.
const stage = 20_000

// run judges the commands on n samples, on all cores; the same samples give the same tally.
func run(t *testing.T, n int, all []command, take func(i int) sample, judges ...findViolations) *tally {
	sum := tallies(1, judges)[0]
	for from := 0; from < n && !t.Failed(); from += stage {
		part := sum.stretch(t, from, min(from+stage, n), all, take)
		sum.merge(part)
		if n > stage {
			t.Logf("%d samples: %s, %d failures", min(from+stage, n), sum, sum.failures())
		}
	}
	return sum
}

// stretch judges the samples from and up to.
func (y *tally) stretch(t *testing.T, from, to int, all []command, take func(i int) sample) *tally {
	workers := runtime.GOMAXPROCS(0)
	parts := tallies(workers, y.judges)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := from + w; i < to && !t.Failed(); i += workers {
				s, some := take(i), all
				if s.seed >= underAll {
					some = all[s.seed%uint64(len(all)):][:1]
				}
				parts[w].try(t, s, some)
			}
		})
	}
	wg.Wait()
	for _, p := range parts[1:] {
		parts[0].merge(p)
	}
	return parts[0]
}

func tallies(n int, judges []findViolations) []*tally {
	all := make([]*tally, n)
	for i := range all {
		all[i] = &tally{judges: judges, kinds: map[string]bool{}, classes: map[string]*class{}}
	}
	return all
}

func (y *tally) try(t *testing.T, s sample, all []command) {
	marked, err := histories.Mark(s.body)
	if err != nil {
		return
	}
	s.body = marked
	in := s.read()
	if in == nil {
		return
	}
	for _, l := range in.leaves {
		kind, _, _ := strings.Cut(l.Kind, " ")
		if !strings.Contains(kind, `\`) { // one that a damage spoilt
			y.kinds[kind] = true
		}
	}
	for _, c := range all {
		classes, plan := in.judge(t, y.judges, s.seed, c)
		y.tried++
		switch {
		case plan == nil:
			y.refused++
		case !plan.Empty():
			y.changed++
		}
		for _, name := range classes {
			k := y.classes[name]
			if k == nil {
				k = &class{name: name, commands: map[string]bool{}, sample: s, command: c}
				y.classes[name] = k
			}
			k.add(c, s)
			k.count++
		}
	}
}

func (k *class) add(c command, s sample) {
	k.commands[c.name] = true
	if len(s.body) < len(k.sample.body) || len(s.body) == len(k.sample.body) && s.seed < k.sample.seed {
		k.sample, k.command = s, c
	}
}

func (y *tally) merge(o *tally) {
	y.tried, y.changed, y.refused = y.tried+o.tried, y.changed+o.changed, y.refused+o.refused
	maps.Copy(y.kinds, o.kinds)
	for name, k := range o.classes {
		if y.classes[name] == nil {
			y.classes[name] = k
			continue
		}
		mine := y.classes[name]
		mine.count += k.count
		maps.Copy(mine.commands, k.commands)
		mine.add(k.command, k.sample)
	}
}

// findViolations runs a command on an input and returns the classes of violations.
func (in *input) judge(tb testing.TB, judges []findViolations, seed uint64, c command) (classes []string, plan *pare.Plan) {
	if plan = c.carryOut(tb, in.Request, seed); plan == nil {
		return nil, nil
	}
	for _, j := range judges {
		classes = append(classes, j(in, plan)...)
	}
	return classes, plan
}

func (y *tally) String() string {
	return fmt.Sprintf("%d plans: %d change something, %d cannot be made; %d types of blocks", y.tried, y.changed, y.refused, len(y.kinds))
}

// failures is how often a relation did not hold.
func (y *tally) failures() (n int) {
	for _, k := range y.classes {
		n += k.count
	}
	return n
}

// everything reports whether known failures are reported, too: PARE_TRUTH=all.
func everything() bool { return os.Getenv("PARE_TRUTH") == "all" }

// report prints the counts, and shrinks and prints an example of each class that is not known.
func (y *tally) report(t *testing.T) {
	t.Helper()
	t.Log(y)
	if trial.Soak() {
		t.Logf("types of blocks: %s", strings.Join(slices.Sorted(maps.Keys(y.kinds)), " "))
	}
	knows := map[string]int{}
	for name, k := range y.classes {
		for _, row := range knownFailures {
			if row.class.MatchString(name) && !everything() {
				knows[row.name] += k.count
				delete(y.classes, name)
				break
			}
		}
	}
	for _, row := range knownFailures {
		if n := knows[row.name]; n > 0 {
			t.Logf("known: %s, %d times", row.name, n)
		}
	}
	for _, k := range slices.SortedFunc(maps.Values(y.classes), func(a, b *class) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.name, b.name))
	}) {
		small := k.sample
		small.body = histories.Shrink(k.sample.body, func(body []byte) bool {
			in := sample{k.sample.dialect, body, k.sample.seed}.read()
			if in == nil {
				return false
			}
			classes, _ := in.judge(t, y.judges, small.seed, k.command)
			return slices.Contains(classes, k.name)
		})
		_, plan := small.read().judge(t, y.judges, small.seed, k.command)
		t.Errorf("%d × %s\ncommands: %s\nseed %d, %s, %s:\n%s\nplan:\n%s", k.count, k.name, strings.Join(slices.Sorted(maps.Keys(k.commands)), ", "), small.seed, small.dialect, k.command.name, small.body, plan)
	}
}
