package pare

import (
	"fmt"
	"reflect"
	"slices"
	"sort"

	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A tally is what rules said of a request, and which edits stood. The next request of the
// conversation goes on from it: only atoms of which something else is said are settled again.
type tally struct {
	rules   *Pipeline
	of      *transcript.Transcript // nil: nobody has voted
	by      []votes                // by rule; drops and protections in the order of atoms, edits in that of blocks
	changed []int                  // atoms of which something else was said than the last time, in order
	stands  *wire.Docket           // the edits that stood the last time, if settled
	settled bool
}

// poll lets every rule vote, from what it has said of the last request on if it wants to.
func (y *tally) poll(rules *Pipeline, r *wire.Request) error {
	t := r.Transcript()
	if y.of == nil || y.rules != rules || !t.Continues(y.of) || len(t.Messages()) < len(y.of.Messages()) {
		*y = tally{rules: rules, by: make([]votes, len(rules.rules))}
	}
	y.changed = y.changed[:0]
	for i, rule := range rules.rules {
		b := &Ballot{rule: rule.Name, t: t, votes: new(votes), seen: y.by[:i], before: rules.before(i), since: y.of}
		if err := rule.vote(r, b); err != nil {
			return err
		}
		y.take(b, &y.by[i])
	}
	y.of, y.changed = t, sorted(y.changed)
	return nil
}

// take enters a ballot: in the place of what the rule has said before, or on top of that.
func (y *tally) take(b *Ballot, said *votes) {
	now := b.votes
	slices.SortStableFunc(now.drop, func(a, b Reason) int { return a.atom() - b.atom() })
	slices.SortStableFunc(now.protect, func(a, b Reason) int { return a.atom() - b.atom() })
	slices.SortStableFunc(now.edits, func(a, b edit) int { return a.at() - b.at() })
	change := func(a transcript.AtomID) { y.changed = append(y.changed, int(a)) }
	if !b.goesOn {
		// Who protects something, and why, does not matter to others.
		differ(said.protect, now.protect, (*Reason).atom, func(Reason, Reason) bool { return true }, func(why Reason) { change(why.Via) })
		differ(said.edits, now.edits, (*edit).at, func(a, b edit) bool { return a == b }, func(e edit) { change(e.reason.Via) })
		*said = *now
		return
	}
	atoms, blocks := make([]int, len(b.withdrawn)), make([]int, len(b.withdrawn))
	for i, id := range b.withdrawn {
		atoms[i], blocks[i] = int(b.t.AtomOf(id)), int(id)
		change(b.t.AtomOf(id))
	}
	for _, why := range now.protect {
		change(why.Via)
	}
	for _, e := range now.edits {
		change(e.reason.Via)
	}
	atoms, blocks = sorted(atoms), sorted(blocks)
	said.drop = with(without(said.drop, atoms, (*Reason).atom), now.drop, (*Reason).atom)
	said.protect = with(without(said.protect, atoms, (*Reason).atom), now.protect, (*Reason).atom)
	said.edits = with(without(said.edits, blocks, (*edit).at), now.edits, (*edit).at)
	said.needs = append(said.needs, now.needs...)
}

// settle makes decisions of what was said. Where nothing is to be dropped and nothing needs
// anything else, each atom is settled by itself.
func (y *tally) settle(p *Plan) (todo *wire.Docket, why func(i int) Reason) {
	alone := !y.of.Needy() && !y.of.Compacted() && !slices.ContainsFunc(y.by, func(v votes) bool { return len(v.drop)+len(v.needs) > 0 })
	if !alone || !y.settled {
		y.settled = alone
		y.stands, why = p.decide(y.all())
		return y.stands, why
	}
	y.settleChanged(p.mended)
	p.undecided = &undecided{
		decide: func() []Decision {
			all, _ := settle(p.mended, y.all())
			return all
		},
		drops: func(transcript.AtomID) (Reason, bool) { return Reason{}, false },
	}
	if proveVotes {
		y.prove(p.mended)
	}
	edits := y.stands.Edits
	return y.stands, func(i int) Reason { return y.best(edits[i].Block).reason }
}

// settleChanged settles the edits of atoms of which something else was said.
func (y *tally) settleChanged(r *wire.Request) {
	var blocks []transcript.BlockID
	for _, a := range y.changed {
		blocks = append(blocks, y.of.Atoms()[a].Blocks...)
	}
	slices.Sort(blocks)
	y.stands.Change(blocks, func(b transcript.BlockID) (text string, edited, gone bool) {
		if best := y.best(b); best != nil && r.Editable(b) && !y.protected(y.of.AtomOf(b)) {
			return best.text, true, false
		}
		return "", false, false
	})
}

// best is the edit that stands if any of a block does; nil: there is none.
func (y *tally) best(id transcript.BlockID) (best *edit) {
	for i := range y.by {
		all := y.by[i].edits
		for k := from(all, int(id), (*edit).at); k < len(all) && all[k].block == id; k++ {
			if best == nil || all[k].beats(best) {
				best = &all[k]
			}
		}
	}
	return best
}

// protected reports whether a rule votes to keep an atom.
func (y *tally) protected(a transcript.AtomID) bool {
	return slices.ContainsFunc(y.by, func(v votes) bool {
		i := from(v.protect, int(a), (*Reason).atom)
		return i < len(v.protect) && v.protect[i].Via == a
	})
}

// all is what all rules said.
func (y *tally) all() *votes {
	v := new(votes)
	for i := range y.by {
		said := &y.by[i]
		v.drop, v.protect = append(v.drop, said.drop...), append(v.protect, said.protect...)
		v.edits, v.needs = append(v.edits, said.edits...), append(v.needs, said.needs...)
	}
	return v
}

// proveVotes is set by tests, also by those of other packages: what rules that went on said
// is compared with what they say of the whole request, and so is what came of it.
var proveVotes bool

func (y *tally) prove(r *wire.Request) {
	fresh := &tally{}
	if err := fresh.poll(y.rules, r); err != nil {
		panic(err)
	}
	if got, want := y.all(), fresh.all(); !slices.Equal(got.protect, want.protect) || !slices.Equal(got.edits, want.edits) {
		panic(fmt.Sprintf("pare: rules that went on say %+v, and of the whole request %+v", got, want))
	}
	if _, edits := settle(r, fresh.all()); !reflect.DeepEqual(append([]wire.BlockEdit{}, y.stands.Edits...), edits.all) {
		panic(fmt.Sprintf("pare: edits %v stand, and of the whole request %v", y.stands.Edits, edits.all))
	}
}

func (r *Reason) atom() int { return int(r.Via) }
func (e *edit) at() int     { return int(e.block) }

// sorted sorts numbers; each stays once.
func sorted(all []int) []int {
	slices.Sort(all)
	return slices.Compact(all)
}

// from finds the first one of a list in order that has a key or comes behind it.
func from[T any](all []T, key int, of func(*T) int) int {
	return sort.Search(len(all), func(i int) bool { return of(&all[i]) >= key })
}

// differ calls yield with what is not the same in two lists in order.
func differ[T any](was, now []T, of func(*T) int, same func(a, b T) bool, yield func(T)) {
	for len(was)+len(now) > 0 {
		switch {
		case len(now) == 0 || len(was) > 0 && of(&was[0]) < of(&now[0]):
			yield(was[0])
			was = was[1:]
		case len(was) == 0 || of(&was[0]) > of(&now[0]):
			yield(now[0])
			now = now[1:]
		default:
			if !same(was[0], now[0]) {
				yield(now[0])
			}
			was, now = was[1:], now[1:]
		}
	}
}

// without takes what has one of the keys out of a list in order. What stands in front of the
// first of them stays where it is.
func without[T any](all []T, keys []int, of func(*T) int) []T {
	to, at := 0, 0 // what stands in front of at has been moved, to here
	for i, key := range keys {
		first := at + from(all[at:], key, of)
		if i == 0 {
			to, at = first, first
		}
		if to != at {
			copy(all[to:], all[at:first])
		}
		to += first - at
		for at = first; at < len(all) && of(&all[at]) == key; at++ {
		}
	}
	if to != at {
		to += copy(all[to:], all[at:])
		clear(all[to:])
		return all[:to]
	}
	return all
}

// with puts more into a list in order, behind what has the same key. What stands in front of
// the first of them stays where it is.
func with[T any](all, more []T, of func(*T) int) []T {
	end := len(all)
	all = append(all, more...)
	for i := len(more) - 1; i >= 0; i-- {
		at := from(all[:end], of(&more[i])+1, of)
		copy(all[at+i+1:], all[at:end])
		all[at+i], end = more[i], at
	}
	return all
}
