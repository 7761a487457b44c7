package store

import (
	"errors"
	"slices"
)

// marks: what entries are found by is what they hold. The ids are among it, so each stands
// once.
func (c *sessionCheck) checkMarks() error {
	want := make(map[entryMark]bool)
	ids := make(map[string]int64)
	var settled tail
	err := c.eachEntry(func(e *storedEntry) error {
		if first, twice := ids[e.ID]; twice {
			c.report(e.Seq, false, "its id %q is that of entry %d", e.ID, first)
		}
		ids[e.ID] = e.Seq
		if e.Seq > c.x.settled {
			return nil
		}
		if err := e.decodePairs(e.pairs); err != nil {
			return nil // pairs has it
		}
		settled = settled.add(&e.Entry, e.flags)
		return nil
	})
	if err != nil {
		return err
	}
	for _, m := range settled {
		want[m] = true
	}
	var wrong []int64
	err = c.t.each(c.ctx, func(scan func(...any) error) error {
		var m entryMark
		if err := scan(&m.mark, &m.seq); err != nil {
			return err
		}
		if !want[m] && m.seq <= c.x.settled {
			wrong = append(wrong, m.seq)
		}
		delete(want, m)
		return nil
	}, `SELECT mark, seq FROM marks WHERE sid = ?`, c.x.sid)
	if err != nil {
		return err
	}
	for m := range want {
		wrong = append(wrong, m.seq)
	}
	slices.Sort(wrong)
	wrong = slices.Compact(wrong)
	if len(wrong) == 0 {
		return nil
	}
	for _, seq := range wrong {
		c.report(seq, c.repair, "what it is found by is not what it holds")
	}
	if !c.repair {
		return nil
	}
	return c.rewriteMarks(settled)
}

// remark writes the marks of a session again, up to where they were written.
func (c *sessionCheck) rewriteMarks(all tail) error {
	if _, err := c.t.exec(c.ctx, `DELETE FROM marks WHERE sid = ?`, c.x.sid); err != nil {
		return err
	}
	again := &Session{Key: c.x.Key, sid: c.x.sid, Head: c.x.settled, tail: all, tailLoaded: true}
	return c.s.writeMarks(c.ctx, c.t, again)
}

// repair1 writes the calls and answers of an entry again, and what it is found by.
func (c *sessionCheck) repairPairs(e *storedEntry, r *row) error {
	if _, err := c.t.exec(c.ctx, `DELETE FROM marks WHERE sid = ? AND seq = ?`, c.x.sid, e.Seq); err != nil {
		return err
	}
	all, err := c.s.loadTail(c.ctx, c.t, c.x)
	var corrupt *CorruptError
	if err != nil && !errors.As(err, &corrupt) {
		return err
	}
	r.ID, r.Kind, r.Seq = e.ID, e.Kind, e.Seq
	at := *c.x
	at.Head, at.tailLoaded = e.Seq, true
	at.tail = slices.DeleteFunc(slices.Clone(all), func(m entryMark) bool { return m.seq == e.Seq })
	if err := c.s.pairingIn(c.ctx, c.t, &at).link(r); err != nil {
		return err
	}
	if _, err := c.t.exec(c.ctx, `UPDATE entries SET flags = ?, pairs = ? WHERE pos = ?`, r.flags, r.encodePairs(), pos(c.x.sid, e.Seq)); err != nil {
		return err
	}
	if c.x.tail, c.x.tailLoaded = nil, false; e.Seq > c.x.settled {
		return nil
	}
	return c.s.writeMarks(c.ctx, c.t, &Session{Key: c.x.Key, sid: c.x.sid, Head: e.Seq, tail: tail{}.add(&r.Entry, r.flags), tailLoaded: true})
}
