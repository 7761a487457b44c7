package wire

import (
	"github.com/pare-llm/pare/transcript"
)

// leadingResults returns how many results message i starts with.
func (m *mender) leadingResults(i int) int {
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

// behindResults returns the place behind the results that follow block b.
func (m *mender) behindResults(b transcript.BlockID) int {
	message := m.t.Block(b).Message
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
	return max(place, int(m.where[b].index)+1)
}

// messageRuns say, for each message, behind which one a run ends that goes on there.
type messageRuns struct{ calls, results, tools []int }

func (m *mender) messageRuns() *messageRuns {
	if m.runs != nil {
		return m.runs
	}
	ms := m.t.Messages()
	n := len(ms)
	all := make([]int, 3*(n+1))
	r := &messageRuns{all[:n+1], all[n+1 : 2*n+2], all[2*n+2:]}
	r.calls[n], r.results[n], r.tools[n] = n, n, n
	behind := transcript.Other // what the next one begins with
	for j := n - 1; j >= 0; j-- {
		r.calls[j], r.results[j], r.tools[j] = j, j, j
		kind := transcript.Other
		if ms[j].First < ms[j].End {
			kind = m.t.Blocks()[ms[j].First].Kind
		}
		if kind == transcript.Call || kind == transcript.Thinking && behind == transcript.Call {
			r.calls[j] = r.calls[j+1]
		}
		if kind == transcript.Result {
			r.results[j] = r.results[j+1]
		}
		behind = kind
		if ms[j].Role == transcript.Tool {
			r.tools[j] = r.tools[j+1]
		}
	}
	m.runs = r
	return r
}

// behindRun returns the message in front of which another answer to the call in
// message i goes: behind the answers it has.
func (m *mender) behindRun(i int) int {
	r := m.messageRuns()
	j := i + 1
	switch {
	case m.g.flat && m.g.discipline == transcript.NextTurn:
		j = m.endOfTurn(m.t.Messages()[i].Turn)
	case m.g.flat:
		j = r.calls[j]
	}
	return r.results[j]
}

// endOfTurn returns the message behind a turn.
func (d *draft) endOfTurn(turn int) int {
	if turn+1 < len(d.turns) {
		return d.turns[turn+1]
	}
	return len(d.t.Messages())
}

// behindTool returns the place behind the run of tool messages that i is in.
func (m *mender) behindTool(i int) int { return m.messageRuns().tools[i+1] }
