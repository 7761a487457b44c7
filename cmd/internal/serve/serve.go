package serve

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/cmd/internal/ui"
	"github.com/pare-llm/pare/internal/config"
	"github.com/pare-llm/pare/internal/engine"
	"github.com/pare-llm/pare/internal/fullness"
	"github.com/pare-llm/pare/proxy"
	"github.com/pare-llm/pare/store"
	"github.com/pare-llm/pare/store/storehttp"
	"github.com/pare-llm/pare/summary"
	"github.com/pare-llm/pare/wire"
)

// Options configure a [Server].
type Options struct {
	// Upstreams by name; the vendors' own need not be listed.
	Upstreams map[string]proxy.Upstream
	// Settings are the compiled configuration; see [Load]. Nil means an empty configuration.
	Settings *Settings
	// CompactAbove is the size, in tokens, above which sessions are summarized in the background.
	// Zero means never. It is only displayed here.
	CompactAbove int64
	// Store keeps sessions and receipts. Nil means none.
	Store *store.Store
	// Log receives events. Nil discards them.
	Log *slog.Logger
	// Traces receives a span for every request. Nil discards them.
	Traces *Traces
	// Version of the program, for the health check.
	Version string
	// MaxBody and PlanTime are those of [proxy.Config].
	MaxBody  int64
	PlanTime time.Duration
	// Prune lets the rules vote on requests that fit, too.
	Prune bool
	// Remember stores conversations as sessions, whatever the configuration says.
	Remember bool
	// Secret returns the secret of an AWS access key; see [Secrets]. It is used for requests that
	// were sent to a name of this machine, and not by a foreign page.
	Secret func(accessKey string) (secret string, ok bool)
	// OnlyUpstreams and Dialing are those of [proxy.Config].
	OnlyUpstreams bool
	Dialing       func(address string)
	// Base sends requests to the upstreams. Nil means the proxy's own transport.
	Base http.RoundTripper
	// Tokens are the valid tokens: see [Server.SetTokens]. A token NAME:SECRET gives access to
	// the scope NAME only; *:SECRET can read the requests of all scopes.
	Tokens []string
	// HeaderTime limits the headers of a request, BodyTime how long its body may send nothing.
	// Zero means a minute.
	HeaderTime, BodyTime time.Duration
	// OverHTTP rejects WebSockets for histories, which cannot be repaired there, with status 426.
	// Clients then send requests over HTTP.
	OverHTTP bool
	// Hosts are additional names of this machine for /pare/.
	Hosts []string
}

// Settings are a configuration and its policy.
type Settings struct {
	Config *config.Config
	Policy *pare.Policy // of the proxy

	getenv func(string) string // returns the keys of summarizer endpoints; nil: none
}

// Compactor returns the compactor for sessions: the configured one, or one that extracts lines
// without a model and stores its summaries in there.
func (s *Settings) Compactor(there pare.Memory) *pare.Compactor {
	if s.Policy != nil && s.Policy.Compact != nil {
		return s.Policy.Compact
	}
	return &pare.Compactor{Inside: true, Summarize: summary.Extract(summary.ExtractOptions{}), Memory: there}
}

// useSharedMemory modifies the settings, so that all replicas that share a store send the same
// summaries.
func (s *Settings) useSharedMemory(st *store.Store) {
	if st != nil && s.Policy != nil && s.Policy.Compact != nil && s.Policy.Compact.Memory == nil {
		s.Policy.Compact.Memory = st.Memory()
	}
}

// A Server is the proxy with its local pages and APIs.
type Server struct {
	options Options
	proxy   *proxy.Handler
	local   http.Handler
	guard   hostGuard
	gate    gate

	receipts *receiptWriter      // nil: receipts are only kept in memory
	learned  *learnedSync        // nil: learned values end with the process
	memory   *conversationWriter // nil: conversations are not stored
	// sessions serves the sessions of the store with the current policy.
	sessions atomic.Pointer[http.Handler]

	watches *scopeWatches
	http    *http.Server
	calls   *calls
	closed  chan struct{}
	probe   storeProbe
	// tunnels counts requests that may become a tunnel: the HTTP server does not wait for them.
	tunnels sync.WaitGroup
}

