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

// Config says how a [Handler] works. Many goroutines may read it.
type Config struct {
	// Upstreams by name; those of the vendors, such as anthropic, need not be listed. A name of theirs takes
	// their place.
	Upstreams map[string]Upstream
	// OnlyUpstreams keeps the vendors' own hosts from being added to Upstreams.
	OnlyUpstreams bool
	// Dialing, if set, is called with the host and port of each connection before it is opened: those of
	// an upstream, or of the HTTP proxy that leads there. Base must be nil.
	Dialing func(address string)
	// Policy says what is done to requests. Nil: [Default].
	Policy *pare.Policy
	// Base sends the requests. Nil: a transport that reaches the upstreams only.
	Base http.RoundTripper
	// MaxBody, PlanTime, Prune, NoHeal, Secret, Record, Begun, Planned and Log are those of a
	// [Transport].
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
	// Conversations is what is known of conversations. Nil: what this handler learns.
	Conversations *Conversations
	// BodyTime is how long nothing may come of the body of a request before it is given up.
	// Zero: a minute.
	BodyTime time.Duration
	// Memory bounds what bodies and the plans for them take at once; who finds none waits.
	// A client, which is a scope (see [WithScope]) or an address, gets half of it at most. One
	// request at a time may go beyond. Zero: 1 GB, less: no bound.
	Memory int64
	// Flights bounds the requests that are under way at once; those beyond wait for their
	// turn. A client gets half of them at most. Zero: 4096.
	Flights int
}

// A Handler is the proxy: it takes requests on the vendors' own paths and sends them on.
// Many goroutines may use it.
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

// New makes a proxy.
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
		ErrorLog: log.New(io.Discard, "", 0), // what it has to say is in the record
	}
	return h
}

// SetPolicy changes what is done to requests from now on; nil is [Default].
func (h *Handler) setPolicy(p *pare.Policy) {
	if p == nil {
		p = Default()
	}
	h.faults.forget()
	h.policy.Store(p)
}

// A keeper is who gets the requests that are answered.
type exchangeRecorder struct {
	wants   func(*Record) bool
	deliver func(*RecordedExchange)
}

// SetPassed says who gets the requests that are answered from now on; see [Transport.Passed] and
// [Transport.Passes]. Nil: nobody does.
func (h *Handler) setPassed(passed func(*RecordedExchange), passes func(*Record) bool) {
	h.recorder.Store(&exchangeRecorder{passes, passed})
}

// setStop says which conversations come to their end, from now on: those for which stop has a reason.
func (h *Handler) setStop(stop func(*fullness.Outlook) string) { h.stop.Store(&stop) }

// CloseIdle closes connections to upstreams that are not in use.
func (h *Handler) CloseIdle() {
	if c, ok := h.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// A target is where a request goes.
type target struct {
	upstream *Upstream
	path     string
	came     *http.Request
	client   string
	reached  *atomic.Bool // a connection was there
}

// got notes that there is a connection.
func (t target) got(httptrace.GotConnInfo) { t.reached.Store(true) }

type targetKey struct{}

// ServeHTTP sends a request on.
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
		panic(http.ErrAbortHandler) // or the server would write an empty 200 for somebody who still reads
	}
	defer leave()
	if len(r.TransferEncoding) > 0 && r.ProtoMajor == 1 {
		// A length beside it would have been dropped unseen: a way to smuggle requests. What
		// else this connection has to say is not worth the doubt.
		w.Header().Set("Connection", "close")
	}
	// An upstream may reply before it has read everything. The reply must not be lost for
	// it, and the request must go on.
	rc := http.NewResponseController(w)
	rc.EnableFullDuplex()
	// The server asks the body of its own request whether all of it was read. If that is
	// another one it hears nothing, and takes what is left for the next request: so only the
	// copy that goes on gets one that gives up.
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
		if p := recover(); p != nil { // the reply broke off: its client gets all that came
			rc.Flush()
			panic(p)
		}
	}()
	h.proxy.ServeHTTP(w, on)
}

// unswitched takes an offer off a request to go on in another protocol than WebSocket. What an
// upstream that takes up HTTP/2 hears through a tunnel is for nobody here to see.
func removeUpgrade(h http.Header) {
	for _, v := range h["Upgrade"] {
		if !strings.EqualFold(v, "websocket") {
			delete(h, "Upgrade")
			delete(h, "Http2-Settings")
			return
		}
	}
}

// clientOf is who has sent a request: a scope, or an address.
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

// timed gives up a body of which nothing comes any more: a client could otherwise hold a
// place for as long as it likes. What it waits for is noted, too: a body that trickles is cut
// while others wait. It closes nothing: to close the body of a request is to wait
// for it, and the server's own business.
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

// rewrite points a request at its upstream. Nothing is added, and what the proxy of the
// standard library takes for its own business is put back.
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
		p.Out.Header["User-Agent"] = nil // none is sent
	}
}

// trips sends requests by the policy of the moment.
type handlerTransport struct{ h *Handler }

func (t handlerTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	tr := t.h.transport(req.Context().Value(targetKey{}).(target))
	return tr.RoundTrip(req)
}

// transport sends requests to a target.
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
	if to.upstream.Name == signedService { // no other upstream gets to see what a secret signs
		tr.Secret, tr.clientRequest = h.conf.Secret, to.came
	}
	return tr
}

// failed answers for an upstream that did not.
func (h *Handler) failed(w http.ResponseWriter, r *http.Request, err error) {
	to := r.Context().Value(targetKey{}).(target)
	h.refused(w, r.Context(), to, err)
}

// copies lends buffers for copying replies.
type replyBufferPool struct{}

const replyBuffer = 32 << 10

var replyBuffers = sync.Pool{New: func() any { return new([replyBuffer]byte) }}

func (replyBufferPool) Get() []byte  { return replyBuffers.Get().(*[replyBuffer]byte)[:] }
func (replyBufferPool) Put(b []byte) { replyBuffers.Put((*[replyBuffer]byte)(b)) }
