package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/benchdata"
	"github.com/pare-llm/pare/internal/histories"
	"github.com/pare-llm/pare/internal/planner"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/wire"
)

// trimBytes trims from bytes to bytes.
func trimBytes(tb testing.TB, body []byte, limit int, c tokens.Estimator, o pare.Options) []byte {
	o.Counter = c
	plan, err := planner.Trim(context.Background(), mustParse(tb, body), pare.Window{Tokens: limit}, o)
	if err != nil {
		tb.Fatal(err)
	}
	for _, f := range plan.Remaining() {
		if f.Rule != "body-too-large" && f.Rule != "too-many-messages" {
			tb.Fatalf("left: %+v", f)
		}
	}
	return plan.Result().Raw()
}

// sliceJSON does the same work without a library: it decodes the body, keeps the last messages and
// encodes them. It breaks pairs.
func sliceJSON(tb testing.TB, body []byte, share int) []byte {
	var m map[string]any
	if err := json.Unmarshal(body, &m); err != nil {
		tb.Fatal(err)
	}
	list := m["messages"].([]any)
	m["messages"] = list[len(list)-len(list)/share:]
	out, err := json.Marshal(m)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

const nodeScript = `const fs=require("fs");const raw=fs.readFileSync(process.argv[1]);const share=+process.argv[2];let best=1e18;
for(let i=0;i<+process.argv[3];i++){const t=process.hrtime.bigint();const m=JSON.parse(raw.toString("utf8"));const n=m.messages.length;
m.messages=m.messages.slice(n-Math.floor(n/share));const out=Buffer.from(JSON.stringify(m),"utf8");const d=Number(process.hrtime.bigint()-t);if(d<best)best=d;if(out.length<9)throw 1}
console.log(best)`

// nodeBest is the best time of several that Node takes for parse, slice and stringify,
// from bytes to bytes; zero, loudly, if there is no Node.
func nodeBest(b *testing.B, body []byte, share, rounds int) time.Duration {
	node, err := exec.LookPath("node")
	if err != nil {
		b.Log("SKIPPED, LOUDLY: no node to compare with")
		return 0
	}
	file := filepath.Join(b.TempDir(), "body.json")
	if err := os.WriteFile(file, body, 0o600); err != nil {
		b.Fatal(err)
	}
	return printed(b, exec.Command(node, "--max-old-space-size=8000", "-e", nodeScript, file, strconv.Itoa(share), strconv.Itoa(rounds)))
}

// printed is the time that a command prints, in nanoseconds.
func printed(b *testing.B, cmd *exec.Cmd) time.Duration {
	b.Helper()
	out, err := cmd.Output()
	if err != nil {
		b.Fatal(err)
	}
	ns, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return time.Duration(ns)
}

// BenchmarkTrim trims bodies to half and to a tenth of their tokens, and does the same with
// encoding/json and Node. The ratios of the best rounds matter. The targets are 15 times
// encoding/json and 10 times Node.
func BenchmarkTrim(b *testing.B) {
	c := tokens.For("claude-sonnet-4-5")
	for _, size := range []int{200 << 10, 3 << 20, 29 << 20} {
		body := benchdata.Anthropic(size)
		total := mustParse(b, body).Tokens(c)
		for _, share := range []int{2, 10} {
			b.Run(fmt.Sprintf("%dKB/to1of%d", size>>10, share), func(b *testing.B) {
				rounds := max(5, min(100, (60<<20)/len(body)))
				var d []time.Duration
				var node time.Duration
				for b.Loop() {
					d = best(rounds, func() { trimBytes(b, body, total/share, c, pare.Options{}) },
						func() { trimBytes(b, body, total/share, c, pare.Options{SkipTokenCounts: true}) })
					d = append(d, best(max(3, rounds/2), func() { sliceJSON(b, body, share) })...)
					node = nodeBest(b, body, share, max(4, rounds))
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(d[0].Microseconds())/1000, "ms")
				b.ReportMetric(float64(len(body))/float64(d[0].Nanoseconds()), "GB/s")
				b.ReportMetric(float64(d[2])/float64(d[0]), "×json")
				b.ReportMetric(float64(d[2])/float64(d[1]), "×json-uncounted")
				if node > 0 {
					b.ReportMetric(float64(node)/float64(d[0]), "×node")
					b.ReportMetric(float64(node)/float64(d[1]), "×node-uncounted")
				}
			})
		}
	}
}

// BenchmarkTrimGrowth prints the time per byte up to 300 MB, which is some 25,000
// messages, and of 99,999 small messages: it must not grow.
func BenchmarkTrimGrowth(b *testing.B) {
	c := tokens.For("claude-sonnet-4-5")
	run := func(b *testing.B, body []byte) {
		r := mustParse(b, body)
		total := r.Tokens(c)
		var d []time.Duration
		for b.Loop() {
			d = best(max(2, (30<<20)/len(body)), func() { trimBytes(b, body, total/10, c, pare.Options{}) })
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(d[0].Nanoseconds())/float64(len(body)), "ns/byte")
		b.ReportMetric(float64(len(r.Transcript().Messages())), "messages")
		alloc, high := memory(func() { trimBytes(b, body, total/10, c, pare.Options{}) })
		b.ReportMetric(float64(alloc)/float64(len(body)), "allocated/body")
		b.ReportMetric(float64(high)/float64(len(body)), "high/body")
	}
	for _, size := range []int{3 << 20, 30 << 20, 300 << 20} {
		b.Run(fmt.Sprintf("%dMB", size>>20), func(b *testing.B) { run(b, benchdata.Anthropic(size)) })
	}
	for _, n := range []int{1000, 10_000, 99_999} {
		b.Run(fmt.Sprintf("%dmessages", n), func(b *testing.B) { run(b, smallTalk(n)) })
	}
}

// smallTalk writes n messages of the Anthropic API: a task and short exchanges.
func smallTalk(n int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"model":"claude-sonnet-4-5","max_tokens":9,"messages":[{"role":"user","content":"q"}`)
	for i := range (n - 1) / 2 {
		fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"f","input":{"i":%d}}]}`, i, i)
		fmt.Fprintf(&b, `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"result %d, %s"}]}`, i, i, strings.Repeat("and more of it ", i%60))
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

// memory returns the bytes that a function allocates, and by how much the heap grows.
func memory(f func()) (alloc, high uint64) {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	stop, done := make(chan bool), make(chan uint64)
	go func() {
		var most uint64
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
			select {
			case <-stop:
				done <- most
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	f()
	runtime.ReadMemStats(&after)
	close(stop)
	most := max(<-done, after.HeapAlloc)
	return after.TotalAlloc - before.TotalAlloc, most - min(most, before.HeapAlloc)
}

// TestTrimMemory checks that trimming allocates at most one and a half times the body, all that it
// allocates counted.
func TestTrimMemory(t *testing.T) {
	c := tokens.For("claude-sonnet-4-5")
	body := benchdata.Anthropic(8 << 20)
	total := mustParse(t, body).Tokens(c)
	for _, share := range []int{2, 10, 100} {
		alloc, high := memory(func() { trimBytes(t, body, total/share, c, pare.Options{}) })
		t.Logf("to 1/%d: %.2f bodies allocated, %.2f at most at a time", share, float64(alloc)/float64(len(body)), float64(high)/float64(len(body)))
		if float64(alloc) > 1.5*float64(len(body)) {
			t.Errorf("to 1/%d: %d bytes allocated for a body of %d", share, alloc, len(body))
		}
	}
}

// TestTrimLinear: trimming takes time by the bytes, in every dialect.
func TestTrimLinear(t *testing.T) {
	c := tokens.For("claude-sonnet-4-5")
	for _, d := range wire.Dialects() {
		for _, share := range []int{4, 2} { // of what is left
			trial.Linear(t, fmt.Sprintf("%s to %d of %d", d, share-1, share), 1600, func(n int) func() {
				r := mustParse(t, histories.MustParse(loop(n, 700)).Render(d, histories.RenderOptions{}))
				limit := r.Tokens(c) * (share - 1) / share
				return func() {
					if _, err := planner.Trim(context.Background(), r, pare.Window{Tokens: limit}, pare.Options{Counter: c}); err != nil {
						t.Fatal(err)
					}
				}
			})
		}
	}
}
