package pare_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/tokens"
	"github.com/pare-llm/pare/transcript"
	"github.com/pare-llm/pare/wire"
)

// A recording is a history that an agent really had.
type recording struct {
	name  string
	model string // where the body names none
	body  []byte
}

// corpus returns recorded histories of every dialect: request bodies, and the sessions
// of agents as the requests that they would have become. They are not part of the
// project; PARE_CORPUS says where they lie.
func corpus(t testing.TB) []recording {
	t.Helper()
	dir := os.Getenv("PARE_CORPUS")
	if dir == "" {
		dir = "../shared/corpus"
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("SKIPPED, LOUDLY: no corpus of recorded requests at %s; set PARE_CORPUS to run this test", dir)
	}
	var all []recording
	for pattern, read := range map[string]func(testing.TB, string, []byte) []recording{
		"*/*.requests.jsonl*": requestBodies, "openai_chat/*tau-bench*": tauBench, "claude_code/*.jsonl*": claudeCode,
		"codex_rollout/*.jsonl*": codex, "openai_responses/*rollouts.jsonl*": rollouts,
	} {
		files, _ := filepath.Glob(filepath.Join(dir, pattern))
		if len(files) == 0 {
			t.Fatalf("a corpus without %s", pattern)
		}
		for _, f := range files {
			all = append(all, read(t, filepath.Base(filepath.Dir(f))+"/"+filepath.Base(f), unpacked(t, f))...)
		}
	}
	slices.SortStableFunc(all, func(a, b recording) int { return strings.Compare(a.name, b.name) })
	return all
}