// New returns a server.
func New(o Options) *Server {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Settings == nil {
		var err error
		if o.Settings, err = Load(config.Default(), nil); err != nil {
			panic(err) // there is nothing in it that could be wrong
		}
	}
	o.Settings.useSharedMemory(o.Store)
	s := &Server{options: o, watches: newWatches(), closed: make(chan struct{}), calls: &calls{maxBody: o.MaxBody, log: o.Log}}
	s.calls.settings.Store(o.Settings)
	if o.Store != nil {
		s.receipts = newReceiptWriter(o.Store.Receipts())
		s.learned = newLearnedSync(o.Store, nil)
		s.memory = newConversationWriter(o.Store, s.watches)
	}
	s.calls.recordReceipt = func(from *http.Request, r *proxy.Record) {
		r.Scope = s.gate.readScope(from)
		s.watches.note(r)
		s.receipts.add(r)
	}
	s.guard.hosts = o.Hosts
	s.gate.runToken = rand.Text()
	s.gate.set(o.Tokens)
	conf := proxy.Config{
		Upstreams: o.Upstreams, OnlyUpstreams: o.OnlyUpstreams, Dialing: o.Dialing, Policy: o.Settings.Policy, Base: o.Base, MaxBody: o.MaxBody, PlanTime: o.PlanTime, Prune: o.Prune,
		Record: s.record, Begun: s.watches.begin, Planned: s.watches.holdPlan, Untouched: s.watches.holdBody, Log: o.Log, BodyTime: o.BodyTime,
	}
	if o.Secret != nil {
		conf.Secret = s.secret
	}
	if s.learned != nil {
		conf.Conversations = s.learned.conversations
	}
	s.proxy = proxy.New(conf)
	s.calls.acquireTurn = func(ctx context.Context, raw []byte) (context.Context, func(), error) {
		return proxyx.Turn(s.proxy, ctx, raw)
	}
	s.setRemember(o.Settings)
	s.setStop(o.Settings)
	s.serveSessions(o.Settings)
	s.local = s.guard.wrap(s.gate.requireToken(s.sharing(s.routes())))
	s.http = &http.Server{
		Handler: s, ReadHeaderTimeout: cmp.Or(o.HeaderTime, time.Minute), IdleTimeout: 3 * time.Minute, MaxHeaderBytes: 256 << 10,
		ErrorLog: log.New(connectionLog{o.Log}, "", 0), Protocols: new(http.Protocols),
	}
	s.http.Protocols.SetHTTP1(true)
	s.http.Protocols.SetUnencryptedHTTP2(true) // the JavaScript SDK of AWS uses it
	return s
}

// A connectionLog logs messages of net/http about connections. It removes quotations, because
// they may contain text of a conversation or a key.
type connectionLog struct{ log *slog.Logger }

func (q connectionLog) Write(line []byte) (int, error) {
	says, _, _ := strings.Cut(string(line), `"`)
	q.log.Debug("http", "says", strings.TrimSpace(says))
	return len(line), nil
}

// Set replaces the configuration for new requests.
func (s *Server) Set(to *Settings) {
	to.useSharedMemory(s.options.Store)
	s.calls.settings.Store(to)
	proxyx.SetPolicy(s.proxy, to.Policy)
	s.setRemember(to)
	s.setStop(to)
	s.serveSessions(to)
}

// serveSessions replaces the handler of sessions.
func (s *Server) serveSessions(to *Settings) {
	if s.options.Store != nil {
		h := storehttp.Handler(s.options.Store, storehttp.Options{Scope: s.gate.scope, Policy: to.Policy, Compactor: to.Compactor(s.options.Store.Memory()), CompactAbove: s.options.CompactAbove, MaxBody: s.options.MaxBody, Log: s.options.Log})
		s.sessions.Store(&h)
	}
}

