package proxy

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"sync"

	"github.com/pare-llm/pare/internal/fullness"
)

// A fullnessState is the size of a conversation's last request, as the provider counted it, and
// its growth.
type fullnessState struct {
	textBytes   int // in bytes; see [textBytes]
	pace        fullness.Pace
	wasReported bool // the log has named it as nearly full
}

// fullnessStates holds the states of conversations, bounded.
type fullnessStates struct {
	mu  sync.Mutex
	all lruCache[fullnessState]
}

// record stores the provider's count for a request with so many bytes of text.
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

// estimate returns the size of a request in tokens: the count of the previous request, and the
// added text at the same ratio, but at least two bytes per token. Zero means unknown.
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

// nearlyFull is the share of the window at which the log names a conversation, once.
const nearlyFull = 0.8

// reportNearlyFull records a share and reports whether the conversation has just become nearly
// full.
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

// textBytes returns the size of a body without images and files, whose tokens do not depend on
// their bytes. Such data are long runs of base64, so that a probe every 2 KB finds them.
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

// base64Bytes are the bytes of base64 in JSON, which may escape slashes and line breaks.
var base64Bytes = func() (is [256]bool) {
	for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=\\" {
		is[c] = true
	}
	return is
}()

// observeFullness records how full the request makes the window of its model. It uses the
// provider's count of the previous request or, without one, Pare's own count. Limits also apply
// to models without a known window.
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

// setWindow modifies a position: it sets the window that the request must fit. It sets nothing if
// the window is unknown or the provider has accepted more.
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

// checkFullness removes the window from the record if the provider accepted a larger request,
// because the window is wrong then. It logs a conversation that has become nearly full.
func (x *exchange) checkFullness() {
	o := x.record.Fullness
	if o != nil && o.Tokens > o.Window && x.record.Status < 400 {
		x.record.Fullness = nil
	} else if o != nil && x.transport.Conversations != nil && x.transport.Conversations.fills.reportNearlyFull(x.result.conversationKey, o.Share) {
		x.transport.log().Warn("a conversation is nearly full", "id", x.record.ID, "model", x.result.glance.Profile.Model, "window", o.Header())
	}
}

// recordFullness stores the provider's count for an accepted request.
func (x *exchange) recordFullness() {
	if x.textSize > 0 {
		x.transport.Conversations.fills.record(x.result.conversationKey, x.textSize, fullness.Step{Model: x.record.Model, Usage: x.record.Usage, Turns: x.result.glance.Asked})
	}
}

// stopResponse returns a reply with status 403 if the conversation has reached a configured
// limit, or nil.
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

// A bufferedResponse is a reply that this process writes and the caller of a transport reads.
type bufferedResponse struct {
	header http.Header
	body   bytes.Buffer
}

func (a *bufferedResponse) Header() http.Header         { return a.header }
func (a *bufferedResponse) WriteHeader(int)             {}
func (a *bufferedResponse) Write(b []byte) (int, error) { return a.body.Write(b) }
