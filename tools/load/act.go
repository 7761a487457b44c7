package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// linkElsewhere builds this program again at other addresses. A processor predicts branches by
// address. A proxy that runs the same code at the same addresses as the upstream and the
// client profits from their training, which no real proxy does.
func linkElsewhere(ctx context.Context, folder string) (string, error) {
	path := filepath.Join(folder, "bare")
	out, err := exec.CommandContext(ctx, "go", "build", "-ldflags=-T=0x1235000", "-o", path, "github.com/pare-llm/pare/tools/load").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("to link the bare proxies: %w: %s", err, out)
	}
	return path, nil
}

// runRole is one of the processes that the program starts: the upstream, or a bare proxy.
func runRole(role, to string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%s: listening on http://%s\n", role, l.Addr())
	if role == "upstream" {
		return http.Serve(l, http.HandlerFunc(reply))
	}
	target, err := url.Parse(to)
	if err != nil {
		return err
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(target) }, FlushInterval: -1, BufferPool: &buffers{},
		Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true, WriteBufferSize: 64 << 10, ReadBufferSize: 16 << 10},
	}
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Without it, a reply that comes before the request is read to its end is cut off.
		http.NewResponseController(w).EnableFullDuplex()
		if role == "buffering" {
			body := make([]byte, r.ContentLength)
			if _, err := io.ReadFull(r.Body, body); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		proxy.ServeHTTP(w, r)
	}))
}

// buffers is the pool of the reverse proxy for copying replies.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[]byte); ok {
		return *p
	}
	return make([]byte, 32<<10)
}
func (b *buffers) Put(p []byte) { b.pool.Put(&p) }

// reply answers as a vendor: with a short message, or with a stream of events.
func reply(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	if r.Header.Get("Accept") != "text/event-stream" {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"text","text":"`+strings.Repeat("word ", 100)+`"}],"usage":{"input_tokens":10,"output_tokens":100}}`)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	for i := range 20 {
		fmt.Fprintf(w, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"word %d\"}}\n\n", i)
		out.Flush()
	}
}
