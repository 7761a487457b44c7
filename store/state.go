package store

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
)

// A state is the effect of the control entries of a session: which entries and compactions are in
// force. It is stored with the session, so that reading does not depend on the length of the
// history. Fsck computes it again.
type state struct {
	// Lineage lists the shared entries by owner, in order. The session's own entries follow.
	Lineage []sharedRange `json:"lineage,omitempty"`
	Origin  *Origin       `json:"origin,omitempty"`
	// Inherited is the state of the parent when the fork was made.
	Inherited *inheritance `json:"inherited,omitempty"`
	// Hidden are the reverted ranges of numbers, both ends included.
	Hidden [][2]int64 `json:"hidden,omitempty"`
	// Compactions are those in force, oldest first.
	Compactions []compactionRef `json:"compactions,omitempty"`
	// Gone is the last of the session's own entries that retention has deleted.
	Gone int64 `json:"gone,omitempty"`

	head, weight int64 // of a new fork
}

type inheritance struct {
	Hidden      [][2]int64      `json:"hidden,omitempty"`
	Compactions []compactionRef `json:"compactions,omitempty"`
}

// A sharedRange is the entries of another session up to a number.
type sharedRange struct {
	SID  int64 `json:"sid"`
	Upto int64 `json:"upto"`
	Gone int64 `json:"gone,omitempty"`
}

// A compactionRef is a compaction in force.
type compactionRef struct {
	Seq int64 `json:"seq"` // of its entry
	To  int64 `json:"to"`  // the last entry that it replaces
	// Cum is the weight of all entries that it replaces.
	Weight int64 `json:"cum"`
}

func (st *state) encode() string {
	b, err := json.Marshal(st)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func (st *state) decode(text string) error { return json.Unmarshal([]byte(text), st) }

// firstOwn returns the number of the session's first own entry.
func (st *state) firstOwnSeq() int64 {
	if n := len(st.Lineage); n > 0 {
		return st.Lineage[n-1].Upto + 1
	}
	return 1
}

// expiredUpTo returns the last deleted entry of an owner.
func (st *state) expiredUpTo(owner int64) int64 {
	for _, s := range st.Lineage {
		if s.SID == owner {
			return s.Gone
		}
	}
	return st.Gone
}

// visible reports whether an entry is in force.
func (st *state) visible(seq int64) bool {
	i := sort.Search(len(st.Hidden), func(i int) bool { return st.Hidden[i][1] >= seq })
	return i == len(st.Hidden) || seq < st.Hidden[i][0]
}

// An entryRange is a range of entries of one owner that are all in force.
type entryRange struct{ owner, from, to int64 }

// ranges lists the entries in force between two numbers, both included, in order.
func (s *Session) ranges(from, to int64) []entryRange {
	var all []entryRange
	add := func(sid, a, b int64) {
		a, b = max(a, from), min(b, to)
		for _, h := range s.state.Hidden {
			if h[1] < a || h[0] > b {
				continue
			}
			if h[0] > a {
				all = append(all, entryRange{sid, a, h[0] - 1})
			}
			a = h[1] + 1
		}
		if a <= b {
			all = append(all, entryRange{sid, a, b})
		}
	}
	first := int64(1)
	for _, s := range s.state.Lineage {
		add(s.SID, first, s.Upto)
		first = s.Upto + 1
	}
	add(s.sid, first, s.Head)
	return all
}

// owner returns the session that has the row of an entry.
func (s *Session) owner(seq int64) int64 {
	for _, s := range s.state.Lineage {
		if seq <= s.Upto {
			return s.SID
		}
	}
	return s.sid
}

// lastVisible returns the number of the last entry in force up to a number, or 0.
func (s *Session) lastVisible(upto int64) int64 {
	all := s.ranges(1, upto)
	if len(all) == 0 {
		return 0
	}
	return all[len(all)-1].to
}

// compaction returns the newest compaction in force.
func (st *state) compaction() (compactionRef, bool) {
	if n := len(st.Compactions); n > 0 {
		return st.Compactions[n-1], true
	}
	return compactionRef{}, false
}

// A controlEntry changes which entries are in force.
type controlEntry struct {
	seq    int64
	kind   Kind
	to     int64 // revert: the last entry that stays; compaction: the last entry that it replaces
	of     int64 // undo: the undone entry
	weight int64 // compaction
}

type (
	revertBody struct {
		To int64 `json:"to"`
	}
	undoBody struct {
		Of int64 `json:"of"`
	}
)

func encode(body any) []byte {
	raw, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return raw
}

func readControl(seq int64, kind Kind, raw []byte) (controlEntry, error) {
	c := controlEntry{seq: seq, kind: kind}
	var err error
	switch kind {
	case KindRevert:
		var b revertBody
		err = json.Unmarshal(raw, &b)
		c.to = b.To
	case KindUndo:
		var b undoBody
		err = json.Unmarshal(raw, &b)
		c.of = b.Of
	case KindCompaction:
		var b Compaction
		err = json.Unmarshal(raw, &b)
		c.to, c.weight = b.To, b.Weight
	}
	if err != nil {
		return c, fmt.Errorf("%s cannot be read: %w", kind, err)
	}
	return c, nil
}

// fold returns the state after all control entries of the session. It applies undos from the newest
// to the oldest, because an undo may itself be undone.
func (st state) fold(all []controlEntry) state {
	out := state{Lineage: st.Lineage, Origin: st.Origin, Inherited: st.Inherited, Gone: st.Gone}
	undone := make(map[int64]bool)
	for _, c := range slices.Backward(all) {
		if c.kind == KindUndo && !undone[c.seq] {
			undone[c.of] = true
		}
	}
	if st.Inherited != nil {
		out.Hidden = slices.Clone(st.Inherited.Hidden)
		out.Compactions = slices.DeleteFunc(slices.Clone(st.Inherited.Compactions), func(k compactionRef) bool { return undone[k.Seq] })
	}
	for _, c := range all {
		switch {
		case undone[c.seq]:
		case c.kind == KindRevert:
			out.hide(c.to+1, c.seq-1)
			out.Compactions = slices.DeleteFunc(out.Compactions, func(k compactionRef) bool { return k.Seq > c.to })
		case c.kind == KindCompaction:
			out.Compactions = append(out.Compactions, compactionRef{c.seq, c.to, c.weight})
		}
	}
	return out
}

// hide adds a range that ends after all others.
func (st *state) hide(from, to int64) {
	if from > to {
		return
	}
	for n := len(st.Hidden); n > 0 && st.Hidden[n-1][1] >= from-1; n = len(st.Hidden) {
		from = min(from, st.Hidden[n-1][0])
		st.Hidden = st.Hidden[:n-1]
	}
	st.Hidden = append(st.Hidden, [2]int64{from, to})
}
