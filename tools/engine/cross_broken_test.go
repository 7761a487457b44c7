package engine

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/wire"
)

// at picks a beat that is so.
func (k parley) at(r *rand.Rand, is func(i int) bool) int {
	var all []int
	for i := range k.beats {
		if is(i) {
			all = append(all, i)
		}
	}
	if len(all) == 0 {
		return -1
	}
	return all[r.IntN(len(all))]
}

// blows break a talk at a beat, or report that they cannot.
var blows = []struct {
	name string
	hit  func(r *rand.Rand, k parley) (parley, bool)
}{
	{"lost result", func(r *rand.Rand, k parley) (parley, bool) {
		i := k.at(r, func(i int) bool { return k.beats[i].is == 'r' })
		if i < 0 {
			return k, false
		}
		k.beats = slices.Delete(slices.Clone(k.beats), i, i+1)
		return k, true
	}},
	{"lost call", func(r *rand.Rand, k parley) (parley, bool) {
		i := k.at(r, func(i int) bool { return k.beats[i].is == 'c' })
		if i < 0 {
			return k, false
		}
		k.beats = slices.Delete(slices.Clone(k.beats), i, i+1)
		return k, true
	}},
	{"second result", func(r *rand.Rand, k parley) (parley, bool) {
		i := k.at(r, func(i int) bool { return k.beats[i].is == 'r' })
		if i < 0 {
			return k, false
		}
		b := k.beats[i]
		b.word = "r9" + b.word[1:]
		k.beats = slices.Insert(slices.Clone(k.beats), i+1, b)
		return k, true
	}},
	{"copied result", func(r *rand.Rand, k parley) (parley, bool) {
		i := k.at(r, func(i int) bool { return k.beats[i].is == 'r' })
		if i < 0 {
			return k, false
		}
		k.beats = slices.Insert(slices.Clone(k.beats), i+1, k.beats[i])
		return k, true
	}},
	{"late result", func(r *rand.Rand, k parley) (parley, bool) {
		i := k.at(r, func(i int) bool { return k.beats[i].is == 'r' })
		if i < 0 {
			return k, false
		}
		b := k.beats[i]
		to := i + 1 + r.IntN(len(k.beats)-i)
		k.beats = slices.Insert(slices.Clone(k.beats), to, b)
		k.beats = slices.Delete(k.beats, i, i+1)
		return k, true
	}},
	{"interruption", func(r *rand.Rand, k parley) (parley, bool) {
		i := k.at(r, func(i int) bool { return k.beats[i].is == 'r' })
		if i < 0 {
			return k, false
		}
		k.beats = slices.Insert(slices.Clone(k.beats), i, beat{is: 'u', word: "u9" + k.beats[i].word[1:]})
		return k, true
	}},
	{"shared id", func(r *rand.Rand, k parley) (parley, bool) {
		i := k.at(r, func(i int) bool { return i > 0 && k.beats[i].is == 'c' && k.beats[i-1].is == 'c' })
		if i < 0 {
			return k, false
		}
		from, to := k.beats[i].id, k.beats[i-1].id
		k.beats = slices.Clone(k.beats)
		for j := range k.beats {
			if k.beats[j].id == from {
				k.beats[j].id = to
			}
		}
		return k, true
	}},
	{"blank words", func(r *rand.Rand, k parley) (parley, bool) {
		i := k.at(r, func(i int) bool { return k.beats[i].is == 's' })
		if i < 0 {
			return k, false
		}
		k.beats = slices.Clone(k.beats)
		k.beats[i].blank = true
		return k, true
	}},
	{"cut front", func(r *rand.Rand, k parley) (parley, bool) {
		k.beats = k.beats[r.IntN(len(k.beats)):]
		return k, true
	}},
	{"cut end", func(r *rand.Rand, k parley) (parley, bool) {
		k.beats = k.beats[:1+r.IntN(len(k.beats))]
		return k, true
	}},
	{"split message", func(r *rand.Rand, k parley) (parley, bool) {
		k.beats = slices.Clone(k.beats)
		k.beats[r.IntN(len(k.beats))].alone = true
		return k, true
	}},
}

// answered are the calls of a body, each with the words of its answer, in order.
func answered(us []utterance) string {
	var all []string
	for i, u := range us {
		if u.who != "call" {
			continue
		}
		nth := 0 // of its id among the calls that wait
		for j := i - 1; j >= 0 && us[j].who == "call"; j-- {
			if us[j].id == u.id {
				nth++
			}
		}
		for _, r := range us[i+1:] {
			if r.who == "result" && r.id == u.id {
				if nth == 0 {
					all = append(all, strings.Join(wordsIn([]byte(u.text)), "+")+"→"+strings.Join(wordsIn([]byte(r.text)), "+"))
					break
				}
				nth--
			}
		}
	}
	return strings.Join(all, " ")
}

// repairedTalk is the repaired talk of one renderer.
type repairedTalk struct {
	found, left []string
	out         []byte
	pairs       string
	users, said string
}

