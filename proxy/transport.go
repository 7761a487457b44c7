package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pare-llm/pare"
	"github.com/pare-llm/pare/internal/dialect"
	"github.com/pare-llm/pare/internal/fullness"
	"github.com/pare-llm/pare/wire"
)

// A Transport repairs requests, fits them into the window of their model and sends them. The zero
// value uses the [Default] policy and http.DefaultTransport.
//
// A Transport inspects a request if it is a POST to a path at which some provider accepts
// histories, whatever the host. Requests that continue a conversation on the server, and requests
// that it cannot read, are sent unchanged. If the provider refuses a request for a reason that
// Pare can avoid, the Transport plans again and sends the request once more. If the second
// attempt fails, too, the caller gets the first reply.
type Transport struct {
	// Base sends the requests. Nil means http.DefaultTransport.
	Base http.RoundTripper
	// Policy is applied to requests. Nil means [Default].
	Policy *pare.Policy
	// Profile is the vendor whose rules apply. "" means the vendor of the model.
	Profile string
	// MaxBody is the size of the largest body that is inspected. Zero means 64 MB.
	MaxBody int64
	// PlanTime limits planning; a request that takes longer is sent unchanged. Zero means five
	// seconds and one second per MB, or a minute if summaries are written. A negative value means
	// no limit.
	PlanTime time.Duration
	// Prune lets the policy's rules vote on every request, not only on requests that exceed their
	// window.
	Prune bool
	// Secret returns the secret of an AWS access key. The Transport signs a request again if the
	// client's signature was made with that secret, minutes ago, for the service bedrock. All
	// other signed requests are sent unchanged. Nil knows no secrets.
	Secret func(came *http.Request, accessKey string) (secret string, ok bool)
	// NoHeal prevents second attempts.
	NoHeal bool
	// Conversations remembers knowledge from the provider's replies, so that later requests of a
	// conversation are planned with it. Nil remembers nothing.
	Conversations *Conversations
	// Record, if set, is called with the record of every inspected request when the reply was
	// read to the end or closed. A callback that panics is named in the log and, if the record is
	// not complete yet, in [Record.Faults]; the request continues.
	Record func(*Record)
	// Begun, if set, is called with the record of a request before it is sent.
	Begun func(*Record)
	// Planned, if set, is called with the plan of every request that Pare changed, and the id of
	// its record. The plan and the request reference the full conversation; the callback may
	// retain them.
	Planned func(id string, r *wire.Request, p *pare.Plan)
	// Untouched, if set, is called with the decompressed body of every unchanged request up to 1
	// MB. It must not retain the body.
	Untouched func(id string, body []byte)
	// Recorded, if set, is called with every answered request and its reply, when the reply was
	// read to the end or closed. It must not block.
	Recorded func(*RecordedExchange)
	// WantsRecording reports whether an answered request will be passed to Recorded. Nil means
	// every request.
	WantsRecording func(*Record) bool
	// Log receives events, without text of conversations. Nil discards them.
	Log *slog.Logger

	upstream      string           // for records
	clientRequest *http.Request    // the request as the client sent it; nil: the request itself
	now           func() time.Time // nil: time.Now
	budget        *memoryBudget    // shared by all requests; nil: no limits
	client        string           // the sender of the request
	// faults is the set of faults that were logged. Nil logs them for every request.
	faults *loggedFaults
	// stop returns why no more requests of a conversation are sent, or "". Nil always returns "".
	stop func(*fullness.Outlook) string
}

const (
	defaultMaxBody = 64 << 20
	summaryTime    = time.Minute
	maxUntouched   = 1 << 20 // bytes of a body that a page may want to show
	maxErrorBody   = 1 << 20 // no provider explains itself at greater length
)

func (t *Transport) base() http.RoundTripper {
	if t.Base == nil {
		return http.DefaultTransport
	}
	return t.Base
}

func (t *Transport) policy() *pare.Policy {
	if t.Policy == nil {
		return Default()
	}
	return t.Policy
}

func (t *Transport) maxBody() int64 {
	if t.MaxBody == 0 {
		return defaultMaxBody
	}
	return t.MaxBody
}

// planTime returns the time limit for planning. Zero means [planTimeFor] the size.
func (t *Transport) planTime(p *pare.Policy) time.Duration {
	switch {
	case t.PlanTime != 0:
		return t.PlanTime
	case p.Compact != nil && !p.SummarizeLater:
		return summaryTime
	}
	return 0
}

