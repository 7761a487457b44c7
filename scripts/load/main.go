// Command load compares pare serve with bare proxies, in one run: the reverse proxy of the
// standard library that streams, the same one that reads every request first, as whoever
// looks at requests must, and nginx where it is installed. All stand in front of the same
// upstream, on loopback, in processes of their own, and take turns.
//
//	go build -o /some/pare ./cmd/pare
//	go run ./scripts/load /some/pare
//
// It prints for each body and kind of reply: requests per second, the median and the 99th
// percentile of the latency, processor time of the proxy per request, and its memory.
// Bodies are clean histories.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/pare-llm/pare/internal/benchdata"
)

func main() {
	role := flag.String("role", "", "used by the program itself")
	to := flag.String("to", "", "used by the program itself")
	rounds := flag.Int("rounds", 3, "how often each proxy has its turn at each body; the median counts")
	megabytes := flag.Int("megabytes", 64, "bytes that are sent in one turn, at most 4,000 requests")
	flag.Parse()
	var err error
	switch {
	case *role != "":
		err = act(*role, *to)
	case flag.NArg() != 1:
		fmt.Fprintln(os.Stderr, "usage: go run ./scripts/load [flags] PARE")
		os.Exit(2)
	default:
		err = compare(flag.Arg(0), *rounds, *megabytes<<20)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func compare(pare string, rounds, most int) error {
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
	upstream, err := start("upstream", exec.CommandContext(ctx, self, "-role", "upstream"))
	if err != nil {
		return err
	}
	all := []*runner{{name: "direct", url: upstream.url, cmd: upstream.cmd}}
	defer func() { // nothing that was started goes on
		cancel()
		for _, r := range all {
			r.cmd.Wait()
		}
	}()
	for name, cmd := range map[string]*exec.Cmd{
		"streaming": exec.CommandContext(ctx, self, "-role", "streaming", "-to", upstream.url),
		"buffering": exec.CommandContext(ctx, self, "-role", "buffering", "-to", upstream.url),
		"pare":      exec.CommandContext(ctx, pare, "serve", "--listen", "127.0.0.1:0", "--no-store", "--upstream", "anthropic="+upstream.url),
	} {
		r, err := start(name, cmd)
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
	fmt.Printf("%-7s %-5s %5s  %-10s %9s %9s %9s %12s %8s\n", "body", "reply", "conns", "proxy", "req/s", "p50 ms", "p99 ms", "cpu/request", "memory")
	for _, size := range []int{1 << 10, 22 << 10, 226 << 10, 3 << 20} {
		body := history(size)
		for _, kind := range []string{"json", "sse"} {
			for _, conns := range []int{1, 16} {
				if err := cell(all, body, kind, conns, rounds, most); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// history is a clean request of about that size.
func history(size int) []byte {
	if size > 100<<10 {
		return bytes.Replace(benchdata.Anthropic(size), []byte(`"claude-sonnet-4-5"`), []byte(`"some-model"`), 1) // nobody knows its window: all sizes fit
	}
	// Smaller than the tools of a coding agent: a chat.
	b := []byte(`{"model":"claude-opus-4-8","max_tokens":1024,"messages":[{"role":"user","content":"Shall we begin?"}`)
	for len(b) < size {
		b = fmt.Appendf(b, `,{"role":"assistant","content":[{"type":"text","text":%q}]},{"role":"user","content":"go on"}`, strings.Repeat("a line of \"words\" to read\n", 12))
	}
	return append(b, "]}"...)
}

// cell measures all proxies with one body.
func cell(all []*runner, body []byte, kind string, conns, rounds, most int) error {
	n := min(4000, max(20*conns, most/len(body)))
	results := make(map[string][]result)
	for range rounds {
		for _, r := range all {
			got, err := r.measure(body, kind, conns, n)
			if err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			results[r.name] = append(results[r.name], got)
		}
	}
	base := median(results["buffering"], func(r result) float64 { return r.perSecond })
	for _, r := range all {
		rs := results[r.name]
		of := func(f func(result) float64) float64 { return median(rs, f) }
		rate := of(func(r result) float64 { return r.perSecond })
		fmt.Printf("%4d KB %-5s %5d  %-10s %9.0f %9.2f %9.2f %10.0fµs %6.0fMB  %3.0f %% of buffering\n", len(body)>>10, kind, conns, r.name, rate,
			of(func(r result) float64 { return r.p50 }), of(func(r result) float64 { return r.p99 }), of(func(r result) float64 { return r.cpu }),
			rs[len(rs)-1].memory, 100*rate/base)
	}
	return nil
}

func median(rs []result, of func(result) float64) float64 {
	all := make([]float64, 0, len(rs))
	for _, r := range rs {
		all = append(all, of(r))
	}
	slices.Sort(all)
	return all[len(all)/2]
}
