package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
)

// A Problem is something that fsck found. Many goroutines may read it.
type Problem struct {
	Key  Key    `json:"key"`           // empty: it is about no session
	Seq  int64  `json:"seq,omitempty"` // of the entry; 0: the session
	What string `json:"what"`
	// Repaired is set if it was put right; what can be derived can be.
	Repaired bool `json:"repaired"`
	// Harmless is set for what came like this and is kept like this: a window takes care
	// of it.
	Harmless bool `json:"harmless,omitempty"`
	// Quarantined is set for an entry whose bytes cannot be read and are kept as they are: a mark
	// takes its place wherever it is read, and repair puts it back once they can be read again.
	Quarantined bool `json:"quarantined,omitempty"`
	// Damaged is set for what the file of the database has lost: only a backup has it.
	Damaged bool `json:"damaged,omitempty"`
}

func (p Problem) String() string {
	if p.Key == (Key{}) {
		return p.What
	}
	return fmt.Sprintf("%s, entry %d: %s", p.Key, p.Seq, p.What)
}

// Fsck verifies everything that the store promises: the pages of the file, where that is
// ours to look at, numbers without gaps, sums of bytes and media, pairs, weights, the state
// that was folded, ranges of compactions. It looks at one session at a time, so others can be
// used meanwhile, and at the receipts at last. With repair, what can be derived from the
// entries is written again, and entries whose bytes are damaged are quarantined: kept as they
// are, with a mark in their place. Deleted sessions are skipped. Damage of the file is a problem, not
// an error: what lies elsewhere is looked at all the same.
func (s *Store) Fsck(ctx context.Context, repair bool) (problems []Problem, err error) {
	repair = repair && !s.salvaged // what is damaged is not written to
	if problems, err = s.fsckFile(ctx, repair); err != nil {
		return nil, err
	}
	var keys []Key
	err = s.read(ctx, func(t *tx) error {
		return t.each(ctx, func(scan func(...any) error) error {
			var k Key
			if err := scan(&k.Scope, &k.ID, &k.Path); err != nil {
				if s.salvaged { // of a row whose end is cut off
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

// fsckFile lets the database look at its own files. What is wrong with an index can be made
// good from its table.
func (s *Store) fsckFile(ctx context.Context, repair bool) (problems []Problem, err error) {
	look := func() ([]string, error) {
		found, err := s.eng.verify(ctx)
		if err != nil && s.eng.isDamaged(err) {
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
		err := s.write(ctx, func(t *tx) error { return s.eng.reindex(ctx, t) })
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
		c := &sessionCheck{s: s, t: t, ctx: ctx, repair: repair}
		err := c.run(key)
		found = c.found
		return err
	}
	s.cache.remove(key) // it looks at what is there
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

// A checkup looks at one session.
type sessionCheck struct {
	s              *Store
	t              *tx
	ctx            context.Context
	x              *Session
	repair         bool
	found          []Problem
	dialectChanged bool // its dialect is another one than was noted
}

func (c *sessionCheck) report(seq int64, repaired bool, format string, args ...any) {
	c.found = append(c.found, Problem{Key: c.x.Key, Seq: seq, What: fmt.Sprintf(format, args...), Repaired: repaired})
}

func (c *sessionCheck) run(key Key) error {
	session, err := c.s.live(c.ctx, c.t, key, c.repair)
	var corrupt *CorruptError
	if errors.As(err, &corrupt) {
		c.x = &Session{Key: key}
		c.report(0, false, "%s", corrupt.What)
		return nil
	}
	if err != nil {
		return err
	}
	c.x = session
	for _, step := range []func() error{c.checkNumbers, c.checkBytes, c.checkDialect, c.checkMarks, c.checkState, c.checkWeights, c.checkPairs, c.checkCompactions} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// numbers: the session's own entries are numbered without gaps, up to the head.
func (c *sessionCheck) checkNumbers() error {
	want := c.x.state.firstOwn()
	err := c.t.each(c.ctx, func(scan func(...any) error) error {
		var seq int64
		if err := scan(&seq); err != nil {
			return err
		}
		seq = seqOf(seq)
		for ; want < seq; want++ {
			c.report(want, false, "the entry is missing")
		}
		if seq > c.x.Head {
			c.report(seq, false, "the entry stands behind the head, %d", c.x.Head)
		}
		want = seq + 1
		return nil
	}, `SELECT pos FROM entries WHERE pos BETWEEN ? AND ? ORDER BY pos`, pos(c.x.sid, want), pos(c.x.sid, maxSeq))
	for ; err == nil && want <= c.x.Head; want++ {
		c.report(want, false, "the entry is missing")
	}
	return err
}

// each calls f for every own entry of the session, opened.
func (c *sessionCheck) eachEntry(f func(e *storedEntry) error) error {
	for from := c.x.state.firstOwn(); ; {
		var some []storedEntry
		err := c.t.each(c.ctx, func(scan func(...any) error) error {
			e, err := c.x.scan(c.x.sid, scan)
			some = append(some, e)
			return err
		}, `SELECT `+entryColumns+` FROM entries WHERE pos BETWEEN ? AND ? ORDER BY pos LIMIT 100`, pos(c.x.sid, from), pos(c.x.sid, maxSeq))
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

// bytes: every entry is what was stored.
func (c *sessionCheck) checkBytes() error {
	return c.eachEntry(func(e *storedEntry) error {
		if e.codec == codecGone {
			// What was reverted since, the summary with it, is not in force: nothing is missing.
			if last, ok := c.x.state.compaction(); (!ok || e.Seq > last.To) && c.x.state.visible(e.Seq) {
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

// folded: the state is what the control entries amount to.
func (c *sessionCheck) checkState() error {
	all, err := c.s.readControls(c.ctx, c.t, c.x)
	var corrupt *CorruptError
	if errors.As(err, &corrupt) {
		return nil // reported already
	}
	if err != nil {
		return err
	}
	want := c.x.state.fold(all)
	if want.encode() == c.x.state.encode() {
		return nil
	}
	c.report(0, c.repair, "what is kept of reverts and summaries is not what the entries say")
	c.x.state = want
	if !c.repair {
		return nil
	}
	_, err = c.t.exec(c.ctx, `UPDATE sessions SET state = ? WHERE sid = ?`, want.encode(), c.x.sid)
	return err
}

// weights: those in force add up.
func (c *sessionCheck) checkWeights() error {
	// An entry adds to what was in force in front of it when it was appended; a control
	// entry begins again with what it leaves in force.
	var cum int64
	if from := c.x.state.firstOwn(); from > 1 {
		var err error
		if cum, err = c.s.cumAt(c.ctx, c.t, c.x, from-1); err != nil {
			return err
		}
	}
	all, err := c.s.readControls(c.ctx, c.t, c.x)
	if err != nil {
		return nil // reported already
	}
	var own []storedWeight // read to the end first: a connection has room for one query at a time
	err = c.t.each(c.ctx, func(scan func(...any) error) error {
		var w storedWeight
		err := scan(&w.seq, &w.weight, &w.cum)
		w.seq = seqOf(w.seq)
		own = append(own, w)
		return err
	}, `SELECT pos, weight, cum FROM entries WHERE pos BETWEEN ? AND ? ORDER BY pos`, pos(c.x.sid, c.x.state.firstOwn()), pos(c.x.sid, maxSeq))
	if err != nil {
		return err
	}
	at := make(map[int64]int64, len(own)) // by entry
	for _, w := range own {
		if i := slices.IndexFunc(all, func(k controlEntry) bool { return k.seq == w.seq }); i >= 0 {
			st := c.x.state.fold(all[:i+1])
			y := &Session{sid: c.x.sid, Head: w.seq - 1, state: st}
			if prev := y.lastVisible(w.seq - 1); prev >= c.x.state.firstOwn() {
				cum = at[prev]
			} else if cum, err = c.s.cumAt(c.ctx, c.t, c.x, prev); err != nil {
				return err
			}
		}
		if cum, err = c.checkWeight(w, cum); err != nil {
			return err
		}
		at[w.seq] = cum
	}
	if len(own) == 0 || cum == c.x.cum {
		return nil
	}
	c.report(0, c.repair, "the weight of the session is %d, expected %d", c.x.cum, cum)
	if c.repair {
		_, err = c.t.exec(c.ctx, `UPDATE sessions SET cum = ? WHERE sid = ?`, cum, c.x.sid)
	}
	return err
}

// weighed is what the table says of the weight of an entry, and of all up to it.
type storedWeight struct{ seq, weight, cum int64 }

// weigh looks at the weight of an entry, in front of which lies another, and returns both together.
// If they do not add up, one of the two numbers of the row is damaged: the weight, if it is not
// what the message weighs and the sum is right with that.
func (c *sessionCheck) checkWeight(w storedWeight, before int64) (int64, error) {
	if w.cum == before+w.weight && w.weight >= 0 {
		return w.cum, nil
	}
	right := w.weight
	e, err := c.s.entry(c.ctx, c.t, c.x, c.x.sid, w.seq)
	if err != nil {
		return 0, err
	}
	var r row
	if e.Kind == KindMessage && c.s.open(c.ctx, c.t, c.x, &e) == nil && c.s.inspectMessage(c.x, &r, e.Raw) == nil {
		if right < 0 || w.cum == before+r.weight {
			right = r.weight
		}
	}
	right = max(right, 0)
	c.report(w.seq, c.repair, "the weights do not add up: %d, expected %d", w.cum, before+right)
	if c.repair {
		_, err = c.t.exec(c.ctx, `UPDATE entries SET weight = ?, cum = ? WHERE pos = ?`, right, before+right, pos(c.x.sid, w.seq))
	}
	return before + right, err
}

// pairs: the calls and answers of every entry are those that its bytes hold, and an
// answer names a call of its id that stands in front of it.
func (c *sessionCheck) checkPairs() error {
	return c.eachEntry(func(e *storedEntry) error {
		if e.Kind != KindMessage || e.codec == codecGone || c.s.open(c.ctx, c.t, c.x, e) != nil {
			return nil
		}
		var r row
		if err := c.s.inspectMessage(c.x, &r, e.Raw); err != nil {
			c.report(e.Seq, false, "the message cannot be read: %v", err)
			return nil
		}
		var have Entry
		if err := have.decodePairs(e.pairs); err != nil {
			have = Entry{} // it is not what the message says
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
			if made, err := c.s.entry(c.ctx, c.t, c.x, c.x.owner(a.Seq), a.Seq); err == nil && made.codec&codecQuarantined != 0 {
				continue // the call may be in there
			}
			all, err := c.s.readEntryInfos(c.ctx, c.t, c.x, c.x.owner(a.Seq), []int64{a.Seq})
			if err != nil || len(all) == 0 || a.No >= len(all[0].Calls) || all[0].Calls[a.No].ID != a.ID || a.Seq >= e.Seq {
				c.report(e.Seq, false, "the answer to call %q names entry %d, which does not make that call", a.ID, a.Seq)
			}
		}
		return nil
	})
}

// strayAnswer reports an answer that belongs to no call: nobody has made it, or it is answered.
func (c *sessionCheck) reportOrphanResult(seq int64, a Call) error {
	why := "no entry before it makes that call"
	for _, st := range slices.Backward(c.x.ranges(1, seq-1)) {
		made, err := c.s.callsIn(c.ctx, c.t, c.x, a, st)
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

// ranges: compactions end at cuts and do not overlap.
func (c *sessionCheck) checkCompactions() error {
	var before int64
	for _, k := range c.x.state.Compactions {
		switch {
		case k.To <= before:
			c.report(k.Seq, false, "the summary stands for entries that an earlier one stands for")
		case k.To >= k.Seq:
			c.report(k.Seq, false, "the summary stands for entries behind it")
		case !c.x.state.visible(k.To):
			c.report(k.Seq, false, "the summary ends with an entry that is not in force")
		}
		before = k.To
		var sum []byte
		if err := c.t.row(c.ctx, `SELECT sum FROM entries WHERE pos = ?`, pos(c.x.owner(k.Seq), k.Seq)).Scan(&sum); err != nil || bytes.Equal(sum, nil) {
			c.report(k.Seq, false, "the summary is missing")
		}
	}
	return nil
}
