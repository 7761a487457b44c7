package serve_test

import (
	"bufio"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/pare-llm/pare/cmd/internal/serve"
	"github.com/pare-llm/pare/proxy"
)

// lines hands out what is written to it.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// What an upstream sends unasked is quoted by the standard library, in the log of the process.
// It may be words of a conversation: the log says that it came, and nothing else.
func TestUnaskedBytesAreNotLogged(t *testing.T) {
	said := make(lines, 100)
	serve.Steady(func(string) string { return "" }, slog.New(slog.NewTextHandler(said, &slog.HandlerOptions{Level: slog.LevelDebug})))
	defer func() { log.SetOutput(os.Stderr); log.SetFlags(log.LstdFlags) }()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
					io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nthe words of a conversation")
					io.Copy(io.Discard, c)
				}
			}()
		}
	}()
	up := &url.URL{Scheme: "http", Host: l.Addr().String()}
	srv := httptest.NewServer(serve.New(serve.Options{Upstreams: map[string]proxy.Upstream{"openai": {URL: up, Private: true}}}))
	defer srv.Close()
	q, err := http.NewRequest("HEAD", srv.URL+"/u/openai/v1/models", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	for line := range said {
		if strings.Contains(line, "conversation") {
			t.Fatal(line)
		}
		if strings.Contains(line, "Unsolicited response") {
			return
		}
	}
}
