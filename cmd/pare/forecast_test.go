package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/pare-llm/pare/cmd/internal/replay"
	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/internal/corpus"
	"github.com/pare-llm/pare/internal/fullness"
	"github.com/pare-llm/pare/tokens"
)

type billedStep struct {
	fullness.Step
	size int
}

func stepsOf(p sessionPart, model string) (all []billedStep) {
	turns, reply := 0, replay.Bill{}
	ms := p.request.Transcript().Messages()
	for i, m := range ms {
		if m.Begins && (i == 0 || !ms[i-1].Begins) {
			turns++
		}
		b := p.Bills[i]
		if b.Input+b.Read+b.Written == 0 {
			continue
		}
		if b.Model == "" {
			b.Model = model
		}
		n := agentlog.Note{Model: b.Model, Usage: tokens.Usage{Input: b.Input, Read: b.Read, Written: b.Written, Output: b.Output}, WrittenForHour: b.Hour}
		dollars, _ := n.Cost(model)
		s := billedStep{fullness.Step{Model: b.Model, Usage: n.Usage, Turns: turns, Dollars: dollars}, b.Input + b.Read + b.Written}
		same := b.Reply != "" && b.Reply == reply.Reply || b == reply
		if reply = b; same && len(all) > 0 {
			all[len(all)-1] = s // the last step is complete
			continue
		}
		all = append(all, s)
	}
	return all
}

type forecast struct{ requests, plain, knowing, were, turns, begun, dollars, cost float64 }

func forecasts(steps []billedStep) (all []forecast) {
	for _, limit := range []int{40_000, 60_000, 80_000, 100_000, 130_000, 160_000, 200_000} {
		end := slices.IndexFunc(steps, func(s billedStep) bool { return s.size >= limit })
		if end < 0 {
			continue
		}
		for _, share := range []float64{0.5, 0.65, 0.8, 0.9} {
			at := slices.IndexFunc(steps, func(s billedStep) bool { return float64(s.size) >= share*float64(limit) })
			if at < 3 || at >= end {
				continue
			}
			var p fullness.Pace
			for _, s := range steps[:at+1] {
				p.Add(s.Step)
			}
			now := steps[at]
			o := p.Outlook(fullness.Position{Tokens: now.size, Window: limit, Room: limit, Model: now.Model})
			if o.RequestsLeft == nil || o.DollarsLeft == nil {
				continue
			}
			by := func(last int) float64 { // the mean up to a request
				return math.Floor(float64(limit-now.size)/float64(steps[last].size-steps[0].size)*float64(last)) + 1
			}
			// The window had room for all requests but the last one.
			f := forecast{requests: float64(*o.RequestsLeft) + 1, plain: by(at), knowing: by(len(steps) - 1), were: float64(end - at), turns: float64(*o.TurnsLeft), begun: float64(steps[end].Turns - now.Turns), dollars: *o.DollarsLeft}
			for _, s := range steps[at+1 : end] {
				f.cost += s.Dollars
			}
			all = append(all, f)
		}
	}
	return all
}

func runs(steps []billedStep) (all [][]billedStep) {
	from := 0
	for i := range steps {
		if i > from && float64(steps[i].size) < 0.8*float64(steps[i-1].size) {
			all, from = append(all, steps[from:i]), i
		}
	}
	return append(all, steps[from:])
}

