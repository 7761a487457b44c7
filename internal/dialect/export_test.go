package dialect

import "slices"

// Untold lists the messages and blocks of a repaired request that are new and that no change tells of: by what
// it puts in or, in a message that was there before, by an edit of that.
func (m *RepairedRequest) Untold(before *Request) (paths []string) {
	told, edited := make(map[birth]bool), make(map[string]bool)
	for _, c := range m.Changes {
		told[c.born] = true
		edited[c.Path] = edited[c.Path] || c.Action == "edit"
	}
	r := m.Request
	for i, msg := range r.t.Messages() {
		var places []origin
		if msg.First == msg.End { // else its blocks are what it says
			places = append(places, atMessage(i))
		}
		for b := msg.First; b < msg.End; b++ {
			places = append(places, origin{i, r.where[b].in, int(r.where[b].index)})
		}
		for _, at := range places {
			from, made := r.trace(before, at, nil)
			around, _ := r.trace(before, atMessage(i), nil)
			if len(around) > 0 && edited[before.pathOf(around[0])] {
				continue
			}
			if len(from) == 0 && !slices.ContainsFunc(made, func(b birth) bool { return told[b] }) {
				paths = append(paths, r.pathOf(at))
			}
		}
	}
	return paths
}
