package trial

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A verdict records the failures that a test would report.
type verdict struct {
	testing.TB
	says []string
}

func (v *verdict) Helper() {}
func (v *verdict) Errorf(format string, args ...any) {
	v.says = append(v.says, fmt.Sprintf(format, args...))
}
func (v *verdict) Skip(args ...any) { panic(fmt.Sprint(args...)) }

// TestLinearRejectsQuadraticWork checks that linear work passes, with a logarithm too, and that quadratic work
// fails.
func TestLinearRejectsQuadraticWork(t *testing.T) {
	if !threadTime {
		t.Skip("the processor time of a thread is not known here")
	}
	sink := 0
	for name, c := range map[string]struct {
		fails bool
		n     int
		work  func(n int)
	}{
		"linear": {false, 4_000, func(n int) {
			for i := range n {
				sink += i ^ sink
			}
		}},
		// Fewer are learnt by heart by the processor, and are then no sample of more.
		"sorting": {false, 400_000, func(n int) {
			s := make([]int, n)
			for i := range s {
				s[i] = i * 7919 % n
			}
			slices.Sort(s)
			sink += s[0]
		}},
		"quadratic": {true, 16_000, func(n int) {
			for i := range n {
				for j := range n / 8 {
					sink += i ^ j ^ sink
				}
			}
		}},
		"linear and a little quadratic": {true, 12_000, func(n int) {
			for i := range n {
				sink += len(strings.Repeat("x", 40))
				for j := range n {
					sink += i ^ j ^ sink
				}
			}
		}},
	} {
		// Other work on the machine can hide quadratic growth in one trial.
		v := &verdict{TB: t}
		for try := 0; try < 10 && len(v.says) == 0; try++ {
			Linear(v, name, c.n, func(n int) func() { return func() { c.work(n) } })
			if !c.fails {
				break
			}
		}
		if (len(v.says) > 0) != c.fails {
			t.Errorf("%s: %q", name, v.says)
		}
	}
}

// TestSizeScalesWithRun: a sample is never empty, and three runs have three sizes.
func TestSizeScalesWithRun(t *testing.T) {
	t.Setenv("PARE_SOAK", "")
	t.Setenv("PARE_HISTORIES", "")
	want := 200
	if testing.Short() || Race {
		want = 20
	}
	if Size(200) != want || Size(1) != 1 || Histories(200) != want {
		t.Errorf("%d, %d, %d", Size(200), Size(1), Histories(200))
	}
	t.Setenv("PARE_HISTORIES", "77")
	if Histories(200) != 77 || Size(200) != want {
		t.Errorf("%d", Histories(200))
	}
	t.Setenv("PARE_SOAK", "1")
	if Size(200) != 20_000 {
		t.Errorf("%d", Size(200))
	}
	SoakOnly(&verdict{TB: t}, "")
	t.Setenv("PARE_SOAK", "0")
	defer func() {
		if got := recover(); got != "left to make soak: two hours" {
			t.Errorf("%v", got)
		}
	}()
	SoakOnly(&verdict{TB: t}, "two hours")
}

func TestSampleByKind(t *testing.T) {
	var all []string
	for i := range 25 {
		all = append(all, fmt.Sprint("a", i))
	}
	all = append(all, "b0", "b1")
	got := SampleByKind(all, func(s string) string { return s[:1] })
	want := all
	if testing.Short() || Race {
		want = []string{"a0", "a10", "a20", "b0"}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
