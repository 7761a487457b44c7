package proxy

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/fullness"
	"github.com/pare-llm/pare/wire"
)

// Config configures a [Handler].
type Config struct {
	// Upstreams maps names to upstreams. The vendors' own upstreams, such as anthropic, are added
	// unless an entry replaces them.
	Upstreams map[string]Upstream
	// OnlyUpstreams prevents that the vendors' own upstreams are added.
	OnlyUpstreams bool
	// Dialing, if set, is called with the host and port of each connection before it is opened: those of
	// an upstream, or of the HTTP proxy that leads there. Base must be nil.
	Dialing func(address string)
	// Policy is applied to requests. Nil means [Default].
	Policy *pare.Policy
	// Base sends the requests. Nil means a transport that only reaches the upstreams.
	Base http.RoundTripper
	// MaxBody and the fields with the names of a [Transport]'s fields have the same meaning.
	MaxBody  int64
	PlanTime time.Duration
	Prune    bool
	NoHeal   bool
	Secret   func(came *http.Request, accessKey string) (secret string, ok bool)
	Record   func(*Record)
	Begun    func(*Record)
	Planned  func(id string, r *wire.Request, p *pare.Plan)
	// Untouched is that of a [Transport], too.
	Untouched func(id string, body []byte)
	Log       *slog.Logger
	// Conversations is the state of conversations. Nil means a new one for this handler.
	Conversations *Conversations
	// BodyTime limits how long a request's body may send nothing. Zero means one minute.
	BodyTime time.Duration
	// Memory limits the bytes of all bodies and their plans; requests beyond it wait. A client (a
	// scope, see [WithScope], or an address) gets at most half of it. One request at a time may
	// exceed it. Zero means 1 GB; a negative value means no limit.
	Memory int64
	// Flights limits concurrent requests; requests beyond it wait. A client gets at most half of
	// them. Zero means 4096.
	Flights int
}

// A Handler is an HTTP server for the vendors' own paths. It forwards requests to the upstreams.
type Handler struct {
	conf      Config
	upstreams map[string]*Upstream
	base      http.RoundTripper
	budget    *memoryBudget
	policy    atomic.Pointer[pare.Policy]
	recorder  atomic.Pointer[exchangeRecorder]
	stop      atomic.Pointer[func(*fullness.Outlook) string]
	faults    loggedFaults
	proxy     *httputil.ReverseProxy
}

// New returns a proxy.
func New(c Config) *Handler {
	h := &Handler{conf: c, upstreams: make(map[string]*Upstream), base: c.Base}
	all := map[string]Upstream{}
	if !c.OnlyUpstreams {
		all = knownVendors()
	}
	maps.Copy(all, c.Upstreams)
	for name, u := range all {
		u.Name = name
		h.upstreams[name] = &u
	}
	if h.base == nil {
		h.base = newUpstreamTransport(h.upstreams, c.Dialing)
	}
	if c.Memory == 0 {
		c.Memory = 1 << 30
	}
	if c.Flights == 0 {
		c.Flights = 4096
	}
	if h.conf.BodyTime == 0 {
		h.conf.BodyTime = time.Minute
	}
	if h.conf.Log == nil {
		h.conf.Log = slog.New(slog.DiscardHandler)
	}
	if h.conf.Conversations == nil {
		h.conf.Conversations = NewConversations(ConversationsOptions{})
	}
	h.budget = newMemoryBudget(c.Memory, c.Flights)
	h.setPolicy(c.Policy)
	h.proxy = &httputil.ReverseProxy{
		Rewrite: rewrite, Transport: handlerTransport{h}, BufferPool: replyBufferPool{},
		ModifyResponse: checkStatus, ErrorHandler: h.failed,
		ErrorLog: log.New(io.Discard, "", 0), // records have the errors
	}
	return h
}

// setPolicy replaces the policy for new requests. Nil means [Default].
func (h *Handler) setPolicy(p *pare.Policy) {
	if p == nil {
		p = Default()
	}
	h.faults.forget()
	h.policy.Store(p)
}

