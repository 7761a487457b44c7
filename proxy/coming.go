package proxy

import (
	"io"
	"time"

	"github.com/pare-llm/pare/wire"
)

// A coming body is looked at while it comes: a client takes longer to send most of them than
// they take to be looked at, so that little is left to do behind the last byte.
type coming struct {
	src    io.Reader
	buf    []byte // all of its room
	here   int
	waited time.Duration // for the client
	err    error
}

// more waits for more of the body and says how much of it is there.
func (c *coming) more() int {
	began := time.Now()
	for c.err == nil && c.here < len(c.buf) {
		n, err := c.src.Read(c.buf[c.here:])
		c.here += n
		if err != nil && c.here < len(c.buf) {
			c.err = shortened(err)
		}
		if n > 0 {
			break
		}
	}
	c.waited += time.Since(began)
	return c.here
}

// indexed is how many times the room of a body a look takes at most while more is waited for:
// what is dense is not looked at before all of it is there.
const indexed = 4

// read reads the body of the request. Meanwhile it is looked at, if there is room for that.
func (x *exchange) read(room *claim) (*body, io.ReadCloser, error) {
	length := x.in.ContentLength
	if !x.early(length) || !room.spare(indexed*length) {
		return readBody(x.in.Body, length, x.t.maxBody())
	}
	defer room.less(indexed * length)
	b := &body{}
	b.buf, b.pool = buffer(length)
	b.buf = b.buf[:length]
	c := &coming{src: x.in.Body, buf: b.buf}
	began := time.Now()
	x.aim.seen = c.glance(&x.aim)
	for c.here < len(c.buf) && c.err == nil {
		c.more()
	}
	x.rec.Planned = time.Since(began) - c.waited
	return b, nil, c.err
}

// promptBody is a body that comes at once.
const promptBody = 32 << 10

// early reports whether a body is worth a look while it comes. One that has to be unpacked, or
// whose look may take longer than planning may, is not; and a small one is there.
func (x *exchange) early(length int64) bool {
	most := x.t.planTime(x.aim.policy)
	return !x.sight.batch && length > promptBody && length <= x.t.maxBody() && len(x.in.Header["Content-Encoding"]) == 0 && (most < 0 || !slow(length, most))
}

// glance looks at the body; nil: it has to be looked at again when all of it is there, to
// know what is wrong with it.
func (c *coming) glance(a *aim) (seen *wire.Glance) {
	defer func() {
		if recover() != nil {
			seen = nil // the same will be said once more, and told
		}
	}()
	p := parsers.Get().(*wire.Parser)
	g, err := p.GlanceComing(c.buf, c.more(), c.more, a.read, a.policy.Check)
	parsers.Put(p) // not if it panics
	if err != nil {
		return nil
	}
	return &g
}
