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

// paired reports whether two transcripts are paired alike.
func paired(a, b *Transcript) bool {
	return slices.EqualFunc(a.exchanges, b.exchanges, func(a, b Exchange) bool { return reflect.DeepEqual(a, b) }) && slices.Equal(a.exchange, b.exchange) &&
		slices.Equal(a.odd, b.odd) && a.turns == b.turns && a.start == b.start
}

// TestRuns: pairing that takes over what is paired in runs of messages of another transcript gives
// what pairing all of it does.
func TestRuns(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 0))
	var taken [2]int
	for range trial.Size(8_000) {
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
		other, x := newTranscript(index(strings.Join(was, "|"), d)), index(strings.Join(now, "|"), d)
		got, want := newAfter(x, other, runs), newTranscript(x)
		if !paired(got, want) {
			t.Fatalf("%q, in runs %v of %q: %+v, want %+v", now, runs, was, got.exchanges, want.exchanges)
		}
		p := pairer{t: newTranscript(Index{}), other: other, runs: runs}
		for _, r := range runs {
			p.reset(p.t, d)
			if p.t.messages, p.t.blocks = x.Messages, x.Blocks; r.Now == 0 || x.Messages[r.Now].Turn != x.Messages[r.Now-1].Turn {
				p.t.exchange, p.t.exchanges = make([]ExchangeID, len(x.Blocks)), nil
				taken[d] += p.takeOver(r.Now) - r.Now
			}
		}
	}
	if min(taken[NextTurn], taken[Anywhere]) < trial.Size(8_000)/2 {
		t.Errorf("only %d messages were taken over", taken)
	}
}

// TestRunsOfRuns: the same, from one transcript to the next.
func TestRunsOfRuns(t *testing.T) {
	rng := rand.New(rand.NewPCG(47, 0))
	var taken, odd, compacted int
	for range trial.Size(1_000) {
		d := Discipline(rng.IntN(2))
		last := newTranscript(Index{Discipline: d})
		var was []string
		for range 12 {
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
			want := newTranscript(x)
			got := newAfter(x, last, runs)
			if !paired(got, want) {
				t.Fatalf("%q, in runs %v of %q: %+v, %v, want %+v, %v", now, runs, was, got.exchanges, got.odd, want.exchanges, want.odd)
			}
			for _, r := range runs {
				taken += r.N
			}
			if odd += len(got.odd); got.compacted() {
				compacted++
			}
			last, was = got, now
		}
	}
	if min(taken, odd, compacted) < trial.Size(1_000) {
		t.Errorf("%d messages in runs, %d odd exchanges, %d compactions", taken, odd, compacted)
	}
}
