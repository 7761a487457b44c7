package proxy_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/proxy"
)

// TestBodiesThatComeInPieces: a body is looked at while it comes, and what is done to it is
// what is done to one that comes at once.
func TestBodiesThatComeInPieces(t *testing.T) {
	clean := long(300)
	broken := strings.Replace(clean, `"tool_use_id":"`, `"tool_use_id":"lost_`, 1)
	cut := clean[:len(clean)-2] + "!!"
	for name, c := range map[string]struct{ body, skipped string }{"clean": {clean, ""}, "broken": {broken, ""}, "invalid": {cut, "invalid-json"}} {
		u := newUpstream(t, nil)
		f := front(t, u)
		var want []byte
		var header http.Header
		for i, size := range []int{len(c.body), 20_000, 64} {
			status, head := dribble(t, f.Listener.Addr().String(), c.body, size)
			got := u.last(t).body
			if i == 0 {
				want, header = got, head
			}
			if status != http.StatusOK || !bytes.Equal(got, want) || head.Get("Pare-Changes") != header.Get("Pare-Changes") || head.Get("Pare-Skipped") != c.skipped {
				t.Errorf("%s in pieces of %d: %d, %v, %d bytes of %d went on", name, size, status, head, len(got), len(want))
			}
		}
		if same := string(want) == c.body; same != (name != "broken") {
			t.Errorf("%s: went on as it came: %v", name, same)
		}
	}
}

// dribble sends a body in pieces of a size.
func dribble(t *testing.T, to, body string, size int) (int, http.Header) {
	t.Helper()
	c, err := net.Dial("tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", len(body))
	for ; body != ""; body = body[min(size, len(body)):] {
		if _, err := io.WriteString(c, body[:min(size, len(body))]); err != nil {
			t.Fatal(err)
		}
	}
	return replied(t, c)
}

// replied reads the reply on a connection.
func replied(t *testing.T, c net.Conn) (int, http.Header) {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, resp.Header
}

// TestABodyThatEndsTooEarly was looked at in vain, and is not sent.
func TestABodyThatEndsTooEarly(t *testing.T) {
	u := newUpstream(t, nil)
	f := front(t, u)
	body := long(300)
	c, err := net.Dial("tcp", f.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body[:len(body)-1])
	c.(*net.TCPConn).CloseWrite()
	if status, _ := replied(t, c); status != http.StatusBadRequest || len(u.all()) != 0 {
		t.Error(status, len(u.all()))
	}
}

// TestALargeBodyThatBecomesSmall: the head of a request waits for a body only if one follows
// that is written by itself.
func TestALargeBodyThatBecomesSmall(t *testing.T) {
	u := newUpstream(t, nil)
	f := front(t, u, func(c *proxy.Config) {
		c.Policy = &pare.Policy{Window: &pare.Window{Tokens: 2000}}
	})
	body := long(300)
	for range 2 { // over the same connection
		resp, _ := post(t, f.URL+"/v1/messages", body)
		if n := len(u.last(t).body); resp.StatusCode != http.StatusOK || n == 0 || n > 32<<10 || len(body) <= 64<<10 {
			t.Errorf("%s: %d bytes became %d", resp.Status, len(body), n)
		}
	}
}
