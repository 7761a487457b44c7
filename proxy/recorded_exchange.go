package proxy

import (
	"net/http"
	"strings"

	"github.com/pare-llm/pare/proxy/internal/reply"
	"github.com/pare-llm/pare/wire"
)

// A RecordedExchange is an answered request: the history that the client sent and the reply that
// it received. It contains the conversation, but no headers except the name of the client's
// program.
type RecordedExchange struct {
	Record *Record
	// the client's program, such as claude-cli/2.0.1; "" if unknown
	Agent   string
	Dialect wire.Dialect
	Model   string // the model in the URL; "" if the body names it
	Body    []byte // JSON, as the client sent it

	reply       []byte // nil: it was cut off or is too large
	contentType string
	coding      string
	isStreamed  bool // the URL asks for a stream
}

// maxRecordedReply is the size of the largest reply that is recorded.
const maxRecordedReply = 8 << 20

// startRecording returns a new recording if the request has a complete history and the callback
// wants it; otherwise nil.
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

// appendReply appends a piece of the reply.
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

// deliverRecording passes the recording to its callback. An incomplete reply is left out.
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

// Size returns the number of bytes that the recording keeps in memory.
func (p *RecordedExchange) Size() int { return cap(p.Body) + cap(p.reply) }

// Reply returns what the model said, as elements of the dialect's list of messages. It returns
// nil if the model said nothing or the reply cannot be read.
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

// agentOf returns the program that a User-Agent header names, without details about the machine.
func agentOf(header string) string {
	name, _, _ := strings.Cut(strings.TrimSpace(header), " ")
	if len(name) > 100 {
		name = name[:100]
	}
	return strings.ToValidUTF8(name, "")
}
