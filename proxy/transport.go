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
	"github.com/pare-llm/pare/internal/fullness"
	"github.com/pare-llm/pare/wire"
)

// A Transport sends requests on, repaired and within the window of their model. The zero
// value does that with the [Default] policy and http.DefaultTransport. Many goroutines may
// use one, as long as nobody changes it.
//
// A request is looked at if it is a POST to a path that some provider takes histories at,
// whatever the host. Requests in the middle of a conversation that the server holds, and
// everything else that is in doubt, go on as they are. A request that the provider refuses
// for a reason that can be helped is planned again and sent once more; if that does not
// help, the first answer comes back.
type Transport struct {
	// Base sends the requests. Nil: http.DefaultTransport.
	Base http.RoundTripper
	// Policy says what is done. Nil: [Default].
	Policy *pare.Policy
	// Profile is the vendor whose rules apply; "": the one that the model belongs to.
	Profile string
	// MaxBody is the largest body that is looked at. Zero: 64 MB.
	MaxBody int64
	// PlanTime is how long planning may take; what takes longer goes on as it came. Zero: five
	// seconds and one for every MB, or a minute where summaries are written. Less: as long as it
	// takes.
	PlanTime time.Duration
	// Prune lets the rules of the policy vote on every request, not only on those that do
	// not fit their window.
	Prune bool
	// Secret returns the secret of an access key of AWS for a request, as the client sent it.
	// A request whose signature was made with that secret, minutes ago and for the service
	// bedrock, is signed again, as its host or body is not what it was. All others that are
	// signed go on as they came. Nil knows none.
	Secret func(came *http.Request, accessKey string) (secret string, ok bool)
	// NoHeal sends no request a second time.
	NoHeal bool
	// Conversations is what is known of conversations: what healed one is done to its later
	// requests from the start. Nil: nothing is remembered.
	Conversations *Conversations
	// Record gets a record of every request that was looked at, when its reply has been
	// read to the end, or closed. Nil: nobody does. A callback that panics is named in the
	// log and, if it is called before the end, in [Record.Faults]; the request goes on.
	Record func(*Record)
	// Begun gets the record of a request that is about to be sent. Nil: nobody does.
	Begun func(*Record)
	// Planned gets what was planned for a request that is changed, by the id of its record,
	// and may keep it; both hold the conversation. Nil: nobody does.
	Planned func(id string, r *wire.Request, p *pare.Plan)
	// Untouched gets the body of a request that goes on as it came, unpacked, by the id of its record,
	// and may read it until it returns. Larger ones than a megabyte are left out. Nil: nobody does.
	Untouched func(id string, body []byte)
	// Passed gets every request that was answered, with its history and its reply, when that has
	// been read to the end, or closed. It must not wait. Nil: nobody does.
	Recorded func(*RecordedExchange)
	// Passes says whether a request that is about to be answered is to be passed to Passed, so
	// that nothing is kept in vain. Nil: every one is.
	WantsRecording func(*Record) bool
	// Log says what happened, without a word of any conversation. Nil: nobody hears it.
	Log *slog.Logger

	upstream      string           // for records
	clientRequest *http.Request    // as the client sent it, for its signature; nil: the request itself
	now           func() time.Time // nil: time.Now
	budget        *memoryBudget    // what all requests share; nil: nothing is bounded
	client        string           // who has sent the request
	// faults are those that the log has named; nil: it names them at every request.
	faults *loggedFaults
	// stop says why no more requests of a conversation are sent that has come so far; "": they are.
	// Nil: they always are.
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

// planTime is how long planning may take; zero: [planTimeFor] its size.
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

// RoundTrip is as http.RoundTripper says.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	s := parseRequestPath(req, req.URL)
	if s.dialect == wire.Auto || t.policy().Off {
		return t.sendUninspected(req)
	}
	return t.sendInspected(req, s)
}

// carry sends a request that is looked at.
func (t *Transport) sendInspected(req *http.Request, s requestPath) (*http.Response, error) {
	// The betas of the header may be more by the time the provider reads them: a gateway adds its own.
	sent := wirex.ReadConditions(req.URL.Path, req.Header)
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

// profile is the one to read a dialect with, if it has one of that name.
func (t *Transport) profile(d wire.Dialect) string {
	if t.Profile != "" && slices.Contains(wire.Profiles(d), t.Profile) {
		return t.Profile
	}
	return ""
}

// An exchange is one request on its way, and its reply.
type exchange struct {
	transport      *Transport
	request        *http.Request
	path           requestPath
	input          planInput
	start          time.Time
	record         Record
	body           *requestBody
	signerResolved bool    // signs has been found out
	cachedSigner   *signer // nil: nobody signs again
	decompressed   []byte  // what the body holds, unpacked
	sentBody       []byte  // what was sent last
	result         planResult
	// counts says that the provider's count says something about ours: the request was
	// counted, and sent as it is.
	usageComparable bool
	textSize        int               // how much of it is text, in bytes; zero: not known
	passedBody      *countingBody     // the body, if it is not looked at
	outlook         *fullness.Outlook // of the conversation; nil: it is none
	// passage is what is kept of what passes; nil: nothing.
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

// begun says that the request is on its way.
func (x *exchange) reportBegun() {
	if x.transport.Begun != nil {
		rec := x.record
		rec.setResult(&x.result)
		x.callback("callback Begun", func() { x.transport.Begun(&rec) })
	}
}

// A BodyError is the error for a request whose body could not be read. Many goroutines
// may read it.
type BodyError struct{ Err error }

func (e *BodyError) Error() string { return fmt.Sprintf("read the body of the request: %v", e.Err) }
func (e *BodyError) Unwrap() error { return e.Err }

// through sends on what is too large to be looked at.
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

// plan unpacks the body and plans.
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

// unpacked is what the body holds. Memory is claimed for it before it is known how much it
// takes: most bodies do not become sixteen times as large.
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

// sealed reports whether a request is signed, and must stay as it is: nobody here signs again.
func (x *exchange) isSealed() bool {
	return isSigned(x.request.Header) && x.signer() == nil
}

// signer is who signs what is sent in the place of what came; nil: nobody does.
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

// out is what is sent first: what came, or what the plan makes of it.
func (x *exchange) firstBody() []byte {
	if x.result.body != nil {
		return x.result.body
	}
	return x.body.buf
}

// send sends bytes in the place of the body. A body that is the one that came keeps its
// coding.
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

// replied says in the headers of a reply what was done, and waits for its end.
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

// forget lets go of the history when nobody will send it again: a reply may take long.
func (x *exchange) releaseHistory() {
	x.decompressed, x.sentBody, x.input.firstAttempt = nil, nil, nil
	x.result.body, x.result.plan, x.result.plannedRequest = nil, nil, nil
}

func (x *exchange) recordFailure(err error) {
	x.record.setResult(&x.result)
	x.finish(err)
}

// end hands out the record.
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
		l.Log(context.Background(), level, "request", slog.Any("", &x.record)) // its values stand on their own
	}
}

// quotation finds what an error of net/http quotes of an answer that is no HTTP.
var quotation = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|line: .*`)

// cause names an error without the URL, whose query may hold a key, and without what the
// upstream sent, which may be words of the conversation: it goes into records and logs.
func cause(err error) string {
	if errors.Is(err, context.Canceled) {
		return "the client went away"
	}
	return quotation.ReplaceAllString(err.Error(), "[…]")
}
