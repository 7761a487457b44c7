package ladder

import "github.com/pare-llm/pare/transcript"

// An outline is where in a history something stands that the ladder looks for at every request.
// Where the next request shares the history's index, it goes on from there.
type outline struct {
	messages  int    // that were looked at
	marked    []mark // in order
	exchanges int    // that were looked at
	long      []int  // those with a block that may be shortened, in order
}

// A mark is a message that may be pinned wherever it stands: the system speaks there, or a
// person, or a summary stands for what is gone already.
type mark struct {
	message int
	tells   bool
}

// marked lists the marks of the first messages.
func (l *Ladder) marked(end int) []mark {
	o := &l.shed.outline
	for all := l.t.Messages(); o.messages < len(all); o.messages++ {
		m := &all[o.messages]
		told := m.Role == transcript.User && l.tells(m)
		if told || m.Role == transcript.System || l.speaks(o.messages) {
			o.marked = append(o.marked, mark{o.messages, told})
		}
	}
	n := len(o.marked)
	for n > 0 && o.marked[n-1].message >= end {
		n--
	}
	return o.marked[:n]
}

// long lists which of the first exchanges have a block that is longer than the gentler levels
// leave.
func (l *Ladder) long(exchanges int) []int {
	o := &l.shed.outline
	least := atMost4K.size()
	for all := l.t.Exchanges(); o.exchanges < len(all); o.exchanges++ {
		x := &all[o.exchanges]
		found := x.Call != transcript.NoBlock && l.t.Blocks()[x.Call].Body.Len() > least
		for _, b := range x.Results {
			found = found || l.t.Blocks()[b].Body.Len() > least
		}
		if found {
			o.long = append(o.long, o.exchanges)
		}
	}
	n := len(o.long)
	for n > 0 && o.long[n-1] >= exchanges {
		n--
	}
	return o.long[:n]
}
