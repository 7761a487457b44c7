package main

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/pare-llm/pare/cmd/internal/replay"
	"github.com/pare-llm/pare/cmd/internal/serve"
	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/internal/corpus"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/wire"
)

type cachingProvider struct {
	before []byte
	at     time.Time
	read   int
	wrote  int
	last   struct{ shared, before int }
}

const cacheLife = 5 * time.Minute

func (c *cachingProvider) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	found := 0
	c.last.shared, c.last.before = 0, 0
	if len(c.before) > 0 && time.Since(c.at) <= cacheLife {
		found = sharedPrefix(body, c.before)
		c.last.shared, c.last.before = found, len(c.before)
	}
	c.before, c.at = body, time.Now()
	c.read, c.wrote = c.read+found, c.wrote+len(body)-found
	reply := fmt.Sprintf(`{"id":"m","type":"message","role":"assistant","content":[],"usage":{"input_tokens":1,"cache_read_input_tokens":%d,"cache_creation_input_tokens":%d,"output_tokens":1}}`, found/4, (len(body)-found)/4)
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(reply)), Request: r}, nil
}

func (c *cachingProvider) money() float64 { return 0.1*float64(c.read) + 1.25*float64(c.wrote) }

func sharedPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

func recordingsIn(t *testing.T, name string, raw []byte) []sessionPart {
	t.Helper()
	l, err := agentlog.Read(name, raw, agentlog.Options{})
	if err != nil {
		t.Fatal(name, err)
	}
	parts, err := splitSession(l)
	if err != nil {
		t.Fatal(name, err)
	}
	return slices.DeleteFunc(parts, func(p sessionPart) bool { return p.Recording == nil })
}

func pausedSessions(t *testing.T) (all []sessionPart) {
	add := func(name string, raw []byte) {
		for _, p := range recordingsIn(t, name, raw) {
			if p.pauses() > 0 {
				all = append(all, p)
			}
		}
	}
	add("made-up.jsonl", []byte(pausedSession(60)))
	dir := os.Getenv("PARE_CORPUS") // recorded sessions are not part of the project
	if dir == "" {
		return all
	}
	step := trial.SparseStride(8)
	for i, f := range corpus.Files(t, "claude_code/*") {
		if i%step == 0 {
			add(f.Base, f.Raw)
		}
	}
	more, _ := filepath.Glob(filepath.Join(dir, "..", "trajectories", "c[lo][ad]*", "*.zst"))
	z, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(more); i += step {
		packed, err := os.ReadFile(more[i])
		if err != nil {
			t.Fatal(err)
		}
		raw, err := z.DecodeAll(packed, nil)
		if err != nil {
			t.Fatal(err)
		}
		add(filepath.Base(more[i]), raw)
	}
	return all
}

