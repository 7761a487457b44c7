package main

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
)

const (
	// maxGrowth is the largest exponent that counts as linear.
	maxGrowth = 1.1
	// growthPoints is the number of sizes, each twice the one before it: four doublings.
	growthPoints = 5
	// Differences below these are noise.
	noiseSeconds = 0.004
	noiseBytes   = 8 << 20
	// The smallest size takes at least firstSeconds, unless the largest one would have more
	// than largestInput bytes.
	firstSeconds = 0.030
	largestInput = 12 << 20
	// A run that takes longer than this decides without further doublings.
	longSeconds = 20.0
)

// A growthCommand is a command line whose cost is measured. FILE is the input, OUT a file for the
// output, BUDGET a limit of half the input in tokens, URL the address of a provider.
type growthCommand struct {
	args   string
	format inputFormat
	serves bool    // the input is sent through the server that the command starts
	most   float64 // the largest exponent of time; zero: maxGrowth
}

func (c growthCommand) String() string { return strings.TrimSuffix(c.args, " FILE") }

// A growthCost is the processor time and the peak memory of a process.
type growthCost struct{ seconds, bytes float64 }

func (c growthCost) min(d growthCost) growthCost {
	return growthCost{min(c.seconds, d.seconds), min(c.bytes, d.bytes)}
}

// A growthPoint is the cost of an input above that of a tiny input.
type growthPoint struct {
	size int
	cost growthCost
}

// A growthFit is the exponents of a command on one shape of input.
type growthFit struct {
	command, shape string
	points         []growthPoint
	time, memory   float64
}

func (f growthFit) String() string {
	last := f.points[len(f.points)-1]
	return fmt.Sprintf("%-44s %-34s time^%.2f memory^%.2f; %d KB: %.2f s, %.0f MB",
		f.command, f.shape, f.time, f.memory, last.size>>10, last.cost.seconds, last.cost.bytes/(1<<20))
}

// TestCostGrowsLinearly fits the processor time and the peak memory of commands over four
// doublings of their input. A soak tries all commands on all shapes, make test a sample.
// PARE_GROWTH=TEXT selects combinations whose name contains TEXT.
func TestCostGrowsLinearly(t *testing.T) {
	trial.Long(t, "runs commands on inputs of several megabytes")
	if trial.Race {
		t.Skip("the race detector changes what memory costs")
	}
	selected, named := os.LookupEnv("PARE_GROWTH")
	bench := newGrowthBench(t)
	var fits []growthFit
	for _, command := range growthCommands {
		for _, shape := range growthShapes {
			name := command.String() + " on " + shape.name
			switch {
			case command.format != shape.format || command.serves && shape.path == "":
				continue
			case named && !strings.Contains(name, selected):
				continue
			case !named && !trial.Soak() && !slices.Contains(growthSample, name):
				continue
			}
			fits = append(fits, bench.fit(t, command, shape))
		}
	}
	slices.SortFunc(fits, func(a, b growthFit) int {
		return int(math.Copysign(1, max(b.time, b.memory)-max(a.time, a.memory)))
	})
	if len(fits) > 0 {
		t.Log("the steepest:", fits[0])
	}
}

// A growthBench runs commands in a folder without any configuration.
type growthBench struct{ program, dir string }

func newGrowthBench(t *testing.T) growthBench {
	b := growthBench{program: programPath(t), dir: t.TempDir()}
	if own := os.Getenv("PARE_GROWTH_PROGRAM"); own != "" {
		b.program = own
	}
	return b
}

// fit measures a command on inputs of one shape. It measures again, and keeps the smaller costs,
// if the exponents are too large: a busy machine only ever adds to a cost.
func (b growthBench) fit(t *testing.T, c growthCommand, s growthShape) growthFit {
	t.Helper()
	start := b.run(t, c, s, 1)
	for range 4 {
		start = start.min(b.run(t, c, s, 1))
	}
	units := b.firstSize(t, c, s, start)
	f := growthFit{command: c.String(), shape: s.name}
	for attempt := 0; attempt < 2; attempt++ {
		for i := range growthPoints {
			if attempt > 0 && i >= len(f.points) {
				break
			}
			cost := b.above(t, c, s, units<<i, start)
			if attempt == 0 {
				f.points = append(f.points, growthPoint{len(s.build(units << i)), cost})
			} else {
				f.points[i].cost = f.points[i].cost.min(cost)
			}
			if cost.seconds > longSeconds {
				break
			}
		}
		f.time = exponent(f.points, noiseSeconds, func(c growthCost) float64 { return c.seconds })
		f.memory = exponent(f.points, noiseBytes, func(c growthCost) float64 { return c.bytes })
		if f.time <= cmp.Or(c.most, maxGrowth) && f.memory <= maxGrowth {
			t.Log(f)
			return f
		}
	}
	t.Errorf("the cost is not linear: %v\n%v", f, f.points)
	return f
}