func repairTalk(t *testing.T, h hand, body []byte) repairedTalk {
	t.Helper()
	r := reading(t, h.d, body)
	var m repairedTalk
	for _, f := range r.Check(wire.CheckOptions{}) {
		m.found = append(m.found, f.Rule)
	}
	plan, err := planner.Repair(context.Background(), r, pare.Options{})
	if err != nil {
		t.Fatalf("%s: %v\n%s", h.name, err, body)
	}
	m.out = plan.Result().Raw()
	for _, f := range reading(t, h.d, m.out).Check(wire.CheckOptions{}) {
		m.left = append(m.left, f.Rule)
	}
	again, err := planner.Repair(context.Background(), reading(t, h.d, m.out), pare.Options{})
	if err != nil || !bytes.Equal(again.Result().Raw(), m.out) {
		m.left = append(m.left, fmt.Sprintf("a second repair changes it (%v)", err))
	}
	us := utterances(t, h.d, m.out)
	m.pairs = answered(us)
	var users, said []byte
	for _, u := range us {
		switch u.who {
		case "user":
			users = append(users, u.text+" "...)
		case "assistant":
			said = append(said, u.text+" "...)
		}
	}
	m.users, m.said = strings.Join(wordsIn(users), " "), strings.Join(wordsIn(said), " ")
	return m
}

// apart reports whether providers may see different pairs in a talk: runs and turns, which decide
// whether a second result is a duplicate, differ between providers.
func (k parley) apart() bool {
	calls, results := map[string]int{}, map[string]int{}
	asked := false // the model's last turn has calls
	for i, g := range k.groups() {
		if g[0].voice() == "assistant" {
			asked = slices.ContainsFunc(g, func(b beat) bool { return b.is == 'c' })
		}
		for _, b := range g {
			if _, known := calls[b.id]; b.is == 'r' && asked && !known {
				return true // a stray behind a lone call is taken for its answer, but not where that may stand anywhere
			}
		}
		for _, b := range g {
			switch at, again := calls[b.id]; {
			case b.is == 'c' && again && at != i:
				return true
			case b.is == 'c':
				calls[b.id] = i
			}
			switch at, again := results[b.id]; {
			case b.is == 'r' && again && (at != i || calls[b.id] != i-1):
				return true
			case b.is == 'r':
				results[b.id] = i
			}
		}
	}
	return false
}

// shares reports whether two calls have one id. Not all providers mind, and a call is reported
// once.
func (k parley) shares() bool {
	calls := map[string]bool{}
	for _, b := range k.beats {
		if b.is == 'c' && calls[b.id] {
			return true
		}
		calls[b.id] = calls[b.id] || b.is == 'c'
	}
	return false
}

// onlyPairs are the faults that a talk has whatever the dialect.
func onlyPairs(found []string) string {
	of := slices.DeleteFunc(slices.Clone(found), func(s string) bool {
		return !slices.Contains([]string{"orphan-call", "orphan-result"}, s)
	})
	slices.Sort(of)
	return fmt.Sprint(of)
}

func onlyOf(is byte, words string) string {
	return strings.Join(slices.DeleteFunc(strings.Fields(words), func(w string) bool { return w[0] != is }), " ")
}

// struck returns a talk with up to three faults, and their names.
func struck(seed uint64) (k parley, did []string) {
	k = parleyOf(seed)
	for i := range k.beats {
		k.beats[i].long = 0
	}
	rnd := rand.New(rand.NewPCG(seed, 52))
	for range 1 + rnd.IntN(3) {
		b := blows[rnd.IntN(len(blows))]
		if hit, ok := b.hit(rnd, k); ok && len(hit.beats) > 0 {
			k = hit
			did = append(did, b.name)
		}
	}
	return k, did
}

// TestCrossRepair: whatever is broken in a talk, every dialect finds the same pairs in it and
// repairs them in the same way; no word is lost, the result is accepted, and a second repair leaves
// it.
func TestCrossRepair(t *testing.T) {
	for seed := range uint64(historyCount(t) / 10) {
		k, did := struck(seed)
		var first repairedTalk
		for i, h := range hands {
			body := h.body(t, k)
			m := repairTalk(t, h, body)
			wrong := func(format string, args ...any) {
				t.Errorf("seed %d, %s, %v: %s\n%s\nfound %v and %v", seed, h.name, did, fmt.Sprintf(format, args...), k, m.found, first.found)
				t.Logf("in  %s\nout %s", body, m.out)
			}
			if len(m.left) > 0 {
				wrong("refused: %v", m.left)
			}
			for _, b := range k.beats {
				if b.is != 't' && b.is != 'i' && !b.blank && !bytes.Contains(m.out, []byte(b.word)) {
					wrong("%s is lost", b.word)
				}
			}
			switch {
			case i == 0:
				first = m
			case onlyOf('u', m.users) != onlyOf('u', first.users):
				wrong("users say %s, not %s", m.users, first.users)
			case m.said != first.said:
				wrong("the model says %s, not %s", m.said, first.said)
			case k.apart():
			case m.pairs != first.pairs:
				wrong("pairs\n%s, not\n%s", m.pairs, first.pairs)
			case len(onlyOf('r', m.users)) != len(onlyOf('r', first.users)):
				wrong("quoted %s, not %s", m.users, first.users)
			case !k.shares() && onlyPairs(m.found) != onlyPairs(first.found):
				wrong("found %s, not %s", onlyPairs(m.found), onlyPairs(first.found))
			}
			if t.Failed() {
				return
			}
		}
	}
}
