package transcript

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
)

// mostlyPaired writes messages in the notation of index: nearly all are calls that the next turn
// answers, now and then something is odd.
func mostlyPaired(rng *rand.Rand, messages int) string {
	var all []string
	odd := []string{"t", "k", "c:1", "r:1", "c:2", "r:2:f", "c:3:g", "r", "c::f", "C:s", "R:s", "r:1:g"}
	for len(all) < messages {
		switch rng.IntN(9) {
		case 0:
			var words []string
			for range rng.IntN(4) {
				words = append(words, odd[rng.IntN(len(odd))])
			}
			all = append(all, []string{"", "! ", "+ "}[rng.IntN(3)]+strings.Join(words, " "))
		case 1:
			all = append(all, "! t", "t")
		case 2:
			all = append(all, "t c:1 c:2:f", "r:2 r:1")
		case 3:
			all = append(all, "c:1", "+ c:2", "r:1", "+ r:2")
		case 4:
			all = append(all, "c:1", "+ c:2", "r:1", "t", "! t", "r:2:f")
		default:
			all = append(all, "t c:1:f", "r:1")
		}
	}
	return strings.Join(all, "|")
}

// TestContinue: pairing on from what the last index began with gives what pairing all of it does,
// where nothing is left of the last one but its beginning.
func TestContinue(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 0))
	kinds := []Kind{Text, Result, Compaction}
	var keptSome [2]int
	for range trial.Size(20_000) {
		d := Discipline(rng.IntN(2))
		var b Builder
		var x Index
		x.Discipline = d
		whole := New(x) // the last one, in memory of its own
		for range 1 + rng.IntN(6) {
			next := index(mostlyPaired(rng, 1+rng.IntN(14)), d)
			if rng.IntN(12) == 0 && len(next.Blocks) > 0 {
				k := &next.Blocks[rng.IntN(len(next.Blocks))]
				k.Kind, k.Continues = kinds[rng.IntN(len(kinds))], true
			}
			m := 0
			if len(x.Messages) > 0 {
				m = rng.IntN(len(x.Messages) + 1)
			}
			x = after(x, m, next)
			got := b.Continue(x, m, nil, nil)
			keptSome[d] += b.quiet
			want := New(Index{Messages: slices.Clone(x.Messages), Blocks: slices.Clone(x.Blocks), Discipline: d})
			if !paired(got, want) {
				t.Fatalf("from message %d on:\n%v\nall:\n%v\nof %+v", m, exchanges(got), exchanges(want), x.Blocks)
			}
			also := NewAfter(Index{Messages: want.messages, Blocks: want.blocks, Discipline: d}, whole, []Run{{0, 0, m}})
			if !paired(also, want) {
				t.Fatalf("after message %d of another:\n%v\nall:\n%v\nof %+v", m, exchanges(also), exchanges(want), x.Blocks)
			}
			whole = want
		}
	}
	if keptSome[NextTurn] == 0 || keptSome[Anywhere] == 0 {
		t.Errorf("%d exchanges were kept", keptSome)
	}
}

// paired reports whether two transcripts are paired alike.
func paired(a, b *Transcript) bool {
	return slices.EqualFunc(a.exchanges, b.exchanges, func(a, b Exchange) bool { return reflect.DeepEqual(a, b) }) && slices.Equal(a.exchange, b.exchange) &&
		slices.Equal(a.odd, b.odd) && a.turns == b.turns && a.start == b.start
}

// after puts the messages of one index behind the first m of another, in the memory of that one.
func after(x Index, m int, next Index) Index {
	x.Messages = x.Messages[:m]
	blocks, turn := BlockID(0), 0
	if m > 0 {
		blocks, turn = x.Messages[m-1].End, x.Messages[m-1].Turn+1-int(next.Messages[0].Turn&1)
	}
	x.Blocks = x.Blocks[:blocks]
	for _, n := range next.Messages {
		n.First, n.End, n.Turn = n.First+blocks, n.End+blocks, max(n.Turn, 0)+turn
		x.Messages = append(x.Messages, n)
	}
	for _, k := range next.Blocks {
		k.Message += m
		x.Blocks = append(x.Blocks, k)
	}
	return x
}

// TestContinueSteps: a turn more takes no longer the more there are in front of it.
func TestContinueSteps(t *testing.T) {
	for _, d := range []Discipline{NextTurn, Anywhere} {
		var b Builder
		x := Index{Discipline: d}
		for i := range 500 {
			m := len(x.Messages)
			x = after(x, m, index("t c:1 c:2 | r:1 r:2", d))
			b.Continue(x, m, nil, nil)
			if i > 0 && b.quiet != 2*i {
				t.Fatalf("after %d turns %d exchanges were paired again", i, 2*(i+1)-b.quiet)
			}
		}
	}
}

