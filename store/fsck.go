package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
)

// A Problem is a finding of fsck.
type Problem struct {
	Key  Key    `json:"key"`           // empty: no session
	Seq  int64  `json:"seq,omitempty"` // 0: the whole session
	What string `json:"what"`
	// Repaired is set if it was repaired.
	Repaired bool `json:"repaired"`
	// Harmless is set for problems that windows handle.
	Harmless bool `json:"harmless,omitempty"`
	// Quarantined is set for an entry whose bytes cannot be read and are kept. A placeholder
	// replaces it. Repair restores the entry when the bytes can be read again.
	Quarantined bool `json:"quarantined,omitempty"`
	// Damaged is set for data that the database file has lost. Only a backup can restore it.
	Damaged bool `json:"damaged,omitempty"`
}

func (p Problem) String() string {
	if p.Key == (Key{}) {
		return p.What
	}
	return fmt.Sprintf("%s, entry %d: %s", p.Key, p.Seq, p.What)
}

// Fsck verifies a store: the pages of a SQLite file, the numbers of entries, checksums, pairs,
// weights, the state of sessions, the ranges of compactions, and receipts. It reads one session at
// a time, so that others remain usable, and skips deleted ones. With repair, it rewrites derived
// data and quarantines damaged entries. Damage of the file is a problem, not an error; the rest is
// still verified.
func (s *Store) Fsck(ctx context.Context, repair bool) (problems []Problem, err error) {
	repair = repair && !s.salvaged // damaged files are not written to
	if problems, err = s.fsckFile(ctx, repair); err != nil {
		return nil, err
	}
	var keys []Key
	err = s.read(ctx, func(t *tx) error {
		return t.each(ctx, func(scan func(...any) error) error {
			var k Key
			if err := scan(&k.Scope, &k.ID, &k.Path); err != nil {
				if s.salvaged { // the row is truncated
					problems = append(problems, Problem{What: "a session cannot be read: " + err.Error(), Damaged: true})
					return nil
				}
				return err
			}
			keys = append(keys, k)
			return nil
		}, `SELECT scope, id, path FROM sessions WHERE deleted_at IS NULL ORDER BY sid`)
	})
	if errors.Is(err, ErrDamaged) {
		problems = append(problems, Problem{What: "not all sessions can be listed: " + err.Error(), Damaged: true})
	} else if err != nil {
		return nil, err
	}
	for _, key := range keys {
		found, err := s.FsckSession(ctx, key, repair)
		if errors.Is(err, ErrDamaged) {
			problems = append(problems, Problem{Key: key, What: "it cannot be read to its end: " + ErrDamaged.Error(), Damaged: true})
			continue
		}
		if errors.Is(err, ErrDeleted) || errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil && s.salvaged {
			found = []Problem{{Key: key, What: "it cannot be read: " + err.Error(), Damaged: true}}
		} else if err != nil {
			return problems, err
		}
		problems = append(problems, found...)
	}
	found, err := s.fsckReceipts(ctx, repair)
	if errors.Is(err, ErrDamaged) || err != nil && s.salvaged {
		return append(problems, Problem{What: "not all receipts can be read: " + ErrDamaged.Error(), Damaged: true}), nil
	}
	return append(problems, found...), err
}

// fsckFile lets the database verify its files. Repair rebuilds indexes from their tables.
func (s *Store) fsckFile(ctx context.Context, repair bool) (problems []Problem, err error) {
	look := func() ([]string, error) {
		found, err := s.engine.verify(ctx)
		if err != nil && s.engine.isDamaged(err) {
			return append(found, err.Error()), nil
		}
		return found, err
	}
	if err := s.checkOpen(); err != nil {
		return nil, err
	}
	found, err := look()
	if err != nil || len(found) == 0 {
		return nil, err
	}
	left := found
	if repair {
		err := s.write(ctx, func(t *tx) error { return s.engine.reindex(ctx, t) })
		if err != nil && !errors.Is(err, ErrDamaged) {
			return nil, err
		}
		if left, err = look(); err != nil {
			return nil, err
		}
	}
	for _, what := range found {
		problems = append(problems, Problem{What: "the file is damaged: " + what, Damaged: true, Repaired: !slices.Contains(left, what)})
	}
	return problems, nil
}