// setStop sets the limits of conversations.
func (s *Server) setStop(to *Settings) {
	all := to.Config.Stop.Limits()
	proxyx.SetStop(s.proxy, func(f *fullness.Outlook) string {
		for _, l := range all {
			if passed, known := l.Passed(f); passed && known {
				return l.Said
			}
		}
		return ""
	})
}

// setRemember enables or disables the storage of conversations.
func (s *Server) setRemember(to *Settings) {
	if s.memory == nil {
		return
	}
	s.memory.configure(s.options.Remember || to.Config.Remember != nil, to.Config.Remember)
	if s.watches.isRemembering.Load() {
		proxyx.SetPassed(s.proxy, s.memory.add, s.memory.hasRoom)
	} else {
		proxyx.SetPassed(s.proxy, nil, nil)
	}
}

// secret is the secret of an access key for a request that was meant for this server: neither a
// page of somebody else nor a name that was pointed here (DNS rebinding) has it used.
func (s *Server) secret(came *http.Request, accessKey string) (string, bool) {
	if came.Host == "" || !s.guard.isKnownHost(came.Host) || !s.guard.isSameOrigin(came) {
		return "", false
	}
	return s.options.Secret(accessKey)
}

// record handles the record of a finished request.
func (s *Server) record(r *proxy.Record) {
	s.watches.add(r)
	s.receipts.add(r)
	if s.options.Traces != nil {
		s.options.Traces.Add(r)
	}
}

// SetTokens replaces the valid values of Pare-Token. With no tokens, clients need none.
func (s *Server) SetTokens(tokens []string) { s.gate.set(tokens) }

// Watch returns the watch of all requests.
func (s *Server) Watch() *Watch { return s.watches.everything }

// Page returns the path of the live page. Without configured tokens it contains the token of this
// run.
func (s *Server) Page() string {
	if s.gate.requiresToken() {
		return "/pare/"
	}
	return "/pare/?" + tokenKey + "=" + s.gate.runToken
}

// ownPath reports whether a request is for Pare itself.
func ownPath(r *http.Request) bool {
	return r.URL.Path == "/pare" || strings.HasPrefix(r.URL.Path, "/pare/")
}

// isStream reports whether a local request asks for a stream of events.
func isStream(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/events") }

// ServeHTTP answers paths below /pare/ and forwards all others.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if ownPath(r) {
		if isStream(r) {
			ctx, end := s.ending(r.Context())
			defer end()
			r = r.WithContext(ctx)
		}
		s.local.ServeHTTP(w, r)
		return
	}
	if !s.gate.requiresToken() && !s.guard.isKnownHost(r.Host) {
		// A page whose name was pointed here: the upstream gets its own name and cannot detect it.
		proxyx.Refuse(w, r, http.StatusForbidden, "a foreign Host: without tokens, this server answers to the names of this machine; pare serve --host NAME adds one")
		return
	}
	if r.URL.Path == "/" && r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html") {
		// Somebody has opened the address in a browser; no client of a model asks for that.
		http.Redirect(w, r, "/pare/", http.StatusSeeOther)
		return
	}
	if r.Header["Upgrade"] != nil && s.options.OverHTTP {
		if d, _ := wire.ParseURL(r.URL.Path); d != wire.Auto {
			proxyx.Refuse(w, r, http.StatusUpgradeRequired, "histories are sent by POST here, not over a WebSocket")
			return
		}
	}
	if r.Header["Upgrade"] != nil {
		s.tunnels.Add(1)
		defer s.tunnels.Done()
	}
	scope, ok := s.gate.authorizeProxied(r)
	if !ok {
		proxyx.Refuse(w, r, http.StatusUnauthorized, "a token is missing or unknown: send "+tokenHeader)
		return
	}
	if scope != "" {
		r = r.WithContext(proxy.WithScope(r.Context(), scope))
	}
	s.proxy.ServeHTTP(w, r)
}

