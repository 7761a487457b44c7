package proxy

import (
	"io"
	"time"
)

// A replyReader counts the bytes of a reply and finishes the exchange at its end.
type replyReader struct {
	io.ReadCloser
	exchange   *exchange
	usage      usageReader
	ended      bool
	isComplete bool // it was read to its end
}

func (w *replyReader) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	w.exchange.record.Reply += int64(n)
	if w.exchange.needsUsage() {
		w.usage.write(p[:n])
	}
	w.exchange.recorded.appendReply(p[:n])
	if err != nil {
		w.isComplete = err == io.EOF
		if w.isComplete {
			w.finish(nil)
		} else {
			w.finish(err)
		}
	}
	return n, err
}

// needsUsage reports whether the usage of the reply is used.
func (x *exchange) needsUsage() bool {
	return x.transport.Record != nil || x.usageComparable || x.recorded != nil || x.result.cache.needsUsage
}

func (x *exchange) recordUsage() {
	if u := x.record.Usage; x.usageComparable && u.Input+u.Read+u.Written > 0 {
		x.transport.Conversations.recordUsage(x.result.conversationKey, x.result.tokens[0], u.Input+u.Read+u.Written)
	}
}

func (w *replyReader) Close() error {
	err := w.ReadCloser.Close()
	w.finish(nil)
	return err
}

func (w *replyReader) finish(err error) {
	if w.ended {
		return
	}
	w.ended = true
	x := w.exchange
	x.record.Took = time.Since(x.start)
	x.record.Usage, x.record.Lost = w.usage.usage()
	x.recordUsage()
	x.recordFullness()
	x.record.Cached = x.transport.Conversations.recordCacheUse(x.result.conversationKey, x.record.Usage, x.result.cache.isCold && !x.result.cache.isUncached)
	x.deliverRecording(w.isComplete)
	x.finish(err)
}
