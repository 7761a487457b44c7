package store

import (
	"errors"
	"slices"
)

// checkMarks verifies that the marks are those of the entries, and that ids are unique.
func (c *sessionCheck) checkMarks() error {
	want := make(map[entryMark]bool)
	ids := make(map[string]int64)
	var settled tail
	err := c.eachEntry(func(e *storedEntry) error {
		if first, twice := ids[e.ID]; twice {
			c.report(e.Seq, false, "its id %q is that of entry %d", e.ID, first)
		}
		ids[e.ID] = e.Seq
		if e.Seq > c.session.settled {
			return nil
		}
		if err := e.decodePairs(e.pairs); err != nil {
			return nil
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
	err = c.tx.each(c.ctx, func(scan func(...any) error) error {
		var m entryMark
		if err := scan(&m.mark, &m.seq); err != nil {
			return err
		}
		if !want[m] && m.seq <= c.session.settled {
			wrong = append(wrong, m.seq)
		}
		delete(want, m)
		return nil
	}, `SELECT mark, seq FROM marks WHERE sid = ?`, c.session.sid)
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

// rewriteMarks replaces all marks of a session.
func (c *sessionCheck) rewriteMarks(all tail) error {
	if _, err := c.tx.exec(c.ctx, `DELETE FROM marks WHERE sid = ?`, c.session.sid); err != nil {
		return err
	}
	again := &Session{Key: c.session.Key, sid: c.session.sid, Head: c.session.settled, tail: all, tailLoaded: true}
	return c.store.writeMarks(c.ctx, c.tx, again)
}

// repairPairs rewrites the calls, results and marks of an entry.
func (c *sessionCheck) repairPairs(e *storedEntry, r *row) error {
	if _, err := c.tx.exec(c.ctx, `DELETE FROM marks WHERE sid = ? AND seq = ?`, c.session.sid, e.Seq); err != nil {
		return err
	}
	all, err := c.store.loadTail(c.ctx, c.tx, c.session)
	var corrupt *CorruptError
	if err != nil && !errors.As(err, &corrupt) {
		return err
	}
	r.ID, r.Kind, r.Seq = e.ID, e.Kind, e.Seq
	at := *c.session
	at.Head, at.tailLoaded = e.Seq, true
	at.tail = slices.DeleteFunc(slices.Clone(all), func(m entryMark) bool { return m.seq == e.Seq })
	if err := c.store.pairingIn(c.ctx, c.tx, &at).link(r); err != nil {
		return err
	}
	if _, err := c.tx.exec(c.ctx, `UPDATE entries SET flags = ?, pairs = ? WHERE pos = ?`, r.flags, r.encodePairs(), pos(c.session.sid, e.Seq)); err != nil {
		return err
	}
	if c.session.tail, c.session.tailLoaded = nil, false; e.Seq > c.session.settled {
		return nil
	}
	return c.store.writeMarks(c.ctx, c.tx, &Session{Key: c.session.Key, sid: c.session.sid, Head: e.Seq, tail: tail{}.add(&r.Entry, r.flags), tailLoaded: true})
}