// ending is a context that ends with the server, too: a stream of events goes on for as long
// as somebody listens, and the server would wait for it.
func (s *Server) ending(ctx context.Context) (context.Context, context.CancelFunc) {
	return Until(ctx, s.closed)
}

// Until is a context that ends when a channel is closed, too, which nil never is.
func Until(ctx context.Context, end <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-end:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// Serve serves a listener until the context ends. Then it waits for running requests, at most for
// the grace period or until cut is closed.
func (s *Server) Serve(ctx context.Context, l net.Listener, grace time.Duration, cut <-chan struct{}) error {
	s.guard.setAddress(l.Addr())
	if s.receipts != nil {
		ended := make(chan struct{})
		var behind sync.WaitGroup
		behind.Go(func() { s.receipts.run(ended) })
		behind.Go(func() { s.learned.run(ended) })
		behind.Go(func() { s.memory.run(ended) })
		defer func() { close(ended); behind.Wait() }()
	}
	failed := make(chan error, 1)
	go func() { failed <- s.http.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	close(s.closed) // streams of events end now
	limit, ends := context.WithTimeout(context.Background(), grace)
	defer ends()
	late, cancel := Until(limit, cut)
	defer cancel()
	err := s.http.Shutdown(late)
	if err == nil {
		err = s.tunnelled(late)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		s.options.Log.Warn("requests that were still under way are cut off")
	}
	if err != nil && late.Err() != nil {
		err = s.http.Close()
	}
	s.proxy.CloseIdle()
	return err
}

// tunnelled waits for the ends of tunnels.
func (s *Server) tunnelled(ctx context.Context) error {
	ended := make(chan struct{})
	go func() {
		s.tunnels.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// sharing lets local calls share places and memory with proxied requests. Health, metrics and the
// page are exempt.
func (s *Server) sharing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/pare/v1/") && !isStream(r) {
			next.ServeHTTP(w, r)
			return
		}
		if scope := s.gate.readScope(r); scope != "" {
			r = r.WithContext(proxy.WithScope(r.Context(), scope))
		}
		on, leave, err := proxyx.Enter(s.proxy, w, r)
		if err != nil {
			panic(http.ErrAbortHandler) // the client is gone
		}
		defer leave()
		next.ServeHTTP(w, on)
	})
}

// routes is everything below /pare/.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	// Without a handler for its other methods, a path would be one that is not there.
	only := func(method, path string, serve http.HandlerFunc) {
		mux.HandleFunc(method+" "+path, serve)
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", method)
			writeProblem(w, http.StatusMethodNotAllowed, "method_not_allowed", r.URL.Path+" takes "+method+", not "+r.Method)
		})
	}
	only("GET", "/pare/healthz", s.health)
	for _, name := range engine.Calls() {
		only("POST", "/pare/v1/"+name, func(w http.ResponseWriter, r *http.Request) { s.calls.serve(w, r, name) })
	}
	only("GET", "/pare/v1/receipts/{id}", s.receipt)
	only("GET", "/pare/v1/requests", s.requests)
	only("GET", "/pare/v1/events", s.events)
	only("GET", "/pare/metrics", s.metrics)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*s.sessions.Load()).ServeHTTP(w, r) })
	if s.options.Store == nil {
		h = func(w http.ResponseWriter, r *http.Request) {
			writeProblem(w, http.StatusNotFound, "not_found", r.URL.Path+" needs a store, and this server runs without one")
		}
	}
	for _, path := range []string{"/pare/v1/sessions", "/pare/v1/sessions/", "/pare/v1/search", "/pare/v1/recall", "/pare/v1/recall/", "/pare/v1/openapi.json"} {
		mux.Handle(path, h)
	}
	mux.HandleFunc("/pare/v1/", func(w http.ResponseWriter, r *http.Request) {
		writeProblem(w, http.StatusNotFound, "not_found", "there is no "+r.Method+" "+r.URL.Path)
	})
	mux.Handle("/pare/", http.StripPrefix("/pare", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ui.TrafficHandler(s.watchFor(r)).ServeHTTP(w, r)
	})))
	return mux
}