func unpacked(t testing.TB, file string) []byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var in io.Reader = f
	if strings.HasSuffix(file, ".gz") {
		if in, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func eachLine(raw []byte, f func(n int, line []byte)) {
	in := bufio.NewReader(bytes.NewReader(raw))
	for n := 0; ; n++ {
		line, err := in.ReadBytes('\n')
		if len(line) > 1 {
			f(n, line)
		}
		if err != nil {
			return
		}
	}
}

var modelInURL = regexp.MustCompile(`/models?/([^/:]+(?:%3A\d+)?)`)

func requestBodies(t testing.TB, name string, raw []byte) (all []recording) {
	eachLine(raw, func(n int, line []byte) {
		var r struct {
			URL  string
			Body json.RawMessage
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		one := recording{name: fmt.Sprintf("%s %d", name, n), body: r.Body}
		if m := modelInURL.FindStringSubmatch(r.URL); m != nil {
			one.model, _ = url.PathUnescape(m[1])
		}
		all = append(all, one)
	})
	return all
}

func tauBench(t testing.TB, name string, raw []byte) (all []recording) {
	var runs []struct{ Traj json.RawMessage }
	if err := json.Unmarshal(raw, &runs); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for i, r := range runs {
		all = append(all, recording{name: fmt.Sprintf("%s %d", name, i), body: []byte(`{"model":"gpt-4o","messages":` + string(r.Traj) + `}`)})
	}
	return all
}

// claudeCode takes the main chain in the order of the file; an assistant's message is
// spread over several lines.
func claudeCode(t testing.TB, name string, raw []byte) []recording {
	var messages []string
	var id string
	var blocks []string
	flush := func() {
		if len(blocks) > 0 {
			messages = append(messages, `{"role":"assistant","content":[`+strings.Join(blocks, ",")+`]}`)
		}
		blocks, id = nil, ""
	}
	eachLine(raw, func(_ int, line []byte) {
		var e struct {
			Type        string
			IsSidechain bool
			Message     struct {
				ID      string
				Role    string
				Content json.RawMessage
			}
		}
		if json.Unmarshal(line, &e) != nil || e.IsSidechain || len(e.Message.Content) == 0 {
			return
		}
		var list []json.RawMessage
		_ = json.Unmarshal(e.Message.Content, &list)
		switch e.Type {
		case "assistant":
			if e.Message.ID != id {
				flush()
			}
			id = e.Message.ID
			for _, b := range list {
				blocks = append(blocks, string(b))
			}
		case "user":
			flush()
			messages = append(messages, `{"role":"user","content":`+string(e.Message.Content)+`}`)
		}
	})
	flush()
	return []recording{{name: name, body: []byte(`{"model":"claude-sonnet-4-5","max_tokens":8192,"messages":[` + strings.Join(messages, ",") + `]}`)}}
}

// codex takes the items out of the lines, with or without an envelope.
func codex(t testing.TB, name string, raw []byte) []recording {
	var items []string
	eachLine(raw, func(_ int, line []byte) {
		var e struct {
			Type    string
			Payload json.RawMessage
		}
		if json.Unmarshal(line, &e) != nil {
			return
		}
		item := line
		if e.Type == "response_item" {
			item = e.Payload
			_ = json.Unmarshal(e.Payload, &e)
		}
		switch e.Type {
		case "message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output":
			items = append(items, string(bytes.TrimSpace(item)))
		}
	})
	return []recording{{name: name, body: []byte(`{"model":"gpt-5.2-codex","store":false,"input":[` + strings.Join(items, ",") + `]}`)}}
}

func rollouts(t testing.TB, name string, raw []byte) (all []recording) {
	eachLine(raw, func(n int, line []byte) {
		var e struct {
			Params   struct{ Input json.RawMessage } `json:"responses_create_params"`
			Response struct{ Output []json.RawMessage }
		}
		var input []json.RawMessage
		if json.Unmarshal(line, &e) != nil || json.Unmarshal(e.Params.Input, &input) != nil {
			return
		}
		list, _ := json.Marshal(append(input, e.Response.Output...))
		all = append(all, recording{name: fmt.Sprintf("%s %d", name, n), body: []byte(`{"model":"gpt-5.2","store":false,"input":` + string(list) + `}`)})
	})
	return all
}

// whole reads and mends a recording; nil if it cannot be mended.
func (c recording) whole(t testing.TB) *wire.Request {
	t.Helper()
	r, err := wire.Parse(c.body, wire.Options{Model: c.model})
	if err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	fixed, err := pare.Repair(r, pare.Options{})
	if err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	if len(fixed.Left()) > 0 || len(r.Transcript().Messages()) == 0 {
		return nil
	}
	return fixed.Result()
}

// TestWindowCorpus: real histories, every unit, a spread of limits: within and clean, or
// the exact minimum; a larger limit keeps a superset; a second run changes nothing.
func TestWindowCorpus(t *testing.T) {
	all := corpus(t)
	deadline := time.Now().Add(15 * time.Second)
	if testing.Short() {
		deadline = time.Now().Add(3 * time.Second)
	}
	if os.Getenv("PARE_HISTORIES") != "" {
		deadline = time.Now().Add(time.Hour)
	}
	tried, trims, tooSmall, left := 0, 0, 0, 0
	// A stride that is prime to the number of recordings: whenever time is up, those
	// tried come from everywhere.
	stride := 787
	for len(all)%stride == 0 {
		stride++
	}
	for i := range all {
		c := all[i*stride%len(all)]
		if time.Now().After(deadline) {
			left = len(all) - i
			break
		}
		r := c.whole(t)
		if r == nil {
			continue
		}
		tried++
		for _, u := range units {
			a, b := spread(t, c.name, r, u)
			trims, tooSmall = trims+a, tooSmall+b
		}
	}
	t.Logf("%d recordings, %d windows, %d of them too small; %d recordings for want of time not tried", tried, trims, tooSmall, left)
}

// spread tries limits between nothing and all.
func spread(t *testing.T, name string, r *wire.Request, u pare.Unit) (trims, tooSmall int) {
	t.Helper()
	total := size(u, r)
	o := pare.Options{Counter: quarters{}}
	var smaller *pare.Plan
	var limits []int
	for _, share := range []int{1, 5, 15, 40, 70, 95, 100} {
		limits = append(limits, max(1, total*share/100))
	}
	for _, l := range slices.Compact(limits) {
		plan, err := pare.Trim(r, window(u, l), o)
		trims++
		var small *pare.WindowTooSmall
		if errors.As(err, &small) {
			tooSmall++
			if tooSmall > 1 {
				continue
			}
			if _, err := pare.Trim(r, window(u, small.Minimum), o); err != nil || small.Minimum <= l {
				t.Fatalf("%s: %s %d: the minimum %d fails: %v", name, u, l, small.Minimum, err)
			}
			if _, err := pare.Trim(r, window(u, small.Minimum-1), o); small.Minimum > 1 && err == nil {
				t.Fatalf("%s: %s %d: one less than the minimum %d works", name, u, l, small.Minimum)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %s %d: %v", name, u, l, err)
		}
		if n := size(u, plan.Result()); n > l || len(plan.Left()) > 0 {
			t.Fatalf("%s: %s %d: %d are left, and %v", name, u, l, n, plan.Left())
		}
		fresh, err := wire.Parse(plan.Result().Raw(), wire.Options{Dialect: r.Dialect, Model: r.Model()})
		if err != nil {
			t.Fatalf("%s: %s %d: %v", name, u, l, err)
		}
		if f := fresh.Check(wire.CheckOptions{}); len(f) > 0 {
			t.Fatalf("%s: %s %d: refused: %s at %s", name, u, l, f[0].Rule, f[0].Path)
		}
		if smaller != nil {
			superset(t, fmt.Sprintf("%s: %s %d", name, u, l), smaller, plan)
		}
		smaller = plan
		if again, err := pare.Trim(plan.Result(), window(u, l), o); err != nil || !again.Empty() {
			t.Fatalf("%s: %s %d: a second run: %v\n%s", name, u, l, err, again)
		}
	}
	return trims, tooSmall
}

// TestStableCorpus: real sessions that grow by appending, request by request. Between
// batches what was sent before is sent again byte for byte, so a provider's cache keeps
// nearly all of it; trimming each request by itself loses much more.
func TestStableCorpus(t *testing.T) {
	all := corpus(t)
	const perSession = 40 // requests; more say the same
	budget := 24
	if testing.Short() {
		budget = 6
	}
	if os.Getenv("PARE_HISTORIES") != "" {
		budget = 1 << 30
	}
	taken := make(map[string]int)
	var stable, naive share
	sessions := 0
	for _, c := range all {
		file, _, _ := strings.Cut(c.name, " ")
		kind, _, _ := strings.Cut(file, "/")
		if len(c.body) < 30_000 || len(c.body) > 2<<20 || taken[file] >= 2 || taken[kind+"/"] >= 6 || sessions >= budget {
			continue
		}
		r := c.whole(t)
		if r == nil {
			continue
		}
		sent := sessionRequests(t, r, perSession)
		if len(sent) < 8 {
			continue
		}
		taken[file]++
		taken[kind+"/"]++
		sessions++
		total := r.Tokens(realCounter)
		high := total * 2 / 5
		a := grow(t, c.name, sent, pare.Window{Tokens: high, Low: high / 2})
		b := grow(t, c.name, sent, pare.Window{Tokens: high})
		t.Logf("%3.0f %% stay cached, %3.0f %% if each request is trimmed by itself: %s (%d KB, %d requests, %d batches)", 100*a.of(), 100*b.of(), c.name, len(c.body)>>10, len(sent), a.batches)
		stable, naive = stable.plus(a), naive.plus(b)
	}
	t.Logf("%d sessions: %.1f %% stay cached, %.1f %% if each request is trimmed by itself", sessions, 100*stable.of(), 100*naive.of())
	if sessions < 4 || stable.of() < 0.8 || naive.of() > stable.of()-0.1 {
		t.Errorf("%d sessions, %.2f of the bytes stay cached, %.2f without a low mark", sessions, stable.of(), naive.of())
	}
}

// realCounter counts a string the same however it is escaped, as the replay of earlier
// requests needs it.
var realCounter = tokens.For("claude-sonnet-4-5")

// A share is how many of the bytes that could have been cached were.
type share struct{ kept, could, batches int }

func (s share) of() float64 { return float64(s.kept) / float64(max(s.could, 1)) }
func (s share) plus(o share) share {
	return share{s.kept + o.kept, s.could + o.could, s.batches + o.batches}
}

// sessionRequests lists at most n of the requests that led to a history: neighbours,
// from its second half, where a window is full.
func sessionRequests(t *testing.T, r *wire.Request, n int) []*wire.Request {
	t.Helper()
	var sent []*wire.Request
	blocks := r.Transcript().Blocks()
	for _, end := range requestEnds(r, n) {
		var later []transcript.BlockID
		for b := int(end); b < len(blocks); b++ {
			later = append(later, transcript.BlockID(b))
		}
		q, _, err := r.Rewrite(later, nil)
		if err != nil {
			t.Fatal(err)
		}
		if fixed, err := pare.Repair(q, pare.Options{}); err == nil && fixed.Empty() {
			sent = append(sent, q)
		}
	}
	return sent
}

// requestEnds lists where the last n requests of a history ended: wherever a turn of the
// model begins, and at the end.
func requestEnds(r *wire.Request, n int) (ends []transcript.BlockID) {
	msgs := r.Transcript().Messages()
	for i, m := range msgs {
		if i > 0 && m.Role == transcript.Assistant && msgs[i-1].Turn != m.Turn {
			ends = append(ends, m.First)
		}
	}
	ends = append(ends, transcript.BlockID(len(r.Transcript().Blocks())))
	return ends[max(len(ends)-n, 0):]
}

// grow trims each request and counts the bytes that it begins with in common with the
// one before.
func grow(t *testing.T, name string, sent []*wire.Request, w pare.Window) (s share) {
	t.Helper()
	var before *pare.Plan
	for i, q := range sent {
		plan, err := pare.Trim(q, w, pare.Options{Counter: realCounter})
		var small *pare.WindowTooSmall
		if errors.As(err, &small) {
			before = nil
			continue
		}
		if err != nil {
			t.Fatalf("%s, request %d: %v", name, i, err)
		}
		if n := plan.Result().Tokens(realCounter); n > w.Tokens || len(plan.Left()) > 0 {
			t.Fatalf("%s, request %d: %d tokens, left %v", name, i, n, plan.Left())
		}
		if before != nil {
			a, b := before.Result(), plan.Result()
			end := listEnd(a)
			got := min(shared(a.Raw(), b.Raw()), end)
			s.kept, s.could = s.kept+got, s.could+end
			if w.Low > 0 && len(plan.Batches()) == len(before.Batches()) && got < end-1 { // the last bracket of a message may be opened again
				t.Fatalf("%s, request %d: the prefix changed at %d of %d without a batch\n%.300s\n%.300s", name, i, got, end, a.Raw()[max(got-60, 0):], b.Raw()[max(got-60, 0):])
			}
		}
		before, s.batches = plan, len(plan.Batches())
	}
	return s
}
