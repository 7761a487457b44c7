package proxy

import (
	"io"
	"time"
)

// watched counts a reply and notices its end.
type watched struct {
	io.ReadCloser
	x     *exchange
	heard witness
	ended bool
	whole bool // it was read to its end
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	w.x.rec.Reply += int64(n)
	if w.x.listens() {
		w.heard.hear(p[:n])
	}
	w.x.passage.hear(p[:n])
	if err != nil {
		w.whole = err == io.EOF
		if w.whole {
			w.end(nil)
		} else {
			w.end(err)
		}
	}
	return n, err
}

// listens reports whether somebody wants to know what the provider has counted.
func (x *exchange) listens() bool {
	return x.t.Record != nil || x.counts || x.passage != nil || x.o.heat.watched
}

func (x *exchange) counted() {
	if u := x.rec.Usage; x.counts && u.Input+u.Read+u.Written > 0 {
		x.t.Conversations.counted(x.o.key, x.o.tokens[0], u.Input+u.Read+u.Written)
	}
}

func (w *watched) Close() error {
	err := w.ReadCloser.Close()
	w.end(nil)
	return err
}

func (w *watched) end(err error) {
	if w.ended {
		return
	}
	w.ended = true
	x := w.x
	x.rec.Took = time.Since(x.began)
	x.rec.Usage, x.rec.Lost = w.heard.tell()
	x.counted()
	x.filled()
	x.rec.Cached = x.t.Conversations.cached(x.o.key, x.rec.Usage, x.o.heat.cold && !x.o.heat.none)
	x.handPassage(w.whole)
	x.end(err)
}
