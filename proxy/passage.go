package proxy

import (
	"net/http"
	"strings"

	"github.com/pare-llm/pare/proxy/internal/reply"
	"github.com/pare-llm/pare/wire"
)

// A Passage is a request that was answered: the history as the client sent it, and the reply as
// the client got it. It holds the conversation, and no header of the client's but the name of its
// program. Whoever gets one may keep it. Many goroutines may read it.
type Passage struct {
	Record  *Record
	Agent   string // the client's program, such as claude-cli/2.0.1; "": it does not say
	Dialect wire.Dialect
	Model   string // as the address names it; "": the body does
	Body    []byte // JSON, as the client sent it

	reply    []byte // nil: it was cut off, or is too large
	media    string
	coding   string
	streamed bool // the address asks for a stream
}

// maxHeard is the largest reply that a passage has.
const maxHeard = 8 << 20

// pass begins to keep what passes, if somebody wants it: a history that is all there.
func (x *exchange) pass(resp *http.Response) *Passage {
	if x.t.Passed == nil || resp.StatusCode != http.StatusOK || x.sight.counted || x.sight.batch || x.o.requests > 0 || x.o.glance.Messages == 0 || x.o.glance.Delta != "" {
		return nil
	}
	wanted := true
	if x.t.Passes != nil {
		rec := x.rec
		x.call("callback Passes", func() { wanted = x.t.Passes(&rec) })
	}
	if !wanted {
		return nil
	}
	x.body.detach()
	p := &Passage{
		Agent: agentOf(first(x.in.Header, "User-Agent")), Dialect: x.aim.read.Dialect, Model: x.sight.model, Body: x.plain,
		media: first(resp.Header, "Content-Type"), coding: first(resp.Header, "Content-Encoding"), streamed: strings.HasSuffix(x.in.URL.Path, ":streamGenerateContent"),
	}
	p.reply = make([]byte, 0, min(max(resp.ContentLength, 0), maxHeard))
	return p
}

// hear takes a piece of the reply.
func (p *Passage) hear(piece []byte) {
	if p == nil || p.reply == nil {
		return
	}
	if len(p.reply)+len(piece) > maxHeard {
		p.reply = nil
		return
	}
	p.reply = append(p.reply, piece...)
}

// handPassage hands out what has passed. A reply that was not read to its end is none.
func (x *exchange) handPassage(whole bool) {
	if x.passage == nil {
		return
	}
	if !whole {
		x.passage.reply = nil
	}
	rec := x.rec
	x.passage.Record = &rec
	x.call("callback Passed", func() { x.t.Passed(x.passage) })
	x.passage = nil
}

// Size is how many bytes it holds.
func (p *Passage) Size() int { return cap(p.Body) + cap(p.reply) }

// Reply is what the model said, as elements of the dialect's list of messages; nil: nothing, or
// nothing that is whole and can be read.
func (p *Passage) Reply() [][]byte {
	if len(p.reply) == 0 {
		return nil
	}
	plain, err := unpack(p.coding, p.reply, 8*maxHeard)
	if err != nil {
		return nil
	}
	return reply.Messages(reply.Reply{Dialect: p.Dialect, ContentType: p.media, IsStreamed: p.streamed, Body: plain})
}

// agentOf is the program that a header names, without what it says about the machine.
func agentOf(header string) string {
	name, _, _ := strings.Cut(strings.TrimSpace(header), " ")
	if len(name) > 100 {
		name = name[:100]
	}
	return strings.ToValidUTF8(name, "")
}
