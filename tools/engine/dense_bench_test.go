//go:build unix

package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/benchdata"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// A lap is how long one piece of work took, round by round.
type lap struct {
	name string
	run  func()
	wall []time.Duration
	cpu  time.Duration // of all rounds
}

// race runs all laps in turns, so that other load on the machine affects them equally.
func race(rounds int, laps []*lap) {
	for range rounds {
		for _, l := range laps {
			start, used := time.Now(), processorTime()
			l.run()
			l.wall = append(l.wall, time.Since(start))
			l.cpu += processorTime() - used
		}
	}
	for _, l := range laps {
		slices.Sort(l.wall)
	}
}

func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// withoutSome is a body without every hundredth message.
func withoutSome(tb testing.TB, body []byte) []byte {
	var m map[string]json.RawMessage
	var all, kept []json.RawMessage
	if err := json.Unmarshal(body, &m); err != nil {
		tb.Fatal(err)
	}
	list := "messages"
	if m[list] == nil {
		list = "input"
	}
	if err := json.Unmarshal(m[list], &all); err != nil {
		tb.Fatal(err)
	}
	for i, e := range all {
		if i%100 != 50 {
			kept = append(kept, e)
		}
	}
	m[list], _ = json.Marshal(kept)
	out, err := json.Marshal(m)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// script is the same work without a library, in Node and Bun.
const script = `const fs=require("fs");const raw=fs.readFileSync(process.argv[2]);let best=1e18;const rounds=+process.argv[3];
for(let i=0;i<rounds;i++){const t=process.hrtime.bigint();const m=JSON.parse(raw.toString("utf8"));const k=m.messages?"messages":"input";
m[k]=m[k].slice(m[k].length>>1);const out=Buffer.from(JSON.stringify(m),"utf8");const d=Number(process.hrtime.bigint()-t);if(d<best)best=d;if(out.length<9)throw 1}
console.log(best)`

// sliced is the best time of a JavaScript engine for parse, slice and stringify; zero,
// loudly, if it is not there.
func sliced(b *testing.B, engine string, body []byte, rounds int) time.Duration {
	path := engineAt(engine)
	if path == "" {
		b.Logf("SKIPPED, LOUDLY: no %s to compare with; make bench installs Bun where npm can", engine)
		return 0
	}
	dir := b.TempDir()
	code, file := filepath.Join(dir, "slice.js"), filepath.Join(dir, "body.json")
	if err := os.WriteFile(code, []byte(script), 0o600); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(file, body, 0o600); err != nil {
		b.Fatal(err)
	}
	return printed(b, exec.Command(path, code, file, strconv.Itoa(rounds)))
}

// engineAt is where a JavaScript engine is: in the path, or where scripts/client.sh has
// installed it; "" if there is none.
func engineAt(engine string) string {
	if path, err := exec.LookPath(engine); err == nil {
		return path
	}
	clients := os.Getenv("PARE_CLIENTS")
	if home, err := os.UserHomeDir(); clients == "" && err == nil {
		clients = filepath.Join(home, ".cache", "pare-clients")
	}
	found, _ := filepath.Glob(filepath.Join(clients, engine+"@*", "node_modules", "@oven", "bun-*", "bin", "bun"))
	if len(found) == 0 {
		return ""
	}
	return found[len(found)-1]
}

// steady prints the time, allocations and bytes of a call after many calls.
func steady(kind, name string, call func()) {
	const rounds = 300
	l := &lap{run: call}
	race(rounds, []*lap{l}) // also makes room
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range rounds {
		call()
	}
	runtime.ReadMemStats(&after)
	fmt.Printf("%-16s %6d KB  steady: %-9s best %8.1f µs  median %8.1f  allocations %d  bytes %d\n", kind, 226, name,
		float64(l.wall[0].Nanoseconds())/1000, float64(l.wall[rounds/2].Nanoseconds())/1000,
		(after.Mallocs-before.Mallocs)/rounds, (after.TotalAlloc-before.TotalAlloc)/rounds)
}

// BenchmarkDense measures the time from bytes to bytes on bodies with many blocks, and on bodies
// with few, next to other programs that read or cut the same bytes. It prints the best and the
// median round, processor times, and the ratios to each floor. One iteration is a complete race:
// use -benchtime 1x.
func BenchmarkDense(b *testing.B) {
	ctx := context.Background()
	standard, err := pare.Compile(rules.Standard()...)
	if err != nil {
		b.Fatal(err)
	}
	const smallest = 226_000
	for _, size := range []int{smallest, 3_000_000, 29_000_000} {
		bodies := map[string][]byte{"sparse": benchdata.Anthropic(size)}
		for _, shape := range benchdata.Shapes {
			bodies[shape.String()] = benchdata.Dense(shape, size)
		}
		for _, kind := range []string{"anthropic", "openai-chat", "openai-responses", "sparse"} {
			body := bodies[kind]
			r := mustParse(b, body)
			total := r.Tokens(tokens.For(r.Model()))
			lost := withoutSome(b, body)
			laps := []*lap{
				{name: "json.Valid", run: func() { json.Valid(body) }},
				{name: "jsontext", run: func() { _ = jsontext.NewDecoder(bytes.NewReader(body)).SkipValue() }},
				{name: "encoding/json", run: func() { sliceAny(b, body) }},
				{name: "check", run: func() { mustParse(b, body).Check(wire.CheckOptions{}) }},
				{name: "fix clean", run: func() { _, _, _ = pare.Fix(body) }},
				{name: "fix, 1 % lost", run: func() { _, _, _ = pare.Fix(lost) }},
				{name: "prune", run: func() { _, _ = (&pare.Policy{Rules: standard}).Plan(ctx, mustParse(b, body)) }},
				{name: "trim to half", run: func() { _, _, _ = pare.Fit(ctx, body, total/2) }},
				{name: "trim to a tenth", run: func() { _, _, _ = pare.Fit(ctx, body, total/10) }},
				{name: "half, receipts", run: func() { trimWithReceipts(b, body, total/2) }},
				{name: "tenth, receipts", run: func() { trimWithReceipts(b, body, total/10) }},
			}
			b.Run(fmt.Sprintf("%s/%dKB", kind, size/1000), func(b *testing.B) {
				for b.Loop() {
					rounds := max(5, min(60, 40_000_000/len(body)))
					race(rounds, laps)
					node, bun := sliced(b, "node", body, rounds), sliced(b, "bun", body, rounds)
					for _, l := range laps {
						times := func(floor time.Duration) string {
							if floor == 0 {
								return "   -"
							}
							return fmt.Sprintf("%4.1f", float64(floor)/float64(l.wall[0]))
						}
						fmt.Printf("%-16s %6d KB  %-16s best %8.3f ms  median %8.3f  cpu %8.3f  × Valid %s  jsontext %s  json %s  node %s  bun %s\n", kind, size/1000, l.name,
							l.wall[0].Seconds()*1000, l.wall[len(l.wall)/2].Seconds()*1000, l.cpu.Seconds()*1000/float64(rounds),
							times(laps[0].wall[0]), times(laps[1].wall[0]), times(laps[2].wall[0]), times(node), times(bun))
					}
					for _, l := range laps {
						if size == smallest && slices.Contains([]string{"glance", "check", "fix clean"}, l.name) {
							steady(kind, l.name, l.run)
						}
					}
				}
			})
			for _, l := range laps {
				l.wall, l.cpu = nil, 0
			}
		}
	}
}

// BenchmarkDenseFloor measures the part of the work on dense bodies that no implementation can
// avoid: reading the body, counting the content, and copying the result. One iteration is a
// complete race: use -benchtime 1x.
func BenchmarkDenseFloor(b *testing.B) {
	ctx := context.Background()
	standard, err := pare.Compile(rules.Standard()...)
	if err != nil {
		b.Fatal(err)
	}
	const rounds = 200
	for _, shape := range benchdata.Shapes {
		body := benchdata.Dense(shape, 226_000)
		lost := withoutSome(b, body)
		whole := mustParse(b, body)
		counter := tokens.For(whole.Model())
		total := whole.Tokens(counter)
		fit := func(limit int) []byte {
			out, _, err := pare.Fit(ctx, body, limit)
			if err != nil {
				b.Fatal(err)
			}
			return out
		}
		half, tenth := fit(total/2), fit(total/10)
		fixed, _, err := pare.Fix(lost)
		if err != nil {
			b.Fatal(err)
		}
		read := func(body []byte) *lap {
			return &lap{run: func() { mustParse(b, body).Check(wire.CheckOptions{}) }}
		}
		count := func(body []byte) *lap {
			r := mustParse(b, body)
			return &lap{run: func() { r.Tokens(counter) }}
		}
		copied := func(out []byte) *lap { return &lap{run: func() { sink = append([]byte(nil), out...) }} }
		readBody, countAll, copyHalf, copyTenth := read(body), count(body), copied(half), copied(tenth)
		works := []struct {
			target float64 // times as fast as Node
			work   *lap
			floor  [3]*lap // to read, to count, to copy
		}{
			{12, &lap{name: "fix, 1 % lost", run: func() { _, _, _ = pare.Fix(lost) }}, [3]*lap{read(lost), nil, copied(fixed)}},
			{8, &lap{name: "prune", run: func() { _, _ = (&pare.Policy{Rules: standard}).Plan(ctx, mustParse(b, body)) }}, [3]*lap{readBody, nil, nil}},
			{8, &lap{name: "trim to half", run: func() { fit(total / 2) }}, [3]*lap{readBody, count(half), copyHalf}},
			{8, &lap{name: "trim to a tenth", run: func() { fit(total / 10) }}, [3]*lap{readBody, count(tenth), copyTenth}},
			{8, &lap{name: "half, receipts", run: func() { trimWithReceipts(b, body, total/2) }}, [3]*lap{readBody, countAll, copyHalf}},
			{8, &lap{name: "tenth, receipts", run: func() { trimWithReceipts(b, body, total/10) }}, [3]*lap{readBody, countAll, copyTenth}},
		}
		b.Run(shape.String(), func(b *testing.B) {
			for b.Loop() {
				var laps []*lap
				for _, w := range works {
					for _, l := range append(w.floor[:], w.work) {
						if l != nil && !slices.Contains(laps, l) {
							l.wall, l.cpu = nil, 0
							laps = append(laps, l)
						}
					}
				}
				node := sliced(b, "node", body, rounds)
				race(rounds, laps)
				if again := sliced(b, "node", body, rounds); again < node {
					node = again
				}
				for _, w := range works {
					var us [3]float64
					floor := 0.0
					for i, l := range w.floor {
						if l != nil {
							us[i] = float64(l.wall[0].Nanoseconds()) / 1000
							floor += us[i]
						}
					}
					took, js := float64(w.work.wall[0].Nanoseconds())/1000, float64(node.Nanoseconds())/1000
					fmt.Printf("%-16s %-15s %6.1f µs: read %5.1f  count %5.1f  copy %5.1f  rest %6.1f  node %7.1f  × node %4.1f  floor × node %4.1f  target × %2.0f = %5.1f µs\n",
						shape, w.work.name, took, us[0], us[1], us[2], took-floor, js, js/took, js/floor, w.target, js/w.target)
				}
			}
		})
	}
}

// sink keeps results of benchmarks, so that the compiler does not remove their work.
var sink []byte

// trimWithReceipts trims like the command line and the proxy, with token counts and receipts.
func trimWithReceipts(tb testing.TB, body []byte, limit int) {
	plan, err := (&pare.Policy{Window: &pare.Window{Tokens: limit}}).Plan(context.Background(), mustParse(tb, body))
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := plan.Apply(); err != nil {
		tb.Fatal(err)
	}
	if err := plan.WriteReceipt(io.Discard); err != nil {
		tb.Fatal(err)
	}
}

// sliceAny does the same work with encoding/json.
func sliceAny(tb testing.TB, body []byte) {
	var m map[string]any
	if err := json.Unmarshal(body, &m); err != nil {
		tb.Fatal(err)
	}
	for _, list := range []string{"messages", "input"} {
		if all, ok := m[list].([]any); ok {
			m[list] = all[len(all)/2:]
		}
	}
	if _, err := json.Marshal(m); err != nil {
		tb.Fatal(err)
	}
}
