//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pare-llm/pare/internal/agentlog"
	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/wire"
)

type desert struct {
	do     chan func()
	closed bool
	until  context.Context
}

func newDesert(t *testing.T) *desert {
	d := &desert{do: make(chan func()), until: t.Context()}
	if end, ok := t.Deadline(); ok { // no client may outlive the test
		var cancel func()
		d.until, cancel = context.WithDeadline(d.until, end.Add(-30*time.Second))
		t.Cleanup(cancel)
	}
	ready := make(chan bool)
	go func() {
		// The thread that leaves the network is never unlocked, so it ends with this goroutine. Its
		// sockets and child processes are in the new namespace.
		runtime.LockOSThread()
		ready <- syscall.Unshare(syscall.CLONE_NEWNET) == nil && loopbackUp() == nil
		for f := range d.do {
			f()
		}
	}()
	d.closed = <-ready
	t.Cleanup(func() { close(d.do) })
	return d
}

func (d *desert) in(f func()) {
	done := make(chan bool)
	d.do <- func() { f(); close(done) }
	<-done
}

func loopbackUp() error {
	out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

type standIn struct {
	url    string
	cwd    string
	mu     sync.Mutex
	asked  []asked
	others []string
}

type asked struct {
	body  []byte
	found []wire.Finding
	err   error
}

func newStandIn(t *testing.T, d *desert) *standIn {
	s := &standIn{}
	var listener net.Listener
	var err error
	d.in(func() { listener, err = net.Listen("tcp", "127.0.0.1:0") })
	if err != nil {
		t.Fatal(err)
	}
	s.url = "http://" + listener.Addr().String()
	server := &http.Server{Handler: s, ReadTimeout: 10 * time.Minute}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	return s
}

func (s *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	switch {
	case r.Method == http.MethodHead:
	case r.URL.Path == "/v1/messages/count_tokens":
		fmt.Fprint(w, `{"input_tokens":100}`)
	case r.URL.Path == "/v1/models":
		fmt.Fprint(w, `{"data":[],"has_more":false}`)
	case r.URL.Path == "/v1/messages":
		s.reply(w, body)
	default:
		s.mu.Lock()
		s.others = append(s.others, r.Method+" "+r.URL.Path)
		s.mu.Unlock()
		http.NotFound(w, r)
	}
}

type apiRequest struct {
	Model    string
	Stream   bool
	Tools    []json.RawMessage
	Thinking struct{ Type string }
	Messages []struct {
		Role    string
		Content json.RawMessage
	}
}

func (s *standIn) reply(w http.ResponseWriter, body []byte) {
	var req apiRequest
	_ = json.Unmarshal(body, &req)
	if len(req.Tools) > 0 { // without tools the client asks for a title
		a := asked{body: body}
		parsed, err := wire.Parse(body, wire.Options{Dialect: wire.Anthropic})
		if a.err = err; err == nil {
			a.found = parsed.Check(wire.CheckOptions{})
		}
		s.mu.Lock()
		s.asked = append(s.asked, a)
		s.mu.Unlock()
		if err != nil || len(a.found) > 0 {
			why := fmt.Sprint(err)
			if err == nil {
				why = a.found[0].Path + ": " + a.found[0].Message
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"type":"error","error":{"type":"invalid_request_error","message":%q}}`, why)
			return
		}
	}
	blocks := s.answer(&req)
	if !req.Stream {
		fmt.Fprintf(w, `{"id":"msg_%d","type":"message","role":"assistant","model":%q,"content":[%s],"stop_reason":"end_turn","usage":{"input_tokens":9,"output_tokens":9}}`,
			time.Now().UnixNano(), req.Model, blocks[0].whole)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(name, data string) { fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, data) }
	event("message_start", fmt.Sprintf(`{"type":"message_start","message":{"id":"msg_%d","type":"message","role":"assistant","model":%q,"content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":1}}}`, time.Now().UnixNano(), req.Model))
	stop := "end_turn"
	for i, b := range blocks {
		event("content_block_start", fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, i, b.start))
		for _, d := range b.deltas {
			d = strings.ReplaceAll(d, "/CWD", s.cwd)
			event("content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, i, d))
		}
		event("content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i))
		if b.call {
			stop = "tool_use"
		}
	}
	event("message_delta", fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":9}}`, stop))
	event("message_stop", `{"type":"message_stop"}`)
}

type replyBlock struct {
	whole, start string
	deltas       []string
	call         bool
}