func pausedSession(requests int) string {
	var b strings.Builder
	at, parent, n := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), "null", 0
	line := func(kind, message string) {
		n++
		fmt.Fprintf(&b, `{"parentUuid":%s,"isSidechain":false,"sessionId":"s","type":%q,"message":%s,"uuid":"u%d","timestamp":%q}`+"\n", parent, kind, message, n, at.Format(time.RFC3339))
		parent = fmt.Sprintf(`"u%d"`, n)
	}
	line("user", `{"role":"user","content":"repair the tests"}`)
	for i := range requests {
		if at = at.Add(time.Minute); i%8 == 7 {
			at = at.Add(10 * time.Minute)
		}
		tool, args := "Read", fmt.Sprintf(`{"file_path":"pkg/file%d.go"}`, i)
		if i%3 == 0 {
			tool, args = "Bash", `{"command":"make test"}`
		}
		line("assistant", fmt.Sprintf(`{"id":"m%d","role":"assistant","model":"claude-opus-4-6","content":[{"type":"tool_use","id":"t%d","name":%q,"input":%s}]}`, i, i, tool, args))
		var said strings.Builder
		for k := range 120 {
			fmt.Fprintf(&said, `%6d→plain words of line %d\n`, k+1, k)
		}
		line("user", fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"%s"}]}`, i, said.String()))
	}
	return b.String()
}

func (s *sessionPart) pauses() (n int) {
	var before time.Time
	for _, at := range s.Times {
		if !at.IsZero() && !before.IsZero() && at.Sub(before) > cacheLife {
			n++
		}
		if !at.IsZero() {
			before = at
		}
	}
	return n
}

type paused struct {
	servers [2]*serve.Server
	behind  [2]*cachingProvider

	requests, cut int
	control       bool
}

func newPaused(t *testing.T) *paused {
	t.Helper()
	x := new(paused)
	for i, flags := range [][]string{nil, {"--cold"}} {
		g, env := new(commandLine), &environment{stdout: io.Discard, stderr: t.Output(), getenv: func(string) string { return "" }, log: slog.New(slog.DiscardHandler)}
		if _, err := buildParser(g, env, nil).Parse(slices.Concat([]string{"serve", "--no-store"}, flags)); err != nil {
			t.Fatal(err)
		}
		options, _, status := g.Serve.serverOptions(env, "serve")
		if status != statusClean {
			t.Fatal(flags, "status", status)
		}
		x.behind[i] = new(cachingProvider)
		options.Base, options.PlanTime = x.behind[i], -1
		x.servers[i] = serve.New(options)
	}
	return x
}

func (x *paused) send(t *testing.T, path string, body []byte) error {
	t.Helper()
	for _, s := range x.servers {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "http://127.0.0.1"+path, bytes.NewReader(body)))
		if w.Code != http.StatusOK {
			t.Fatal(w.Code, w.Body)
		}
	}
	record := x.servers[1].Watch().Last(1)[0]
	x.requests, x.cut = x.requests+1, x.cut+record.Cut
	x.control = x.control || record.Thrift == "control"
	lost := func(w int) int { return x.behind[w].last.before - x.behind[w].last.shared }
	if lost(1) > lost(0)+64 && record.Rewritten == 0 {
		return fmt.Errorf("%d bytes of a warm cache are written again, %d without cuts", lost(1), lost(0))
	}
	return nil
}

func TestPauses(t *testing.T) {
	type sum struct {
		sessions, requests, pauses, cut int
		with, without                   float64
	}
	sums := make(map[bool]*sum)
	sums[false], sums[true] = new(sum), new(sum)
	for i, s := range pausedSessions(t) {
		var x *paused
		synctest.Test(t, func(t *testing.T) {
			x = newPaused(t)
			x.resume(t, fmt.Sprintf("session %d", i), &s)
		})
		y := sums[x.control]
		y.sessions, y.requests, y.pauses, y.cut = y.sessions+1, y.requests+x.requests, y.pauses+s.pauses(), y.cut+x.cut
		y.with, y.without = y.with+x.behind[1].money(), y.without+x.behind[0].money()
	}
	for control, y := range sums {
		t.Logf("left alone %v: %d parts of sessions, %d requests, %d pauses: %d results cut, %.1f%% of the money", control, y.sessions, y.requests, y.pauses, y.cut, 100*y.with/max(y.without, 1))
	}
	if y := sums[false]; y.with >= y.without || y.cut == 0 {
		t.Errorf("%.0f, %.0f without cuts; %d results cut", y.with, y.without, y.cut)
	}
}

func (x *paused) resume(t *testing.T, name string, s *sessionPart) {
	t.Helper()
	walk, path, before := replay.NewWalk(s.request), "/v1/messages", time.Time{}
	if s.request.Dialect == wire.OpenAIResponses {
		path = "/v1/responses"
	}
	for k := range walk.Len() {
		if at := s.Times[walk.Messages(k)-1]; !at.IsZero() {
			if !before.IsZero() {
				time.Sleep(at.Sub(before))
			}
			before = at
		}
		if err := x.send(t, path, walk.Body(k)); err != nil {
			t.Errorf("%s, request %d: %v", name, k+1, err)
		}
	}
	if x.behind[1].money() > 1.01*x.behind[0].money() {
		t.Errorf("%s costs %.0f, %.0f without cuts", name, x.behind[1].money(), x.behind[0].money())
	}
}