func TestForecasts(t *testing.T) {
	by := make(map[string][]forecast)
	for agent, all := range recordedParts(t) {
		for _, p := range all {
			for _, run := range runs(stepsOf(p, p.request.Model())) {
				by[agent] = append(by[agent], forecasts(run)...)
			}
		}
	}
	for agent, all := range by {
		if len(all) < 20 {
			continue // too few steps
		}
		// median returns the median error; errors of shares are in percent
		median := func(of func(f forecast) (said, is float64), share bool) float64 {
			var errs []float64
			for _, f := range all {
				said, is := of(f)
				off := math.Abs(said - is)
				if share {
					if is == 0 {
						continue
					}
					off *= 100 / is
				}
				errs = append(errs, off)
			}
			slices.Sort(errs)
			return errs[len(errs)/2]
		}
		requests := func(f forecast) (float64, float64) { return f.requests, f.were }
		said := median(requests, true)
		plain := median(func(f forecast) (float64, float64) { return f.plain, f.were }, true)
		knowing := median(func(f forecast) (float64, float64) { return f.knowing, f.were }, true)
		t.Logf("%-19s %d forecasts: requests left %.0f %% off (median; %.0f requests), by the mean so far %.0f %%, by that of the whole session %.0f %%; dollars %.0f %%, turns %.0f",
			agent, len(all), said, median(requests, false), plain, knowing,
			median(func(f forecast) (float64, float64) { return f.dollars, f.cost }, true), median(func(f forecast) (float64, float64) { return f.turns, f.begun }, false))
		if said > plain+1 || said > 1.5*knowing+5 {
			t.Errorf("%s: requests left are %.0f %% off, by a plain mean %.0f %%, by one of the whole session %.0f %%", agent, said, plain, knowing)
		}
	}
	if os.Getenv("PARE_CORPUS") != "" && len(by) < 2 {
		t.Error("there are recorded sessions, and next to nothing was foretold")
	}
}

func recordedParts(t *testing.T) map[string][]sessionPart {
	t.Helper()
	recorded.Do(func() { recorded.parts = readRecorded(t) })
	return recorded.parts
}

var recorded struct {
	sync.Once
	parts map[string][]sessionPart
}

func readRecorded(t *testing.T) map[string][]sessionPart {
	all := map[string][]sessionPart{"made up": nil}
	add := func(agent, name string, raw []byte) {
		all[agent] = append(all[agent], recordingsIn(t, name, raw)...)
	}
	r := rand.New(rand.NewPCG(7, 8))
	for i := range 10 {
		add("made up", fmt.Sprintf("made-up-%d.jsonl", i), []byte(growingSession(r, 120)))
	}
	if os.Getenv("PARE_CORPUS") == "" { // recorded sessions are not part of the project
		return all
	}
	dir := corpus.Dir(t)
	for _, f := range corpus.Files(t, "claude_code/*") {
		add("Claude Code, corpus", f.Base, f.Raw)
	}
	z, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	for agent, pattern := range map[string]string{"Claude Code": "claude-code", "Codex": "codex"} {
		files, _ := filepath.Glob(filepath.Join(dir, "..", "trajectories", pattern, "*.zst"))
		for _, file := range files {
			packed, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := z.DecodeAll(packed, nil)
			if err != nil {
				t.Fatal(err)
			}
			add(agent, filepath.Base(file), raw)
		}
	}
	return all
}

func growingSession(r *rand.Rand, requests int) string {
	var b strings.Builder
	at, parent, n, size := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), "null", 0, 15_000
	line := func(kind, message string) {
		n++
		at = at.Add(time.Minute)
		fmt.Fprintf(&b, `{"parentUuid":%s,"isSidechain":false,"sessionId":"s","type":%q,"message":%s,"uuid":"u%d","timestamp":%q}`+"\n", parent, kind, message, n, at.Format(time.RFC3339))
		parent = fmt.Sprintf(`"u%d"`, n)
	}
	for i := range requests {
		more := 500 + r.IntN(2000)
		line("user", fmt.Sprintf(`{"role":"user","content":"question %d"}`, i))
		line("assistant", fmt.Sprintf(`{"id":"m%d","role":"assistant","model":"claude-opus-4-6","content":[{"type":"text","text":"answer"}],"usage":{"input_tokens":3,"cache_read_input_tokens":%d,"cache_creation_input_tokens":%d,"output_tokens":200}}`, i, size, more))
		size += more
	}
	return b.String()
}