func (t *Transport) log() *slog.Logger {
	if t.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return t.Log
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	s := parseRequestPath(req, req.URL)
	if s.dialect == wire.Auto || t.policy().Off {
		return t.sendUninspected(req)
	}
	return t.sendInspected(req, s)
}

// sendInspected plans and sends a request.
func (t *Transport) sendInspected(req *http.Request, s requestPath) (*http.Response, error) {
	// The betas of the header may be more by the time the provider reads them: a gateway adds its own.
	sent := dialect.ReadConditions(req.URL.Path, req.Header)
	sent.AllBetas = false
	x := &exchange{
		transport: t, request: req, start: time.Now(), path: s,
		input: planInput{
			policy: t.policy(), parseOptions: wire.Options{Dialect: s.dialect, Model: s.model, Profile: t.profile(s.dialect), Conditions: sent}, isCountOnly: s.isCountOnly, prunesAlways: t.Prune, wantsLongContext: wantsLongContext(req.Header),
			conversations: t.Conversations, upstream: cmp.Or(t.upstream, req.URL.Host), isAnthropic: isAnthropicHost(t.upstream, req.URL.Hostname()),
		},
	}
	return x.run()
}

// profile returns the configured profile if the dialect has it, or "".
func (t *Transport) profile(d wire.Dialect) string {
	if t.Profile != "" && slices.Contains(wire.Profiles(d), t.Profile) {
		return t.Profile
	}
	return ""
}

// An exchange is one request and its reply.
type exchange struct {
	transport      *Transport
	request        *http.Request
	path           requestPath
	input          planInput
	start          time.Time
	record         Record
	body           *requestBody
	signerResolved bool    // cachedSigner is set
	cachedSigner   *signer // nil: the request is not signed again
	decompressed   []byte  // the body without its content coding
	sentBody       []byte  // the last body that was sent
	result         planResult
	// usageComparable means that the provider's count can be compared with ours: the request was
	// counted and sent unchanged.
	usageComparable bool
	textSize        int               // bytes of text; 0: unknown
	passedBody      *countingBody     // the body, if it is not inspected
	outlook         *fullness.Outlook // nil: the request is not part of a conversation
	// recorded is the exchange that is being recorded, or nil.
	recorded *RecordedExchange
}

func (x *exchange) run() (*http.Response, error) {
	x.record = Record{ID: newID(), Upstream: x.transport.upstream, Scope: scopeOf(x.request.Context()), Time: x.start, Method: x.request.Method, Path: x.request.URL.Path, Dialect: x.input.parseOptions.Dialect.String(), BytesIn: x.request.ContentLength, Trace: firstValue(x.request.Header, "Traceparent"), Agent: agentOf(firstValue(x.request.Header, "User-Agent"))}
	x.record.truncate()
	b, rest, err := readBody(x.request.Context(), x.request.Body, x.request.ContentLength, x.transport.maxBody(), memoryClaim{budget: x.transport.budget, client: x.transport.client})
	if err != nil {
		x.request.Body.Close()
		return nil, &BodyError{err}
	}
	if rest != nil {
		return x.sendLargeBody(rest)
	}
	x.request.Body.Close()
	b.hold()
	defer b.release()
	x.body, x.record.BytesIn = b, int64(len(b.buf))
	x.planBody()
	x.observeFullness()
	if resp := x.stopResponse(); resp != nil {
		return x.finishHeaders(resp), nil
	}
	x.reportBegun()
	resp, err := x.send(x.firstBody())
	if err != nil {
		x.recordFailure(err)
		return nil, err
	}
	return x.finishHeaders(x.retryRefused(resp)), nil
}

// reportBegun calls the callback for requests that are about to be sent.
func (x *exchange) reportBegun() {
	if x.transport.Begun != nil {
		rec := x.record
		rec.setResult(&x.result)
		x.callback("callback Begun", func() { x.transport.Begun(&rec) })
	}
}

// A BodyError is returned if the body of a request could not be read.
type BodyError struct{ Err error }

func (e *BodyError) Error() string { return fmt.Sprintf("read the body of the request: %v", e.Err) }
func (e *BodyError) Unwrap() error { return e.Err }

