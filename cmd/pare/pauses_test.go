package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/cmd/internal/replay"
	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/internal/corpus"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/rules"
	"github.com/pare-llm/pare/wire"
)

// A cachingProvider is a stand-in for a provider that keeps the last request in a cache for five
// minutes, by a clock that the test sets. It counts bytes.
type cachingProvider struct {
	now    func() time.Time
	before []byte
	at     time.Time
	read   int
	wrote  int
	last   struct{ shared, before int } // of the last request, if the cache lived
}

const cacheLife = 5 * time.Minute

func (c *cachingProvider) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	found := 0
	c.last.shared, c.last.before = 0, 0
	if now := c.now(); len(c.before) > 0 && now.Sub(c.at) <= cacheLife {
		found = sharedPrefix(body, c.before)
		c.last.shared, c.last.before = found, len(c.before)
	}
	c.before, c.at = body, c.now()
	c.read, c.wrote = c.read+found, c.wrote+len(body)-found
	reply := fmt.Sprintf(`{"id":"m","type":"message","role":"assistant","content":[],"usage":{"input_tokens":1,"cache_read_input_tokens":%d,"cache_creation_input_tokens":%d,"output_tokens":1}}`, found/4, (len(body)-found)/4)
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(reply)), Request: r}, nil
}

// money is what was sent costs, in bytes of plain input.
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

// pausedSessions are recorded sessions with their clocks: of real agents, where there are any, and one
// that is made up, with a pause after every eighth request.
func pausedSessions(t *testing.T) (all []sessionPart) {
	add := func(name string, raw []byte) {
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
				all = append(all, p)
			}
		}
	}
	add("made-up.jsonl", []byte(pausedSession(60)))
	dir := os.Getenv("PARE_CORPUS") // what is recorded is not part of the project
	if dir == "" {
		return all
	}
	for _, f := range corpus.Files(t, "claude_code/*") {
		add(f.Base, f.Raw)
	}
	more, _ := filepath.Glob(filepath.Join(dir, "..", "trajectories", "c[lo][ad]*", "*.zst"))
	z, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(more); i += trial.Stride(20) {
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

// pausedSession is a session of Claude Code that reads files and runs tests, a minute apart, with a
// pause of ten minutes after every eighth request.
func pausedSession(requests int) string {
	var b strings.Builder
	at, parent, n := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), "null", 0
	line := func(kind, message string) {
		n++
		fmt.Fprintf(&b, `{"parentUuid":%s,"isSidechain":false,"sessionId":"s","type":%q,"message":%s,"uuid":"u%d","timestamp":%q}`+"\n", parent, kind, message, n, at.Format(time.RFC3339))
		parent = fmt.Sprintf(`"u%d"`, n)
	}
	line("user", `{"role":"user","content":"mend the tests"}`)
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

// TestPauses: recorded sessions, with their pauses, go through the proxy to a provider with a cache. What
// is cut as it arrives and while the cache is cold makes no session dearer, and rewrites no warm cache:
// what was sent is the beginning of what is sent next, as far as the client itself left it so.
func TestPauses(t *testing.T) {
	arrival, err := rules.Oversized{Arrival: true}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	hazard, err := rules.Hazard{}.Rule()
	if err != nil {
		t.Fatal(err)
	}
	first, err := pare.Compile(arrival)
	if err != nil {
		t.Fatal(err)
	}
	cold, err := pare.Compile(hazard)
	if err != nil {
		t.Fatal(err)
	}
	with, without, requests, cut, control := 0.0, 0.0, 0, 0, 0
	sessions := pausedSessions(t)
	for i, s := range sessions {
		model := s.request.Model()
		if model == "" {
			model = "claude-opus-4-6"
		}
		thrifty := &pare.Policy{Model: model, Rules: first, Window: &pare.Window{ModelTokens: true, LowPercent: 70, ColdRules: cold}}
		plain := proxy.Default()
		plain.Model = model
		var now time.Time
		var ways [2]*cachingProvider
		var through [2]*proxy.Transport
		var record *proxy.Record
		for w, p := range []*pare.Policy{plain, thrifty} {
			ways[w] = &cachingProvider{now: func() time.Time { return now }}
			through[w] = &proxy.Transport{Base: ways[w], PlanTime: -1, Policy: p, Conversations: proxy.NewConversations(proxy.ConversationsOptions{Now: func() time.Time { return now }})}
		}
		through[1].Record = func(r *proxy.Record) { record = r }
		walk := replay.NewWalk(s.request)
		path := "/v1/messages"
		if s.request.Dialect == wire.OpenAIResponses {
			path = "/v1/responses"
		}
		for k := range walk.Len() {
			if at := s.Times[walk.Messages(k)-1]; !at.IsZero() {
				now = at
			}
			body := walk.Body(k)
			for w, tr := range through {
				r := httptest.NewRequest(http.MethodPost, "http://host"+path, bytes.NewReader(body))
				r.RequestURI = ""
				resp, err := tr.RoundTrip(r)
				if err != nil {
					t.Fatal(err)
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				if w == 1 && record.Thrift == "control" {
					control++
				}
			}
			requests++
			cut += record.Cut
			// What stands behind the list is written again each time, and a comma.
			lost := func(w int) int { return ways[w].last.before - ways[w].last.shared }
			if lost(1) > lost(0)+64 && record.Rewritten == 0 {
				t.Errorf("session %d, request %d: %d bytes of a warm cache are written again, %d without cuts", i, k+1, lost(1), lost(0))
			}
		}
		if ways[1].money() > 1.01*ways[0].money() {
			t.Errorf("session %d costs %.0f, %.0f without cuts", i, ways[1].money(), ways[0].money())
		}
		with, without = with+ways[1].money(), without+ways[0].money()
	}
	t.Logf("%d sessions and parts, %d requests, %d of them left alone to compare with: %d results cut, %.1f%% of the money", len(sessions), requests, control, cut, 100*with/without)
	if with >= without || cut == 0 {
		t.Errorf("%.0f, %.0f without cuts; %d results cut", with, without, cut)
	}
}
