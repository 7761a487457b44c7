package proxy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pare-llm/pare/internal/fault"
	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/wire"
)

// A pipeListener hands out connections in memory, so that the clock of a test may stand still.
type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

// dial connects to it. Both ends may fail.
func (l *pipeListener) dial(ctx context.Context, s *fault.Source, point string) (net.Conn, error) {
	if s.Fails(point + " dial") {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: fault.Err}
	}
	near, far := net.Pipe()
	select {
	case l.conns <- &fault.Conn{Conn: far, Source: s, Point: point + " far"}:
		return &fault.Conn{Conn: near, Source: s, Point: point + " near"}, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// A faultCase is a request that goes through the proxy.
type faultCase struct {
	path, body string
	history    bool // it may be repaired
}

// faultCases are histories, whole and broken, small and large, and what is none.
func faultCases() []faultCase {
	talk := func(n int, lose bool) string {
		var b strings.Builder
		b.WriteString(`{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[{"role":"user","content":"go"}`)
		for i := range n {
			fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_%d","name":"ls","input":{}}]}`, i)
			id := fmt.Sprintf("toolu_%d", i)
			if lose && i%7 == 3 {
				id = "lost_" + id
			}
			fmt.Fprintf(&b, `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"%s","content":"%s"}]}`, id, strings.Repeat("out ", i%50))
		}
		return b.String() + `]}`
	}
	return []faultCase{
		{"/v1/messages", clean, true}, {"/v1/messages", errorReader, true},
		{"/v1/messages", talk(400, false), true}, {"/v1/messages", talk(200, true), true},
		{"/v1/files", strings.Repeat("bytes that are no JSON ", 4000), false},
		{"/v1/messages", `{"model":"claude-sonnet-4-5","messages":"`, false},
	}
}

// replyTo is what the upstream answers, by how it was asked to.
func replyTo(kind string, size int) []byte {
	switch kind {
	case "refuse":
		return []byte(`{"type":"error","error":{"type":"invalid_request_error","message":"messages.1: ` + "`tool_use`" + ` ids were found without ` + "`tool_result`" + ` blocks immediately after: toolu_3. Each ` + "`tool_use`" + ` block must have a corresponding ` + "`tool_result`" + ` block in the next message."}}`)
	case "stream":
		return []byte(strings.Repeat("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"word \"}}\n\n", 1+size/100))
	}
	return []byte(`{"type":"message","role":"assistant","content":[{"type":"text","text":"` + strings.Repeat("w", size) + `"}],"usage":{"input_tokens":5,"output_tokens":7}}`)
}

// A proxyRun is a proxy between clients and an upstream whose connections fail.
type proxyRun struct {
	t      *testing.T
	s      *fault.Source
	cases  []faultCase
	client *http.Client
	late   time.Duration // how long whoever is late is late

	mu      sync.Mutex
	began   map[string]bool
	ended   map[string]int
	ops     int
	cancels map[int]context.CancelFunc // of the requests that may be given up on, by client
}

// upstream judges what it gets, if it gets all of it: the request as it was sent, or a repaired
// one that is valid.
func (r *proxyRun) upstream(w http.ResponseWriter, q *http.Request) {
	raw, err := io.ReadAll(q.Body)
	if err != nil {
		return
	}
	var n, size int
	var kind string
	fmt.Sscan(q.Header.Get("X-Case"), &n, &kind, &size)
	c := r.cases[n]
	if string(raw) != c.body {
		parsed, err := wire.Parse(raw, wire.Options{})
		switch {
		case !c.history || err != nil:
			r.t.Errorf("the upstream got %d bytes of case %d, which has %d: %v", len(raw), n, len(c.body), err)
		case len(parsed.Check(wire.CheckOptions{})) > 0:
			r.t.Errorf("the upstream got a body of case %d that was changed and is not valid", n)
		}
	}
	w.Header().Set("X-Upstream", "1")
	reply := replyTo(kind, size)
	switch kind {
	case "refuse":
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
	case "stream":
		w.Header().Set("Content-Type", "text/event-stream")
	case "chunked":
		w.Header().Set("Content-Type", "application/json")
		http.NewResponseController(w).Flush()
	default:
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", fmt.Sprint(len(reply)))
	}
	for len(reply) > 0 {
		r.wait("upstream late")
		k := min(len(reply), 1000)
		if _, err := w.Write(reply[:k]); err != nil {
			return
		}
		if kind == "stream" {
			http.NewResponseController(w).Flush()
		}
		reply = reply[k:]
	}
}

// wait lets the clock go on, if somebody is to be late there. Nobody who holds a lock may wait: the
// clock of the test stands still while others wait for a lock.
func (r *proxyRun) wait(point string) {
	if r.late > 0 && r.s.Fails(point) {
		time.Sleep(r.late)
	}
}

// A lateBody is a body that comes in pieces, some of them late.
type lateBody struct {
	r    *proxyRun
	left string
}

func (b *lateBody) Read(p []byte) (int, error) {
	if b.left == "" {
		return 0, io.EOF
	}
	b.r.wait("client late")
	n := copy(p[:min(len(p), 5000)], b.left)
	b.left = b.left[n:]
	return n, nil
}

// ask sends a request. What comes back as a whole is the upstream's reply, byte for byte, or an
// error of the proxy that says something.
func (r *proxyRun) ask(ctx context.Context, n int, kind string, size int, chunked bool) (ok bool) {
	c := r.cases[n]
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://proxy"+c.path, &lateBody{r, c.body})
	if err != nil {
		r.t.Error(err)
		return false
	}
	if !chunked {
		q.ContentLength = int64(len(c.body))
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Anthropic-Version", "2023-06-01")
	q.Header.Set("X-Case", fmt.Sprint(n, " ", kind, " ", size))
	resp, err := r.client.Do(q)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		return false
	}
	if resp.Header.Get("X-Upstream") == "" {
		if resp.StatusCode < 400 || !json.Valid(got) || len(got) < 20 {
			r.t.Errorf("case %d %s: the proxy answers %d %.200q", n, kind, resp.StatusCode, got)
		}
		return false
	}
	if want := replyTo(kind, size); !bytes.Equal(got, want) {
		r.t.Errorf("case %d %s: got %d bytes of the reply, which has %d: %.300q", n, kind, len(got), len(want), got)
	}
	return true
}

// visit is one client: some requests, one after the other, some of which it gives up on.
func (r *proxyRun) visit(client int) {
	chance := r.s.Rand(fmt.Sprint("client ", client))
	for range 3 {
		ctx, cancel := context.WithCancel(context.Background())
		r.mu.Lock()
		delete(r.cancels, client)
		if chance.IntN(3) == 0 {
			r.cancels[client] = cancel
		}
		r.ops++
		r.mu.Unlock()
		r.ask(ctx, chance.IntN(len(r.cases)), []string{"plain", "chunked", "stream", "refuse"}[chance.IntN(4)], chance.IntN(1<<chance.IntN(16)), chance.IntN(3) == 0)
		cancel()
	}
}

// giveUp ends a request that may be given up on.
func (r *proxyRun) giveUp() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for client := range 4 {
		if cancel := r.cancels[client]; cancel != nil {
			delete(r.cancels, client)
			cancel()
			r.s.CountFailure("cancelled")
			return
		}
	}
}

