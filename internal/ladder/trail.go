package ladder

import (
	"slices"

	"github.com/pare-llm/pare/transcript"
)

// A trail is how far a plain window of tokens has climbed, and what the state there costs. The
// next request continues the history, so it goes on from there, up or down, until it is at its own
// first state that is within the limit. It does what is new, what is no longer pinned or recent,
// and the steps between the two states.
//
// That is the state which a whole climb tries first as long as no step adds to the sum; a trail that
// finds one that does is lame, and nobody follows it.
type trail struct {
	chain  *chain    // the state; its steps are those that drop exchanges
	scenes [2]*scene // that of the request, and that of the one before
	sum    int       // of the state
	lame   bool

	exchanges int        // that were looked at
	rungs     [3]trodden // those that drop nothing, in order
	rung      int        // the one that the trail is on; 3: exchanges are dropped
	drops     []dropped  // by step
	calls     []int      // by run: those that are gone
	alive     []int      // by message: blocks that are left
}

// A trodden is a rung that drops nothing: the blocks that it may raise, in order.
type trodden struct {
	blocks  []transcript.BlockID
	at, end int // how many have been looked at; how many can be
}

// what the rungs of a trail do.
var treads = [...]struct {
	to level
	by Rung
}{{isCleared, Clear}, {atMost16K, Shorten}, {atMost4K, Shorten}}

// A dropped is a step that drops an exchange.
type dropped struct {
	exchange int
	reach    int // the last run that this step, or one before it, looked at
}

// follow goes on from the state of the request before. The outcome is nil if there is no such way,
// or the state that it leads to does not fit.
func (l *Ladder) follow() (Outcome, error) {
	if !l.trodden() {
		return nil, nil
	}
	m, t := l.Window.Limits[0], l.shed.trail
	if t == nil || len(t.alive) > l.same {
		t = &trail{chain: keptChain(), scenes: [2]*scene{new(scene), new(scene)}}
		l.shed.trail = t
	}
	if t.lame {
		return nil, nil
	}
	l.survey()
	t.scenes[0], t.scenes[1] = t.scenes[1], t.scenes[0]
	l.scene, l.chain = t.scenes[0], t.chain
	l.scene.t, l.scene.end, l.scene.needs = l.t, len(l.t.Messages()), l.shed.outline.needs
	l.scene.pinned.begin(len(l.t.Atoms()))
	l.scene.locked.begin(len(l.t.Atoms()))
	l.pin(l.scene)
	t.goOn(l)
	if !t.lame && t.seek(l, m.Most) && l.squeezable() && (l.Window.AllowTiny || l.smallest(m) <= m.Most) {
		for tries := 1; tries <= linear; tries++ {
			o, err := l.Try(l)
			if err != nil {
				return nil, err
			}
			if l.fits(o, m, nil) {
				if proveTrail != nil {
					t.prove(l, o, tries)
				}
				return o, nil
			}
			if !t.seek(l, t.sum-1) {
				break
			}
		}
	}
	l.scene, l.chain = nil, nil
	return nil, nil
}

// trodden reports whether a trail can lead to where a whole climb would.
func (l *Ladder) trodden() bool {
	w := &l.Window
	return l.Memory != nil && l.Memory.Lend && l.same > 0 && len(w.Limits) == 1 && w.Limits[0].Unit == Tokens && w.Low == 0 && l.oldestFirst() &&
		l.Vote == nil && l.Reserve == 0 && l.Ours == nil && !l.Unended && !l.t.Compacted()
}

// goOn takes in what is new: messages, and exchanges that are no longer pinned or recent.
func (t *trail) goOn(l *Ladder) {
	messages, first := len(t.alive), transcript.BlockID(len(t.chain.level))
	t.list(l)
	moved, begun := t.moved(), t.rungs[0].end
	for old := len(old(l.t.Exchanges(), l.Window.Recent)); t.rungs[0].end < len(t.rungs[0].blocks); t.rungs[0].end++ {
		if int(l.t.ExchangeOf(t.rungs[0].blocks[t.rungs[0].end])) >= old {
			break
		}
	}
	aged := t.rungs[0].blocks[begun:t.rungs[0].end]
	if t.near(l, messages, moved, aged) {
		for len(t.drops) > 0 {
			t.undrop(l)
		}
	}
	t.extend(l)
	for r := range t.rung {
		t.rungs[r].at = t.rungs[r].end
	}
	for _, a := range moved {
		for _, b := range l.t.Atoms()[a].Blocks {
			t.settle(l, b)
		}
	}
	for _, b := range aged {
		t.settle(l, b)
	}
	for b := first; int(b) < len(t.chain.level); b++ {
		t.settle(l, b)
	}
}

