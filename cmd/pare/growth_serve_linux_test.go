package main

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pare-llm/pare/paretest"
)

// serve measures a server that gets two requests of one conversation, the second one longer by
// two units.
func (b growthBench) serve(t *testing.T, c growthCommand, s growthShape, units int) growthCost {
	t.Helper()
	upstream := httptest.NewServer(&paretest.Mock{})
	defer upstream.Close()
	os.RemoveAll(filepath.Join(b.dir, "output.db"))
	args := strings.Fields(strings.ReplaceAll(c.args, "OUT", filepath.Join(b.dir, "output")))
	args = append(args, "--listen", "127.0.0.1:0", "--upstream", "anthropic="+upstream.URL, "--upstream", "openai="+upstream.URL)
	if !strings.Contains(c.args, "--store") {
		args = append(args, "--no-store")
	}
	cmd := b.command(args...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	forgetOwnPeak(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stderr)
	first, err := lines.ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(first), "pare: listening on ")
	if !ok {
		rest, _ := io.ReadAll(lines)
		cmd.Process.Kill()
		cmd.Wait()
		t.Fatalf("%s: the first line is %q: %v\n%s", c, first, err, rest)
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		io.Copy(io.Discard, lines)
	}()
	for _, n := range []int{units, units + 2} {
		response, err := http.Post(url+s.path, "application/json", bytes.NewReader(s.build(n)))
		if err != nil {
			t.Fatalf("%s on %s: %v", c, s.name, err)
		}
		io.Copy(io.Discard, response.Body)
		response.Body.Close()
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-drained
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%s on %s: %v", c, s.name, err)
	}
	return costOf(cmd)
}
