package main

import (
	"bytes"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
	"github.com/pare-llm/pare/paretest"
)

var updateMatrix = flag.Bool("update-matrix", false, "write the table of docs/failures.md")

// A failing is a part that does not work: how the command line is changed by it, and what is done to
// the folder that a cell has for itself. Its end is that all is as it was.
type failing struct {
	name  string
	model func(http.ResponseWriter, *http.Request) // that writes summaries; nil: a good one
	conf  string                                   // behind the configuration
	shell string                                   // in front of the command
	harm  func(t *testing.T, dir string)           // nil: nothing
	cure  func(t *testing.T, dir string)
}

// matrixConf is the configuration of every cell.
const matrixConf = `[compact]
endpoint = "MODEL"
model = "small"
timeout = "400ms"
max_summary = 400
[archive]
file = "ARCHIVE"
`

// matrixBody is a history with an open call, larger than the window that the cells ask for.
func matrixBody() string {
	var b strings.Builder
	b.WriteString(`{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[{"role":"user","content":"the task"}`)
	for i := range 40 {
		fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_%d","name":"read","input":{"path":"f%d.go","limit":"all"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":"package f%d %s"}]}`, i, i, i, i, strings.Repeat("words of it ", 30))
	}
	return b.String() + `,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_x","name":"read","input":{"path":"x.go"}}]}]}`
}

// matrixFailings are the rows of the table.
func matrixFailings(never chan struct{}) []failing {
	garbage := func(t *testing.T, dir string) {
		for _, name := range []string{"pare.db", "pare.db-wal", "pare.db-shm"} {
			if err := os.Rename(filepath.Join(dir, name), filepath.Join(dir, name+".kept")); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "pare.db"), []byte(strings.Repeat("this is no database\n", 1000)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	restored := func(t *testing.T, dir string) {
		for _, name := range []string{"pare.db", "pare.db-wal", "pare.db-shm"} {
			os.Remove(filepath.Join(dir, name))
			if err := os.Rename(filepath.Join(dir, name+".kept"), filepath.Join(dir, name)); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		}
	}
	return []failing{
		{name: "the file of the store is no database", harm: garbage, cure: restored},
		{name: "the disk is full", shell: "ulimit -f 0 && "},
		{name: "the summarizer answers 500", model: func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "overloaded", http.StatusInternalServerError)
		}},
		{name: "the summarizer never answers", model: func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-never:
			case <-r.Context().Done():
			}
		}},
		{name: "the summarizer answers nonsense", model: func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>welcome</html>") }},
		{name: "the summarizer says nothing", model: func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":""}}]}`)
		}},
		{name: "a rule fails", conf: "[[expression]]\nname = \"mine\"\nwhen = 'int(arg(\"limit\")) > 3'\naction = \"clear\"\n"},
		{name: "the archive cannot be written", conf: "archive=/dev/full"},
	}
}

// matrixCommands are the columns but the last, which is the proxy. Outputs are compared with those of
// a run in which nothing fails.
var matrixCommands = []struct{ name, args string }{
	{"fix", "fix --config pare.toml s.json"},
	{"prune", "prune --config pare.toml s.json"},
	{"trim", "trim --config pare.toml --max-tokens 2500 s.json"},
	{"trim --summarize", "trim --config pare.toml --summarize --max-tokens 2500 s.json"},
	{"compact", "compact --config pare.toml --min-keep 8 s.json"},
	{"session import", "session import --store pare.db --id new s.json"},
	{"session list", "session list --store pare.db"},
	{"session show", "session show --store pare.db talk"},
	{"session window", "session window --store pare.db --config pare.toml --max-tokens 2500 talk"},
	{"session compact", "session compact --store pare.db --config pare.toml --min-keep 8 talk"},
	{"session search", "session search --store pare.db package"},
	{"session export", "session export --store pare.db talk"},
}

// A matrixCell is a folder in which one command runs while one part fails.
type matrixCell struct {
	dir   string
	model *httptest.Server
	fails *failing // nil: nothing does any more
}

// newCell makes the folder, with a session in the store.
func newCell(t *testing.T, f *failing) *matrixCell {
	t.Helper()
	c := &matrixCell{dir: t.TempDir()}
	c.model = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if c.fails != nil && c.fails.model != nil {
			c.fails.model(w, r)
			return
		}
		io.WriteString(w, `{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"what the model wrote"}}]}`)
	}))
	t.Cleanup(c.model.Close)
	if err := os.WriteFile(filepath.Join(c.dir, "s.json"), []byte(matrixBody()), 0o600); err != nil {
		t.Fatal(err)
	}
	c.configure(t)
	if status, _, stderr := c.run(t, "session import --store pare.db --id talk s.json"); status != 0 {
		t.Fatal(stderr)
	}
	c.fails = f
	c.configure(t)
	if f != nil && f.harm != nil {
		f.harm(t, c.dir)
	}
	return c
}