// run puts clients, proxy and upstream together, lets them fail, and wants that the proxy works as
// before when nothing fails any more.
func (r *proxyRun) run() {
	chance := r.s.Rand("proxy")
	r.late = []time.Duration{0, 10 * time.Millisecond, 5 * time.Second, 70 * time.Second}[chance.IntN(4)]
	front, back := newPipeListener(), newPipeListener()
	quiet := log.New(io.Discard, "", 0)
	up := &http.Server{Handler: http.HandlerFunc(r.upstream), ErrorLog: quiet}
	base := &http.Transport{DisableCompression: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return back.dial(ctx, r.s, "upstream")
	}}
	conf := proxy.Config{Base: base, PlanTime: -1, Memory: 1 << 20, Flights: 3, Upstreams: map[string]proxy.Upstream{}}
	for name := range proxyx.Vendors() {
		conf.Upstreams[name] = proxy.Upstream{URL: &url.URL{Scheme: "http", Host: "upstream"}, Private: true}
	}
	conf.Begun = func(q *proxy.Record) { r.mu.Lock(); r.began[q.ID] = true; r.mu.Unlock() }
	conf.Record = func(q *proxy.Record) { r.mu.Lock(); r.ended[q.ID]++; r.mu.Unlock() }
	h := proxy.New(conf)
	server := &http.Server{Handler: h, ErrorLog: quiet}
	to := &http.Transport{DisableCompression: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return front.dial(ctx, r.s, "client")
	}}
	r.client = &http.Client{Transport: to}
	var servers, clients sync.WaitGroup
	servers.Go(func() { up.Serve(back) })
	servers.Go(func() { server.Serve(front) })
	every := 1 + chance.IntN(150)
	r.s.OnCall(func(passed int) {
		if passed%every == every-1 {
			r.giveUp()
		}
	})
	for client := range 4 {
		clients.Go(func() { r.visit(client) })
	}
	clients.Wait()
	r.s.Stop()
	synctest.Wait()
	to.CloseIdleConnections() // what was cut is found out by using it, else
	base.CloseIdleConnections()
	// As many as may be under way at once, and as much as may be held: nothing of it was lost.
	for round := range 2 {
		for n := range 3 {
			clients.Go(func() {
				if kind := []string{"plain", "stream"}[round]; !r.ask(context.Background(), 2*n/2+round, kind, 3000, false) {
					r.t.Errorf("the proxy does not go on: case %d %s", n+round, kind)
				}
			})
		}
		clients.Wait()
	}
	to.CloseIdleConnections()
	server.Close()
	base.CloseIdleConnections()
	h.CloseIdle()
	up.Close()
	servers.Wait()
	time.Sleep(time.Hour) // whoever is still late comes
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range r.began {
		if r.ended[id] == 0 {
			r.t.Errorf("request %s was begun, and has no record", id)
		}
	}
	for id, n := range r.ended {
		if n > 1 {
			r.t.Errorf("request %s has %d records", id, n)
		}
	}
}

// TestFaultsProxy: connections on both sides may be refused, cut, torn, slow for longer than the
// proxy waits, or given up on, at any point. Goroutines that are left end the test.
func TestFaultsProxy(t *testing.T) {
	cases := faultCases()
	var tally fault.Tally
	fault.Run(t, 120, func(t *testing.T, s *fault.Source) {
		synctest.Test(t, func(t *testing.T) {
			r := &proxyRun{t: t, s: s, cases: cases, began: make(map[string]bool), ended: make(map[string]int), cancels: make(map[int]context.CancelFunc)}
			r.run()
			tally.Add(s, r.ops)
		})
	})
	t.Log(&tally)
}
