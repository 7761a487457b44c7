//go:build unix

package main

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

func TestSecondSignalCutsRequestsOff(t *testing.T) {
	pare := programPath(t)
	for _, args := range []string{
		"serve --listen 127.0.0.1:0 --no-store --grace 1h --upstream anthropic=http://127.0.0.1:1",
		"mock --listen 127.0.0.1:0",
	} {
		for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
			cmd := exec.Command(pare, strings.Fields(args)...)
			cmd.Dir = t.TempDir()
			cmd.Env = append(os.Environ(), "HOME="+cmd.Dir)
			stderr, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer cmd.Process.Kill()
			lines := bufio.NewReader(stderr)
			first, _ := lines.ReadString('\n')
			_, address, ok := strings.Cut(strings.TrimSpace(first), "http://")
			if !ok {
				t.Fatalf("%s: the first line is %q", args, first)
			}
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			// The server asks for the body, so the request is being served.
			io.WriteString(conn, "POST /v1/messages HTTP/1.1\r\nHost: "+address+"\r\nContent-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n")
			reply := bufio.NewReader(conn)
			if line, err := reply.ReadString('\n'); !strings.Contains(line, " 100 ") {
				t.Fatalf("%s: %q %v", args, line, err)
			}
			reply.ReadString('\n')
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			for { // until the first signal has been handled
				c, err := net.Dial("tcp", address)
				if err != nil {
					break
				}
				c.Close()
			}
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if rest, _ := io.ReadAll(reply); len(rest) > 0 {
				t.Errorf("%s: the request is answered: %q", args, rest)
			}
			said, _ := io.ReadAll(lines)
			if err := cmd.Wait(); err != nil {
				t.Errorf("%s: it ends with %v", args, err)
			}
			if got, want := string(said), "pare: a second signal: requests under way are cut off\n"; !strings.HasSuffix(got, want) {
				t.Errorf("%s: it says %q, want %q at the end", args, got, want)
			}
		}
	}
}

func TestPortAloneMeansLoopback(t *testing.T) {
	for given, want := range map[string]string{
		"8811": "127.0.0.1:8811", "0": "127.0.0.1:0", ":8811": ":8811", "localhost:1": "localhost:1", "70000": "70000", "": "", "x": "x",
	} {
		if got := normalizeAddress(given); got != want {
			t.Errorf("%q is taken for %q, want %q", given, got, want)
		}
	}
}