// An exchangeRecorder selects answered requests and receives them.
type exchangeRecorder struct {
	wants   func(*Record) bool
	deliver func(*RecordedExchange)
}

// setPassed replaces the functions of [Transport.Recorded] and [Transport.WantsRecording] for new
// requests.
func (h *Handler) setPassed(passed func(*RecordedExchange), passes func(*Record) bool) {
	h.recorder.Store(&exchangeRecorder{passes, passed})
}

// setStop replaces the function that decides which conversations have reached their limit: it
// returns a reason for them.
func (h *Handler) setStop(stop func(*fullness.Outlook) string) { h.stop.Store(&stop) }

// CloseIdle closes unused connections to upstreams.
func (h *Handler) CloseIdle() {
	if c, ok := h.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// A target is the destination of a request.
type target struct {
	upstream *Upstream
	path     string
	came     *http.Request
	client   string
	reached  *atomic.Bool // a connection was established
}

// got records that there is a connection.
func (t target) got(httptrace.GotConnInfo) { t.reached.Store(true) }

type targetKey struct{}

// ServeHTTP forwards a request to its upstream.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, path := route(r)
	up := h.upstreams[name]
	switch {
	case r.Method == http.MethodConnect:
		writeError(w, name, path, http.StatusMethodNotAllowed, "this is a proxy for the APIs of models, not for tunnels")
		return
	case name == "":
		writeError(w, name, path, http.StatusNotFound, "unknown path, and no key that shows whose it is; the live page of pare serve is /pare/, with the token that it printed")
		return
	case up == nil:
		writeError(w, name, path, http.StatusNotFound, fmt.Sprintf("there is no upstream %q", name))
		return
	case hasParentSegment(path):
		writeError(w, name, path, http.StatusBadRequest, "the path leads upwards")
		return
	}
	if !r.ProtoAtLeast(1, 1) {
		w = finalWriter{w}
	}
	removeUpgrade(r.Header)
	to := target{upstream: up, path: path, came: r, client: clientOf(r), reached: new(atomic.Bool)}
	leave, err := h.budget.acquirePlace(r.Context(), to.client)
	if err != nil {
		panic(http.ErrAbortHandler) // otherwise the server would write an empty 200
	}
	defer leave()
	if len(r.TransferEncoding) > 0 && r.ProtoMajor == 1 {
		// net/http drops a Content-Length next to a Transfer-Encoding, which can smuggle
		// requests. Do not accept further requests on this connection.
		w.Header().Set("Connection", "close")
	}
	// An upstream may reply before it has read the whole body.
	rc := http.NewResponseController(w)
	rc.EnableFullDuplex()
	// The server checks the body of its own request to see whether all of it was read.
	// Replacing that body would make it parse the rest as the next request, so that only the
	// forwarded copy gets the body with a timeout.
	body := r.Body
	if body != nil && body != http.NoBody {
		arriving := h.budget.trackBody(func() { rc.SetReadDeadline(time.Unix(1, 0)) })
		defer arriving.end()
		body = &timedBody{ReadCloser: body, rc: rc, timeout: h.conf.BodyTime, arrivingBody: arriving}
	}
	ctx := httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{GotConn: to.got})
	on := r.WithContext(context.WithValue(ctx, targetKey{}, to))
	on.Body = body
	preventSniffing(w.Header())
	defer func() {
		if p := recover(); p != nil { // the reply broke off: flush the received part
			rc.Flush()
			panic(p)
		}
	}()
	h.proxy.ServeHTTP(w, on)
}

// removeUpgrade removes offers to switch to a protocol other than WebSocket. An upstream that
// switched to HTTP/2 would receive requests that the proxy cannot inspect.
func removeUpgrade(h http.Header) {
	for _, v := range h["Upgrade"] {
		if !strings.EqualFold(v, "websocket") {
			delete(h, "Upgrade")
			delete(h, "Http2-Settings")
			return
		}
	}
}

