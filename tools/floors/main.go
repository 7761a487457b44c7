// Command floors measures the speeds that Pare guarantees and fails if one is below its floor.
//
// A speed is a ratio of processor time. Pare and the program that it is compared with take
// turns in one run, so that other work on the machine slows both down alike:
//
//   - check, next to json.Valid
//   - fix, prune and trim, next to a Node program that parses, slices and stringifies
//   - pare serve, next to a buffering reverse proxy of the standard library
//   - an append to the store, next to an INSERT of the same bytes
//
// It needs Node in the path and Linux; comparisons that cannot run are listed as skipped.
//
//	make bench-floors
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	c := config{bodySize: 3_000_000, appends: 2000}
	flag.IntVar(&c.rounds, "rounds", 11, "turns of each program; the median counts")
	only := flag.String("only", "", "measure only these parts: engine, proxy, append")
	flag.Parse()
	c.only = *only
	speeds, err := c.measure(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, "floors:", err)
		os.Exit(2)
	}
	if below := report(os.Stdout, speeds); below > 0 {
		fmt.Fprintf(os.Stderr, "floors: %d of %d speeds are below their floor\n", below, len(speeds))
		os.Exit(1)
	}
}

// config is the size of a run.
type config struct {
	rounds   int
	bodySize int    // bytes of a request
	appends  int    // appends of one turn
	only     string // parts to measure, all if empty
}

// A speed is a ratio of processor time: that of base divided by that of Pare.
type speed struct {
	work    string
	base    string
	ratio   float64
	floor   float64
	skipped string // the reason why it was not measured
}

// measure measures all speeds.
func (c config) measure(ctx context.Context) ([]speed, error) {
	parts := []struct {
		name    string
		measure func(context.Context, config) ([]speed, error)
	}{
		{"engine", measureEngine},
		{"append", measureAppend},
		{"proxy", measureProxy},
	}
	var all []speed
	for _, part := range parts {
		if c.only != "" && !strings.Contains(c.only, part.name) {
			continue
		}
		speeds, err := part.measure(ctx, c)
		if err != nil {
			return nil, fmt.Errorf("measure %s: %w", part.name, err)
		}
		all = append(all, speeds...)
	}
	return all, nil
}

// report prints the speeds and returns how many are below their floor.
func report(w io.Writer, speeds []speed) (below int) {
	fmt.Fprintf(w, "%-36s %-26s %7s %7s\n", "work", "compared with", "ratio", "floor")
	for _, s := range speeds {
		if s.skipped != "" {
			fmt.Fprintf(w, "%-36s %-26s %7s %7.2f  skipped: %s\n", s.work, s.base, "-", s.floor, s.skipped)
			continue
		}
		verdict := ""
		if s.ratio < s.floor {
			verdict = "  BELOW"
			below++
		}
		fmt.Fprintf(w, "%-36s %-26s %7.2f %7.2f%s\n", s.work, s.base, s.ratio, s.floor, verdict)
	}
	return below
}
