package truth

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pare-llm/pare/internal/hosts"
	"github.com/pare-llm/pare/internal/trial"
)

// The relation is the same for everything that changes a history: the engine with all its
// options, the proxy, sessions, files in place, the store. A document is made from a template of
// a shape, mutated three times in four, and its strings carry markers. All of it is read and
// written by the few lines of node and by encoding/json, never by the parser that is judged.

// TestEveryWordIsKeptOrNamed checks for any JSON input that each string which a person, a model or a tool may
// have said is in the output, or a receipt names it, or nothing was changed.
func TestEveryWordIsKeptOrNamed(t *testing.T) {
	t.Parallel()
	n := trial.Histories(1500)
	if trial.Soak() {
		n = trial.Histories(10_000) // a million
	}
	sum := newLedger()
	for from := 0; from < n; from += stage {
		to := min(from+stage, n)
		sum.stretch(shapes(), doors(), trial.FirstSeed(), from, to)
		if n > stage {
			t.Logf("%d inputs: %d passes, %d classes%s", to, sum.passes, len(sum.classes), sum.first())
		}
	}
	sum.tell(t)
}

// first lists the first seed of each class, so that a long run need not end before one is looked at.
func (l *outcomeCount) first() (seeds string) {
	for _, name := range slices.Sorted(maps.Keys(l.classes)) {
		seeds += "\n" + l.classes[name].seeds[0] + ": " + name
	}
	return seeds
}

// A ledger counts the outcomes of documents by shape, and violations by class.
type outcomeCount struct {
	passes  int
	states  map[string]*[4]int // by shape
	classes map[string]*breach
}

// A breach is a class of violations.
type breach struct {
	name   string
	count  int
	mild   int // of a request, a session or an envelope, whole or broken as really happens
	shapes map[string]int
	doors  map[string]int
	kinds  map[string]int // of members
	seeds  []string       // and the door of each, the first few
	sample *document      // the smallest
	raw    []byte
	door   *door
}

// shownSeeds is how many samples of a class a report names, so that each can be run by itself.
const shownSeeds = 20

func newLedger() *outcomeCount {
	return &outcomeCount{states: map[string]*[4]int{}, classes: map[string]*breach{}}
}

// stretch judges the documents from and up to, on all cores.
func (l *outcomeCount) stretch(all []*shape, ways []door, first uint64, from, to int) {
	workers := runtime.GOMAXPROCS(0)
	parts := make([]*outcomeCount, workers)
	var wg sync.WaitGroup
	for w := range workers {
		parts[w] = newLedger()
		wg.Go(func() {
			for i := from + w; i < to; i += workers {
				parts[w].try(makeDocument(all, first+uint64(i)), ways)
			}
		})
	}
	wg.Wait()
	for _, p := range parts {
		l.merge(p)
	}
}

// try passes a document through the first door and one of the others in turn.
func (l *outcomeCount) try(d *document, ways []door) {
	res := l.judge(d, &ways[0])
	l.judge(d, &ways[1+int(d.seed/7)%(len(ways)-1)])
	name := d.shape.name
	if d.changed > 0 {
		name += " (mutated)"
	}
	if l.states[name] == nil {
		l.states[name] = new([4]int)
	}
	l.states[name][res.state]++
}

// judge sends a document through a door and counts violations.
func (l *outcomeCount) judge(d *document, x *door) result {
	raw := d.raw()
	l.passes++
	classes, kinds, res := judgeWords(x, d, raw, d.wordsOf())
	mild := 0
	if (d.changed == 0 || d.gentle) && d.shape.family != frameworkFamily && d.shape.family != otherFamily {
		mild = 1
	}
	for i, name := range classes {
		l.add(name, 1, &breach{seeds: []string{fmt.Sprintf("%d %s", d.seed, x.name)}, mild: mild, sample: d, raw: raw, door: x, kinds: map[string]int{kinds[i]: 1}, shapes: map[string]int{d.shape.name: 1}, doors: map[string]int{x.name: 1}})
	}
	return res
}

