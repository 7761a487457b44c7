package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// TestServeContinuesWithoutDiskSpace limits the file size; requests must pass, and lost records
// must be counted.
func TestServeContinuesWithoutDiskSpace(t *testing.T) {
	pare, dir := programPath(t), t.TempDir()
	var answered atomic.Int64
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answered.Add(1)
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, "ok")
	}))
	defer upstream.Close()
	// Files are limited to 600 KB: room for an empty store but not for many receipts, and the log
	// is a file, too.
	logged := filepath.Join(dir, "log")
	cmd := exec.Command("sh", "-c", `ulimit -f 1200 && exec "$0" "$@" 2> log`, pare, "serve", "--listen", "127.0.0.1:0", "--log", "debug",
		"--store", filepath.Join(dir, "pare.db"), "--upstream", "anthropic="+upstream.URL)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	url := ""
	for url == "" {
		if t.Context().Err() != nil {
			t.Fatal("it does not listen")
		}
		text, _ := os.ReadFile(logged)
		if m := regexp.MustCompile(`pare: listening on (\S+)\n`).FindSubmatch(text); m != nil {
			url = string(m[1])
		}
		runtime.Gosched()
	}
	const requests = 60
	for i := range requests {
		resp, err := http.Post(url+"/v1/messages", "application/json", strings.NewReader(unanswered(i, 100)))
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK || string(body) != "ok" || resp.Header.Get("Pare-Changes") == "0" {
			t.Fatalf("request %d: %s %s %v", i, resp.Status, body, resp.Header)
		}
	}
	if answered.Load() != requests {
		t.Errorf("%d of %d requests arrived", answered.Load(), requests)
	}
	lost := 0
	for lost == 0 { // receipts are written after the requests
		if t.Context().Err() != nil {
			t.Fatal("nothing is counted")
		}
		resp, err := http.Get(url + "/pare/metrics")
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if m := regexp.MustCompile(`pare_unkept_total\{what="receipts"\} (\d+)`).FindSubmatch(text); m != nil {
			lost, _ = strconv.Atoi(string(m[1]))
		}
	}
	t.Logf("%d receipts of %d were not kept", lost, requests)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ends with %v", err)
	}
}

func unanswered(seed, calls int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[{"role":"user","content":"request %d"}`, seed)
	for i := range calls {
		fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_%d_%d","name":"ls","input":{}}]},{"role":"user","content":"and?"}`, seed, i)
	}
	return b.String() + `]}`
}
