package main

import (
	"bufio"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pare-llm/pare/cmd/internal/screen"
	"github.com/pare-llm/pare/cmd/internal/source"
)

// A progress writes outcomes to standard output. On a terminal it also draws a progress bar if the
// run takes long.
type progress struct {
	mu           sync.Mutex
	out          *bufio.Writer // standard output
	delaysFlush  bool          // output may wait for flushDelay, so that several outcomes are written together
	timer        *time.Timer   // flushes the output; nil if no output waits
	stderr       io.Writer
	input        *source.Input
	totals       *runTotals
	total        int64
	workedBytes  *atomic.Int64 // the input that was processed; nil: the bar shows the input that was read
	isBarShown   bool
	ticker       *time.Ticker // redraws the bar; nil: there is no bar
	done         chan struct{}
	printedHints map[string]bool
	err          error // the error of standard output
}

// startProgress starts the progress of a run. There is no bar if the user types the input on the
// terminal.
func startProgress(env *environment, input *source.Input, totals *runTotals) *progress {
	p := &progress{out: bufio.NewWriterSize(env.stdout, 32<<10), stderr: env.stderr, input: input, totals: totals, done: make(chan struct{}), printedHints: map[string]bool{}}
	if isTerminal(env.stdin) && input.Paths[0] == source.Stdin {
		screen.Fprintln(env.stderr, "pare: reading from the terminal; end with Ctrl-D")
		return p // a bar would overwrite the input that the user types
	}
	if !isTerminal(env.stderr) || env.getenv("TERM") == "dumb" {
		return p
	}
	p.total = input.Size()
	p.ticker = time.NewTicker(time.Second / 5)
	go func() {
		for {
			select {
			case <-p.done:
				return
			case <-p.ticker.C:
				p.draw()
			}
		}
	}()
	return p
}

// print writes outcomes in order. It returns false if standard output cannot be written.
func (p *progress) print(outcomes []outcome) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.out
	for _, o := range outcomes {
		p.totals.add(&o)
		if len(o.out)+len(o.note) > 0 {
			p.clear()
		}
		out.Write(o.out)
		if len(o.note) == 0 {
			continue
		}
		// Both streams may be the same terminal, where their order matters.
		if p.err = out.Flush(); p.err != nil {
			return false
		}
		p.stderr.Write(o.note)
		if o.hint != "" && !p.printedHints[o.hint] {
			screen.Fprintf(p.stderr, "      %s\n", o.hint)
			p.printedHints[o.hint] = true
		}
	}
	switch {
	case p.err != nil:
	case !p.delaysFlush:
		p.err = out.Flush()
	case p.timer == nil && out.Buffered() > 0:
		p.timer = time.AfterFunc(flushDelay, p.flush)
	}
	return p.err == nil
}

// flushDelay is the longest time that output of a run with many files waits. Writing each outcome
// separately takes a twentieth of the time of a check, mostly to wake the reader of the pipe.
const flushDelay = 10 * time.Millisecond

// flush writes the output that waits.
func (p *progress) flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = nil
	if p.err == nil && p.out.Buffered() > 0 {
		p.clear()
		p.err = p.out.Flush()
	}
}

func (p *progress) draw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	const cells = 24
	done := p.input.Read.Load()
	if p.workedBytes != nil {
		done = p.workedBytes.Load()
	}
	bar := ""
	if p.total > 0 {
		n := int(min(cells*done/p.total, cells))
		bar = strings.Repeat("━", n) + strings.Repeat("╌", cells-n) + " "
	}
	p.clear()
	screen.Fprintf(p.stderr, "%s%.1f MB  %s", bar, float64(done)/1e6, plural(p.totals.transcripts, "transcript"))
	if p.totals.itemNoun != "" {
		screen.Fprintf(p.stderr, ", %s", plural(p.totals.items, p.totals.itemNoun))
	}
	p.isBarShown = true
}

func (p *progress) clear() {
	if p.isBarShown {
		screen.Fprint(p.stderr, screen.Text("\r\x1b[K"))
		p.isBarShown = false
	}
}

// multiplyTotal tells the bar that the input will be read n times.
func (p *progress) multiplyTotal(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total *= n
}

// stop writes the output that waits and removes the bar.
func (p *progress) stop() {
	p.flush()
	if p.ticker == nil {
		return
	}
	p.ticker.Stop()
	close(p.done)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}
