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

// A progress prints outcomes and, on a terminal and only if it takes long, a bar
// below them.
type progress struct {
	mu           sync.Mutex
	out          *bufio.Writer // to standard output
	delaysFlush  bool          // what is written may wait for a moment, for more
	timer        *time.Timer   // that ends that moment; nil: nothing waits
	stderr       io.Writer
	in           *source.Input
	sum          *runTotals
	total        int64
	workedBytes  *atomic.Int64 // bytes that were worked on; nil: what was read tells
	isBarShown   bool
	ticker       *time.Ticker // nil: no bar
	done         chan struct{}
	printedHints map[string]bool
	err          error // why standard output takes no more
}

func startProgress(env *environment, input *source.Input, totals *runTotals) *progress {
	p := &progress{out: bufio.NewWriterSize(env.stdout, 32<<10), stderr: env.stderr, in: input, sum: totals, done: make(chan struct{}), printedHints: map[string]bool{}}
	if isTerminal(env.stdin) && input.Paths[0] == source.Stdin {
		screen.Fprintln(env.stderr, "pare: reading from the terminal; end with Ctrl-D")
		return p // a bar would be drawn over what is typed
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

// print writes outcomes in order. It returns false when standard
// output takes no more.
func (p *progress) print(outs []outcome) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.out
	for _, o := range outs {
		p.sum.add(&o)
		if len(o.out)+len(o.note) > 0 {
			p.clear()
		}
		out.Write(o.out)
		if len(o.note) == 0 {
			continue
		}
		// Both may be one terminal, where their order matters.
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

// moment is how long the report on one of many files may wait for others: to write each by
// itself, and to wake whoever reads it, takes a twentieth of the time of a check.
const flushDelay = 10 * time.Millisecond

// flush writes what has waited.
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
	done := p.in.Read.Load()
	if p.workedBytes != nil {
		done = p.workedBytes.Load()
	}
	bar := ""
	if p.total > 0 {
		n := int(min(cells*done/p.total, cells))
		bar = strings.Repeat("━", n) + strings.Repeat("╌", cells-n) + " "
	}
	p.clear()
	screen.Fprintf(p.stderr, "%s%.1f MB  %s", bar, float64(done)/1e6, plural(p.sum.transcripts, "transcript"))
	if p.sum.itemNoun != "" {
		screen.Fprintf(p.stderr, ", %s", plural(p.sum.items, p.sum.itemNoun))
	}
	p.isBarShown = true
}

func (p *progress) clear() {
	if p.isBarShown {
		screen.Fprint(p.stderr, screen.Text("\r\x1b[K"))
		p.isBarShown = false
	}
}

// passes says that everything will be read so many times.
func (p *progress) multiplyTotal(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total *= n
}

// stop writes what has waited, and takes the bar away.
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
