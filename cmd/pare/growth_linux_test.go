package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pare-llm/pare/internal/trial"
)

// growthCommands have every command that reads a history, with each flag that changes how it does.
var growthCommands = []string{
	"check", "check --strict --advice", "fix", "fix --strict", "fix --lines", "count", "count --tokenizer exact", "prune", "prune --keep-recent 0",
	"trim --max-tokens 20000", "trim --max-tokens 20000 --cold", "trim --max-tokens 20000 --low 50%", "trim --max-tokens 20000 --low 50% --cold",
	"trim --max-tokens 20000 --cache", "trim --max-tokens 20000 --low 50% --cache --cold", "trim --max-tokens 20000 --order middle", "trim --max-tokens 20000 --order priority",
	"trim --max-tokens 20000 --unmarked", "trim --max-tokens 20000 --recent 0", "trim --max-tokens 20000 --tokenizer exact", "trim --max-tokens 20000 --summarize",
	"trim --max-tokens 20000 --low 50% --summarize", "trim --max-turns 3", "trim --max-messages 20", "trim --max-exchanges 10", "trim --max-messages 20 --low 50%",
	"compact", "compact --inside", "compact --fold-task", "compact --offload", "split", "split --inside", "shorten",
	"view -o /dev/null", "view --text", "view --plan trim -o /dev/null", "view --plan prune -o /dev/null",
	"replay --policy everything", "replay --policy sliding", "replay --policy keep", "replay --policy mask", "replay --policy shorten", "replay --policy opencode",
	"replay --policy cline", "replay --policy compact", "replay --policy oracle", "replay --policy prune", "replay --policy trim", "replay --policy trim:low",
	"replay --policy trim:cache", "replay --policy trim:cold", "replay --policy trim:cold,shorten", "replay --policy trim:low,cache,cold,shorten",
}

// A growthShape writes a history with a number of exchanges, or of parts that are as large.
type growthShape struct {
	name  string
	write func(w io.Writer, n int)
}

var growthShapes = []growthShape{
	{"reads, anthropic", writeReads},
	{"one loop of tools, chat", writeToolLoop},
	{"short messages, responses", writeShortMessages},
	{"one result, anthropic", writeOneResult},
}

const growthLine = `12\tfunc handle%d(request Request) error { return step%d(request.Body, %d) }\n`

func writeReads(w io.Writer, n int) {
	io.WriteString(w, `{"model":"claude-opus-4-6","max_tokens":1000,"messages":[{"role":"user","content":"Find the fault."}`)
	for i := range n {
		var lines strings.Builder
		for k := range 12 {
			fmt.Fprintf(&lines, growthLine, i, k, i+k)
		}
		fmt.Fprintf(w, `,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_%06d","name":"read_file","input":{"path":"src/file%d.go"}}]}`, i, i%(n/2+1))
		fmt.Fprintf(w, `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%06d","content":"%s"}`, i, lines.String())
		if i%10 == 9 {
			fmt.Fprintf(w, `,{"type":"text","text":"Go on with step %d."}`, i)
		}
		io.WriteString(w, `]}`)
	}
	io.WriteString(w, `]}`)
}

func writeToolLoop(w io.Writer, n int) {
	io.WriteString(w, `{"model":"gpt-5","messages":[{"role":"system","content":"You help."},{"role":"user","content":"Run all tests."}`)
	for i := range n {
		fmt.Fprintf(w, `,{"role":"assistant","content":null,"tool_calls":[{"id":"call_%06d","type":"function","function":{"name":"shell","arguments":"{\"command\":\"go test ./pkg%d\"}"}}]}`, i, i)
		fmt.Fprintf(w, `,{"role":"tool","tool_call_id":"call_%06d","content":"%s"}`, i, strings.Repeat(fmt.Sprintf(`ok pkg%d 0.%03ds\n`, i, i%1000), 40))
	}
	io.WriteString(w, `]}`)
}

func writeShortMessages(w io.Writer, n int) {
	io.WriteString(w, `{"model":"gpt-5","input":[{"role":"user","content":"Let us talk."}`)
	for i := range 5 * n {
		fmt.Fprintf(w, `,{"role":"assistant","content":"Answer %d is short."},{"role":"user","content":"Question %d, which is not long either?"}`, i, i)
	}
	io.WriteString(w, `]}`)
}

