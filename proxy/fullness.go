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
type fill struct {
	text int // in bytes; see [textBytes]
	pace fullness.Pace
	told bool // that it is nearly full
}

// fills are those of conversations, bounded.
type fills struct {
	mu  sync.Mutex
	all recent[fill]
}

// filled notes what the provider has counted of a request with so much text.
func (f *fills) filled(key string, text int, s fullness.Step) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := f.all.get(key)
	if last == nil {
		last = f.all.add(key, fill{})
	}
	last.text = text
	last.pace.Add(s)
}

// estimate is how many tokens a request with so much text has: those of the one before it, and what
// came since at as many bytes a token, but at least two; zero: not known.
func (f *fills) estimate(key string, text int) (size int, pace fullness.Pace) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := f.all.get(key)
	if last == nil || last.text == 0 {
		return 0, fullness.Pace{}
	}
	perByte := min(float64(last.pace.Size)/float64(last.text), 0.5)
	return max(0, last.pace.Size+int(perByte*float64(text-last.text))), last.pace
}

// nearlyFull is the share of the room at which the log tells of it, once.
const nearlyFull = 0.8

// tells reports whether that a conversation is so full is news.
func (f *fills) tells(key string, share float64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := f.all.get(key)
	if last == nil {
		return false
	}
	was := last.told
	last.told = share >= nearlyFull
	return last.told && !was
}

// textBytes is how many bytes a body has without its pictures and files, which cost no tokens for
// each of their bytes. They are long runs of base64, so it is enough to look at one place in two
// thousand.
func textBytes(body []byte) int {
	const apart, probe = 2048, 64
	n := len(body)
	for at := 0; at+probe <= len(body); at += apart {
		end := at
		for end < len(body) && isBase64[body[end]] {
			end++
		}
		if end-at < probe {
			continue
		}
		start := at
		for start > 0 && isBase64[body[start-1]] {
			start--
		}
		n -= end - start
		at = end
	}
	return max(n, 1)
}

// isBase64 are the bytes of which pictures and files are made; JSON may escape a slash or a new line in
// them.
var isBase64 = func() (is [256]bool) {
	for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=\\" {
		is[c] = true
	}
	return is
}()

// fullness says in the record how full a request makes the window of its model, and what is left.
// The provider has counted the one before it; where it has not, our own count is taken, if there is
// one. Limits hold for models of which no window is known, too.
func (x *exchange) fullness() {
	g := &x.o.glance
	if x.o.requests > 0 || x.sight.counted || g.Messages == 0 || g.Delta != "" {
		return
	}
	at := fullness.Position{Model: g.Profile.Model}
	var pace fullness.Pace
	sent := x.o.body // unpacked
	if sent == nil {
		sent = x.plain
	}
	if x.t.Conversations != nil && x.o.key != "" && len(sent) > 0 {
		x.text = textBytes(sent)
		at.Tokens, pace = x.t.Conversations.fills.estimate(x.o.key, x.text)
	}
	if at.Tokens == 0 {
		at.Tokens = cmp.Or(x.o.tokens[1], x.o.tokens[0])
	}
	if at.Tokens > 0 {
		x.within(&at, pace.Size)
	}
	o := pace.Outlook(at)
	o.Turns = g.Asked
	x.outlook = &o
	if o.Window > 0 {
		x.rec.Fullness = &o
	}
}

// within says which window a request is to fit, if that is known: the provider has not taken more.
func (x *exchange) within(at *fullness.Position, taken int) {
	g := &x.o.glance
	m, known := lookup(at.Model)
	if !known || m.Window == 0 || taken > x.aim.window(m) {
		return
	}
	at.Window = x.aim.window(m)
	at.Room = max(0, m.Input(min(g.MaxOutput, m.Output))+at.Window-m.Window)
	if w := x.aim.policy.Window; w != nil {
		at.CutAt = least0(w.Tokens, x.o.known.Limit)
		if at.CutAt == 0 && w.ModelTokens {
			at.CutAt = at.Window
		}
	}
}

// full takes back what was said of the window if the request was taken although it is larger: then
// this is not its window. It tells the log, once, of a conversation that is nearly full.
func (x *exchange) full() {
	o := x.rec.Fullness
	if o != nil && o.Tokens > o.Window && x.rec.Status < 400 {
		x.rec.Fullness = nil
	} else if o != nil && x.t.Conversations != nil && x.t.Conversations.fills.tells(x.o.key, o.Share) {
		x.t.log().Warn("a conversation is nearly full", "id", x.rec.ID, "model", x.o.glance.Profile.Model, "window", o.Header())
	}
}

// filled notes what the provider has counted of a request that it has taken.
func (x *exchange) filled() {
	if x.text > 0 {
		x.t.Conversations.fills.filled(x.o.key, x.text, fullness.Step{Model: x.rec.Model, Usage: x.rec.Usage, Turns: x.o.glance.Asked})
	}
}

// stopped answers in the place of the provider if whoever runs the proxy wants no more of a
// conversation that has come so far.
func (x *exchange) stopped() *http.Response {
	if x.t.stop == nil || x.outlook == nil {
		return nil
	}
	why := x.t.stop(x.outlook)
	if why == "" {
		return nil
	}
	x.o = x.o.skipped(skipStopped, why)
	a := answered{header: make(http.Header)}
	refuse(&a, x.t.upstream, x.in.URL.Path, http.StatusForbidden, "pare: this conversation is above the limit of "+why+": begin another one, or raise the limit ([stop] in pare.toml)")
	return &http.Response{
		Status: "403 Forbidden", StatusCode: http.StatusForbidden, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.header, Body: io.NopCloser(&a.body), ContentLength: int64(a.body.Len()), Request: x.in,
	}
}

// An answered is an answer that is written here and read by whoever asked a transport.
type answered struct {
	header http.Header
	body   bytes.Buffer
}

func (a *answered) Header() http.Header         { return a.header }
func (a *answered) WriteHeader(int)             {}
func (a *answered) Write(b []byte) (int, error) { return a.body.Write(b) }
