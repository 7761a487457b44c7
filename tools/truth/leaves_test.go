package truth

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/internal/hosts"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/wire"
)

// TestRepairKeepsEveryLeaf checks that after a repair, in any dialect and any framework's
// shape, each leaf of the input is in the output, or in a receipt that contains its text, and
// that no result answers a call of another tool.
func TestRepairKeepsEveryLeaf(t *testing.T) {
	t.Parallel()
	n := trial.Histories(2000)
	if trial.Soak() {
		n = trial.Histories(10_000) // a million
	}
	sum := newLeafCount()
	for from := 0; from < n; from += stage {
		to := min(from+stage, n)
		sum.stretch(trial.FirstSeed(), from, to)
		if n > stage {
			t.Logf("%d inputs: %s", to, sum)
		}
	}
	t.Logf("%s", sum)
	if sum.states[repaired] < n/4 {
		t.Errorf("only %d of %d inputs are repaired: they are too tame", sum.states[repaired], n)
	}
	for _, name := range slices.SortedFunc(maps.Keys(sum.classes), func(a, b string) int { return cmp.Compare(len(sum.classes[b]), len(sum.classes[a])) }) {
		seeds := sum.classes[name]
		slices.Sort(seeds)
		t.Errorf("%d × %s: seeds %v", len(seeds), name, seeds[:min(len(seeds), 8)])
		if everything() {
			t.Log(explainLeaf(seeds[0]))
		}
	}
}

// A leafCount counts the outcomes of documents, with the seeds of each class of violations.
type leafCount struct {
	states  [4]int
	forms   map[string]*[4]int
	classes map[string][]uint64
}

func newLeafCount() *leafCount {
	return &leafCount{forms: map[string]*[4]int{}, classes: map[string][]uint64{}}
}

func (s *leafCount) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d clean, %d repaired, %d with findings left, %d refused, %d classes of violations", s.states[clean], s.states[repaired], s.states[left], s.states[refused], len(s.classes))
	for _, name := range slices.Sorted(maps.Keys(s.forms)) {
		f := s.forms[name]
		fmt.Fprintf(&b, "\n%-22s %7d %7d %7d %7d", name, f[clean], f[repaired], f[left], f[refused])
	}
	return b.String()
}

// stretch judges the documents from and up to, on all cores.
func (s *leafCount) stretch(first uint64, from, to int) {
	workers := runtime.GOMAXPROCS(0)
	parts := make([]*leafCount, workers)
	var wg sync.WaitGroup
	for w := range workers {
		parts[w] = newLeafCount()
		wg.Go(func() {
			all := forms()
			for i := from + w; i < to; i += workers {
				parts[w].judge(all, first+uint64(i))
			}
		})
	}
	wg.Wait()
	for _, p := range parts {
		for name, f := range p.forms {
			if s.forms[name] == nil {
				s.forms[name] = new([4]int)
			}
			for i, n := range f {
				s.forms[name][i] += n
				s.states[i] += n
			}
		}
		for name, seeds := range p.classes {
			s.classes[name] = append(s.classes[name], seeds...)
		}
	}
}

func (s *leafCount) judge(all []form, seed uint64) {
	d := leafInput(all, seed)
	res := repairLeaves(d, leafPolicy(seed))
	if s.forms[d.name] == nil {
		s.forms[d.name] = new([4]int)
	}
	s.forms[d.name][res.state]++
	if res.err != nil && everything() {
		fmt.Println(d.name, seed, res.err)
	}
	for _, class := range d.violations(res) {
		s.classes[class] = append(s.classes[class], seed)
	}
}

// A leafSample is a body of a form. Its tree is nil where its markers are those of package histories.
type leafSample struct {
	form
	body []byte
	root *node
}

// leafInput makes the input of a seed: from the templates of its form or, for every other one of a dialect, a
// mixture of all that the dialect has.
func leafInput(all []form, seed uint64) leafSample {
	f := all[seed%uint64(len(all))]
	round := seed / uint64(len(all))
	if f.dialect != wire.Auto && round%2 == 1 {
		rnd := rand.New(rand.NewPCG(seed, 29))
		body, _ := histories.Mixed(seed, f.dialect, histories.MixOptions{Breaks: rnd.IntN(4)})
		return leafSample{form: f, body: body}
	}
	root := makeDamaged(f, round, seed)
	return leafSample{form: f, body: root.write(nil), root: root}
}