func writeOneResult(w io.Writer, n int) {
	io.WriteString(w, `{"model":"claude-opus-4-6","max_tokens":1000,"messages":[{"role":"user","content":"Read it."},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"read_file","input":{"path":"log.txt"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"`)
	for i := range 12 * n {
		fmt.Fprintf(w, growthLine, i, i%7, i)
	}
	io.WriteString(w, `"}]}]}`)
}

// A growthPoint is the cost of one run.
type growthPoint struct {
	bytes  int64
	cpu    time.Duration
	memory int64 // at its peak
}

// TestCommandsGrowLinearly measures the processor time and the peak memory of each command with each of its
// flags and policies while a history doubles. The exponents are those of the lines that fit the logarithms best,
// after the cost of a history of two messages is subtracted. make test takes a sample and two sizes only, so that
// it reports what is quadratic; the soak takes four doublings.
func TestCommandsGrowLinearly(t *testing.T) {
	if trial.Race || testing.Short() {
		t.Skip("measures processor time; left to make test")
	}
	sizes, stride, limit := []int{125, 1000}, 7, 1.6
	if trial.Soak() {
		sizes, stride, limit = []int{250, 500, 1000, 2000, 4000}, 1, 1.1
	}
	folder, worst := t.TempDir(), [2]float64{}
	cases := 0
	for s, shape := range growthShapes {
		files := growthFiles(t, folder, shape, sizes)
		for i := s; i < len(growthCommands); i += stride {
			args := strings.Fields(growthCommands[i])
			if args[0] == "compact" && shape.name == "one result, anthropic" || args[0] == "replay" && shape.name == "one result, anthropic" {
				continue // there is one request
			}
			cases++
			cpu, memory := growthExponents(t, args, files)
			worst[0], worst[1] = max(worst[0], cpu), max(worst[1], memory)
			if cpu > limit || memory > limit {
				t.Errorf("%s, %s: processor time grows by n^%.2f, memory by n^%.2f", shape.name, growthCommands[i], cpu, memory)
			}
		}
	}
	t.Logf("%d combinations; the largest exponents: processor time %.2f, memory %.2f", cases, worst[0], worst[1])
}

// growthFiles writes a history of each size; the first one has a single exchange.
func growthFiles(t *testing.T, folder string, shape growthShape, sizes []int) (files []string) {
	t.Helper()
	for _, n := range append([]int{1}, sizes...) {
		name := filepath.Join(folder, fmt.Sprintf("%s-%d.json", strings.ReplaceAll(shape.name, " ", "-"), n))
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		shape.write(f, n)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		files = append(files, name)
	}
	return files
}

// growthExponents runs a command on each file and returns the exponents of its processor time and memory.
func growthExponents(t *testing.T, args, files []string) (cpu, memory float64) {
	t.Helper()
	start := growthRun(t, args, files[0])
	var sizes, times, peaks []float64
	for _, file := range files[1:] {
		p := growthRun(t, args, file)
		sizes = append(sizes, math.Log(float64(p.bytes)))
		times = append(times, math.Log(max(float64(p.cpu-start.cpu), float64(2*time.Millisecond))))
		peaks = append(peaks, math.Log(max(float64(p.memory-start.memory), 1<<20)))
	}
	return slope(sizes, times), slope(sizes, peaks)
}

// growthRun returns the smallest cost of three runs: other work on the machine only adds to it.
func growthRun(t *testing.T, args []string, file string) (best growthPoint) {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		cmd := exec.Command("pare", append(args[:len(args):len(args)], file)...)
		if args[0] == "shorten" { // a filter
			cmd.Args = append([]string{"pare"}, args...)
			input, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer input.Close()
			cmd.Stdin = input
		}
		cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
		out, err := cmd.Output()
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() < 0 || cmd.ProcessState.ExitCode() == statusInvalid {
			t.Fatalf("%v: %v: %.300s", cmd.Args, err, out)
		}
		p := growthPoint{
			bytes:  info.Size(),
			cpu:    cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(),
			memory: cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10,
		}
		if best.cpu == 0 || p.cpu < best.cpu {
			best.cpu = p.cpu
		}
		if best.memory == 0 || p.memory < best.memory {
			best.memory = p.memory
		}
		best.bytes = p.bytes
	}
	return best
}

// slope returns the slope of the line that fits the points best.
func slope(x, y []float64) float64 {
	n := float64(len(x))
	var sumX, sumY, sumXX, sumXY float64
	for i := range x {
		sumX += x[i]
		sumY += y[i]
		sumXX += x[i] * x[i]
		sumXY += x[i] * y[i]
	}
	return (n*sumXY - sumX*sumY) / (n*sumXX - sumX*sumX)
}