// TestRuns: pairing that takes over what is paired in runs of messages of another transcript gives
// what pairing all of it does.
func TestRuns(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 0))
	var taken [2]int
	for range trial.Size(20_000) {
		d := Discipline(rng.IntN(2))
		was := strings.Split(mostlyPaired(rng, 4+rng.IntN(20)), "|")
		var now []string
		var runs []Run
		for at := 0; at < len(was); {
			if rng.IntN(3) == 0 {
				now = append(now, strings.Split(mostlyPaired(rng, 1), "|")...)
			}
			at += rng.IntN(3)
			if n := min(1+rng.IntN(12), len(was)-at); n > 0 {
				runs = append(runs, Run{len(now), at, n})
				now = append(now, was[at:at+n]...)
				at += n
			}
		}
		var a, b Builder
		other, x := a.Build(index(strings.Join(was, "|"), d)), index(strings.Join(now, "|"), d)
		got, want := b.Continue(x, 0, other, runs), New(x)
		if !paired(got, want) {
			t.Fatalf("%q, in runs %v of %q: %+v, want %+v", now, runs, was, got.exchanges, want.exchanges)
		}
		b.p.t, b.p.other, b.p.runs = New(Index{}), other, runs
		for _, r := range runs {
			b.p.reset(b.p.t, d)
			if b.p.t.messages, b.p.t.blocks = x.Messages, x.Blocks; r.Now == 0 || x.Messages[r.Now].Turn != x.Messages[r.Now-1].Turn {
				b.p.t.exchange, b.p.t.exchanges = make([]ExchangeID, len(x.Blocks)), nil
				taken[d] += b.p.takeOver(r.Now) - r.Now
			}
		}
	}
	if min(taken[NextTurn], taken[Anywhere]) < trial.Size(20_000)/2 {
		t.Errorf("only %d messages were taken over", taken)
	}
}

// TestRooms: builders that take turns, each going on from what is left of its own last transcript
// and taking over runs of the one before, pair what they are given as if it were new.
func TestRooms(t *testing.T) {
	rng := rand.New(rand.NewPCG(47, 0))
	var taken, odd, compacted int
	for range trial.Size(3_000) {
		d := Discipline(rng.IntN(2))
		var rooms [3]Builder
		var same [3]int // how many messages of a room are those of the last transcript
		var last *Transcript
		var was []string
		for step := range 12 {
			front := rng.IntN(len(was) + 1)
			if rng.IntN(4) > 0 {
				front = min(front, 6)
			}
			now := slices.Clone(was[:front])
			var runs []Run
			if rng.IntN(2) == 0 {
				runs = append(runs, Run{N: front})
			}
			for at := front; at < len(was); {
				switch rng.IntN(4) {
				case 0:
					now = append(now, strings.Split(mostlyPaired(rng, 1), "|")...)
				case 1:
					now = append(now, []string{"p", "t g:1", "r:2:f", "! t"}[rng.IntN(4)])
				}
				if at += rng.IntN(5); at < len(was) {
					n := min(1+rng.IntN(60), len(was)-at)
					runs = append(runs, Run{len(now), at, n})
					now = append(now, was[at:at+n]...)
					at += n
				}
			}
			now = append(now, strings.Split(mostlyPaired(rng, 1+rng.IntN(12)), "|")...)
			x := index(strings.Join(now, "|"), d)
			want := New(x)
			for i := range same {
				same[i] = min(same[i], front)
			}
			if old := rooms[step%3].t; old != nil { // their memory may be used otherwise by now
				slices.Reverse(old.messages)
				slices.Reverse(old.blocks)
			}
			got := rooms[step%3].Continue(x, same[step%3], last, runs)
			if !paired(got, want) {
				t.Fatalf("%q, in runs %v of %q: %+v, %v, want %+v, %v", now, runs, was, got.exchanges, got.odd, want.exchanges, want.odd)
			}
			for _, r := range runs {
				taken += r.N
			}
			if odd += len(got.odd); got.Compacted() {
				compacted++
			}
			same[step%3], last, was = len(now), got, now
		}
	}
	if min(taken, odd, compacted) < trial.Size(3_000) {
		t.Errorf("%d messages in runs, %d odd exchanges, %d compactions", taken, odd, compacted)
	}
}