// leafPolicy is how the input of a seed is repaired.
func leafPolicy(seed uint64) *pare.Policy {
	switch seed / 7 % 4 {
	case 1:
		return &pare.Policy{Repair: wire.Repair{OrphanCall: wire.RemedyDrop, OrphanResult: wire.RemedyDrop}}
	case 2:
		return &pare.Policy{Repair: wire.Repair{Open: true}}
	}
	return &pare.Policy{}
}

// A leafResult is the outcome of a repair.
type leafResult struct {
	out     []byte
	changes []wire.Change
	state   doorState
	err     error
}

func repairLeaves(d leafSample, p *pare.Policy) (res leafResult) {
	res.out = d.body
	var plan *pare.Plan
	if d.host != "" {
		l, err := hosts.Read(d.body, hosts.Options{As: d.host})
		if err != nil {
			return leafResult{out: d.body, state: refused, err: err}
		}
		if plan, err = p.Plan(context.Background(), l.Request); err != nil {
			return leafResult{out: d.body, state: refused, err: err}
		}
		out, err := l.Rewrite(plan)
		if err != nil {
			return leafResult{out: d.body, state: refused, err: err}
		}
		if res.changes = l.Changes(plan.Changes()); out != nil {
			res.out = out
		}
	} else {
		r, err := wire.Parse(d.body, wire.Options{Dialect: d.dialect})
		if err != nil {
			return leafResult{out: d.body, state: refused, err: err}
		}
		if plan, err = p.Plan(context.Background(), r); err != nil {
			return leafResult{out: d.body, state: refused, err: err}
		}
		res.out, res.changes = plan.Result().Raw(), plan.Changes()
	}
	switch {
	case len(plan.Remaining()) > 0:
		res.state = left
	case bytes.Equal(res.out, d.body):
		res.state = clean
	default:
		res.state = repaired
	}
	return res
}

// leafMarks lists the markers and numbers of a text, in their order.
func leafMarks(raw []byte) (all []string) {
	for _, kind := range []struct {
		begin  string
		length int
	}{{marker, len(marker) + 4}, {"770", len(fmt.Sprint(numbers))}} {
		for at := 0; ; at++ {
			i := bytes.Index(raw[at:], []byte(kind.begin))
			if at += i; i < 0 || at+kind.length > len(raw) {
				break
			}
			all = append(all, string(raw[at:at+kind.length]))
		}
	}
	return all
}

// violations lists the classes of violations of a repair, each once.
func (d *leafSample) violations(res leafResult) (classes []string) {
	if bytes.Equal(res.out, d.body) {
		return nil
	}
	add := func(class string) {
		if class = d.name + ": " + class; !slices.Contains(classes, class) {
			classes = append(classes, class)
		}
	}
	var receipts strings.Builder
	for i := range res.changes {
		receipts.WriteString(receiptText(&res.changes[i]))
		receipts.WriteByte('\n')
	}
	told := receipts.String()
	if d.root == nil {
		for _, l := range histories.Lost(histories.Leaves(d.body), res.out, nil) {
			if !strings.Contains(told, l.Marker) {
				add("lost: " + l.Kind + " by " + changesOf(res.changes))
			}
		}
		return classes
	}
	there := map[string]bool{}
	for _, m := range leafMarks(res.out) {
		there[m] = true
	}
	for _, m := range leafMarks(d.body) {
		if !there[m] && !strings.Contains(told, m) {
			add("lost by " + changesOf(res.changes))
		}
		there[m] = true // once is enough
	}
	out, err := readTree(res.out)
	if err != nil {
		add("the output is no JSON")
		return classes
	}
	for _, what := range strangers(d.root, out) {
		add(what)
	}
	return classes
}

// changesOf formats the changes.
func changesOf(changes []wire.Change) string {
	var all []string
	for _, c := range changes {
		if what := string(c.Action) + " " + c.Rule; !slices.Contains(all, what) {
			all = append(all, what)
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// explainLeaf formats the input and the output of a seed.
func explainLeaf(seed uint64) string {
	d := leafInput(forms(), seed)
	res := repairLeaves(d, leafPolicy(seed))
	var b strings.Builder
	fmt.Fprintf(&b, "in:  %s\nout: %s", d.body, res.out)
	for _, c := range res.changes {
		fmt.Fprintf(&b, "\n  %s %s %s %v: %s", c.Action, c.Rule, c.Path, c.IDs, c.Reason)
	}
	return b.String()
}