func (l *outcomeCount) add(name string, n int, b *breach) {
	k := l.classes[name]
	if k == nil {
		k = &breach{name: name, shapes: map[string]int{}, doors: map[string]int{}, kinds: map[string]int{}, sample: b.sample, raw: b.raw, door: b.door}
		l.classes[name] = k
	}
	k.count += n
	k.mild += b.mild
	k.seeds = append(k.seeds, b.seeds[:min(len(b.seeds), shownSeeds-len(k.seeds))]...)
	for s, c := range b.shapes {
		k.shapes[s] += c
	}
	for s, c := range b.doors {
		k.doors[s] += c
	}
	for s, c := range b.kinds {
		k.kinds[s] += c
	}
	if b.mild > 0 && b.mild == k.mild && !strings.Contains(b.door.name, "--as") { // the first that is mild
		k.sample, k.raw, k.door = b.sample, b.raw, b.door
		return
	}
	if k.mild > b.mild && b.mild == 0 {
		return
	}
	if len(b.raw) < len(k.raw) || len(b.raw) == len(k.raw) && bytes.Compare(b.raw, k.raw) < 0 {
		k.sample, k.raw, k.door = b.sample, b.raw, b.door
	}
}

func (l *outcomeCount) merge(o *outcomeCount) {
	l.passes += o.passes
	for name, s := range o.states {
		if l.states[name] == nil {
			l.states[name] = new([4]int)
		}
		for i, n := range s {
			l.states[name][i] += n
		}
	}
	for name, b := range o.classes {
		l.add(name, b.count, b)
	}
}

// judgeWords sends a document through a door and returns the classes of violations, each once.
func judgeWords(x *door, d *document, raw []byte, words []word) (classes, kinds []string, res result) {
	res, err := x.through(d, raw)
	if err != nil {
		return []string{err.Error()}, []string{""}, res
	}
	add := func(name, kind string) {
		if !slices.Contains(classes, name) {
			classes, kinds = append(classes, name), append(kinds, kind)
		}
	}
	if bytes.Equal(res.out, raw) {
		if res.state == clean && res.calls == 0 && d.changed == 0 && (d.shape.foreign() || d.shape.family == agentFamily) && slices.ContainsFunc(words, func(w word) bool { return !w.prose && w.byTool }) {
			add("clean, though its calls are not seen", d.shape.name+" as "+res.note)
		}
		return classes, kinds, res
	}
	told := strings.Contains(x.name, "--as") // the dialect is given, so the program has no choice
	if !told && d.changed == 0 && d.shape.family == otherFamily {
		add("no request, and changed", d.shape.name+" as "+res.note)
	}
	// A list in the shape of a program that is known is repaired as that.
	if x.repairs && !told && d.changed == 0 && d.shape.foreign() && !plainTalk(d.root) && !hosts.IsHostList(raw) {
		add("foreign, and rewritten", d.shape.name+" as "+res.note)
	}
	there := present(res.out)
	for _, kept := range res.archived {
		maps.Copy(there, present(kept))
	}
	for i := range words {
		w := &words[i]
		if there[w.marker] {
			continue
		}
		v := w.verdict(res.changes, x.let)
		if v == "" {
			continue
		}
		who := "somebody"
		switch {
		case w.byPerson:
			who = "a person"
		case w.byOther:
			who = "the model, a tool or the system"
		}
		what := w.member
		if w.key {
			what = "a key"
		}
		if !w.prose {
			what += ", an id or name"
		}
		add(v+" | of "+who, what)
	}
	if x.repairs {
		compareSpeakers(d, res.out, words, add)
	}
	return classes, kinds, res
}

// compareSpeakers compares the speakers of the output: a person's words stay a person's, and no other
// words become a person's unless they are quoted.
func compareSpeakers(d *document, out []byte, words []word, add func(name, kind string)) {
	after := document{shape: d.shape, lines: d.lines}
	if !d.lines {
		root, err := readTree(out)
		if err != nil {
			add("the output is no JSON", "")
			return
		}
		after.root = root
	} else if after.root = readLines(out); after.root == nil {
		return
	}
	now := map[string][]word{}
	for _, w := range after.wordsOf() {
		now[w.marker] = append(now[w.marker], w)
	}
	for i := range words {
		w := &words[i]
		all := now[w.marker]
		if len(all) == 0 || !w.prose || w.key {
			continue
		}
		if w.byPerson && !slices.ContainsFunc(all, func(o word) bool { return !o.byOther }) {
			add("a person's words are put into another's mouth", w.member)
		}
		if w.byOther && !w.byTool && slices.ContainsFunc(all, func(o word) bool { return o.byPerson && !o.isQuoted }) {
			add("another's words are put into a person's mouth", w.member)
		}
	}
}

