package summary

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// ExtractOptions are those of [Extract]; the zero value is the default. Many goroutines
// may read it.
type ExtractOptions struct {
	// Counter counts the tokens of the summary. Nil: that of what is removed and, if there
	// is none, one for every three bytes.
	Counter wire.Counter
}

// Extract returns a summarizer that needs no model: it copies lines out of what is
// removed, or out of the summaries that are to be condensed. The text is at most as long as
// asked for, and shorter than what it stands for. It is an error if there is no room for a
// line.
func Extract(o ExtractOptions) pare.Summarizer {
	return func(ctx context.Context, h pare.Removed) (pare.Summary, error) {
		if err := ctx.Err(); err != nil {
			return pare.Summary{}, err
		}
		own := o
		if own.Counter == nil {
			own.Counter = h.Counter
		}
		return own.extract(h)
	}
}

// count counts the tokens of a text.
func (o *ExtractOptions) count(text string) int {
	if o.Counter == nil {
		return (len(text) + 2) / 3
	}
	return o.Counter.Count([]byte(text))
}

// weigh counts what was removed.
func (o *ExtractOptions) weigh(h pare.Removed) int {
	n, t := 0, h.Request.Transcript()
	for _, b := range h.Blocks {
		if o.Counter != nil {
			n += dialect.BlockTokens(h.Request, o.Counter, b)
		} else {
			n += t.Block(b).Span.Len() / 3
		}
	}
	return n
}

// marks is about what the lines around a summary and its message take.
const marks = 40

func (o *ExtractOptions) extract(h pare.Removed) (pare.Summary, error) {
	if len(h.Blocks) == 0 {
		return pare.Summary{}, fmt.Errorf("nothing was removed, there is nothing to summarize")
	}
	removed := o.weigh(h) - marks
	most := h.MaxTokens
	if most <= 0 {
		most = removed
	}
	// Half of what was there, but a useful size of it.
	room := max(min(most, max(removed/2, min(removed*3/4, most/4))), 0)
	words := func(w int) *digest { return condensed(h, w) }
	if h.Level > 1 {
		room = max(most, 0)
	} else {
		f := read(h)
		words = func(w int) *digest { return newDigest(f, h.Prior+"\n"+h.Compacted, w) }
	}
	// The less room there is, the shorter the lines are; in the end it has no title.
	for _, w := range []int{min(max(room*3/10, 40), 200), 20, 10} {
		d := words(w)
		d.bare = w == 10
		if none := fmt.Sprintf(nothing+"%d messages.)", d.messages); len(d.entries) == 0 && o.count(none) <= most {
			return pare.Summary{Text: none}, nil
		}
		if k := d.most(func(k int) bool { return o.count(d.text(k)) <= room }); k > 0 {
			return pare.Summary{Text: d.text(k)}, nil
		}
	}
	return pare.Summary{}, fmt.Errorf("what would be removed has %d tokens, and no line of it makes a summary that is smaller, and of at most %d", removed+marks, most)
}

// A section is a part of the summary. They stand in this order.
type section uint8

const (
	prose section = iota // what a model wrote, without a heading
	goal
	files
	commands
	decisions
	open
	mishaps
	sections
)

var headings = [sections]string{"", "Goal:", "Files:", "Commands:", "Decisions:", "Open:", "Errors:"}

// urgency is the order in which sections get their first, second, … line.
var urgency = [sections]section{goal, prose, open, mishaps, files, decisions, commands}

// An entry is one line of the summary.
type entry struct {
	of   section
	at   int // its place in the section
	text string
}

// A digest is everything that could be told, the most urgent first.
type digest struct {
	messages int // that were read; zero: none but summaries
	omitted  int // lines that are left out already
	bare     bool
	entries  []entry
}

// newDigest words the facts. Lines that the prior summary has already, or the provider's
// compaction, are left out. Texts in them have about w bytes.
func newDigest(f facts, prior string, w int) *digest {
	var by [sections][]entry // the most urgent first
	known := make(map[string]bool)
	for l := range strings.Lines(prior) {
		known[strings.TrimSpace(l)] = true
	}
	add := func(s section, at int, format string, args ...any) {
		text := defuse("- " + fmt.Sprintf(format, args...))
		if !known[text] {
			known[text] = true
			by[s] = append(by[s], entry{s, at, text})
		}
	}
	f.tellRequests(add, w)
	f.tellFiles(add, w)
	f.tellDeeds(add, w)
	f.tellOpen(add, w)
	d := &digest{messages: f.messages}
	d.rank(by)
	return d
}

// rank puts the most urgent entries first: the first of each section, then the second.
func (d *digest) rank(by [sections][]entry) {
	for i := 0; ; i++ {
		n := len(d.entries)
		for _, s := range urgency {
			if i < len(by[s]) {
				d.entries = append(d.entries, by[s][i])
			}
		}
		if n == len(d.entries) {
			return
		}
	}
}

// condensed takes summaries apart, each line once. The newest lines are the most urgent, and
// of what the user asked for, the first one, too.
func condensed(h pare.Removed, w int) *digest {
	var told [sections][]string
	d := &digest{}
	for _, b := range h.Blocks {
		free, lists := sorted(h.Text(b))
		for _, l := range free {
			var n int
			if _, err := fmt.Sscanf(l, leftOut, &n); err == nil {
				d.omitted += n
			} else if l != title && !strings.HasPrefix(l, nothing) {
				told[prose] = append(told[prose], l)
			}
		}
		for s, list := range lists {
			told[s] = append(told[s], list...)
		}
	}
	var by [sections][]entry
	for s, list := range told {
		seen := make(map[string]bool)
		order := newest(len(list), len(list))
		if n := len(order); section(s) == goal && n > 1 {
			order = slices.Insert(order[:n-1], 1, 0)
		}
		for _, i := range order {
			if text := defuse(shorten(list[i], 2*w)); !seen[text] {
				seen[text] = true
				by[s] = append(by[s], entry{section(s), i, text})
			}
		}
	}
	d.rank(by)
	return d
}

