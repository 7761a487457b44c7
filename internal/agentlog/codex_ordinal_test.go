package agentlog

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
)

// numbered returns a rollout whose records have the given numbers; -1 means none.
func numbered(numbers []int, payloads []string) string {
	var b strings.Builder
	for i, p := range payloads {
		line := codexWrite(max(numbers[i], -1), p)
		b.WriteString(line)
	}
	return b.String()
}

// TestNewRecordTakesFreeNumber checks that a record which replaces a lost one takes its number
// without other changes, and that later lines are counted up only until a number is free.
func TestNewRecordTakesFreeNumber(t *testing.T) {
	user := func(n int) string { return codexSays("user", fmt.Sprint("word", n)) }
	for name, c := range map[string]struct {
		numbers  []int
		payloads []string
		want     []int
		changed  int // lines of the original that are missing in the result
	}{
		"the output is lost": {[]int{0, 1, 2, 4, 5}, []string{codexMeta, user(1), codexCall("c1"), user(2), user(3)}, []int{0, 1, 2, 3, 4, 5}, 0},
		"two are lost": {[]int{0, 1, 2, 4, 5, 7}, []string{codexMeta, user(1), codexCall("c1"), user(2), codexCall("c2"), user(3)},
			[]int{0, 1, 2, 3, 4, 5, 6, 7}, 0},
		"two of one step":      {[]int{0, 1, 2, 5}, []string{codexMeta, codexCall("c1"), codexCall("c2"), user(3)}, []int{0, 1, 2, 3, 4, 5}, 0},
		"the second of a step": {[]int{0, 1, 2, 3, 5}, []string{codexMeta, codexCall("c1"), codexCall("c2"), codexOutput("c1"), user(3)}, []int{0, 1, 2, 3, 4, 5}, 0},
		"an event in front of it": {[]int{0, 1, 2, 4}, []string{codexMeta, codexCall("c1"), `event_msg|{"type":"token_count"}`, user(3)},
			[]int{0, 1, 2, 3, 4}, 0},
		"more are lost than are put there": {[]int{0, 1, 9, 10}, []string{codexMeta, codexCall("c1"), user(2), user(3)},
			[]int{0, 1, 2, 9, 10}, 0},
		"the free number is further on": {[]int{0, 1, 2, 3, 5, 6}, []string{codexMeta, codexCall("c1"), user(2), user(3), user(4), user(5)},
			[]int{0, 1, 2, 3, 4, 5, 6}, 2},
		"none is free": {[]int{0, 1, 2, 3}, []string{codexMeta, codexCall("c1"), user(2), user(3)}, []int{0, 1, 2, 3, 4}, 2},
		"one record has no number": {[]int{0, 1, -1, 3}, []string{codexMeta, codexCall("c1"), user(2), user(3)},
			[]int{0, 1, 2, -1, 3}, 0},
		"one number twice": {[]int{0, 1, 1, 2, 5}, []string{codexMeta, codexCall("c1"), user(2), user(3), user(4)},
			[]int{0, 1, 2, 3, 4, 5}, 2},
		"a copy goes, behind it is a gap": {[]int{0, 1, 2, 3, 4, 9}, []string{codexMeta, codexCall("c1"), codexOutput("c1"), codexOutput("c1"), user(2), user(3)},
			[]int{0, 1, 2, 3, 9}, 2},
		"a number that nobody can count on from": {[]int{0, 1, 9223372036854775807, 2}, []string{codexMeta, codexCall("c1"), user(2), user(3)},
			[]int{0, 1, 2, 9223372036854775807, 3}, 1},
	} {
		raw := []byte(numbered(c.numbers, c.payloads))
		fixed, err := mustRead(t, "rollout-x.jsonl", raw).Fix(Options{})
		if err != nil {
			t.Fatal(name, err)
		}
		if got := ordinals(t, fixed.Raw); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v became %v, want %v", name, c.numbers, got, c.want)
		}
		if n := missing(raw, fixed.Raw); n != c.changed {
			t.Errorf("%s: %d lines changed, want %d:\n%s\nbecame\n%s", name, n, c.changed, raw, fixed.Raw)
		}
	}
}

// missing returns the number of lines of raw that are not in the other file.
func missing(raw, in []byte) (n int) {
	all := make(map[string]bool)
	for line := range bytes.Lines(in) {
		all[string(line)] = true
	}
	for line := range bytes.Lines(raw) {
		if !all[string(line)] {
			n++
		}
	}
	return n
}

// TestOrdinalsRiseAfterRandomLoss checks that the numbers of a repaired rollout rise, that a new or
// renumbered record follows its predecessor, and that other lines stay unchanged if only outputs
// are lost.
func TestOrdinalsRiseAfterRandomLoss(t *testing.T) {
	for seed := range trial.Size(400) {
		r := rand.New(rand.NewPCG(17, uint64(seed)))
		numbers, payloads := []int{0}, []string{codexMeta}
		onlyOutputs, n := r.IntN(2) == 0, 0
		for i := range 3 + r.IntN(20) {
			for _, p := range [][]string{{codexSays("user", fmt.Sprint("word", i))}, {codexCall(fmt.Sprint("c", i)), codexOutput(fmt.Sprint("c", i))}, {`event_msg|{"type":"token_count"}`}}[r.IntN(3)] {
				n++
				output := strings.Contains(p, "output of")
				switch lost := r.IntN(4) == 0; {
				case lost && (output || !onlyOutputs):
					continue
				case !onlyOutputs && r.IntN(20) == 0:
					numbers = append(numbers, -1)
				case !onlyOutputs && r.IntN(20) == 0:
					n--
					fallthrough
				default:
					numbers = append(numbers, n)
				}
				payloads = append(payloads, p)
			}
		}
		raw := []byte(numbered(numbers, payloads))
		fixed, err := mustRead(t, "rollout-x.jsonl", raw).Fix(Options{})
		if err != nil {
			t.Fatal(err)
		}
		// No line was added or removed.
		if bytes.Count(raw, []byte{'\n'}) == bytes.Count(fixed.Raw, []byte{'\n'}) {
			continue
		}
		tell := func(format string, args ...any) {
			t.Fatalf("seed %d: "+format+"\n%s\nbecame\n%s", append(append([]any{seed}, args...), raw, fixed.Raw)...)
		}
		if onlyOutputs && missing(raw, fixed.Raw) > 0 {
			tell("%d lines changed", missing(raw, fixed.Raw))
		}
		lines := slices.Collect(bytes.Lines(fixed.Raw))
		last := -1
		for i, n := range ordinals(t, fixed.Raw) {
			if n < 0 {
				continue
			}
			if n <= last {
				tell("%d behind %d", n, last)
			}
			// A result without its call becomes a quotation in place.
			old := bytes.Contains(raw, lines[i]) || bytes.Contains(lines[i], []byte("A tool result without its call"))
			if !old && n != last+1 {
				tell("line %d has the number %d behind %d", i+1, n, last)
			}
			last = n
		}
	}
}