func (c *matrixCell) configure(t *testing.T) {
	t.Helper()
	archive, more := "removed.jsonl", ""
	if c.fails != nil {
		if more = c.fails.conf; strings.HasPrefix(more, "archive=") {
			archive, more = strings.TrimPrefix(more, "archive="), ""
		}
	}
	conf := strings.NewReplacer("MODEL", c.model.URL, "ARCHIVE", archive).Replace(matrixConf) + more
	if err := os.WriteFile(filepath.Join(c.dir, "pare.toml"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
}

// mend ends what fails.
func (c *matrixCell) mend(t *testing.T) {
	f := c.fails
	c.fails = nil
	c.configure(t)
	if f.cure != nil {
		f.cure(t, c.dir)
	}
}

// command is a run of the program as it is now.
func (c *matrixCell) command(t *testing.T, args string) *exec.Cmd {
	shell := ""
	if c.fails != nil {
		shell = c.fails.shell
	}
	cmd := exec.CommandContext(t.Context(), "sh", append([]string{"-c", shell + `exec "$0" "$@"`, programPath(t)}, strings.Fields(args)...)...)
	cmd.Dir, cmd.Env = c.dir, append(os.Environ(), "HOME="+c.dir, "PARE_CONFIG=", "PARE_STORE=")
	return cmd
}

func (c *matrixCell) run(t *testing.T, args string) (status int, stdout, stderr string) {
	t.Helper()
	cmd := c.command(t, args)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// sameEverywhere leaves out of an output what differs from run to run: handles, times and numbers.
var sameEverywhere = regexp.MustCompile(`pare-[0-9a-z]+|[0-9]+`)

// cell says what a command does while a part fails, and wants it to work again afterwards, and to have
// harmed nothing.
func (f *failing) cell(t *testing.T, args, usual string) string {
	t.Helper()
	c := newCell(t, f)
	status, out, stderr := c.run(t, args)
	said := ""
	switch {
	case status > statusInvalid || strings.Contains(stderr, "goroutine "):
		t.Errorf("%s, %s: status %d: %s", f.name, args, status, stderr)
	case status != 0:
		said = "says so"
		if strings.TrimSpace(stderr) == "" || out != "" && strings.TrimSpace(out) != matrixBody() {
			t.Errorf("%s, %s: status %d, %d bytes of output: %q", f.name, args, status, len(out), stderr)
		}
	case sameEverywhere.ReplaceAllString(out, "") == usual:
		said = "as usual"
	default:
		said = "without it"
		if strings.TrimSpace(stderr) == "" {
			t.Errorf("%s, %s: the output is another one, and nobody says why:\n%.2000s", f.name, args, out)
		}
	}
	if raw, err := os.ReadFile(filepath.Join(c.dir, "s.json")); err != nil || string(raw) != matrixBody() {
		t.Errorf("%s, %s: the input is not what it was: %v", f.name, args, err)
	}
	c.mend(t)
	status, out, stderr = c.run(t, args)
	again := strings.HasPrefix(args, "session import") && said == "as usual" // the session is there
	if got := sameEverywhere.ReplaceAllString(out, ""); status != 0 || got != usual && !again && !strings.HasPrefix(args, "session compact") {
		t.Errorf("%s, %s: afterwards status %d: %s\n%.1000s\nusually\n%.1000s", f.name, args, status, stderr, got, usual)
	}
	return said
}

// proxied says what the proxy does while a part fails: requests are answered all the time, and
// afterwards.
func (f *failing) proxied(t *testing.T) string {
	t.Helper()
	mock := httptest.NewServer(&paretest.Mock{})
	defer mock.Close()
	c := newCell(t, nil)
	serving := func() (url string, end func()) {
		cmd := c.command(t, "serve --listen 127.0.0.1:0 --remember --store pare.db --config pare.toml --upstream anthropic="+mock.URL)
		out, err := cmd.StderrPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		buf := make([]byte, 4096)
		for url == "" {
			n, err := out.Read(buf)
			said.Write(buf[:n])
			if m := regexp.MustCompile(`listening on (\S+)\n`).FindSubmatch(said.Bytes()); m != nil {
				url = string(m[1])
			} else if err != nil {
				t.Fatalf("%s: it does not listen: %s", f.name, said.String())
			}
		}
		go io.Copy(io.Discard, out)
		return url, func() { cmd.Process.Signal(syscall.SIGTERM); cmd.Wait() }
	}
	ask := func(url, what string) (changes string) {
		t.Helper()
		body := strings.Replace(matrixBody(), "the task", "the task "+what, 1)
		resp, err := http.Post(url+"/v1/messages", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != 200 || resp.Header.Get("Pare-Changes") == "0" {
			t.Errorf("%s: the proxy answers %s %s %v", f.name, resp.Status, text, resp.Header)
		}
		return resp.Header.Get("Pare-Faults")
	}
	window := "[window]\ntokens = 2500\n"
	add := func() {
		path := filepath.Join(c.dir, "pare.toml")
		raw, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, append([]byte(window), raw...), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	// A store that is no database ends a server that starts; one that becomes so does not. What the shell
	// sets is there from the start, when the store has been made.
	c.fails = &failing{model: f.model, conf: f.conf, shell: f.shell}
	if f.shell != "" { // room for the file of the store as it is, and for as much beside it
		st, err := os.Stat(filepath.Join(c.dir, "pare.db"))
		if err != nil {
			t.Fatal(err)
		}
		c.fails.shell = fmt.Sprintf("ulimit -f %d && ", st.Size()/512+1)
	}
	c.configure(t)
	add()
	url, end := serving()
	if f.harm != nil {
		f.harm(t, c.dir)
	}
	said := "answers"
	for i := range 3 {
		if faults := ask(url, fmt.Sprint("of ", f.name, i)); faults != "" {
			said = "answers, and names it"
		}
	}
	for f.shell != "" && t.Context().Err() == nil { // until there is no room any more
		ask(url, noise(1000))
		resp, err := http.Get(url + "/pare/metrics")
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if dropped := regexp.MustCompile(`pare_conversation_drops_total [1-9]`); dropped.Match(text) {
			break
		}
	}
	c.fails.cure = f.cure
	c.mend(t)
	add()
	if f.shell == "" { // the same server goes on
		ask(url, "afterwards")
	}
	end()
	url, end = serving()
	defer end()
	ask(url, "in the end of "+f.name)
	for t.Context().Err() == nil { // it is kept behind the reply
		if _, out, _ := c.run(t, "session list --store pare.db"); strings.Contains(out, "the task in the end of "+f.name) {
			break
		}
	}
	return said
}

// noise is so many words that no packing makes shorter.
func noise(words int) string {
	var b strings.Builder
	for range words {
		b.WriteString(rand.Text() + " ")
	}
	return b.String()
}

// TestFailureMatrix lets each part fail, really, while each command runs and while requests pass
// through the proxy. Whatever is said meanwhile, the next run works once the part does, and nothing is
// lost. docs/failures.md has the table.
func TestFailureMatrix(t *testing.T) {
	trial.Long(t, "runs every command while every part fails")
	never := make(chan struct{})
	defer close(never)
	usual := make(map[string]string)
	for _, c := range matrixCommands {
		status, out, stderr := newCell(t, nil).run(t, c.args)
		if status != 0 {
			t.Fatalf("%s: status %d: %s", c.args, status, stderr)
		}
		usual[c.args] = sameEverywhere.ReplaceAllString(out, "")
	}
	rows := matrixFailings(never)
	var b strings.Builder
	b.WriteString("| |")
	for _, f := range rows {
		fmt.Fprintf(&b, " %s |", f.name)
	}
	fmt.Fprintf(&b, "\n| --- |%s\n", strings.Repeat(" --- |", len(rows)))
	for _, c := range matrixCommands {
		fmt.Fprintf(&b, "| `pare %s` |", c.name)
		for i := range rows {
			fmt.Fprintf(&b, " %s |", rows[i].cell(t, c.args, usual[c.args]))
		}
		b.WriteString("\n")
	}
	b.WriteString("| a request through `pare serve` |")
	for i := range rows {
		fmt.Fprintf(&b, " %s |", rows[i].proxied(t))
	}
	b.WriteString("\n")
	const page, begin, end = "../../docs/failures.md", "<!-- matrix -->\n", "<!-- end -->"
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(raw), begin)
	table, after, ok := strings.Cut(rest, end)
	if !ok {
		t.Fatal("no place for the table in " + page)
	}
	if *updateMatrix {
		if err := os.WriteFile(page, []byte(before+begin+b.String()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if table != b.String() {
		t.Errorf("the table of %s is another one; go test ./cmd/pare -run TestFailureMatrix -update-matrix writes it:\n%s", page, b.String())
	}
}
