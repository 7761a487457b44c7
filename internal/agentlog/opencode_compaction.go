package agentlog

import "slices"

// splitAtCompaction separates the sent messages, in order, from the hidden ones. opencode sends the
// messages from the last completed compaction on, including its request. Since 1.18 a compaction
// may keep a tail of earlier messages, which follow the summary.
func (openCode) splitAtCompaction(l *Log, s *ocSession) (sent, hidden []*ocMessage) {
	all := s.messages
	done := make(map[string]int) // by id of a completed compaction request: the index of its summary
	for i := len(all) - 1; i >= 0; i-- {
		m, o := all[i], all[i].object
		if m.role == "assistant" {
			if failed := o.Object("error"); o.Is("summary") && o.Has("finish") && len(failed.Members) == 0 {
				done[o.Text("parentID")] = i
			}
			continue
		}
		summary, ok := done[m.statedID()]
		if !ok {
			continue
		}
		for _, p := range m.parts {
			part := l.object(p)
			if part.Text("type") != "compaction" {
				continue
			}
			tail := part.Text("tail_start_id")
			if tail == "" || tail == m.id {
				return all[i:], all[:i]
			}
			from := slices.IndexFunc(all, func(m *ocMessage) bool { return m.id == tail })
			if from < 0 || from > i || summary < i {
				return all, nil // the range is unknown
			}
			return slices.Concat(all[i:summary+1], all[from:i], all[summary+1:]), all[:from]
		}
	}
	return all, nil
}

// isSent reports whether a message is sent. A failed turn is not sent unless the user stopped it
// after some output.
func (openCode) isSent(l *Log, o object, m *ocMessage) bool {
	v, failed := o.Get("error")
	if m.role != "assistant" || !failed || o.Raw[v.Start] != '{' {
		return true
	}
	if e := o.Object("error"); e.Text("name") != "MessageAbortedError" {
		return false
	}
	return slices.ContainsFunc(m.parts, func(p int) bool {
		kind := l.object(p).Text("type")
		return kind != "step-start" && kind != "reasoning"
	})
}
