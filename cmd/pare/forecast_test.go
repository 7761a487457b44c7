package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/pare-llm/pare/cmd/internal/replay"
	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/internal/corpus"
	"github.com/pare-llm/pare/internal/fullness"
	"github.com/pare-llm/pare/tokens"
)

// billedStep is a request of a recorded session, and what it was billed.
type billedStep struct {
	fullness.Step
	size int
}

// stepsOf are the requests of a stretch, as the API has counted them; several messages of one reply
// have one bill.
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
		n := agentlog.Note{Model: b.Model, Usage: tokens.Usage{Input: b.Input, Read: b.Read, Written: b.Written, Output: b.Output}, Hour: b.Hour}
		dollars, _ := n.Cost(model)
		s := billedStep{fullness.Step{Model: b.Model, Usage: n.Usage, Turns: turns, Dollars: dollars}, b.Input + b.Read + b.Written}
		same := b.Reply != "" && b.Reply == reply.Reply || b == reply
		if reply = b; same && len(all) > 0 {
			all[len(all)-1] = s // the last one is complete
			continue
		}
		all = append(all, s)
	}
	return all
}

// A forecast is what was foretold at one moment of a session, and what came.
type forecast struct{ requests, were, turns, begun, dollars, cost float64 }

// forecasts looks at the moments at which a session has passed a half, two thirds, 80 and 90 % of
// limits that it reaches later.
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
			o := p.Outlook(fullness.Position{Tokens: steps[at].size, Window: limit, Room: limit, Model: steps[at].Model})
			if o.RequestsLeft == nil || o.DollarsLeft == nil {
				continue
			}
			f := forecast{requests: float64(*o.RequestsLeft), were: float64(end - at), turns: float64(*o.TurnsLeft), begun: float64(steps[end].Turns - steps[at].Turns), dollars: *o.DollarsLeft}
			for _, s := range steps[at+1 : end+1] {
				f.cost += s.Dollars
			}
			all = append(all, f)
		}
	}
	return all
}

// runs are the stretches in which a session only grows: a request that is much shorter than the one
// before it was cut, or is of another branch.
func runs(steps []billedStep) (all [][]billedStep) {
	from := 0
	for i := range steps {
		if i > from && float64(steps[i].size) < 0.8*float64(steps[i-1].size) {
			all, from = append(all, steps[from:i]), i
		}
	}
	return append(all, steps[from:])
}

// TestForecasts measures what is said to be left against what came in recorded sessions: the median
// error of requests and of dollars, as a share of what came. Beside it stands what a plain mean of the
// growth so far would have said, which a forecast must not be worse than.
func TestForecasts(t *testing.T) {
	by := make(map[string][]forecast)
	plain := make(map[string][]float64)
	for agent, all := range recordedParts(t) {
		for _, p := range all {
			for _, run := range runs(stepsOf(p, p.request.Model())) {
				by[agent] = append(by[agent], forecasts(run)...)
				plain[agent] = append(plain[agent], plainErrors(run)...)
			}
		}
	}
	median := func(all []float64) float64 {
		slices.Sort(all)
		return all[len(all)/2]
	}
	for agent, all := range by {
		var requests, off, dollars, turns []float64
		for _, f := range all {
			requests, off = append(requests, math.Abs(f.requests-f.were)/f.were), append(off, math.Abs(f.requests-f.were))
			turns = append(turns, math.Abs(f.turns-f.begun))
			if f.cost > 0 {
				dollars = append(dollars, math.Abs(f.dollars-f.cost)/f.cost)
			}
		}
		if len(all) < 20 || len(dollars) < 20 {
			continue // too few to say anything
		}
		r, was := median(requests), median(plain[agent])
		t.Logf("%-12s %4d forecasts: requests left %.0f %% off (median; %.1f requests), turns left %.1f off, dollars %.0f %% off; by the plain mean requests left %.0f %% off",
			agent, len(all), 100*r, median(off), median(turns), 100*median(dollars), 100*was)
		if r > was+0.05 || r > 0.75 {
			t.Errorf("%s: requests left are %.0f %% off, a plain mean %.0f %%", agent, 100*r, 100*was)
		}
	}
	if os.Getenv("PARE_CORPUS") != "" && len(by) < 2 {
		t.Error("there are recorded sessions, and next to nothing was foretold")
	}
}

// plainErrors are those of a forecast by nothing but the mean of the growth so far.
func plainErrors(steps []billedStep) (all []float64) {
	for _, limit := range []int{40_000, 60_000, 80_000, 100_000, 130_000, 160_000, 200_000} {
		end := slices.IndexFunc(steps, func(s billedStep) bool { return s.size >= limit })
		for _, share := range []float64{0.5, 0.65, 0.8, 0.9} {
			at := slices.IndexFunc(steps, func(s billedStep) bool { return float64(s.size) >= share*float64(limit) })
			if at < 3 || at >= end {
				continue
			}
			each := float64(steps[at].size-steps[0].size) / float64(at)
			all = append(all, math.Abs(float64(limit-steps[at].size)/each-float64(end-at))/float64(end-at))
		}
	}
	return all
}

// recordedParts are recorded sessions by agent, where there are any, and some that are made up: their
// requests grow by as much each time, give or take.
func recordedParts(t *testing.T) map[string][]sessionPart {
	all := map[string][]sessionPart{"made up": nil}
	add := func(agent, name string, raw []byte) {
		l, err := agentlog.Read(name, raw, agentlog.Options{})
		if err != nil {
			t.Fatal(name, err)
		}
		parts, err := sessionParts(l)
		if err != nil {
			t.Fatal(name, err)
		}
		for _, p := range parts {
			if p.Recording != nil {
				all[agent] = append(all[agent], p)
			}
		}
	}
	r := rand.New(rand.NewPCG(7, 8))
	for i := range 10 {
		add("made up", fmt.Sprintf("made-up-%d.jsonl", i), []byte(growingSession(r, 120)))
	}
	if os.Getenv("PARE_CORPUS") == "" { // what is recorded is not part of the project
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

// growingSession is a session of Claude Code whose requests have some thousand tokens more each, as
// the API counts them.
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
