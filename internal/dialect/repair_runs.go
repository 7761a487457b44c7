package dialect

import (
	"github.com/pare-llm/pare/transcript"
)

// leadingResults returns how many results message i starts with.
func (m *repairer) leadingResults(i int) int {
	n, known := m.leading[i]
	if known {
		return n
	}
	msg := m.t.Messages()[i]
	for b := msg.First; b < msg.End && m.t.Block(b).Kind == transcript.Result; b++ {
		n++
	}
	if m.leading == nil {
		m.leading = make(map[int]int)
	}
	m.leading[i] = n
	return n
}

// behindResults returns the place behind the results of a message.
func (m *repairer) behindResults(message int) int {
	place, known := m.last[message]
	if !known {
		msg := m.t.Messages()[message]
		for o := msg.First; o < msg.End; o++ {
			if m.t.Block(o).Kind == transcript.Result {
				place = int(m.where[o].index) + 1
			}
		}
		if m.last == nil {
			m.last = make(map[int]int)
		}
		m.last[message] = place
	}
	return place
}

// lastAnswers returns the last message with results of the turn that message i stands in: what is put behind
// results must not stand between two of one step. If that message is being changed as a whole, it is i.
func (m *repairer) lastAnswers(i int) int {
	turn := m.t.Messages()[i].Turn
	last, known := m.answered[turn]
	if !known {
		for last = m.endOfTurn(turn) - 1; last > i && m.extra[last]&hasResults == 0; {
			last--
		}
		if m.answered == nil {
			m.answered = make(map[int]int)
		}
		m.answered[turn] = last
	}
	if last < i || m.taken[last] || m.messages.drop[last] || !m.listable(last) {
		return i
	}
	return last
}

// messageRuns say, for each message that was asked about, behind which one a run ends that goes
// on there; zero: it was not.
type messageRuns struct{ calls, results, tools []int }

// runEnd returns behind which message a run ends that goes on at message j, or j.
func (m *repairer) runEnd(known *[]int, j int, goesOn func(i int) bool) int {
	n := len(m.t.Messages())
	if *known == nil {
		*known = make([]int, n+1)
	}
	all, end := *known, j
	for end < n && all[end] == 0 && goesOn(end) {
		end++
	}
	walked := all[j:end]
	end = max(end, all[end])
	for i := range walked {
		walked[i] = end
	}
	return end
}

// begins reports whether message i begins with a block of a kind.
func (m *repairer) begins(i int, k transcript.Kind) bool {
	ms := m.t.Messages()
	return i < len(ms) && ms[i].First < ms[i].End && m.t.Blocks()[ms[i].First].Kind == k
}

// behindRun returns the message in front of which another answer to the call in
// message i goes: behind the answers it has.
func (m *repairer) behindRun(i int) int {
	j := i + 1
	switch {
	case m.g.flat && m.g.discipline == transcript.NextTurn:
		j = m.endOfTurn(m.t.Messages()[i].Turn)
	case m.g.flat:
		j = m.runEnd(&m.runs.calls, j, func(i int) bool {
			return m.begins(i, transcript.Call) || m.begins(i, transcript.Thinking) && m.begins(i+1, transcript.Call)
		})
	}
	return m.runEnd(&m.runs.results, j, func(i int) bool { return m.begins(i, transcript.Result) })
}

// endOfTurn returns the message behind a turn.
func (d *draft) endOfTurn(turn int) int {
	if turn+1 < len(d.turns) {
		return d.turns[turn+1]
	}
	return len(d.t.Messages())
}

// behindTool returns the place behind the run of tool messages that i is in.
func (m *repairer) behindTool(i int) int {
	return m.runEnd(&m.runs.tools, i+1, func(i int) bool { return m.t.Messages()[i].Role == transcript.Tool })
}