// sendLargeBody sends a body that is too large to be inspected.
func (x *exchange) sendLargeBody(body io.ReadCloser) (*http.Response, error) {
	x.result = planResult{skipReason: skipTooLarge, detail: "the body is larger than " + strconv.FormatInt(x.transport.maxBody(), 10) + " bytes"}
	x.record.BytesIn = max(x.request.ContentLength, 0)
	x.reportBegun()
	x.passedBody = &countingBody{ReadCloser: body}
	out := x.request.Clone(x.request.Context())
	out.Body, out.GetBody = x.passedBody, nil
	x.transport.signUnread(out, x.request)
	resp, err := x.transport.base().RoundTrip(out)
	if err != nil {
		x.recordFailure(err)
		return nil, err
	}
	return x.finishHeaders(resp), nil
}

// planBody decompresses the body and plans it.
func (x *exchange) planBody() {
	began := time.Now()
	defer func() { x.record.Planned += time.Since(began) }()
	var err error
	x.decompressed, err = x.decompressedBody()
	switch {
	case err == errNoMemory:
		x.result = planResult{skipReason: skipTime, detail: err.Error()}
	case err == errCoding:
		x.result = planResult{skipReason: skipCoding}
	case err == errTooLarge:
		x.result = planResult{skipReason: skipTooLarge, detail: err.Error()}
	case err != nil:
		x.result = planResult{skipReason: skipCoding, detail: err.Error()}
	default:
		x.result = x.planEnclosed()
	}
	if x.result.body != nil && x.isSealed() {
		x.result = x.result.withSkip(skipSigned, "")
	}
	x.transport.recordFaults(&x.record, x.result.faults...)
}

// decompressedBody returns the body without its content coding. It first claims memory for
// sixteen times the compressed size, which is enough for most bodies.
func (x *exchange) decompressedBody() (plain []byte, err error) {
	coding := strings.Join(x.request.Header["Content-Encoding"], ",")
	if coding == "" {
		return x.body.buf, nil
	}
	ctx, cancel := context.WithTimeout(x.request.Context(), planWait)
	defer cancel()
	room := &x.body.memory
	for _, most := range []int64{min(max(16*int64(len(x.body.buf)), smallBuffer), x.transport.maxBody()), x.transport.maxBody()} {
		if room.acquire(ctx, most) != nil {
			return nil, errNoMemory
		}
		plain, err = decompress(coding, x.body.buf, most)
		room.release(most - int64(len(plain)))
		if err != errTooLarge {
			break
		}
	}
	return plain, err
}

// isSealed reports whether a request is signed and cannot be signed again.
func (x *exchange) isSealed() bool {
	return isSigned(x.request.Header) && x.signer() == nil
}

// signer returns the signer for changed requests, or nil.
func (x *exchange) signer() *signer {
	if x.transport.Secret == nil {
		return nil
	}
	if !x.signerResolved {
		x.signerResolved = true
		if _, ok := signatureOf(x.request.Header); ok {
			x.cachedSigner = x.transport.signer(x.transport.clientRequestOf(x.request), hashOf(x.body.buf), int64(len(x.body.buf)))
		}
	}
	return x.cachedSigner
}

// firstBody returns the body of the first attempt.
func (x *exchange) firstBody() []byte {
	if x.result.body != nil {
		return x.result.body
	}
	return x.body.buf
}

// send sends a body. The original body keeps its content coding.
func (x *exchange) send(bytes []byte) (*http.Response, error) {
	ctx := x.request.Context()
	out := x.request.WithContext(ctx)
	if len(bytes) == 0 || len(x.body.buf) == 0 || &bytes[0] != &x.body.buf[0] {
		out.Header = x.request.Header.Clone()
		out.Header.Del("Content-Encoding")
		out.Header.Set("Content-Length", strconv.Itoa(len(bytes)))
	}
	if len(x.result.betas) > 0 {
		out.Header = withBetas(out.Header, x.result.betas)
	}
	if firstValue(out.Header, "Expect") != "" {
		out.Header = out.Header.Clone()
		out.Header.Del("Expect") // it has been met: the body is here
	}
	out.ContentLength, out.TransferEncoding = int64(len(bytes)), nil
	out.Body = x.body.reader(bytes)
	x.sentBody = bytes
	out.GetBody = func() (io.ReadCloser, error) { return x.body.reader(x.sentBody), nil } // before the reply
	x.record.BytesOut = int64(len(bytes))
	if by := x.signer(); by != nil {
		out.Header = out.Header.Clone()
		by.sign(out, bytes)
	}
	return x.transport.base().RoundTrip(out)
}