// readLines reads a file of lines, nil if some are no JSON.
func readLines(raw []byte) *node {
	all := list()
	for line := range bytes.Lines(raw) {
		n, err := readTree(bytes.TrimSpace(line))
		if err != nil {
			return nil
		}
		all.vals = append(all.vals, n)
	}
	return all
}

// plainTalk reports whether messages hold nothing but roles and texts, which is the same everywhere.
func plainTalk(root *node) bool {
	plain := true
	for i, key := range root.keys {
		if key == "messages" {
			root = root.vals[i]
			break
		}
	}
	root.walk(func(n *node) {
		for i, key := range n.keys {
			plain = plain && (slices.Contains([]string{"role", "content", "messages", "model", "id", "text"}, key) || key == "type" && n.vals[i].text == "text")
		}
	})
	return plain
}

// tell reports by shape and by class; each class fails the test.
func (l *outcomeCount) tell(t *testing.T) {
	t.Helper()
	var all [4]int
	var table strings.Builder
	for _, name := range slices.Sorted(maps.Keys(l.states)) {
		s := l.states[name]
		fmt.Fprintf(&table, "%-52s %7d %7d %7d %7d\n", name, s[clean], s[repaired], s[left], s[refused])
		for i, n := range s {
			all[i] += n
		}
	}
	t.Logf("%d passes; fix: %d clean, %d repaired, %d with findings left, %d refused", l.passes, all[clean], all[repaired], all[left], all[refused])
	if testing.Verbose() {
		t.Logf("%-52s %7s %7s %7s %7s\n%s", "shape", "clean", "repair", "left", "refused", table.String())
	}
	for _, b := range slices.SortedFunc(maps.Values(l.classes), func(a, b *breach) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.name, b.name))
	}) {
		b.shrink()
		t.Errorf("%d × %s (%d mild)\nshapes: %s\nmembers: %s\ndoors: %s\nseeds: %s\nseed %d, %s, %s (%s):\n%s\n", b.count, b.name, b.mild, counts(b.shapes), counts(b.kinds), counts(b.doors), strings.Join(b.seeds, ", "), b.sample.seed, b.sample.shape.name, b.door.name, b.sample.fileName(), b.outcome())
	}
}

// counts lists the most frequent, or all with PARE_TRUTH=all.
func counts(all map[string]int) string {
	shown := 8
	if everything() {
		shown = len(all)
	}
	names := slices.SortedFunc(maps.Keys(all), func(a, b string) int { return cmp.Or(cmp.Compare(all[b], all[a]), cmp.Compare(a, b)) })
	var out []string
	for _, name := range names[:min(len(names), shown)] {
		out = append(out, fmt.Sprintf("%s %d", name, all[name]))
	}
	if len(names) > shown {
		out = append(out, fmt.Sprintf("and %d more", len(names)-shown))
	}
	return strings.Join(out, ", ")
}

// outcome formats the input and the output.
func (b *breach) outcome() string {
	res, err := b.door.through(b.sample, b.raw)
	var out strings.Builder
	fmt.Fprintf(&out, "in:  %s\nout: %s\n(%s) %v", bytes.TrimSpace(b.raw), bytes.TrimSpace(res.out), res.note, err)
	for _, c := range res.changes {
		fmt.Fprintf(&out, "\n     %s %s line %d %s %v: %s", c.action, c.rule, c.line, strings.Join(c.path, "."), c.ids, c.reason)
	}
	return out.String()
}

// shrink makes the sample smaller as long as it is one of its class.
func (b *breach) shrink() {
	if b.sample.file != "" {
		return // not shrunk, because it is a file
	}
	holds := func(d *document) bool {
		raw := d.raw()
		classes, _, _ := judgeWords(b.door, d, raw, d.wordsOf())
		return slices.Contains(classes, b.name)
	}
	d := *b.sample
	d.root = d.root.copy()
	for again := true; again; {
		again = false
		var all []*node
		d.root.walk(func(n *node) { all = append(all, n) })
		for _, n := range all {
			for i := len(n.vals) - 1; i >= 0; i-- {
				was := *n
				was.keys, was.vals = slices.Clone(n.keys), slices.Clone(n.vals)
				if n.remove(i); holds(&d) {
					again = true
					continue
				}
				*n = was
			}
		}
	}
	b.sample, b.raw = &d, d.raw()
}
