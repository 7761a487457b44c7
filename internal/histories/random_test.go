package histories

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/wire"
)

// TestRandom: the same seed gives the same script, every script is valid and
// reads back, and over many of them everything happens.
func TestRandom(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(500) {
		s := Random(seed, GenOptions{})
		if !slices.Equal(s, Random(seed, GenOptions{})) {
			t.Fatalf("seed %d gives two scripts", seed)
		}
		if err := s.Valid(); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, s)
		}
		if again, err := Parse(s.String()); err != nil || !slices.Equal(again, s) {
			t.Fatalf("seed %d: %v\n%s\nreads back as\n%s", seed, err, s, again)
		}
		ids := map[string]bool{}
		for i, step := range s {
			seen[step.Op.String()]++
			if step.Op == Call {
				seen[step.Tool]++
				if i > 0 && s[i-1].Op == Call {
					seen["parallel"]++
				}
				if ids[step.ID] {
					seen["reused"]++
				}
				ids[step.ID] = true
			}
			if strings.ContainsRune(step.Text, '"') {
				seen["quotes"]++
			}
		}
		if len(s) > 100 {
			seen["long"]++
		}
	}
	for _, what := range []string{"system", "user", "image", "think", "say", "call", "result", "fail", "Read", "Write", "Edit", "Bash", "Grep", "parallel", "reused", "quotes", "long"} {
		if seen[what] < 10 {
			t.Errorf("%s: %d times only", what, seen[what])
		}
	}
}

func TestGenOptions(t *testing.T) {
	for seed := range uint64(100) {
		s := Random(seed, GenOptions{Turns: 3, Steps: 2, NoThinking: true, NoImages: true, UniqueIDs: true})
		ids := map[string]bool{}
		for _, step := range s {
			if step.Op == Think || step.Op == Image || step.Op == Call && ids[step.ID] {
				t.Fatalf("seed %d: %s", seed, s)
			}
			if step.Op == Call {
				ids[step.ID] = true
			}
		}
	}
}

// TestMutationsApply checks that every mutation finds a place in most scripts, changes only a
// copy, and describes the change.
func TestMutationsApply(t *testing.T) {
	if !slices.IsSortedFunc(Mutations(), func(a, b Mutation) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("not sorted by name")
	}
	for _, m := range Mutations() {
		applied := 0
		for seed := range uint64(100) {
			s := Random(seed, GenOptions{Turns: 3})
			before := slices.Clone(s)
			broken, did, ok := m.Apply(rand.New(rand.NewPCG(seed, 1)), s)
			if !slices.Equal(s, before) {
				t.Fatalf("%s changes the script it is given", m.Name)
			}
			if !ok {
				continue
			}
			applied++
			if did == "" || m.Doc == "" || slices.Equal(broken, s) && m.Name != "move-result" {
				t.Errorf("%s: %q\n%s\n%s", m.Name, did, s, broken)
			}
		}
		if applied < 30 {
			t.Errorf("%s finds a place in %d of 100 scripts", m.Name, applied)
		}
		if _, _, ok := m.Apply(rand.New(rand.NewPCG(1, 1)), nil); ok {
			t.Errorf("%s does something to nothing", m.Name)
		}
	}
}

func TestBreak(t *testing.T) {
	invalid, n := 0, trial.Size(200)
	for seed := range uint64(n) {
		s := Random(seed, GenOptions{})
		a, did := Break(rand.New(rand.NewPCG(seed, 1)), s)
		b, also := Break(rand.New(rand.NewPCG(seed, 1)), s)
		if !slices.Equal(a, b) || !slices.Equal(did, also) {
			t.Fatalf("seed %d breaks in two ways", seed)
		}
		if a.Valid() != nil {
			invalid++
		}
		for _, d := range wire.Dialects() {
			if !json.Valid(a.Render(d, RenderOptions{})) {
				t.Fatalf("seed %d, %s: not JSON after %q", seed, d, did)
			}
		}
	}
	if invalid < n*2/3 {
		t.Errorf("%d of %d scripts are broken", invalid, n)
	}
}

func TestCorrupt(t *testing.T) {
	seen := map[string]int{}
	broken, n := 0, max(1000, trial.Size(3000))
	for seed := range uint64(n) {
		d := wire.Dialects()[seed%5]
		body := Random(seed%50, GenOptions{Turns: 1, Steps: 2}).Render(d, RenderOptions{})
		before := bytes.Clone(body)
		a, did := Corrupt(rand.New(rand.NewPCG(seed, 1)), body)
		b, _ := Corrupt(rand.New(rand.NewPCG(seed, 1)), body)
		if !bytes.Equal(a, b) || !bytes.Equal(body, before) {
			t.Fatalf("seed %d: two damages, or the body itself is changed", seed)
		}
		if !json.Valid(a) {
			broken++
		}
		seen[strings.Trim(did, "0123456789")]++
	}
	for _, d := range damages {
		if seen[d.name] == 0 {
			t.Errorf("never: %s", d.name)
		}
	}
	if broken == 0 || broken > n/5 {
		t.Errorf("%d of %d are not JSON", broken, n)
	}
	for _, body := range []string{"", "{", "7", "[]", "{}", `{"messages":[]}`} {
		for seed := range uint64(50) {
			Corrupt(rand.New(rand.NewPCG(seed, 1)), []byte(body))
		}
	}
}

// A recorder is a test that takes note of failures.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

// TestRelationsReport: a relation that does not hold is reported.
func TestRelationsReport(t *testing.T) {
	broken := MustParse(`user "q" | call a Read x | result a ok | result a again`)
	var r recorder
	CheckClean(&r, broken)
	if len(r.failures) != 1 || !strings.HasPrefix(r.failures[0], "not a valid script: step 4") {
		t.Errorf("CheckClean reports %q", r.failures)
	}
	r.failures = nil
	CheckDialects(&r, MustParse(`user "q" | call a Read x | user "wait" | result a ok`))
	if len(r.failures) == 0 {
		t.Error("CheckDialects reports nothing")
	}
	r.failures = nil
	CheckAppending(&r, MustParse(`user "q" | call a Read x`), wire.Anthropic)
	if len(r.failures) == 0 {
		t.Error("CheckAppending reports nothing")
	}
}

// TestRelationsHold is a sample; package wire runs them at length.
func TestRelationsHold(t *testing.T) {
	for seed := range uint64(20) {
		s := Random(seed, GenOptions{Turns: 2})
		CheckClean(t, s)
		CheckDialects(t, s)
		for _, d := range wire.Dialects() {
			body := s.Render(d, RenderOptions{})
			CheckReading(t, body, wire.Options{})
			CheckModes(t, body, wire.Options{})
			CheckBare(t, body, wire.Options{})
			CheckRepeatedKeys(t, body, wire.Options{})
			CheckRenaming(t, s, d)
			CheckAppending(t, s, d)
		}
	}
}
