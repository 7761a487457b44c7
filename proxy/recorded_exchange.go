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
type RecordedExchange struct {
	Record  *Record
	Agent   string // the client's program, such as claude-cli/2.0.1; "": it does not say
	Dialect wire.Dialect
	Model   string // as the address names it; "": the body does
	Body    []byte // JSON, as the client sent it

	reply       []byte // nil: it was cut off, or is too large
	contentType string
	coding      string
	isStreamed  bool // the address asks for a stream
}

// maxHeard is the largest reply that a passage has.
const maxRecordedReply = 8 << 20

// pass begins to keep what passes, if somebody wants it: a history that is all there.
func (x *exchange) startRecording(resp *http.Response) *RecordedExchange {
	if x.transport.Recorded == nil || resp.StatusCode != http.StatusOK || x.path.isCountOnly || x.path.isBatch || x.result.batchSize > 0 || x.result.glance.Messages == 0 || x.result.glance.Delta != "" {
		return nil
	}
	wanted := true
	if x.transport.WantsRecording != nil {
		rec := x.record
		x.callback("callback Passes", func() { wanted = x.transport.WantsRecording(&rec) })
	}
	if !wanted {
		return nil
	}
	x.body.detach()
	p := &RecordedExchange{
		Agent: agentOf(firstValue(x.request.Header, "User-Agent")), Dialect: x.input.parseOptions.Dialect, Model: x.path.model, Body: x.decompressed,
		contentType: firstValue(resp.Header, "Content-Type"), coding: firstValue(resp.Header, "Content-Encoding"), isStreamed: strings.HasSuffix(x.request.URL.Path, ":streamGenerateContent"),
	}
	p.reply = make([]byte, 0, min(max(resp.ContentLength, 0), maxRecordedReply))
	return p
}

// hear takes a piece of the reply.
func (p *RecordedExchange) appendReply(piece []byte) {
	if p == nil || p.reply == nil {
		return
	}
	if len(p.reply)+len(piece) > maxRecordedReply {
		p.reply = nil
		return
	}
	p.reply = append(p.reply, piece...)
}

// handPassage hands out what has passed. A reply that was not read to its end is none.
func (x *exchange) deliverRecording(whole bool) {
	if x.recorded == nil {
		return
	}
	if !whole {
		x.recorded.reply = nil
	}
	rec := x.record
	x.recorded.Record = &rec
	x.callback("callback Passed", func() { x.transport.Recorded(x.recorded) })
	x.recorded = nil
}

// Size is how many bytes it holds.
func (p *RecordedExchange) Size() int { return cap(p.Body) + cap(p.reply) }

// Reply is what the model said, as elements of the dialect's list of messages; nil: nothing, or
// nothing that is whole and can be read.
func (p *RecordedExchange) Reply() [][]byte {
	if len(p.reply) == 0 {
		return nil
	}
	plain, err := decompress(p.coding, p.reply, 8*maxRecordedReply)
	if err != nil {
		return nil
	}
	return reply.Messages(reply.Reply{Dialect: p.Dialect, ContentType: p.contentType, IsStreamed: p.isStreamed, Body: plain})
}

// agentOf is the program that a header names, without what it says about the machine.
func agentOf(header string) string {
	name, _, _ := strings.Cut(strings.TrimSpace(header), " ")
	if len(name) > 100 {
		name = name[:100]
	}
	return strings.ToValidUTF8(name, "")
}
