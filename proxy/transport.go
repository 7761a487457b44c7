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
	Passed func(*Passage)
	// Passes says whether a request that is about to be answered is to be passed to Passed, so
	// that nothing is kept in vain. Nil: every one is.
	Passes func(*Record) bool
	// Log says what happened, without a word of any conversation. Nil: nobody hears it.
	Log *slog.Logger

	upstream string           // for records
	came     *http.Request    // as the client sent it, for its signature; nil: the request itself
	now      func() time.Time // nil: time.Now
	ledger   *ledger          // what all requests share; nil: nothing is bounded
	client   string           // who has sent the request
	// faults are those that the log has named; nil: it names them at every request.
	faults *faults
	// stop says why no more requests of a conversation are sent that has come so far; "": they are.
	// Nil: they always are.
	stop func(*fullness.Outlook) string
}

const (
	defaultMaxBody = 64 << 20
	summaryTime    = time.Minute
	mostUntouched  = 1 << 20 // bytes of a body that a page may want to show
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
	s := looksAt(req, req.URL)
	if s.dialect == wire.Auto || t.policy().Off {
		return t.pass(req)
	}
	return t.carry(req, s)
}

// carry sends a request that is looked at.
func (t *Transport) carry(req *http.Request, s sight) (*http.Response, error) {
	// The betas of the header may be more by the time the provider reads them: a gateway adds its own.
	sent := wirex.ReadConditions(req.URL.Path, req.Header)
	sent.AllBetas = false
	x := &exchange{
		t: t, in: req, began: time.Now(), sight: s,
		aim: aim{
			policy: t.policy(), read: wire.Options{Dialect: s.dialect, Model: s.model, Profile: t.profile(s.dialect), Conditions: sent}, unfitted: s.counted, prune: t.Prune, long: asksLong(req.Header),
			conversations: t.Conversations, upstream: cmp.Or(t.upstream, req.URL.Host), anthropic: anthropics(t.upstream, req.URL.Hostname()),
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
	t     *Transport
	in    *http.Request
	sight sight
	aim   aim
	began time.Time
	rec   Record
	body  *body
	asked bool    // signs has been found out
	signs *signer // nil: nobody signs again
	plain []byte  // what the body holds, unpacked
	sent  []byte  // what was sent last
	o     outcome
	// counts says that the provider's count says something about ours: the request was
	// counted, and sent as it is.
	counts  bool
	text    int               // how much of it is text, in bytes; zero: not known
	passed  *passed           // the body, if it is not looked at
	outlook *fullness.Outlook // of the conversation; nil: it is none
	// passage is what is kept of what passes; nil: nothing.
	passage *Passage
}

func (x *exchange) run() (*http.Response, error) {
	x.rec = Record{ID: newID(), Upstream: x.t.upstream, Scope: scopeOf(x.in.Context()), Time: x.began, Method: x.in.Method, Path: x.in.URL.Path, Dialect: x.aim.read.Dialect.String(), BytesIn: x.in.ContentLength, Trace: first(x.in.Header, "Traceparent"), Agent: agentOf(first(x.in.Header, "User-Agent"))}
	x.rec.bound()
	b, rest, err := readBody(x.in.Context(), x.in.Body, x.in.ContentLength, x.t.maxBody(), claim{of: x.t.ledger, client: x.t.client})
	if err != nil {
		x.in.Body.Close()
		return nil, &BodyError{err}
	}
	if rest != nil {
		return x.through(rest)
	}
	x.in.Body.Close()
	b.hold()
	defer b.release()
	x.body, x.rec.BytesIn = b, int64(len(b.buf))
	x.plan()
	x.fullness()
	if resp := x.stopped(); resp != nil {
		return x.replied(resp), nil
	}
	x.begun()
	resp, err := x.send(x.out())
	if err != nil {
		x.failed(err)
		return nil, err
	}
	return x.replied(x.heal(resp)), nil
}

// begun says that the request is on its way.
func (x *exchange) begun() {
	if x.t.Begun != nil {
		rec := x.rec
		rec.fill(&x.o)
		x.call("callback Begun", func() { x.t.Begun(&rec) })
	}
}

// A BodyError is the error for a request whose body could not be read. Many goroutines
// may read it.
type BodyError struct{ Err error }

func (e *BodyError) Error() string { return fmt.Sprintf("read the body of the request: %v", e.Err) }
func (e *BodyError) Unwrap() error { return e.Err }

// through sends on what is too large to be looked at.
func (x *exchange) through(body io.ReadCloser) (*http.Response, error) {
	x.o = outcome{skip: skipTooLarge, detail: "the body is larger than " + strconv.FormatInt(x.t.maxBody(), 10) + " bytes"}
	x.rec.BytesIn = max(x.in.ContentLength, 0)
	x.begun()
	x.passed = &passed{ReadCloser: body}
	out := x.in.Clone(x.in.Context())
	out.Body, out.GetBody = x.passed, nil
	x.t.signUnread(out, x.in)
	resp, err := x.t.base().RoundTrip(out)
	if err != nil {
		x.failed(err)
		return nil, err
	}
	return x.replied(resp), nil
}

// plan unpacks the body and plans.
func (x *exchange) plan() {
	began := time.Now()
	defer func() { x.rec.Planned += time.Since(began) }()
	var err error
	x.plain, err = x.unpacked()
	switch {
	case err == errNoMemory:
		x.o = outcome{skip: skipTime, detail: err.Error()}
	case err == errCoding:
		x.o = outcome{skip: skipCoding}
	case err == errBomb:
		x.o = outcome{skip: skipTooLarge, detail: err.Error()}
	case err != nil:
		x.o = outcome{skip: skipCoding, detail: err.Error()}
	default:
		x.o = x.enclosed()
	}
	if x.o.body != nil && x.sealed() {
		x.o = x.o.skipped(skipSigned, "")
	}
	x.t.blame(&x.rec, x.o.faults...)
}

// unpacked is what the body holds. Memory is claimed for it before it is known how much it
// takes: most bodies do not become sixteen times as large.
func (x *exchange) unpacked() (plain []byte, err error) {
	coding := strings.Join(x.in.Header["Content-Encoding"], ",")
	if coding == "" {
		return x.body.buf, nil
	}
	ctx, cancel := context.WithTimeout(x.in.Context(), planWait)
	defer cancel()
	room := &x.body.room
	for _, most := range []int64{min(max(16*int64(len(x.body.buf)), smallBuffer), x.t.maxBody()), x.t.maxBody()} {
		if room.take(ctx, most) != nil {
			return nil, errNoMemory
		}
		plain, err = unpack(coding, x.body.buf, most)
		room.give(most - int64(len(plain)))
		if err != errBomb {
			break
		}
	}
	return plain, err
}

// sealed reports whether a request is signed, and must stay as it is: nobody here signs again.
func (x *exchange) sealed() bool {
	return isSigned(x.in.Header) && x.signer() == nil
}

// signer is who signs what is sent in the place of what came; nil: nobody does.
func (x *exchange) signer() *signer {
	if x.t.Secret == nil {
		return nil
	}
	if !x.asked {
		x.asked = true
		if _, ok := signatureOf(x.in.Header); ok {
			x.signs = x.t.signer(x.t.asCame(x.in), hashOf(x.body.buf), int64(len(x.body.buf)))
		}
	}
	return x.signs
}

// out is what is sent first: what came, or what the plan makes of it.
func (x *exchange) out() []byte {
	if x.o.body != nil {
		return x.o.body
	}
	return x.body.buf
}

// send sends bytes in the place of the body. A body that is the one that came keeps its
// coding.
func (x *exchange) send(bytes []byte) (*http.Response, error) {
	ctx := x.in.Context()
	out := x.in.WithContext(ctx)
	if len(bytes) == 0 || len(x.body.buf) == 0 || &bytes[0] != &x.body.buf[0] {
		out.Header = x.in.Header.Clone()
		out.Header.Del("Content-Encoding")
		out.Header.Set("Content-Length", strconv.Itoa(len(bytes)))
	}
	if len(x.o.betas) > 0 {
		out.Header = withBetas(out.Header, x.o.betas)
	}
	if first(out.Header, "Expect") != "" {
		out.Header = out.Header.Clone()
		out.Header.Del("Expect") // it has been met: the body is here
	}
	out.ContentLength, out.TransferEncoding = int64(len(bytes)), nil
	out.Body = x.body.sends(bytes)
	x.sent = bytes
	out.GetBody = func() (io.ReadCloser, error) { return x.body.sends(x.sent), nil } // before the reply
	x.rec.BytesOut = int64(len(bytes))
	if by := x.signer(); by != nil {
		out.Header = out.Header.Clone()
		by.sign(out, bytes)
	}
	return x.t.base().RoundTrip(out)
}

// replied says in the headers of a reply what was done, and waits for its end.
func (x *exchange) replied(resp *http.Response) *http.Response {
	if resp.StatusCode < 400 {
		x.t.Conversations.learn(x.o.key, x.o.taught)
		x.t.Conversations.took(x.o.key, int(x.rec.BytesOut))
	}
	x.t.blame(&x.rec, x.t.Conversations.fault())
	x.rec.Waited = time.Since(x.began)
	x.rec.Status = resp.StatusCode
	x.rec.fill(&x.o)
	x.full()
	x.rec.header(resp.Header)
	if resp.StatusCode == http.StatusSwitchingProtocols {
		x.end(nil)
		return resp
	}
	media, _, _ := strings.Cut(first(resp.Header, "Content-Type"), ";")
	x.rec.Stream = media == "text/event-stream" || strings.HasSuffix(media, ".eventstream")
	if x.t.Planned != nil && x.o.plan != nil {
		x.body.detach()
		x.call("callback Planned", func() { x.t.Planned(x.rec.ID, x.o.planned, x.o.plan) })
	}
	if x.t.Untouched != nil && x.o.key != "" && x.o.plan == nil && x.o.body == nil && len(x.plain) <= mostUntouched {
		x.call("callback Untouched", func() { x.t.Untouched(x.rec.ID, x.plain) })
	}
	x.counts = x.t.Conversations != nil && x.o.key != "" && x.o.tokens[0] > 0 && x.o.body == nil
	x.rec.Rewritten = x.rewritten()
	if x.o.cut > 0 && x.t.Conversations != nil && x.rec.Status < 400 {
		x.rec.Cut, x.rec.Fetched = x.t.Conversations.learnCuts(x.o.key, x.o.glance.Turns, x.o.cut, x.o.fetched)
	}
	if x.body != nil {
		x.passage = x.pass(resp)
	}
	x.forget()
	w := &watched{ReadCloser: resp.Body, x: x}
	if coding := first(resp.Header, "Content-Encoding"); passing(coding) {
		w.heard.coding = coding
	}
	resp.Body = w
	return resp
}

// forget lets go of the history when nobody will send it again: a reply may take long.
func (x *exchange) forget() {
	x.plain, x.sent, x.aim.sent = nil, nil, nil
	x.o.body, x.o.plan, x.o.planned = nil, nil, nil
}

func (x *exchange) failed(err error) {
	x.rec.fill(&x.o)
	x.end(err)
}

// end hands out the record.
func (x *exchange) end(err error) {
	if x.rec.Took == 0 {
		x.rec.Took = time.Since(x.began)
	}
	if x.passed != nil {
		x.rec.BytesIn = x.passed.n.Load()
		x.rec.BytesOut = x.rec.BytesIn
	}
	if err != nil {
		x.rec.Error = cause(err)
	}
	if x.t.Record != nil {
		rec := x.rec
		x.call("callback Record", func() { x.t.Record(&rec) })
	}
	level := slog.LevelDebug
	interrupted := errors.Is(err, context.Canceled) // by the user, which is no fault
	if err != nil && !interrupted || x.rec.Status >= 500 || x.rec.Skipped == skipPanic {
		level = slog.LevelWarn
	} else if interrupted || len(x.rec.Changes) > 0 || x.rec.Skipped != "" || x.rec.Tried != "" {
		level = slog.LevelInfo
	}
	if l := x.t.log(); l.Enabled(context.Background(), level) {
		l.Log(context.Background(), level, "request", slog.Any("", &x.rec)) // its values stand on their own
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
