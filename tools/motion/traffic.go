package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/pare-llm/pare/wire"
)

// A call is one request that a client sends through the proxy.
type call struct {
	path string
	body []byte
}

// paths are where the official clients send requests.
var paths = map[string]string{
	"anthropic": "/v1/messages", "openai-chat": "/v1/chat/completions", "openai-responses": "/v1/responses",
	"gemini": "/v1beta/models/gemini-2.5-pro:generateContent", "gemini-interactions": "/v1beta/interactions",
	"bedrock": "/model/anthropic.claude-sonnet-4-5/converse",
}

// upstreams are the names that pare serve --upstream accepts.
var upstreams = []string{"anthropic", "openai", "gemini", "bedrock"}

// traffic makes cases of requests through pare serve. It compares the requests that the vendor
// gets and the replies that the client gets. Every seventh request of a case is refused once
// as too long, so that retries are compared too.
func (c *collector) traffic(perCase int) {
	var calls []call
	flush := func() {
		if len(calls) > 0 {
			t := &testCase{input: fmt.Sprintf("traffic/%d", len(c.cases)), size: len(calls)}
			t.steps = []step{{label: "serve", args: []string{"serve", "--no-store", "--listen", "127.0.0.1:0"}, calls: calls}}
			c.cases = append(c.cases, t)
		}
		calls = nil
	}
	seen := map[string]bool{}
	for _, t := range c.cases {
		for name, data := range t.files {
			if !strings.HasPrefix(name, "in.json") || seen[t.input] {
				continue
			}
			seen[t.input] = true
			if path, ok := pathOf(data); ok {
				if calls = append(calls, call{path, data}); len(calls) == perCase {
					flush()
				}
			}
		}
	}
	flush()
}

// pathOf is where a client would send a body; none for a bare list, a batch or a body that
// is not JSON.
func pathOf(body []byte) (string, bool) {
	if trimmed := bytes.TrimSpace(body); len(trimmed) == 0 || trimmed[0] != '{' || !json.Valid(trimmed) {
		return "", false
	}
	found, err := wire.Detect(body)
	if err != nil {
		return "", false
	}
	path, ok := paths[found.Dialect.String()]
	return path, ok
}

// A recorder plays the vendors and records its requests.
type recorder struct {
	log   bytes.Buffer
	n     int
	again bool // the last one was refused
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	fmt.Fprintf(&r.log, "%s %s %d %v\n%s\n", req.Method, req.URL.Path, len(body), err, body)
	w.Header().Set("Content-Type", "application/json")
	if r.n++; r.n%7 == 0 && !r.again {
		r.again = true
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`)
		return
	}
	r.again = false
	io.WriteString(w, `{"id":"x","usage":{"input_tokens":1,"output_tokens":1}}`)
}

// runServe runs a server with both binaries' own flags, sends the calls one after the other
// and prints both sides.
func runServe(ctx context.Context, s step, dir, home, binary string) output {
	vendors := &recorder{}
	upstream := httptest.NewServer(vendors)
	defer upstream.Close()
	args := slices.Clone(s.args)
	for _, name := range upstreams {
		args = append(args, "--upstream", name+"="+upstream.URL)
	}
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, environment(home), time.Second
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return output{status: strings.ReplaceAll(err.Error(), binary, "the binary")}
	}
	lines := bufio.NewReader(stderr)
	first, _ := lines.ReadString('\n')
	go io.Copy(io.Discard, lines)
	address, ok := strings.CutPrefix(strings.TrimSpace(first), "pare: listening on ")
	if !ok {
		_ = cmd.Process.Kill()
		return output{status: "does not listen: " + first, stderr: fmt.Sprint(cmd.Wait())}
	}
	var client bytes.Buffer
	for _, c := range s.calls {
		send(ctx, &client, address, c)
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	err = cmd.Wait()
	out := output{stdout: client.String(), stderr: vendors.log.String(), status: "0"}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		out.status = fmt.Sprint(exit.ExitCode())
	}
	return out
}

// send sends one call and writes the reply without the parts that differ from run to run.
func send(ctx context.Context, to io.Writer, address string, c call) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address+c.path, bytes.NewReader(c.body))
	if err != nil {
		fmt.Fprintln(to, "cannot be sent")
		return
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Api-Key", "none")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		fmt.Fprintln(to, "failed")
		return
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Fprintf(to, "%d", resp.StatusCode)
	for _, name := range slices.Sorted(maps.Keys(resp.Header)) {
		if strings.HasPrefix(name, "Pare-") && name != "Pare-Receipt" {
			fmt.Fprintf(to, " %s=%s", name, strings.Join(resp.Header[name], ","))
		}
	}
	fmt.Fprintf(to, "\n%s\n", body)
}

// replays takes every file below dir as a session to replay, packed or not.
func (c *collector) replays(dir string) error {
	if _, err := os.Stat(dir); err != nil {
		fmt.Fprintf(os.Stderr, "motion: there is no %q; it is left out\n", dir)
		return nil
	}
	names, err := filepath.Glob(filepath.Join(dir, "*", "*.*"))
	if err != nil {
		return err
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		in := input{name: filepath.ToSlash(filepath.Join(filepath.Base(dir), filepath.Base(filepath.Dir(name)), filepath.Base(name))), file: filepath.Base(name), data: data}
		c.cases = append(c.cases, every(in, []command{"replay --json --max-tokens 80000 IN", "check --json IN", "count --json IN"})...)
	}
	return nil
}
