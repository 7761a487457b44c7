package serve_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// tunnel opens a WebSocket through a server, to an upstream that echoes lines.
func tunnel(t *testing.T) (address string, c net.Conn, in *bufio.Reader, end func() error) {
	t.Helper()
	at, _, end := start(t, to(t, func(w http.ResponseWriter, r *http.Request) {
		c, in, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		defer c.Close()
		io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			io.WriteString(c, "echo "+line)
		}
	}))
	address = strings.TrimPrefix(at, "http://")
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	io.WriteString(c, "GET /v1/messages HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	in = bufio.NewReader(c)
	if resp, err := http.ReadResponse(in, nil); err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(resp, err)
	}
	return address, c, in, end
}

// TestDrainTunnels: a server that ends waits for a WebSocket as for any other request.
func TestDrainTunnels(t *testing.T) {
	at, c, in, end := tunnel(t)
	ended := make(chan error, 1)
	go func() { ended <- end() }()
	for { // until it has heard
		c, err := net.Dial("tcp", at)
		if err != nil {
			break
		}
		c.Close()
	}
	for range 1000 {
		io.WriteString(c, "frame\n")
		if line, err := in.ReadString('\n'); err != nil || line != "echo frame\n" {
			t.Fatal(line, err)
		}
		select {
		case err := <-ended:
			t.Fatal("it did not wait", err)
		default:
		}
	}
	c.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestOverHTTP: where histories are to be repaired, a WebSocket for them is refused with the status
// at which clients send requests; others are not.
func TestOverHTTP(t *testing.T) {
	o := to(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusTeapot) })
	o.OverHTTP = true
	at, _, end := start(t, o)
	defer end()
	for path, want := range map[string]int{"/v1/responses": http.StatusUpgradeRequired, "/v1/messages": http.StatusUpgradeRequired, "/v1/realtime": http.StatusTeapot} {
		r, err := http.NewRequest(http.MethodGet, at+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Connection", "Upgrade")
		r.Header.Set("Upgrade", "websocket")
		r.Header.Set("X-Api-Key", "k")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, resp.StatusCode, want)
		}
	}
}
