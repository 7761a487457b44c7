// Command load compares pare serve with bare proxies in one run: the streaming reverse proxy
// of the standard library, the same one that reads every request first, as any proxy must that
// checks requests, and nginx if it is installed. All are separate processes before the same
// upstream on loopback and take turns. Turns are short and many, each round starts with
// another proxy, and the median of the turns counts, so that other work on the machine affects
// all of them alike.
//
//	go build -o /some/pare ./cmd/pare
//	go run ./tools/load /some/pare
//	go run ./tools/load -sizes 226 -replies sse -conns 1,16 /some/pare /older/pare
//
// For each body and kind of reply it prints requests per second, the median and the 99th
// percentile of the latency, and the proxy's memory and processor time per request. The last
// columns compare with the buffering proxy: requests per second, added median latency and
// added processor time. Bodies are clean histories.
//
// The bare proxies are this program, like the upstream and the client, and so cheaper than a
// proxy that shares no code with them (docs/internals/speed.md); -apart shows by how much.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pare-llm/pare/internal/benchdata"
)

func main() {
	role := flag.String("role", "", "used by the program itself")
	to := flag.String("to", "", "used by the program itself")
	var p plan
	flag.IntVar(&p.rounds, "rounds", 15, "how often each proxy has its turn at each body; the median counts")
	flag.IntVar(&p.megabytes, "megabytes", 16, "bytes that are sent in one turn, at most 600 requests")
	sizes := flag.String("sizes", "1,22,226,3072", "of bodies, in KB")
	replies := flag.String("replies", "json,sse", "kinds of replies")
	conns := flag.String("conns", "1,16", "connections at once")
	flag.BoolVar(&p.asJSON, "json", false, "print a line of JSON for each body, kind of reply and proxy")
	flag.BoolVar(&p.apart, "apart", false, "link the bare proxies once more, so that they lie at other addresses than the upstream and the client")
	flag.Parse()
	var err error
	switch {
	case *role != "":
		err = runRole(*role, *to)
	case flag.NArg() == 0:
		fmt.Fprintln(os.Stderr, "usage: go run ./tools/load [flags] PARE ...")
		os.Exit(2)
	default:
		p.replies = strings.Split(*replies, ",")
		if p.sizes, err = parseNumbers(*sizes); err == nil {
			p.conns, err = parseNumbers(*conns)
		}
		if err == nil {
			err = p.compare(flag.Args())
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// A plan lists the combinations to measure.
type plan struct {
	rounds, megabytes int
	sizes, conns      []int
	replies           []string
	apart             bool
	asJSON            bool
}

func parseNumbers(list string) (all []int, err error) {
	for _, text := range strings.Split(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}

// A command is how a proxy is started.
type command struct {
	name string
	cmd  *exec.Cmd
}

func (p *plan) compare(pares []string) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "pare-load-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	bare := self
	if p.apart {
		if bare, err = linkElsewhere(ctx, folder); err != nil {
			return err
		}
	}
	upstream, err := start("upstream", exec.CommandContext(ctx, self, "-role", "upstream"))
	if err != nil {
		return err
	}
	all := []*runner{{name: "direct", url: upstream.url, cmd: upstream.cmd}}
	defer func() { // end all processes
		cancel()
		for _, r := range all {
			r.cmd.Wait()
		}
	}()
	commands := []command{
		{"streaming", exec.CommandContext(ctx, bare, "-role", "streaming", "-to", upstream.url)},
		{"buffering", exec.CommandContext(ctx, bare, "-role", "buffering", "-to", upstream.url)},
	}
	for _, pare := range pares {
		commands = append(commands, command{filepath.Base(pare), exec.CommandContext(ctx, pare, "serve", "--listen", "127.0.0.1:0", "--no-store", "--upstream", "anthropic="+upstream.url)})
	}
	for _, c := range commands {
		r, err := start(c.name, c.cmd)
		if err != nil {
			return err
		}
		all = append(all, r)
	}
	if r, err := startNginx(ctx, folder, upstream.url); err != nil {
		return err
	} else if r != nil {
		all = append(all, r)
	}
	if !p.asJSON {
		printHeader()
	}
	for _, size := range p.sizes {
		body := makeBody(size << 10)
		for _, kind := range p.replies {
			for _, conns := range p.conns {
				if err := p.measureBody(all, body, kind, conns); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func printHeader() {
	fmt.Printf("%-7s %-5s %5s  %-10s %9s %9s %9s %12s %8s  %s\n", "body", "reply", "conns", "proxy", "req/s", "p50 ms", "p99 ms", "cpu/request", "memory", "beside buffering: req/s, p50, cpu")
}

// makeBody is a clean request of about that size.
func makeBody(size int) []byte {
	if size > 100<<10 {
		return bytes.Replace(benchdata.Anthropic(size), []byte(`"claude-sonnet-4-5"`), []byte(`"some-model"`), 1) // an unknown model has no window, so all sizes fit
	}
	// Smaller than the tools of a coding agent: a chat.
	b := []byte(`{"model":"claude-opus-4-8","max_tokens":1024,"messages":[{"role":"user","content":"Shall we begin?"}`)
	for len(b) < size {
		b = fmt.Appendf(b, `,{"role":"assistant","content":[{"type":"text","text":%q}]},{"role":"user","content":"go on"}`, strings.Repeat("a line of \"words\" to read\n", 12))
	}
	return append(b, "]}"...)
}

// measureBody measures all proxies with one body.
func (p *plan) measureBody(all []*runner, body []byte, kind string, conns int) error {
	n := min(600, max(10*conns, p.megabytes<<20/len(body)))
	results := make(map[*runner][]result)
	for round := range p.rounds {
		for i := range all {
			r := all[(round+i)%len(all)]
			got, err := r.measure(body, kind, conns, n)
			if err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			results[r] = append(results[r], got)
		}
	}
	var base result
	for _, r := range all {
		if r.name == "buffering" {
			base = medianResult(results[r])
		}
	}
	for _, r := range all {
		m := medianResult(results[r])
		if p.asJSON {
			line := row{KB: len(body) >> 10, Reply: kind, Conns: conns, Proxy: r.name, RequestsPerSecond: m.perSecond, MicrosPerRequest: m.cpu}
			if err := json.NewEncoder(os.Stdout).Encode(line); err != nil {
				return err
			}
			continue
		}
		fmt.Printf("%4d KB %-5s %5d  %-10s %9.0f %9.2f %9.2f %10.0fµs %6.0fMB  %4.0f %% %+6.0fµs %+5.0f %%\n", len(body)>>10, kind, conns, r.name, m.perSecond, m.p50, m.p99, m.cpu,
			m.memory, 100*m.perSecond/base.perSecond, 1000*(m.p50-base.p50), 100*(m.cpu/base.cpu-1))
	}
	return nil
}

// row is a line that -json prints. tools/floors reads it.
type row struct {
	KB                int
	Reply             string
	Conns             int
	Proxy             string
	RequestsPerSecond float64
	MicrosPerRequest  float64 // processor time of the proxy
}

// medianResult is the median of turns, figure by figure; memory is that after the last one.
func medianResult(rs []result) result {
	return result{
		median(rs, func(r result) float64 { return r.perSecond }), median(rs, func(r result) float64 { return r.p50 }),
		median(rs, func(r result) float64 { return r.p99 }), median(rs, func(r result) float64 { return r.cpu }), rs[len(rs)-1].memory,
	}
}

func median(rs []result, of func(result) float64) float64 {
	all := make([]float64, 0, len(rs))
	for _, r := range rs {
		all = append(all, of(r))
	}
	slices.Sort(all)
	return all[len(all)/2]
}