// FsckSession is Fsck for one session.
func (s *Store) FsckSession(ctx context.Context, key Key, repair bool) (found []Problem, err error) {
	look := func(t *tx) error {
		c := &sessionCheck{store: s, tx: t, ctx: ctx, repair: repair}
		err := c.run(key)
		found = c.found
		return err
	}
	s.cache.remove(key) // verify the database, not the cache
	if repair {
		err = s.write(ctx, look)
		s.cache.remove(key)
	} else {
		err = s.read(ctx, look)
	}
	if err != nil {
		return nil, fmt.Errorf("fsck %s: %w", key, err)
	}
	return found, nil
}

// A sessionCheck verifies one session.
type sessionCheck struct {
	store          *Store
	tx             *tx
	ctx            context.Context
	session        *Session
	repair         bool
	found          []Problem
	dialectChanged bool // the noted dialect was wrong
}

func (c *sessionCheck) report(seq int64, repaired bool, format string, args ...any) {
	c.found = append(c.found, Problem{Key: c.session.Key, Seq: seq, What: fmt.Sprintf(format, args...), Repaired: repaired})
}

func (c *sessionCheck) run(key Key) error {
	session, err := c.store.live(c.ctx, c.tx, key, c.repair)
	var corrupt *CorruptError
	if errors.As(err, &corrupt) {
		c.session = &Session{Key: key}
		c.report(0, false, "%s", corrupt.What)
		return nil
	}
	if err != nil {
		return err
	}
	c.session = session
	for _, step := range []func() error{c.checkNumbers, c.checkBytes, c.checkDialect, c.checkMarks, c.checkState, c.checkWeights, c.checkPairs, c.checkCompactions} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// checkNumbers verifies that the session's own entries are numbered without gaps, up to the head.
func (c *sessionCheck) checkNumbers() error {
	want := c.session.state.firstOwnSeq()
	err := c.tx.each(c.ctx, func(scan func(...any) error) error {
		var seq int64
		if err := scan(&seq); err != nil {
			return err
		}
		seq = seqOf(seq)
		for ; want < seq; want++ {
			c.report(want, false, "the entry is missing")
		}
		if seq > c.session.Head {
			c.report(seq, false, "the entry stands behind the head, %d", c.session.Head)
		}
		want = seq + 1
		return nil
	}, `SELECT pos FROM entries WHERE pos BETWEEN ? AND ? ORDER BY pos`, pos(c.session.sid, want), pos(c.session.sid, maxSeq))
	for ; err == nil && want <= c.session.Head; want++ {
		c.report(want, false, "the entry is missing")
	}
	return err
}

// eachEntry calls f with every row of the session.
func (c *sessionCheck) eachEntry(f func(e *storedEntry) error) error {
	for from := c.session.state.firstOwnSeq(); ; {
		var some []storedEntry
		err := c.tx.each(c.ctx, func(scan func(...any) error) error {
			e, err := c.session.scan(c.session.sid, scan)
			some = append(some, e)
			return err
		}, `SELECT `+entryColumns+` FROM entries WHERE pos BETWEEN ? AND ? ORDER BY pos LIMIT 100`, pos(c.session.sid, from), pos(c.session.sid, maxSeq))
		if err != nil || len(some) == 0 {
			return err
		}
		for i := range some {
			from = some[i].Seq + 1
			if err := f(&some[i]); err != nil {
				return err
			}
		}
	}
}

// checkBytes verifies the checksum of every entry.
func (c *sessionCheck) checkBytes() error {
	return c.eachEntry(func(e *storedEntry) error {
		if e.codec == codecGone {
			if last, ok := c.session.state.compaction(); (!ok || e.Seq > last.To) && c.session.state.visible(e.Seq) {
				c.report(e.Seq, false, "its bytes were let go of, but no summary stands for it")
			}
			return nil
		}
		if e.codec&codecQuarantined != 0 {
			return c.restore(e)
		}
		err := c.open(e)
		var corrupt *CorruptError
		if errors.As(err, &corrupt) {
			return c.quarantine(e, corrupt.What)
		}
		return err
	})
}

// checkState verifies that the state follows from the control entries.
func (c *sessionCheck) checkState() error {
	all, err := c.store.readControls(c.ctx, c.tx, c.session)
	var corrupt *CorruptError
	if errors.As(err, &corrupt) {
		return nil
	}
	if err != nil {
		return err
	}
	want := c.session.state.fold(all)
	if want.encode() == c.session.state.encode() {
		return nil
	}
	c.report(0, c.repair, "what is kept of reverts and summaries is not what the entries say")
	c.session.state = want
	if !c.repair {
		return nil
	}
	_, err = c.tx.exec(c.ctx, `UPDATE sessions SET state = ? WHERE sid = ?`, want.encode(), c.session.sid)
	return err
}

// checkWeights verifies that the weights add up. An entry adds its weight to that of the entries in
// force before it; a control entry starts from the entries that it leaves in force.
func (c *sessionCheck) checkWeights() error {
	var cum int64
	if from := c.session.state.firstOwnSeq(); from > 1 {
		var err error
		if cum, err = c.store.weightUpTo(c.ctx, c.tx, c.session, from-1); err != nil {
			return err
		}
	}
	all, err := c.store.readControls(c.ctx, c.tx, c.session)
	if err != nil {
		return nil
	}
	var own []storedWeight // read completely first: a connection handles one query at a time
	err = c.tx.each(c.ctx, func(scan func(...any) error) error {
		var w storedWeight
		err := scan(&w.seq, &w.weight, &w.total)
		w.seq = seqOf(w.seq)
		own = append(own, w)
		return err
	}, `SELECT pos, weight, cum FROM entries WHERE pos BETWEEN ? AND ? ORDER BY pos`, pos(c.session.sid, c.session.state.firstOwnSeq()), pos(c.session.sid, maxSeq))
	if err != nil {
		return err
	}
	at := make(map[int64]int64, len(own))
	for _, w := range own {
		if i := slices.IndexFunc(all, func(k controlEntry) bool { return k.seq == w.seq }); i >= 0 {
			st := c.session.state.fold(all[:i+1])
			y := &Session{sid: c.session.sid, Head: w.seq - 1, state: st}
			if prev := y.lastVisible(w.seq - 1); prev >= c.session.state.firstOwnSeq() {
				cum = at[prev]
			} else if cum, err = c.store.weightUpTo(c.ctx, c.tx, c.session, prev); err != nil {
				return err
			}
		}
		if cum, err = c.checkWeight(w, cum); err != nil {
			return err
		}
		at[w.seq] = cum
	}
	if len(own) == 0 || cum == c.session.weight {
		return nil
	}
	c.report(0, c.repair, "the weight of the session is %d, expected %d", c.session.weight, cum)
	if c.repair {
		_, err = c.tx.exec(c.ctx, `UPDATE sessions SET cum = ? WHERE sid = ?`, cum, c.session.sid)
	}
	return err
}

// A storedWeight is the weight of an entry, and the sum up to it.
type storedWeight struct{ seq, weight, total int64 }

// checkWeight verifies the weight of an entry and returns the correct sum. If the numbers do not
// add up, one of them is damaged. It is the weight if the sum is correct with the weight of the
// message.
func (c *sessionCheck) checkWeight(w storedWeight, before int64) (int64, error) {
	if w.total == before+w.weight && w.weight >= 0 {
		return w.total, nil
	}
	right := w.weight
	e, err := c.store.entry(c.ctx, c.tx, c.session, c.session.sid, w.seq)
	if err != nil {
		return 0, err
	}
	var r row
	if e.Kind == KindMessage && c.store.open(c.ctx, c.tx, c.session, &e) == nil && c.store.inspectMessage(c.session, &r, e.Raw) == nil {
		if right < 0 || w.total == before+r.weight {
			right = r.weight
		}
	}
	right = max(right, 0)
	c.report(w.seq, c.repair, "the weights do not add up: %d, expected %d", w.total, before+right)
	if c.repair {
		_, err = c.tx.exec(c.ctx, `UPDATE entries SET weight = ?, cum = ? WHERE pos = ?`, right, before+right, pos(c.session.sid, w.seq))
	}
	return before + right, err
}

// checkPairs verifies that the stored calls and results are those of the message, and that every
// result names an earlier call with its id.
func (c *sessionCheck) checkPairs() error {
	return c.eachEntry(func(e *storedEntry) error {
		if e.Kind != KindMessage || e.codec == codecGone || c.store.open(c.ctx, c.tx, c.session, e) != nil {
			return nil
		}
		var r row
		if err := c.store.inspectMessage(c.session, &r, e.Raw); err != nil {
			c.report(e.Seq, false, "the message cannot be read: %v", err)
			return nil
		}
		var have Entry
		if err := have.decodePairs(e.pairs); err != nil {
			have = Entry{} // it differs from the message
		}
		same := func(a, b Call) bool { return a.ID == b.ID && a.Tool == b.Tool && a.family == b.family }
		if !slices.EqualFunc(have.Calls, r.Calls, same) || !slices.EqualFunc(have.Answers, r.Answers, same) || c.dialectChanged && e.flags != r.flags {
			c.report(e.Seq, c.repair, "the calls and answers that are kept are not those of the message")
			if c.repair {
				return c.repairPairs(e, &r)
			}
			return nil
		}
		for _, a := range have.Answers {
			if a.Seq == 0 {
				if err := c.reportOrphanResult(e.Seq, a); err != nil {
					return err
				}
				continue
			}
			if made, err := c.store.entry(c.ctx, c.tx, c.session, c.session.owner(a.Seq), a.Seq); err == nil && made.codec&codecQuarantined != 0 {
				continue
			}
			all, err := c.store.readEntryInfos(c.ctx, c.tx, c.session, c.session.owner(a.Seq), []int64{a.Seq})
			if err != nil || len(all) == 0 || a.No >= len(all[0].Calls) || all[0].Calls[a.No].ID != a.ID || a.Seq >= e.Seq {
				c.report(e.Seq, false, "the answer to call %q names entry %d, which does not make that call", a.ID, a.Seq)
			}
		}
		return nil
	})
}

// reportOrphanResult reports a result whose call is missing or has another result.
func (c *sessionCheck) reportOrphanResult(seq int64, a Call) error {
	why := "no entry before it makes that call"
	for _, st := range slices.Backward(c.session.ranges(1, seq-1)) {
		made, err := c.store.callsIn(c.ctx, c.tx, c.session, a, st)
		if err != nil {
			return err
		}
		if len(made) > 0 {
			why = fmt.Sprintf("that call, of entry %d, is answered already", made[0].seq)
			break
		}
	}
	c.report(seq, false, "it answers %s, and %s; a request quotes it as text", a, why)
	c.found[len(c.found)-1].Harmless = true
	return nil
}

// checkCompactions verifies that compactions do not overlap and end at entries in force.
func (c *sessionCheck) checkCompactions() error {
	var before int64
	for _, k := range c.session.state.Compactions {
		switch {
		case k.To <= before:
			c.report(k.Seq, false, "the summary stands for entries that an earlier one stands for")
		case k.To >= k.Seq:
			c.report(k.Seq, false, "the summary stands for entries behind it")
		case !c.session.state.visible(k.To):
			c.report(k.Seq, false, "the summary ends with an entry that is not in force")
		}
		before = k.To
		var sum []byte
		if err := c.tx.row(c.ctx, `SELECT sum FROM entries WHERE pos = ?`, pos(c.session.owner(k.Seq), k.Seq)).Scan(&sum); err != nil || bytes.Equal(sum, nil) {
			c.report(k.Seq, false, "the summary is missing")
		}
	}
	return nil
}