// list finds the blocks of further exchanges that the rungs may raise.
func (t *trail) list(l *Ladder) {
	for all := l.t.Exchanges(); t.exchanges < len(all); t.exchanges++ {
		x := &all[t.exchanges]
		for i := -1; i < len(x.Results); i++ { // the call, then its results
			b := x.Call
			if i >= 0 {
				b = x.Results[i]
			}
			if b == transcript.NoBlock {
				continue
			}
			if i >= 0 && l.shed.outline.facts[b].clears {
				t.offer(l, 0, b, asIs)
			}
			if !l.longer(b, atMost4K) || !l.malleable(b) {
				continue
			}
			was := asIs
			if l.longer(b, atMost16K) {
				t.offer(l, 1, b, was)
				was = atMost16K
			}
			t.offer(l, 2, b, was)
		}
	}
	for r := range t.rungs[1:] {
		t.rungs[r+1].end = len(t.rungs[r+1].blocks)
	}
}

// offer lets a rung raise a block.
func (t *trail) offer(l *Ladder, rung int, b transcript.BlockID, was level) {
	t.rungs[rung].blocks = append(t.rungs[rung].blocks, b)
	cost := l.meter.of(b, was)
	t.lame = t.lame || l.meter.of(b, treads[rung].to) > cost
}

// moved lists the atoms that are pinned or locked now and were not, or the other way round.
func (t *trail) moved() (all []transcript.AtomID) {
	now, was := t.scenes[0], t.scenes[1]
	for _, f := range [...][2]*flags{{&now.pinned, &was.pinned}, {&now.locked, &was.locked}} {
		for i := range f {
			for _, a := range f[i].all {
				if other := f[1-i].on; int(a) >= len(other) || !other[a] {
					all = append(all, a)
				}
			}
		}
	}
	return all
}

// near reports whether exchanges might be dropped otherwise, had all been known that is new.
func (t *trail) near(l *Ladder, messages int, moved []transcript.AtomID, aged []transcript.BlockID) bool {
	if len(t.drops) == 0 {
		return false
	}
	o, reach := &l.shed.outline, t.drops[len(t.drops)-1].reach
	atom := func(a transcript.AtomID) bool { return o.runOf[l.t.Atoms()[a].First] <= reach }
	needs := func(a transcript.Atom) bool { return slices.ContainsFunc(a.Needs, atom) }
	return messages < len(o.runOf) && o.runOf[messages] <= reach || slices.ContainsFunc(l.t.Atoms()[len(t.scenes[1].pinned.on):], needs) || slices.ContainsFunc(moved, atom) ||
		slices.ContainsFunc(aged, func(b transcript.BlockID) bool { return o.runOf[o.facts[b].message] <= reach })
}

// extend adds messages, as they came.
func (t *trail) extend(l *Ladder) {
	if len(t.alive) == 0 {
		t.sum = l.meter.headTokens()
	}
	for _, m := range l.t.Messages()[len(t.alive):] {
		t.sum += l.meter.frame
		t.alive = append(t.alive, int(m.End-m.First))
		for b := m.First; b < m.End; b++ {
			t.sum += l.meter.of(b, asIs)
		}
	}
	t.chain.extend(l.t, l.shed.outline.facts)
	for runs := len(l.shed.outline.runs); len(t.calls) < runs; {
		t.calls = append(t.calls, 0)
	}
}

// settle gives a block that is not gone the level that it has where the trail is.
func (t *trail) settle(l *Ladder, b transcript.BlockID) {
	v, by := asIs, Rung(0)
	for _, r := range [...]int{1, 2, 0} {
		if t.takes(l, r, b) && t.passed(r, b) {
			v, by = treads[r].to, treads[r].by
		}
	}
	t.give(l, b, v, by)
}

// takes reports whether a rung raises a block, if no other one has.
func (t *trail) takes(l *Ladder, rung int, b transcript.BlockID) bool {
	switch a := l.t.AtomOf(b); {
	case l.scene.locked.on[a]:
		return false
	case rung == 0:
		return l.chain.facts[b].clears && !l.scene.pinned.on[a]
	}
	return l.longer(b, treads[rung].to) && l.malleable(b)
}