func textBlock(text string) replyBlock {
	return replyBlock{
		whole: fmt.Sprintf(`{"type":"text","text":%q}`, text), start: `{"type":"text","text":""}`,
		deltas: []string{fmt.Sprintf(`{"type":"text_delta","text":%q}`, text)},
	}
}

func callBlock(id, tool, input string) replyBlock {
	return replyBlock{
		start:  fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":{}}`, id, tool),
		deltas: []string{fmt.Sprintf(`{"type":"input_json_delta","partial_json":%q}`, input)}, call: true,
	}
}

var claudeOrders = map[string][]replyBlock{
	"read both files": {
		textBlock("Reading both files."),
		callBlock("toolu_01read_a", "Read", `{"file_path":"/CWD/a.txt"}`), callBlock("toolu_01read_b", "Read", `{"file_path":"/CWD/b.txt"}`),
	},
	"run the program": {callBlock("toolu_01run", "Bash", `{"command":"echo output of the program","description":"Run it"}`)},
}

var promptWords = regexp.MustCompile(`prompt (\d+): ([a-z ]+)`)

func (s *standIn) answer(req *apiRequest) []replyBlock {
	n := len(req.Messages)
	if n == 0 || len(req.Tools) == 0 {
		return []replyBlock{textBlock("A title")}
	}
	all := promptWords.FindAllSubmatch(bytes.Join(contentsOf(req), []byte("\n")), -1)
	if all == nil {
		return []replyBlock{textBlock("reply without a prompt")}
	}
	prompt := all[len(all)-1]
	if calls := claudeOrders[string(prompt[2])]; calls != nil && !bytes.Contains(req.Messages[n-1].Content, []byte(`"tool_result"`)) {
		if req.Thinking.Type == "enabled" || req.Thinking.Type == "adaptive" {
			think := replyBlock{start: `{"type":"thinking","thinking":"","signature":""}`, deltas: []string{`{"type":"thinking_delta","thinking":"Let me see."}`, `{"type":"signature_delta","signature":"c2lnbmF0dXJl"}`}}
			calls = append([]replyBlock{think}, calls...)
		}
		return calls
	}
	return []replyBlock{textBlock(fmt.Sprintf("reply %s: done", prompt[1]))}
}

func contentsOf(req *apiRequest) [][]byte {
	var all [][]byte
	for _, m := range req.Messages {
		all = append(all, m.Content)
	}
	return all
}

type claudeCode struct {
	version string
	argv    []string
	desert  *desert
}

func newClaudeCode(dir string, d *desert) (*claudeCode, error) {
	c := &claudeCode{version: strings.TrimPrefix(filepath.Base(dir), "claude-code@"), desert: d}
	at := filepath.Join(dir, "node_modules", "@anthropic-ai")
	programs, _ := filepath.Glob(filepath.Join(at, "claude-code-linux-*", "claude"))
	script := filepath.Join(at, "claude-code", "cli.js")
	if len(programs) > 0 {
		c.argv = programs[:1]
	} else if _, err := os.Stat(script); err == nil {
		c.argv = []string{"node", script}
	} else {
		return nil, err
	}
	// The default model differs between versions.
	c.argv = append(c.argv, "--model", "claude-sonnet-4-5")
	return c, nil
}

func clientsFolder() string {
	if dir := os.Getenv("PARE_CLIENTS"); dir != "" {
		return dir
	}
	return filepath.Join(os.Getenv("HOME"), ".cache", "pare-clients")
}

type seat struct {
	home, cwd string
}

func newSeat(t *testing.T) seat {
	dir := t.TempDir()
	s := seat{filepath.Join(dir, "home"), filepath.Join(dir, "work")}
	for _, d := range []string{s.home, s.cwd} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (c *claudeCode) run(api *standIn, s seat, prompt string, args ...string) (out string, err error) {
	argv := append(append(append([]string{}, c.argv...), args...), "-p", prompt)
	cmd := exec.CommandContext(c.desert.until, argv[0], argv[1:]...)
	cmd.Dir = s.cwd
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.home, "TMPDIR=" + s.home, "LANG=C.UTF-8", "SHELL=/bin/sh",
		"ANTHROPIC_BASE_URL=" + api.url, "ANTHROPIC_API_KEY=sk-ant-none", "CLAUDE_CODE_MAX_RETRIES=0", "API_TIMEOUT_MS=600000",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1", "DISABLE_AUTOUPDATER=1",
		"DISABLE_BUG_COMMAND=1", "DISABLE_NON_ESSENTIAL_MODEL_CALLS=1", "DO_NOT_TRACK=1",
	}
	var buf bytes.Buffer
	cmd.Stdout, cmd.Stderr = &buf, &buf
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	c.desert.in(func() { err = cmd.Start() })
	if err == nil {
		err = cmd.Wait()
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the rest of its process group
	}
	return buf.String(), err
}