// firstSize returns the number of units of the smallest input.
func (b growthBench) firstSize(t *testing.T, c growthCommand, s growthShape, start growthCost) int {
	t.Helper()
	units := 32
	for {
		larger := len(s.build(2*units)) << (growthPoints - 1)
		if larger > largestInput || b.above(t, c, s, units, start).seconds >= firstSeconds {
			return units
		}
		units *= 2
	}
}

// above returns the smaller cost of two runs, without the cost of a tiny input.
func (b growthBench) above(t *testing.T, c growthCommand, s growthShape, units int, start growthCost) growthCost {
	t.Helper()
	cost := b.run(t, c, s, units)
	if cost.seconds < 2 {
		cost = cost.min(b.run(t, c, s, units))
	}
	return growthCost{max(cost.seconds-start.seconds, 0), max(cost.bytes-start.bytes, 0)}
}

// run measures one run on an input of so many units.
func (b growthBench) run(t *testing.T, c growthCommand, s growthShape, units int) growthCost {
	t.Helper()
	body := s.build(units)
	file := filepath.Join(b.dir, "input"+s.suffix)
	if err := os.WriteFile(file, body, 0o600); err != nil {
		t.Fatal(err)
	}
	os.Remove(filepath.Join(b.dir, "archive.jsonl"))
	if c.serves {
		return b.serve(t, c, s, units)
	}
	args := strings.Fields(strings.NewReplacer("FILE", file, "OUT", filepath.Join(b.dir, "output"), "ARCHIVE", filepath.Join(b.dir, "archive.jsonl"), "BUDGET", fmt.Sprint(len(body)/8+1000)).Replace(c.args))
	cmd := b.command(args...)
	if c.format == callLines || c.format == plainInput {
		in, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		cmd.Stdin = in
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	forgetOwnPeak(t)
	if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() == -1 {
		t.Fatalf("%s on %s: %v\n%s", c, s.name, err, stderr.String())
	}
	// The smallest inputs may be too small for a command; larger ones must be accepted.
	if cmd.ProcessState.ExitCode() > statusFindings && units >= 256 {
		t.Fatalf("%s on %s: status %d\n%.2000s", c, s.name, cmd.ProcessState.ExitCode(), stderr.String())
	}
	return costOf(cmd)
}

func (b growthBench) command(args ...string) *exec.Cmd {
	cmd := exec.Command(b.program, args...)
	cmd.Args[0] = "pare"
	cmd.Dir, cmd.Env = b.dir, append(os.Environ(), "HOME="+b.dir, "PARE_CONFIG=", "PARE_STORE=")
	return cmd
}

// forgetOwnPeak makes the peak memory of this process its present memory. A child inherits that
// peak until it executes its program, and its own peak is never reported as less.
func forgetOwnPeak(t *testing.T) {
	t.Helper()
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Skip("peak memory cannot be measured: ", err)
	}
}

// costOf returns the cost of a process that has ended.
func costOf(cmd *exec.Cmd) growthCost {
	state := cmd.ProcessState
	usage := state.SysUsage().(*syscall.Rusage)
	return growthCost{(state.UserTime() + state.SystemTime()).Seconds(), float64(usage.Maxrss << 10)}
}

// exponent fits cost = c·size^e by least squares on logarithms. Adding the noise to each cost keeps
// small costs from deciding.
func exponent(points []growthPoint, noise float64, value func(growthCost) float64) float64 {
	var n, sumX, sumY, sumXX, sumXY float64
	for _, p := range points {
		x, y := math.Log(float64(p.size)), math.Log(value(p.cost)+noise)
		n, sumX, sumY = n+1, sumX+x, sumY+y
		sumXX, sumXY = sumXX+x*x, sumXY+x*y
	}
	return (n*sumXY - sumX*sumY) / (n*sumXX - sumX*sumX)
}