// clientOf returns the sender of a request: a scope or an address.
func clientOf(r *http.Request) string {
	if scope := scopeOf(r.Context()); scope != "" {
		return "scope " + scope
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// A timedBody ends a body that sends nothing for too long, because a client could otherwise keep
// its place forever. It also measures the time spent waiting, so that slow bodies can be ended
// while others wait. Close does nothing: closing a request's body waits for it, which is the
// server's job.
type timedBody struct {
	io.ReadCloser
	rc      *http.ResponseController
	timeout time.Duration
	armed   time.Time
	*arrivingBody
}

func (t *timedBody) Read(p []byte) (int, error) {
	// A deadline costs: it is put off when an eighth of it has passed, not at every piece.
	now := time.Now()
	if now.Sub(t.armed) > t.timeout/8 {
		t.armed = now
		t.rc.SetReadDeadline(now.Add(t.timeout + t.timeout/8)) // where that cannot be, it is not needed
	}
	t.startRead(now)
	n, err := t.ReadCloser.Read(p)
	t.endRead(n)
	if err == io.EOF {
		t.rc.SetReadDeadline(time.Time{}) // otherwise the connection is of no use any more
	}
	return n, err
}

func (t *timedBody) Close() error { return nil }

// rewrite points a request at its upstream. It adds no headers and restores those that the
// reverse proxy of the standard library removes.
func rewrite(p *httputil.ProxyRequest) {
	to := p.In.Context().Value(targetKey{}).(target)
	p.Out.URL = to.upstream.address(to.path, p.In.URL)
	p.Out.Host = ""
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if v, ok := p.In.Header[name]; ok {
			p.Out.Header[name] = v
		}
	}
	if _, ok := p.Out.Header["User-Agent"]; !ok {
		p.Out.Header["User-Agent"] = nil // sends no User-Agent
	}
}

// A handlerTransport sends requests with the current policy.
type handlerTransport struct{ h *Handler }

func (t handlerTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	tr := t.h.transport(req.Context().Value(targetKey{}).(target))
	return tr.RoundTrip(req)
}

// transport returns a Transport for a target.
func (h *Handler) transport(to target) Transport {
	tr := Transport{
		Base: h.base, Policy: h.policy.Load(), MaxBody: h.conf.MaxBody, PlanTime: h.conf.PlanTime, Prune: h.conf.Prune, NoHeal: h.conf.NoHeal,
		Record: h.conf.Record, Begun: h.conf.Begun, Planned: h.conf.Planned, Untouched: h.conf.Untouched, Log: h.conf.Log, budget: h.budget, client: to.client, faults: &h.faults, upstream: to.upstream.Name, Conversations: h.conf.Conversations,
	}
	if p := h.recorder.Load(); p != nil {
		tr.Recorded, tr.WantsRecording = p.deliver, p.wants
	}
	if p := h.stop.Load(); p != nil {
		tr.stop = *p
	}
	if _, ours := vendors[to.upstream.Name]; !ours {
		tr.Profile = to.upstream.Name
	}
	if to.upstream.Name == signedService { // other upstreams must not get signed requests
		tr.Secret, tr.clientRequest = h.conf.Secret, to.came
	}
	return tr
}

// failed answers a request that the upstream did not answer.
func (h *Handler) failed(w http.ResponseWriter, r *http.Request, err error) {
	to := r.Context().Value(targetKey{}).(target)
	h.refused(w, r.Context(), to, err)
}

// A replyBufferPool lends buffers for copying replies.
type replyBufferPool struct{}

const replyBuffer = 32 << 10

var replyBuffers = sync.Pool{New: func() any { return new([replyBuffer]byte) }}

func (replyBufferPool) Get() []byte  { return replyBuffers.Get().(*[replyBuffer]byte)[:] }
func (replyBufferPool) Put(b []byte) { replyBuffers.Put((*[replyBuffer]byte)(b)) }