type held struct {
	id    string
	cwd   string
	lines [][]byte
}

var claudePrompts = []string{"hello", "read both files", "run the program", "well done"}

func (c *claudeCode) hold(t *testing.T) held {
	s := newSeat(t)
	for name, text := range map[string]string{"a.txt": "contents alpha\n", "b.txt": "contents beta\n"} {
		if err := os.WriteFile(filepath.Join(s.cwd, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	api := newStandIn(t, c.desert)
	api.cwd = s.cwd
	var file string
	for i, p := range claudePrompts {
		args := []string{"--allowedTools", "Read,Bash(echo:*)"}
		if file != "" {
			args = append(args, "--resume", sessionID(file))
		}
		out, err := c.run(api, s, fmt.Sprintf("prompt %d: %s", i+1, p), args...)
		if err != nil || !strings.Contains(out, fmt.Sprintf("reply %d: done", i+1)) {
			t.Fatalf("claude %s does not talk to the stand-in: %v\n%s", c.version, err, out)
		}
		file = s.newest(t)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return held{sessionID(file), s.cwd, slices.Collect(bytes.Lines(raw))}
}

func sessionID(file string) string { return strings.TrimSuffix(filepath.Base(file), ".jsonl") }

func (s seat) newest(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.home, ".claude", "projects", "*", "????????-????-*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no session file in %s: %v", s.home, err)
	}
	newest, at := "", time.Time{}
	for _, f := range files {
		if st, err := os.Stat(f); err == nil && !st.ModTime().Before(at) {
			newest, at = f, st.ModTime()
		}
	}
	return newest
}

func (c *claudeCode) resume(t *testing.T, s held, raw []byte) resumed {
	seat := seat{home: t.TempDir(), cwd: s.cwd}
	// The folder of a project is its path with dashes for all other characters than letters and
	// digits.
	project := filepath.Join(seat.home, ".claude", "projects", regexp.MustCompile(`[^a-zA-Z0-9]`).ReplaceAllString(s.cwd, "-"))
	if err := os.MkdirAll(project, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(project, s.id+".jsonl"), raw, 0o644); err != nil {
		t.Fatal(err)
	}
	api := newStandIn(t, c.desert)
	out, err := c.run(api, seat, "prompt 9: go on", "--resume", s.id)
	api.mu.Lock()
	defer api.mu.Unlock()
	r := resumed{out: out, err: err, others: api.others, sent: len(api.asked) > 0}
	if r.sent {
		r.asked = api.asked[len(api.asked)-1]
	}
	if r.file, err = os.ReadFile(seat.newest(t)); err != nil {
		t.Fatal(err)
	}
	return r
}

type resumed struct {
	asked
	sent   bool
	out    string
	err    error
	others []string
	file   []byte
}

func (r *resumed) verdict(texts []string) string {
	switch {
	case !r.sent:
		return "sends nothing"
	case r.asked.err != nil:
		return "refused: " + r.asked.err.Error()
	case len(r.found) > 0:
		return "refused: " + r.found[0].Rule
	}
	if n := len(lacking(texts, textsSent(r.body))); n > 0 {
		return fmt.Sprintf("forgets %d of %d", n, len(texts))
	}
	if bytes.Contains(r.body, []byte(ownStub)) {
		return "clean, with a stub of its own"
	}
	return "clean"
}

const ownStub = "[Tool result missing"

func lacking(want, got []string) (out []string) {
	for _, w := range want {
		if !slices.Contains(got, w) {
			out = append(out, w)
		}
	}
	return out
}

type wound struct {
	name  string
	brief bool
	hit   func(t *testing.T, s held) [][]byte
}

func (s held) line(t *testing.T, words ...string) int {
	t.Helper()
	at := -1
	for i, l := range s.lines {
		if !bytes.HasPrefix(l, []byte(`{"parentUuid"`)) {
			continue
		}
		all := true
		for _, w := range words {
			all = all && bytes.Contains(l, []byte(w))
		}
		if all {
			if at >= 0 {
				t.Fatalf("%q is in lines %d and %d", words, at+1, i+1)
			}
			at = i
		}
	}
	if at < 0 {
		t.Fatalf("no line has %q", words)
	}
	return at
}

func (s held) call(t *testing.T, id string) int {
	return s.line(t, `"type":"tool_use","id":"`+id+`"`)
}
func (s held) result(t *testing.T, id string) int { return s.line(t, `"tool_use_id":"`+id+`"`) }

func (s held) without(gone ...int) [][]byte {
	var out [][]byte
	for i, l := range s.lines {
		if !slices.Contains(gone, i) {
			out = append(out, l)
		}
	}
	return out
}

var wounds = []wound{
	{"none", false, func(t *testing.T, s held) [][]byte { return s.lines }},
	{"result lost", false, func(t *testing.T, s held) [][]byte { return s.without(s.result(t, "toolu_01run")) }},
	{"one of two results lost", false, func(t *testing.T, s held) [][]byte { return s.without(s.result(t, "toolu_01read_a")) }},
	{"the other of two results lost", false, func(t *testing.T, s held) [][]byte { return s.without(s.result(t, "toolu_01read_b")) }},
	{"both results lost", false, func(t *testing.T, s held) [][]byte {
		return s.without(s.result(t, "toolu_01read_a"), s.result(t, "toolu_01read_b"))
	}},
	{"call lost", true, func(t *testing.T, s held) [][]byte { return s.without(s.call(t, "toolu_01run")) }},
	{"one of two calls lost", false, func(t *testing.T, s held) [][]byte { return s.without(s.call(t, "toolu_01read_b")) }},
	{"prompt lost", false, func(t *testing.T, s held) [][]byte { return s.without(s.line(t, `"prompt 3: `)) }},
	{"killed during a call", true, func(t *testing.T, s held) [][]byte { return s.lines[:s.call(t, "toolu_01run")+1] }},
	{"last line breaks off", false, func(t *testing.T, s held) [][]byte {
		i := s.result(t, "toolu_01run")
		return append(s.lines[:i:i], s.lines[i][:len(s.lines[i])/2])
	}},
	{"line twice", false, func(t *testing.T, s held) [][]byte {
		i := s.result(t, "toolu_01run")
		return slices.Insert(slices.Clone(s.lines), i, s.lines[i])
	}},
	{"result twice", true, func(t *testing.T, s held) [][]byte {
		i := s.result(t, "toolu_01run")
		old, again := uuidOf(s.lines[i]), "11111111-2222-4333-8444-555555555555"
		out := slices.Clone(s.lines)
		for j := range out {
			out[j] = bytes.Replace(out[j], []byte(`{"parentUuid":"`+old), []byte(`{"parentUuid":"`+again), 1)
		}
		double := bytes.Replace(s.lines[i], []byte(`"uuid":"`+old), []byte(`"uuid":"`+again), 1)
		double = bytes.Replace(double, parentOf(double), []byte(`{"parentUuid":"`+old+`"`), 1)
		return slices.Insert(out, i+1, double)
	}},
	{"prompt between call and result", false, func(t *testing.T, s held) [][]byte {
		i, call := s.result(t, "toolu_01run"), s.call(t, "toolu_01run")
		uuid := "11111111-2222-4333-8444-666666666666"
		p := s.lines[s.line(t, `"prompt 3: `)]
		p = bytes.Replace(p, []byte(`"uuid":"`+uuidOf(p)), []byte(`"uuid":"`+uuid), 1)
		p = bytes.Replace(p, parentOf(p), []byte(`{"parentUuid":"`+uuidOf(s.lines[call])+`"`), 1)
		p = bytes.Replace(p, []byte("prompt 3: run the program"), []byte("prompt 8: hurry up"), 1)
		out := slices.Clone(s.lines)
		out[i] = bytes.Replace(out[i], parentOf(out[i]), []byte(`{"parentUuid":"`+uuid+`"`), 1)
		return slices.Insert(out, i, p)
	}},
	{"two objects on one line", true, func(t *testing.T, s held) [][]byte {
		out := slices.Clone(s.lines)
		i := s.result(t, "toolu_01run")
		out[i] = bytes.TrimSuffix(out[i], []byte("\n"))
		return out
	}},
	{"killed, and gone on without the calls", false, func(t *testing.T, s held) [][]byte {
		text := s.line(t, "Reading both files")
		out := append(slices.Clone(s.lines[:s.call(t, "toolu_01read_b")+1]), s.prompt8(t, uuidOf(s.lines[text]), ""))
		return out
	}},
	{"a line of another session", false, func(t *testing.T, s held) [][]byte {
		return append(slices.Clone(s.lines), bytes.Replace(s.prompt8(t, "99999999-2222-4333-8444-555555555555", "77777777-2222-4333-8444-555555555555"), []byte("prompt 8: "), []byte("elsewhere: "), 1))
	}},
	{"object behind a fragment", false, func(t *testing.T, s held) [][]byte {
		out := slices.Clone(s.lines)
		i := s.result(t, "toolu_01run")
		out[i] = out[i][:len(out[i])/2]
		return out
	}},
}

func (s held) prompt8(t *testing.T, parent, session string) []byte {
	t.Helper()
	p := s.lines[s.line(t, `"prompt 3: `)]
	p = bytes.Replace(p, []byte(`"uuid":"`+uuidOf(p)), []byte(`"uuid":"11111111-2222-4333-8444-777777777777`), 1)
	p = bytes.Replace(p, parentOf(p), []byte(`{"parentUuid":"`+parent+`"`), 1)
	p = bytes.Replace(p, []byte("prompt 3: run the program"), []byte("prompt 8: hurry up"), 1)
	p = regexp.MustCompile(`"timestamp":"[^"]*"`).ReplaceAll(p, []byte(`"timestamp":"`+time.Now().Add(time.Minute).UTC().Format("2006-01-02T15:04:05.000Z")+`"`))
	if session != "" {
		p = regexp.MustCompile(`"sessionId":"[^"]*"`).ReplaceAll(p, []byte(`"sessionId":"`+session+`"`))
	}
	return p
}

func uuidOf(line []byte) string {
	var e struct{ UUID string }
	_ = json.Unmarshal(line, &e)
	return e.UUID
}

var parentMember = regexp.MustCompile(`^\{"parentUuid":("[^"]*"|null)`)

func parentOf(line []byte) []byte { return parentMember.Find(line) }

var textMarks = []string{
	"prompt 1: ", "reply 1: ", "prompt 2: ", "Reading both files", "contents alpha", "contents beta", "reply 2: ",
	"prompt 3: ", "output of the program", "reply 3: ", "prompt 4: ", "reply 4: ", "prompt 8: ",
}

func textsHeld(raw []byte) (all []string) {
	var found []byte
	for at := range raw {
		if !bytes.HasPrefix(raw[at:], []byte(`{"parentUuid"`)) {
			continue
		}
		var e struct {
			Message struct{ Content json.RawMessage }
		}
		if json.NewDecoder(bytes.NewReader(raw[at:])).Decode(&e) == nil {
			found = append(found, outputs(e.Message.Content)...)
		}
	}
	return marksIn(found)
}

func outputs(content json.RawMessage) []byte {
	var blocks []struct {
		Type          string
		Text, Content json.RawMessage
	}
	if json.Unmarshal(content, &blocks) != nil {
		return content
	}
	var out []byte
	for _, b := range blocks {
		out = append(append(out, b.Text...), b.Content...)
	}
	return out
}

func marksIn(text []byte) (all []string) {
	for _, m := range textMarks {
		if bytes.Contains(text, []byte(m)) {
			all = append(all, m)
		}
	}
	return all
}

func textsSent(body []byte) []string {
	var req apiRequest
	_ = json.Unmarshal(body, &req)
	var found []byte
	for _, c := range contentsOf(&req) {
		found = append(found, outputs(c)...)
	}
	return marksIn(found)
}

func TestClaudeClient(t *testing.T) {
	full := os.Getenv("PARE_CLIENTS_TEST") == "1"
	dirs, _ := filepath.Glob(filepath.Join(clientsFolder(), "claude-code@*"))
	switch {
	case len(dirs) == 0 && full:
		t.Fatalf("there is no Claude Code in %s; run scripts/client.sh", clientsFolder())
	case len(dirs) == 0:
		t.Skip("NOT TESTED with the real Claude Code, which is not installed; to do it: scripts/client.sh && PARE_CLIENTS_TEST=1 go test ./cmd/pare -run TestClaudeClient -v")
	case !full && (testing.Short() || trial.Race):
		t.Skip("takes a while; PARE_CLIENTS_TEST=1 runs all of it")
	}
	slices.SortFunc(dirs, func(a, b string) int { return -compareVersions(a, b) })
	if !full {
		dirs = dirs[:1]
	}
	d := newDesert(t)
	if !d.closed {
		t.Log("no right to a network of its own: only environment variables keep the client from looking outside")
	}
	for _, dir := range dirs {
		c, err := newClaudeCode(dir, d)
		if err != nil {
			t.Fatal(err)
		}
		s := c.hold(t)
		t.Run(c.version, func(t *testing.T) { c.test(t, s, full) })
		t.Run(c.version+" shortened", func(t *testing.T) { c.testShortened(t, s, full) })
	}
}

func compareVersions(a, b string) int {
	number := func(name string) (n [3]int) {
		fmt.Sscanf(name[strings.LastIndexByte(name, '@')+1:], "%d.%d.%d", &n[0], &n[1], &n[2])
		return n
	}
	x, y := number(a), number(b)
	return slices.Compare(x[:], y[:])
}

func (c *claudeCode) test(t *testing.T, s held, full bool) {
	rows := make([]string, len(wounds))
	t.Run("resume", func(t *testing.T) { // returns after all parallel subtests
		for i, w := range wounds {
			if !full && !w.brief {
				continue
			}
			t.Run(w.name, func(t *testing.T) {
				t.Parallel()
				rows[i] = c.testWound(t, s, w, full)
			})
		}
	})
	rows = slices.DeleteFunc(rows, func(r string) bool { return r == "" })
	head := "| damage | findings | repaired |"
	if full {
		head = "| damage | findings | broken | repaired | repaired, append only |"
	}
	t.Logf("Claude Code %s\n%s\n%s", c.version, head, strings.Join(rows, "\n"))
}

func (c *claudeCode) testWound(t *testing.T, s held, w wound, full bool) (row string) {
	raw := bytes.Join(w.hit(t, s), nil)
	said := textsHeld(raw)
	findings := sessionRules(t, raw)
	if (w.name == "none") != (len(findings) == 0) {
		t.Errorf("findings: %q", findings)
	}
	row = fmt.Sprintf("| %s | %s |", w.name, strings.Join(findings, ", "))
	ways := []agentlog.Options{{}}
	if full {
		broken := c.resume(t, s, raw)
		row += " " + broken.verdict(said) + " |"
		ways = append(ways, agentlog.Options{AppendOnly: true})
	}
	for _, o := range ways {
		fixed := repairSession(t, raw, o)
		r := c.resume(t, s, fixed)
		row += " " + r.verdict(said) + " |"
		switch {
		case !r.sent || r.err != nil || !strings.Contains(r.out, "reply 9: done"):
			t.Errorf("append only %v: the client fails on the repaired file: %v: %s", o.AppendOnly, r.err, r.out)
		case r.asked.err != nil || len(r.found) > 0:
			t.Errorf("append only %v: the repaired session is refused: %v %v", o.AppendOnly, r.asked.err, r.found)
		}
		// New versions continue where the last line of type last-prompt points, so they ignore a
		// branch after it.
		if lost := lacking(said, textsSent(r.body)); len(lost) > 0 && !o.AppendOnly {
			t.Errorf("the repaired session has lost %q", lost)
		}
		if len(r.others) > 0 {
			t.Logf("it also asked for %q", r.others)
		}
		if more := lacking(sessionRules(t, r.file), sessionRules(t, fixed)); len(more) > 0 {
			t.Logf("append only %v: after the resume the file also has %q", o.AppendOnly, more)
		}
	}
	return row
}

func sessionRules(t *testing.T, raw []byte) (rules []string) {
	t.Helper()
	l, err := agentlog.Read("session.jsonl", raw, agentlog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, finding := range l.Check(wire.CheckOptions{}) {
		rules = append(rules, finding.Rule)
	}
	return rules
}

func repairSession(t *testing.T, raw []byte, o agentlog.Options) []byte {
	t.Helper()
	l, err := agentlog.Read("session.jsonl", raw, o)
	if err != nil {
		t.Fatal(err)
	}
	fixed, err := l.Fix(o)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "session.jsonl")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"fix", "--in-place", "--force", path}
	if o.AppendOnly {
		args = append(args, "--append-only")
	}
	if status, _, errs := program(strings.NewReader(""), args...); status > statusFindings {
		t.Fatalf("status %d: %s", status, errs)
	}
	repaired, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(repaired, fixed.Raw) {
		t.Fatalf("pare fix and the library differ: %v, %d and %d bytes", err, len(repaired), len(fixed.Raw))
	}
	return repaired
}
