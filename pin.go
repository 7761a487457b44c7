package pare

import (
	"bytes"

	"github.com/pare-llm/pare/transcript"
)

// standAt looks at the history as it was when it had so many messages: lets the
// rules vote and finds what is pinned.
func (l *ladder) standAt(end int) error {
	l.end = end
	demands, err := l.poll()
	if err != nil {
		return err
	}
	l.bind(demands)
	l.pin()
	l.stood = end
	return nil
}

// bind collects what each atom needs, and what needs it.
func (l *ladder) bind(demands [][2]transcript.AtomID) {
	atoms := l.t.Atoms()
	l.needs, l.neededBy = nil, nil
	need := func(a, n transcript.AtomID) {
		if l.needs == nil {
			l.needs, l.neededBy = make([][]transcript.AtomID, len(atoms)), make([][]transcript.AtomID, len(atoms))
		}
		l.needs[a], l.neededBy[n] = append(l.needs[a], n), append(l.neededBy[n], a)
	}
	for a := range atoms {
		for _, n := range atoms[a].Needs {
			need(transcript.AtomID(a), n)
		}
	}
	for _, d := range demands {
		need(d[0], d[1])
	}
}

// blocks is how many blocks the history has.
func (l *ladder) blocks() int {
	if l.end == 0 {
		return 0
	}
	return int(l.t.Messages()[l.end-1].End)
}

// exchanges are those of the history.
func (l *ladder) exchanges() []transcript.Exchange {
	all := l.t.Exchanges()
	n := len(all)
	for n > 0 && int(firstBlock(all[n-1])) >= l.blocks() {
		n--
	}
	return all[:n]
}

// poll lets the rules vote on the history. Blocks and atoms of its beginning are
// numbered as in the whole.
func (l *ladder) poll() (demands [][2]transcript.AtomID, err error) {
	if l.w.Rules == nil {
		return nil, nil
	}
	r := l.r
	if l.end < len(l.t.Messages()) {
		var later []transcript.BlockID
		for b := l.blocks(); b < len(l.t.Blocks()); b++ {
			later = append(later, transcript.BlockID(b))
		}
		if r, _, err = l.r.Rewrite(later, nil); err != nil {
			return nil, err
		}
	}
	v, err := l.w.Rules.poll(r)
	if err != nil {
		return nil, err
	}
	decisions, edits := settle(r, v)
	l.votes = decisions
	before := l.ruleEdits
	l.ruleEdits = make(map[transcript.BlockID]string, len(edits))
	for _, e := range edits {
		l.ruleEdits[e.Block] = e.Text
		if l.costs != nil {
			l.costs[e.Block].level = asIs // what it cost in other words does not count
		}
	}
	for b, text := range before {
		if l.level[b] == byRules { // what was said once is said again
			l.ruleEdits[b] = text
		}
	}
	return v.needs, nil
}

// pin marks what stays.
func (l *ladder) pin() {
	clear(l.pinned)
	clear(l.locked)
	all := l.t.Messages()[:l.end]
	if len(all) == 0 {
		return
	}
	hold := func(b transcript.BlockID) { l.pinned[l.t.AtomOf(b)] = true }
	spoken := func(m transcript.Message) { // not the results that stand beside
		for b := m.First; b < m.End; b++ {
			if k := l.t.Block(b).Kind; k != transcript.Result && k != transcript.ServerResult {
				hold(b)
			}
		}
	}
	first, last := -1, -1
	for i, m := range all {
		if m.Role == transcript.System && l.w.Unpin&PinSystem == 0 {
			spoken(m)
		}
		if m.Role == transcript.User && l.tells(m) {
			spoken(m) // a summary stands for what is gone already
		}
		if m.Begins && m.Role != transcript.System {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first >= 0 && l.w.Unpin&PinTask == 0 {
		spoken(all[first])
	}
	if n := l.blocks(); n > 0 {
		hold(transcript.BlockID(n - 1)) // a history never becomes empty
	}
	for a, atom := range l.t.Atoms() {
		if atom.Last >= l.end && atom.First < l.end { // not all of it is there yet
			l.pinned[a], l.locked[a] = true, true
		}
	}
	if l.w.Unpin&PinNewest == 0 {
		if last >= 0 {
			spoken(all[last])
		}
		for i := len(all) - 1; i >= 0 && all[i].Turn == all[len(all)-1].Turn; i-- {
			for b := all[i].First; b < all[i].End; b++ {
				hold(b)
			}
		}
	}
	for i := max(len(all)-l.w.MinKeep, 0); i < len(all); i++ {
		for b := all[i].First; b < all[i].End; b++ {
			hold(b)
			l.locked[l.t.AtomOf(b)] = true
		}
	}
	for a, d := range l.votes {
		if d.Protected && a < len(l.pinned) {
			l.pinned[a], l.locked[a] = true, true
		}
	}
	l.spread(l.pinned)
	l.spread(l.locked)
}

// tells reports whether a message holds a summary of an earlier compaction.
func (l *ladder) tells(m transcript.Message) bool {
	for b := m.First; b < m.End; b++ {
		if blk := l.t.Block(b); blk.Kind == transcript.Text && bytes.Contains(l.t.Bytes(blk.Body), []byte(SummaryBegin)) {
			return true
		}
	}
	return false
}

// spread marks what marked atoms need.
func (l *ladder) spread(marked []bool) {
	if l.needs == nil {
		return
	}
	var queue []transcript.AtomID
	for a, on := range marked {
		if on && len(l.needs[a]) > 0 {
			queue = append(queue, transcript.AtomID(a))
		}
	}
	for len(queue) > 0 {
		a := queue[0]
		queue = queue[1:]
		for _, n := range l.needs[a] {
			if !marked[n] {
				marked[n] = true
				queue = append(queue, n)
			}
		}
	}
}
