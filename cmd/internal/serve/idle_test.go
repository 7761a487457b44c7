package serve_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/pare-llm/pare/internal/trial"
)

// idleClient is the address that a process of this test holds connections to, in the place
// of testing: descriptors of both ends do not fit one process.
const idleClient = "PARE_TEST_IDLE_CLIENT"

// plainly is a request that nothing is done to, so that nothing is kept of it.
const plainly = `{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[{"role":"user","content":"hi"}]}`

// TestIdleClient is such a process: it opens connections, sends a request over each, and
// holds them until its standard input ends.
func TestIdleClient(t *testing.T) {
	address, n := "", 0
	if _, err := fmt.Sscan(os.Getenv(idleClient), &address, &n); err != nil {
		return // it is not one
	}
	all := make([]net.Conn, n)
	for i := range all {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(i, err)
		}
		all[i] = c
		fmt.Fprintf(c, "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(plainly), plainly)
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(i, err, resp)
		}
		io.Copy(io.Discard, resp.Body)
	}
	fmt.Println("idle")
	io.Copy(io.Discard, os.Stdin)
	for _, c := range all {
		c.Close()
	}
}

// TestIdleConnections: clients that keep their connections cost a goroutine and some memory
// each, keep nobody from being served, and leave nothing when they go.
func TestIdleConnections(t *testing.T) {
	n := 200
	if trial.Soak() {
		n = 10_000
	}
	at, _, _ := start(t, to(t, ok))
	send(t, "POST", at+"/v1/messages", plainly)
	http.DefaultClient.CloseIdleConnections()
	before, used := runtime.NumGoroutine(), inUse()
	cmd := exec.Command(os.Args[0], "-test.run=^TestIdleClient$", "-test.v")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", idleClient, strings.TrimPrefix(at, "http://"), n))
	hold, out := trial.OpenPipes(t, cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "idle" {
		if strings.Contains(lines.Text(), "FAIL") {
			t.Fatal(lines.Text())
		}
	}
	goroutines, memory := runtime.NumGoroutine()-before, inUse()-used
	t.Logf("%d idle connections: %d goroutines, %d bytes each", n, goroutines, memory/n)
	if goroutines < n/2 || goroutines > 2*n+50 {
		t.Errorf("%d goroutines for %d connections", goroutines, n)
	}
	if most := 64 << 10; memory > n*most+(16<<20) {
		t.Errorf("%d bytes for each connection, more than %d", memory/n, most)
	}
	if resp, _ := send(t, "POST", at+"/v1/messages", plainly); resp.StatusCode != http.StatusOK {
		t.Error(resp.Status)
	}
	hold.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	for runtime.NumGoroutine() > before+5 {
		if t.Context().Err() != nil {
			t.Fatal("goroutines are left")
		}
		http.DefaultClient.CloseIdleConnections()
		runtime.Gosched()
	}
}

// inUse is the memory of heap and stacks.
func inUse() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapInuse + m.StackInuse)
}