// finishHeaders adds the headers that describe the changes to a reply, and observes the rest of
// the reply.
func (x *exchange) finishHeaders(resp *http.Response) *http.Response {
	if resp.StatusCode < 400 {
		x.transport.Conversations.learn(x.result.conversationKey, x.result.newlyLearned)
		x.transport.Conversations.recordAccepted(x.result.conversationKey, int(x.record.BytesOut))
	}
	x.transport.recordFaults(&x.record, x.transport.Conversations.takeFault())
	x.record.Waited = time.Since(x.start)
	x.record.Status = resp.StatusCode
	x.record.setResult(&x.result)
	x.checkFullness()
	x.record.writeHeaders(resp.Header)
	if resp.StatusCode == http.StatusSwitchingProtocols {
		x.finish(nil)
		return resp
	}
	media, _, _ := strings.Cut(firstValue(resp.Header, "Content-Type"), ";")
	x.record.Stream = media == "text/event-stream" || strings.HasSuffix(media, ".eventstream")
	if x.transport.Planned != nil && x.result.plan != nil {
		x.body.detach()
		x.callback("callback Planned", func() { x.transport.Planned(x.record.ID, x.result.plannedRequest, x.result.plan) })
	}
	if x.transport.Untouched != nil && x.result.conversationKey != "" && x.result.plan == nil && x.result.body == nil && len(x.decompressed) <= maxUntouched {
		x.callback("callback Untouched", func() { x.transport.Untouched(x.record.ID, x.decompressed) })
	}
	x.usageComparable = x.transport.Conversations != nil && x.result.conversationKey != "" && x.result.tokens[0] > 0 && x.result.body == nil
	x.record.Rewritten = x.rewrittenTokens()
	if x.result.cutResults > 0 && x.transport.Conversations != nil && x.record.Status < 400 {
		x.record.Cut, x.record.Fetched = x.transport.Conversations.recordCuts(x.result.conversationKey, x.result.glance.Turns, x.result.cutResults, x.result.refetchedResults)
	}
	if x.body != nil {
		x.recorded = x.startRecording(resp)
	}
	x.releaseHistory()
	w := &replyReader{ReadCloser: resp.Body, exchange: x}
	if coding := firstValue(resp.Header, "Content-Encoding"); isStreamable(coding) {
		w.usage.coding = coding
	}
	resp.Body = w
	return resp
}

// releaseHistory drops the history, because a reply may take long and the history will not be
// sent again.
func (x *exchange) releaseHistory() {
	x.decompressed, x.sentBody, x.input.firstAttempt = nil, nil, nil
	x.result.body, x.result.plan, x.result.plannedRequest = nil, nil, nil
}

func (x *exchange) recordFailure(err error) {
	x.record.setResult(&x.result)
	x.finish(err)
}

// finish completes the record and calls the callback.
func (x *exchange) finish(err error) {
	if x.record.Took == 0 {
		x.record.Took = time.Since(x.start)
	}
	if x.passedBody != nil {
		x.record.BytesIn = x.passedBody.count.Load()
		x.record.BytesOut = x.record.BytesIn
	}
	if err != nil {
		x.record.Error = cause(err)
	}
	if x.transport.Record != nil {
		rec := x.record
		x.callback("callback Record", func() { x.transport.Record(&rec) })
	}
	level := slog.LevelDebug
	interrupted := errors.Is(err, context.Canceled) // by the user, which is no fault
	if err != nil && !interrupted || x.record.Status >= 500 || x.record.Skipped == skipPanic {
		level = slog.LevelWarn
	} else if interrupted || len(x.record.Changes) > 0 || x.record.Skipped != "" || x.record.Tried != "" {
		level = slog.LevelInfo
	}
	if l := x.transport.log(); l.Enabled(context.Background(), level) {
		l.Log(context.Background(), level, "request", slog.Any("", &x.record)) // inline the attributes
	}
}

// quotation matches quotations of an invalid reply in the errors of net/http.
var quotation = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|line: .*`)

// cause describes an error without the URL, whose query may contain a key, and without quotations
// from the upstream, because it is written to records and logs.
func cause(err error) string {
	if errors.Is(err, context.Canceled) {
		return "the client went away"
	}
	return quotation.ReplaceAllString(err.Error(), "[…]")
}
