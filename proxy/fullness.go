package proxy

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/pare-llm/pare/tokens"
)

// A fill is how large the last request of a conversation was, as the provider has counted it.
type fill struct {
	text, tokens int     // text in bytes; see [textBytes]
	growth       float64 // tokens per request; zero: not known yet
}

// fills are those of conversations, bounded.
type fills struct {
	mu  sync.Mutex
	all recent[fill]
}

// recently is how much the newest request counts for the growth of a conversation.
const recently = 0.3

// filled notes what the provider has counted of a request with so much text. A request that is
// smaller than the one before it was cut or is another branch, and says nothing of the growth.
func (f *fills) filled(key string, text, counted int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := f.all.get(key)
	if last == nil {
		f.all.add(key, fill{text: text, tokens: counted})
		return
	}
	if more := float64(counted - last.tokens); more > 0 && last.growth == 0 {
		last.growth = more
	} else if more > 0 {
		last.growth += recently * (more - last.growth)
	}
	last.text, last.tokens = text, counted
}

// estimate is how many tokens a request with so much text has: those of the one before it, and what
// came since at as many bytes a token, but at least two; zero: not known. growth is that of the
// conversation.
func (f *fills) estimate(key string, text int) (size int, growth float64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := f.all.get(key)
	if last == nil || last.text == 0 {
		return 0, 0
	}
	perByte := min(float64(last.tokens)/float64(last.text), 0.5)
	return max(0, last.tokens+int(perByte*float64(text-last.text))), last.growth
}

// textBytes is how many bytes a body has without its pictures and files, which cost no tokens for
// each of their bytes.
func textBytes(body []byte) int {
	n := len(body)
	for _, begin := range []string{`;base64,`, `"data":"`, `"data": "`} {
		for rest := body; ; {
			_, data, found := bytes.Cut(rest, []byte(begin))
			if !found {
				break
			}
			end := bytes.IndexByte(data, '"')
			if end < 0 {
				break
			}
			if rest = data[end:]; !bytes.HasPrefix(data, []byte("data:")) {
				n -= end // a data URL is found by its own beginning
			}
		}
	}
	return max(n, 1)
}

// fullness says in the record how much of the window of its model a request takes, and how many
// more there is room for. The provider has counted the one before it; where it has not, our own
// count is taken, if there is one. A request that is taken although it is larger than the window
// shows that this is not its window: then nothing is said.
func (x *exchange) fullness() {
	r := &x.rec
	m, known := tokens.Lookup(r.Model)
	if !known || m.Window == 0 || r.Requests > 0 {
		return
	}
	size, growth := 0, 0.0
	sent := x.o.body // unpacked
	if sent == nil {
		sent = x.plain
	}
	if x.t.Conversations != nil && x.o.key != "" && len(sent) > 0 {
		x.text = textBytes(sent)
		size, growth = x.t.Conversations.fills.estimate(x.o.key, x.text)
	}
	if size == 0 {
		size = r.TokensIn
		if r.TokensOut > 0 {
			size = r.TokensOut
		}
	}
	if size == 0 || size > m.Window && r.Status < 400 {
		return
	}
	r.Tokens, r.Window = size, m.Window
	if growth > 0 {
		left := int(float64(max(0, m.Window-size)) / growth)
		r.RequestsLeft = &left
	}
}

// filled notes what the provider has counted of a request that it has taken. What it counts of
// several, for recalls, is not the size of one.
func (x *exchange) filled() {
	u := x.rec.Usage
	if n := u.Input + u.Read + u.Written; n > 0 && x.text > 0 && len(x.rec.Recalls) == 0 {
		x.t.Conversations.fills.filled(x.o.key, x.text, n)
	}
}

// fullHeader is what a reply says of the window, as a dictionary of structured fields (RFC 9651);
// "": it is not known.
func (r *Record) fullHeader() string {
	if r.Window == 0 {
		return ""
	}
	text := fmt.Sprintf("tokens=%d, window=%d, share=%.3f", r.Tokens, r.Window, float64(r.Tokens)/float64(r.Window))
	if r.RequestsLeft != nil {
		text += fmt.Sprintf(", requests-left=%d", *r.RequestsLeft)
	}
	return text
}