type adder func(s section, at int, format string, args ...any)

// newest yields the places of at most so many of n things, the last one first.
func newest(n, most int) []int {
	var all []int
	for i := n - 1; i >= max(0, n-most); i-- {
		all = append(all, i)
	}
	return all
}

// tellRequests: the last request, the first, and then those between them.
func (f *facts) tellRequests(add adder, w int) {
	n := len(f.requests)
	order := newest(n, 12)
	if n > 1 {
		order = slices.Insert(slices.DeleteFunc(order, func(i int) bool { return i == 0 }), 1, 0)
	}
	for _, i := range order {
		q, asked := f.requests[i], ""
		if q.asked != "" {
			asked = " (to the question “" + line(q.asked, w) + "”)"
		}
		add(goal, i, "the user said: “%s”%s", line(q.text, 2*w), asked)
	}
}

// tellFiles: those that changed before those that were only read.
func (f *facts) tellFiles(add adder, w int) {
	for _, changed := range []bool{true, false} {
		for _, i := range newest(len(f.files), 60) {
			if x := f.files[i]; changed != slices.Equal(x.hows, []string{"read"}) {
				add(files, i, "%s: %s", line(x.path, w), strings.Join(x.hows, ", "))
			}
		}
	}
}

// tellDeeds: commands, decisions and errors, the newest first.
func (f *facts) tellDeeds(add adder, w int) {
	for _, i := range newest(len(f.commands), 20) {
		c := f.commands[i]
		says := ""
		if c.says != "" {
			says = ": “" + line(c.says, w/2) + "”"
		}
		add(commands, i, "“%s” %s%s", line(c.command, w), [...]string{transcript.OutcomeUnknown: "(outcome unknown)", transcript.OutcomeSucceeded: "worked", transcript.OutcomeFailed: "failed"}[c.outcome], says)
	}
	for _, i := range newest(len(f.decisions), 20) {
		add(decisions, i, "%s", line(f.decisions[i], w))
	}
	for _, i := range newest(len(f.errors), 6) {
		e := f.errors[i]
		what := line(e.tool, 64)
		if e.target != "" {
			what += " “" + line(e.target, w/2) + "”"
		}
		first, last := ends(e.text)
		says := "“" + line(first, w) + "”"
		if last != first {
			says += " … “" + line(last, w) + "”"
		}
		add(mishaps, i, "%s: %s", what, says)
	}
}

// tellOpen: questions, what is in progress, and what is to do.
func (f *facts) tellOpen(add adder, w int) {
	for _, i := range newest(len(f.questions), 6) {
		add(open, len(f.todos)+1+i, "%s", line(f.questions[i], w))
	}
	done := 0
	var later []int
	for i, x := range f.todos {
		switch {
		case x.done():
			done++
		case strings.HasPrefix(strings.ToLower(x.status), "in"):
			add(open, i, "to do, in progress: %s", line(x.text, w))
		default:
			later = append(later, i)
		}
	}
	for _, i := range later {
		add(open, i, "to do: %s", line(f.todos[i].text, w))
	}
	if done > 0 {
		add(open, len(f.todos), "done of the list: %d of %d", done, len(f.todos))
	}
}

// most returns how many of the most urgent entries can be told.
func (d *digest) most(fits func(k int) bool) int {
	if fits(len(d.entries)) {
		return len(d.entries)
	}
	k := sort.Search(len(d.entries), func(k int) bool { return !fits(k + 1) })
	for k > 0 && !fits(k) { // a counter need not grow with its text
		k--
	}
	return k
}

// leftOut says how many lines are not there, nothing that none was worth it.
const (
	leftOut = "(Lines left out for room: %d"
	nothing = "(No line was copied, of "
)

// text writes the first k entries.
func (d *digest) text(k int) string {
	var told [sections][]string
	chosen := slices.Clone(d.entries[:k])
	slices.SortStableFunc(chosen, func(a, b entry) int { return a.at - b.at })
	for _, e := range chosen {
		told[e.of] = append(told[e.of], e.text)
	}
	var lines []string
	if !d.bare {
		lines = append(lines, title)
	}
	for s, list := range told {
		if list != nil && headings[s] != "" {
			lines = append(lines, headings[s])
		}
		lines = append(lines, list...)
	}
	of := ""
	if d.messages > 0 {
		of = fmt.Sprintf(", of %d messages", d.messages)
	}
	if n := d.omitted + len(d.entries) - k; n > 0 {
		lines = append(lines, fmt.Sprintf(leftOut+"%s.)", n, of))
	}
	return strings.Join(lines, "\n")
}

// title says what this is: nobody has understood it.
const title = "Extract, made without a model:"

// sorted takes a summary apart: the entries of each section, and the lines that are in none.
func sorted(text string) (free []string, told [sections][]string) {
	at := prose
	for l := range strings.Lines(text) {
		l = strings.TrimRight(l, "\r\n")
		i := slices.Index(headings[:], strings.TrimSpace(l))
		switch {
		case i > 0:
			at = section(i)
		case i == 0: // empty
			at = prose
		case at != prose && strings.HasPrefix(l, "- "):
			told[at] = append(told[at], l)
		default:
			at = prose
			free = append(free, l)
		}
	}
	return free, told
}