// passed reports whether the trail has passed a block on a rung that it is on.
func (t *trail) passed(rung int, b transcript.BlockID) bool {
	r := &t.rungs[rung]
	return rung <= t.rung && !slices.Contains(r.blocks[r.at:], b)
}

// give gives a block that is not gone a level.
func (t *trail) give(l *Ladder, b transcript.BlockID, v level, by Rung) {
	if was := t.chain.level[b]; was != v {
		t.sum += l.meter.of(b, v) - l.meter.of(b, was)
		t.chain.set(b, v, by)
	}
}

// seek goes to the first state that is within a limit; there may be none.
func (t *trail) seek(l *Ladder, most int) bool {
	if t.sum > most {
		for t.sum > most {
			if !t.up(l) {
				return false
			}
		}
		return true
	}
	for t.down(l, most) {
	}
	return true
}

// up goes to the next state; there may be none.
func (t *trail) up(l *Ladder) bool {
	for ; t.rung < len(t.rungs); t.rung++ {
		for r := &t.rungs[t.rung]; r.at < r.end; {
			b := r.blocks[r.at]
			r.at++
			if to := treads[t.rung]; t.chain.level[b] < to.to && t.takes(l, t.rung, b) {
				t.give(l, b, to.to, to.by)
				return true
			}
		}
	}
	reach, next, all := -1, 0, l.t.Exchanges()
	if n := len(t.drops); n > 0 {
		reach, next = t.drops[n-1].reach, t.drops[n-1].exchange+1
	}
	c, g, o := t.chain, t.gauge(l), &l.shed.outline
	for ; next < len(all); next++ {
		reach = max(reach, o.runOf[l.t.Atoms()[l.t.AtomOf(firstBlock(&all[next]))].Last])
		mark := len(c.ops)
		if !l.dropExchange(&all[next], t.calls) {
			continue
		}
		for _, op := range c.ops[mark:] {
			reach = max(reach, o.runOf[c.facts[op.block].message])
			t.sum -= g.gone(op.block, op.was)
		}
		t.drops = append(t.drops, dropped{next, reach})
		c.at = len(c.steps)
		return true
	}
	return false
}

// down goes back to the state before, if that is within the limit.
func (t *trail) down(l *Ladder, most int) bool {
	if len(t.drops) > 0 {
		s, g := t.chain.steps[len(t.chain.steps)-1], t.gauge(l)
		sum := t.sum
		for _, o := range t.chain.ops[s.from:s.to] {
			sum += g.back(o.block, isGone, o.was)
		}
		for _, o := range t.chain.ops[s.from:s.to] {
			g.gone(o.block, o.was)
		}
		if sum > most {
			return false
		}
		t.undrop(l)
		return true
	}
	for t.rung = min(t.rung, len(t.rungs)-1); ; t.rung-- {
		for r := &t.rungs[t.rung]; r.at > 0; r.at-- {
			b, v, by := r.blocks[r.at-1], asIs, Rung(0)
			if t.chain.level[b] != treads[t.rung].to {
				continue // it has not been raised here
			}
			if t.rung == 2 && l.longer(b, atMost16K) {
				v, by = treads[1].to, treads[1].by
			}
			if t.sum+l.meter.of(b, v)-l.meter.of(b, treads[t.rung].to) > most {
				return false
			}
			r.at--
			t.give(l, b, v, by)
			return true
		}
		if t.rung == 0 {
			return false
		}
	}
}

// undrop takes the last step back that dropped an exchange.
func (t *trail) undrop(l *Ladder) {
	c, g, o := t.chain, t.gauge(l), &l.shed.outline
	s := c.steps[len(c.steps)-1]
	for _, op := range c.ops[s.from:s.to] {
		t.sum += g.back(op.block, isGone, op.was)
		if f := &c.facts[op.block]; isCall(f.kind) {
			t.calls[o.runOf[f.message]]--
		}
	}
	c.move(len(c.steps) - 1)
	c.steps, c.ops, t.drops = c.steps[:c.at], c.ops[:s.from], t.drops[:len(t.drops)-1]
}

func (t *trail) gauge(l *Ladder) *gauge { return &gauge{l: l, unit: Tokens, alive: t.alive} }
