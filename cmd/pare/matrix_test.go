package main

import (
	"bytes"
	"cmp"
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
	"testing"

	"github.com/pare-llm/pare/internal/trial"
)

var updateMatrix = flag.Bool("update-matrix", false, "write the table of docs/failures.md")

const matrixConf = `[compact]
endpoint = "MODEL"
model = "small"
timeout = "TIMEOUT"
max_summary = 400
[archive]
file = "ARCHIVE"
`

func matrixBody() string {
	var b strings.Builder
	b.WriteString(`{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[{"role":"user","content":"the task"}`)
	for i := range 40 {
		fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_%d","name":"read","input":{"path":"f%d.go","limit":"all"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":"package f%d %s"}]}`, i, i, i, i, strings.Repeat("words of it ", 30))
		if i%10 == 9 {
			b.WriteString(`,{"role":"assistant","content":"That is done."},{"role":"user","content":"Go on."}`)
		}
	}
	return b.String() + `,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_x","name":"read","input":{"path":"x.go"}}]}]}`
}

type matrixStore func(t *testing.T, dir string) (dsn string)

type matrixCell struct {
	dir, store string
	model      *httptest.Server
	fails      *failing
}

func newCell(t *testing.T, stores matrixStore, f *failing, q matrixCommand) *matrixCell {
	t.Helper()
	c := &matrixCell{dir: t.TempDir()}
	c.model = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if c.fails != nil && c.fails.model != nil {
			c.fails.model(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"what the model wrote"}}]}`)
	}))
	t.Cleanup(c.model.Close)
	c.write(t, "s.json", matrixBody())
	c.configure(t)
	if strings.Contains(q.args, "STORE") {
		c.store = stores(t, c.dir)
	}
	if q.before != "" {
		if r := c.run(t, q.before); r.status != 0 {
			t.Fatal(r.stderr)
		}
	}
	c.fails = f
	c.configure(t)
	if f != nil && f.harm != nil {
		f.harm(t, c.dir)
	}
	return c
}

func (c *matrixCell) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (c *matrixCell) configure(t *testing.T, first ...string) {
	t.Helper()
	file, more, timeout := "removed.jsonl", "", "1m"
	if c.fails != nil {
		file, more, timeout = cmp.Or(c.fails.archive, file), c.fails.conf, cmp.Or(c.fails.timeout, timeout)
	}
	conf := strings.Join(first, "") + strings.NewReplacer("MODEL", c.model.URL, "ARCHIVE", file, "TIMEOUT", timeout).Replace(matrixConf) + more
	c.write(t, "pare.toml", conf)
	c.write(t, "calls", fmt.Sprintf(`{"call":"compact","options":{"min_keep":8,"config":{"compact":{"endpoint":%q,"model":"small","timeout":%q,"max_summary":400}}},"body":%s}`+"\n", c.model.URL, timeout, matrixBody()))
}

func (c *matrixCell) repair(t *testing.T, first ...string) {
	f := c.fails
	c.fails = nil
	c.configure(t, first...)
	if f.cure != nil {
		f.cure(t, c.dir)
	}
}

func (c *matrixCell) command(t *testing.T, args string) *exec.Cmd {
	shell := ""
	if c.fails != nil {
		shell = c.fails.shell
	}
	cmd := exec.CommandContext(t.Context(), "sh", append([]string{"-c", shell + `exec "$0" "$@" < calls`, programPath(t)}, strings.Fields(strings.ReplaceAll(args, "STORE", c.store))...)...)
	cmd.Dir, cmd.Env = c.dir, append(os.Environ(), "HOME="+c.dir, "PARE_CONFIG=", "PARE_STORE=")
	return cmd
}

type matrixRun struct {
	status      int
	out, stderr string
}

var sameEverywhere = regexp.MustCompile(`pare-[0-9a-z]+|[0-9]+`)

func (c *matrixCell) run(t *testing.T, args string) (r matrixRun) {
	t.Helper()
	cmd := c.command(t, args)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return matrixRun{cmd.ProcessState.ExitCode(), sameEverywhere.ReplaceAllString(out.String(), ""), sameEverywhere.ReplaceAllString(errs.String(), "")}
}

func (f *failing) cell(t *testing.T, stores matrixStore, q matrixCommand, usual matrixRun) (said string) {
	t.Helper()
	c := newCell(t, stores, f, q)
	got := c.run(t, q.args)
	switch {
	case got.status > statusInvalid || strings.Contains(got.stderr, "goroutine "):
		t.Errorf("%s, %s: status %d: %s", f.name, q.args, got.status, got.stderr)
	case strings.HasPrefix(got.out, `{"error":`):
		said = "says so"
	case got.status != usual.status:
		said = "says so"
		if strings.TrimSpace(got.stderr) == "" || got.out != "" && strings.TrimSpace(got.out) != sameEverywhere.ReplaceAllString(matrixBody(), "") {
			t.Errorf("%s, %s: status %d, %d bytes of output: %q", f.name, q.args, got.status, len(got.out), got.stderr)
		}
	case got.out == usual.out && got.stderr == usual.stderr:
		said = "as usual"
	default:
		said = "without it"
		if strings.TrimSpace(got.stderr) == "" {
			t.Errorf("%s, %s: the output is another one, and nobody says why:\n%.2000s", f.name, q.args, got.out)
		}
	}
	if raw, err := os.ReadFile(filepath.Join(c.dir, "s.json")); err != nil || string(raw) != matrixBody() {
		t.Errorf("%s, %s: the input is not what it was: %v", f.name, q.args, err)
	}
	c.repair(t)
	if q.once && said != "says so" { // done already, and cannot be done twice
		if got = c.run(t, "session list --store STORE"); got.status != 0 {
			t.Errorf("%s, %s: afterwards status %d: %s", f.name, q.args, got.status, got.stderr)
		}
		return said
	}
	if got = c.run(t, q.args); got.status != usual.status || got.out != usual.out {
		t.Errorf("%s, %s: afterwards status %d: %s\n%.1000s\nusually\n%.1000s", f.name, q.args, got.status, got.stderr, got.out, usual.out)
	}
	return said
}

func TestFailureMatrix(t *testing.T) {
	trial.Long(t, "runs every command while every part fails")
	never := make(chan struct{})
	defer close(never)
	made := newCell(t, func(*testing.T, string) string { return "pare.db" }, nil, matrixCommand{args: "STORE", before: "session import --store STORE --id talk s.json"})
	raw, err := os.ReadFile(filepath.Join(made.dir, "pare.db"))
	if err != nil {
		t.Fatal(err)
	}
	stores := func(t *testing.T, dir string) string {
		if err := os.WriteFile(filepath.Join(dir, "pare.db"), raw, 0o600); err != nil {
			t.Fatal(err)
		}
		return "pare.db"
	}
	writeMatrix(t, "sqlite", matrixTable(t, stores, matrixFailings(never), matrixCommands))
}

func matrixTable(t *testing.T, stores matrixStore, columns []failing, rows []matrixCommand) string {
	t.Helper()
	cells := make([][]string, len(rows)+1) // the last row is the proxy
	t.Run("cells", func(t *testing.T) {
		for i := range cells {
			cells[i] = make([]string, len(columns))
			usual := matrixRun{}
			if i < len(rows) {
				usual = rows[i].usual(t, stores)
			}
			for j, f := range columns {
				t.Run(fmt.Sprint(i, " ", f.name), func(t *testing.T) {
					t.Parallel()
					if i < len(rows) {
						cells[i][j] = f.cell(t, stores, rows[i], usual)
					} else {
						cells[i][j] = f.proxied(t, stores)
					}
				})
			}
		}
	})
	var b strings.Builder
	b.WriteString("| |")
	for _, f := range columns {
		fmt.Fprintf(&b, " %s |", f.name)
	}
	fmt.Fprintf(&b, "\n| --- |%s\n", strings.Repeat(" --- |", len(columns)))
	for i, row := range cells {
		name := "a request through `pare serve`"
		if i < len(rows) {
			name = "`pare " + rows[i].name + "`"
		}
		fmt.Fprintf(&b, "| %s | %s |\n", name, strings.Join(row, " | "))
	}
	return b.String()
}

func (q matrixCommand) usual(t *testing.T, stores matrixStore) matrixRun {
	t.Helper()
	r := newCell(t, stores, nil, q).run(t, q.args)
	if r.status > statusFindings || r.out+r.stderr == "" || strings.HasPrefix(r.stderr, "nothing ") {
		t.Fatalf("%s: status %d: %s", q.args, r.status, r.stderr)
	}
	return r
}

func writeMatrix(t *testing.T, name, want string) {
	t.Helper()
	const page = "../../docs/failures.md"
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	begin := "<!-- matrix of " + name + " -->\n"
	before, rest, _ := strings.Cut(string(raw), begin)
	table, after, ok := strings.Cut(rest, "<!-- end -->")
	switch {
	case !ok:
		t.Fatal("no place for the table in " + page)
	case *updateMatrix && !t.Failed():
		if err := os.WriteFile(page, []byte(before+begin+want+"<!-- end -->"+after), 0o644); err != nil {
			t.Fatal(err)
		}
	case table != want:
		t.Errorf("the table of %s is another one; go test ./cmd/pare -run TestFailureMatrix -update-matrix writes it:\n%s", page, want)
	}
}
