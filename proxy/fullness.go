package proxy

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"sync"

	"github.com/pare-llm/pare/internal/fullness"
)

// A fill is how large the last request of a conversation was, as the provider has counted it, and
// how the conversation grows.
type fullnessState struct {
	textBytes   int // in bytes; see [textBytes]
	pace        fullness.Pace
	wasReported bool // that it is nearly full
}

// fills are those of conversations, bounded.
type fullnessStates struct {
	mu  sync.Mutex
	all lruCache[fullnessState]
}

// filled notes what the provider has counted of a request with so much text.
func (f *fullnessStates) record(key string, text int, s fullness.Step) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := f.all.get(key)
	if last == nil {
		last = f.all.add(key, fullnessState{})
	}
	last.textBytes = text
	last.pace.Add(s)
}

// estimate is how many tokens a request with so much text has: those of the one before it, and what
// came since at as many bytes a token, but at least two; zero: not known.
func (f *fullnessStates) estimate(key string, text int) (size int, pace fullness.Pace) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := f.all.get(key)
	if last == nil || last.textBytes == 0 {
		return 0, fullness.Pace{}
	}
	perByte := min(float64(last.pace.Size)/float64(last.textBytes), 0.5)
	return max(0, last.pace.Size+int(perByte*float64(text-last.textBytes))), last.pace
}

// nearlyFull is the share of the room at which the log tells of it, once.
const nearlyFull = 0.8

// tells reports whether that a conversation is so full is news.
func (f *fullnessStates) reportNearlyFull(key string, share float64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := f.all.get(key)
	if last == nil {
		return false
	}
	was := last.wasReported
	last.wasReported = share >= nearlyFull
	return last.wasReported && !was
}

// textBytes is how many bytes a body has without its pictures and files, which cost no tokens for
// each of their bytes. They are long runs of base64, so it is enough to look at one place in two
// thousand.
func textBytes(body []byte) int {
	const apart, probe = 2048, 64
	n := len(body)
	for at := 0; at+probe <= len(body); at += apart {
		end := at
		for end < len(body) && base64Bytes[body[end]] {
			end++
		}
		if end-at < probe {
			continue
		}
		start := at
		for start > 0 && base64Bytes[body[start-1]] {
			start--
		}
		n -= end - start
		at = end
	}
	return max(n, 1)
}

// isBase64 are the bytes of which pictures and files are made; JSON may escape a slash or a new line in
// them.
var base64Bytes = func() (is [256]bool) {
	for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=\\" {
		is[c] = true
	}
	return is
}()

// fullness says in the record how full a request makes the window of its model, and what is left.
// The provider has counted the one before it; where it has not, our own count is taken, if there is
// one. Limits hold for models of which no window is known, too.
func (x *exchange) observeFullness() {
	g := &x.result.glance
	if x.result.batchSize > 0 || x.path.isCountOnly || g.Messages == 0 || g.Delta != "" {
		return
	}
	at := fullness.Position{Model: g.Profile.Model}
	var pace fullness.Pace
	sent := x.result.body // unpacked
	if sent == nil {
		sent = x.decompressed
	}
	if x.transport.Conversations != nil && x.result.conversationKey != "" && len(sent) > 0 {
		x.textSize = textBytes(sent)
		at.Tokens, pace = x.transport.Conversations.fills.estimate(x.result.conversationKey, x.textSize)
	}
	if at.Tokens == 0 {
		at.Tokens = cmp.Or(x.result.tokens[1], x.result.tokens[0])
	}
	if at.Tokens > 0 {
		x.setWindow(&at, pace.Size)
	}
	o := pace.Outlook(at)
	o.Turns = g.Asked
	x.outlook = &o
	if o.Window > 0 {
		x.record.Fullness = &o
	}
}

// within says which window a request is to fit, if that is known: the provider has not taken more.
func (x *exchange) setWindow(at *fullness.Position, taken int) {
	g := &x.result.glance
	m, known := lookupModel(at.Model)
	if !known || m.Window == 0 || taken > x.input.contextWindow(m) {
		return
	}
	at.Window = x.input.contextWindow(m)
	at.Room = max(0, m.Input(min(g.MaxOutput, m.Output))+at.Window-m.Window)
	if w := x.input.policy.Window; w != nil {
		at.CutAt = minNonZero(w.Tokens, x.result.learned.Limit)
		if at.CutAt == 0 && w.ModelTokens {
			at.CutAt = at.Window
		}
	}
}

// full takes back what was said of the window if the request was taken although it is larger: then
// this is not its window. It tells the log, once, of a conversation that is nearly full.
func (x *exchange) checkFullness() {
	o := x.record.Fullness
	if o != nil && o.Tokens > o.Window && x.record.Status < 400 {
		x.record.Fullness = nil
	} else if o != nil && x.transport.Conversations != nil && x.transport.Conversations.fills.reportNearlyFull(x.result.conversationKey, o.Share) {
		x.transport.log().Warn("a conversation is nearly full", "id", x.record.ID, "model", x.result.glance.Profile.Model, "window", o.Header())
	}
}

// filled notes what the provider has counted of a request that it has taken.
func (x *exchange) recordFullness() {
	if x.textSize > 0 {
		x.transport.Conversations.fills.record(x.result.conversationKey, x.textSize, fullness.Step{Model: x.record.Model, Usage: x.record.Usage, Turns: x.result.glance.Asked})
	}
}

// stopped answers in the place of the provider if whoever runs the proxy wants no more of a
// conversation that has come so far.
func (x *exchange) stopResponse() *http.Response {
	if x.transport.stop == nil || x.outlook == nil {
		return nil
	}
	why := x.transport.stop(x.outlook)
	if why == "" {
		return nil
	}
	x.result = x.result.withSkip(skipStopped, why)
	a := bufferedResponse{header: make(http.Header)}
	writeError(&a, x.transport.upstream, x.request.URL.Path, http.StatusForbidden, "pare: this conversation is above the limit of "+why+": begin another one, or raise the limit ([stop] in pare.toml)")
	return &http.Response{
		Status: "403 Forbidden", StatusCode: http.StatusForbidden, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.header, Body: io.NopCloser(&a.body), ContentLength: int64(a.body.Len()), Request: x.request,
	}
}

// An answered is an answer that is written here and read by whoever asked a transport.
type bufferedResponse struct {
	header http.Header
	body   bytes.Buffer
}

func (a *bufferedResponse) Header() http.Header         { return a.header }
func (a *bufferedResponse) WriteHeader(int)             {}
func (a *bufferedResponse) Write(b []byte) (int, error) { return a.body.Write(b) }
