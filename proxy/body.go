package proxy

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// A body is the bytes of a request, read once. They are shared by everybody who sends
// them, and go back to the pool when the last one has let go of them: the client of an
// upstream may still be reading when the reply is there.
type body struct {
	buf  []byte
	pool *sync.Pool // nil: the garbage collector takes it
	refs atomic.Int32
	room claim // given back when all have let go
}

const (
	// tinyBody is a body whose bytes are not lent: a transport writes it together with its
	// head, but only if it knows the type of what it reads from, which cannot tell us when it
	// has been read. To write a larger one like that takes longer than to write both by
	// [onePiece]: it lies in memory that is new each time, and is copied.
	tinyBody    = 4 << 10
	smallBuffer = 64 << 10 // for a body of unknown length
)

// A shelf lends buffers of one size.
type shelf struct {
	size int64
	pool sync.Pool
}

// shelves are buffers by size, so that small requests do not hold large buffers. Beyond the
// largest, the garbage collector has the work: a body of that size costs more than its buffer.
var shelves = [...]shelf{{size: promptBody}, {size: smallBuffer}, {size: 256 << 10}, {size: 1 << 20}, {size: 4 << 20}, {size: 16 << 20}}

// buffer returns an empty buffer with room for n bytes.
func buffer(n int64) ([]byte, *sync.Pool) {
	if n <= tinyBody {
		return make([]byte, 0, n), nil
	}
	for i := range shelves {
		s := &shelves[i]
		if n > s.size {
			continue
		}
		if b, ok := s.pool.Get().(*[]byte); ok {
			return (*b)[:0], &s.pool
		}
		return make([]byte, 0, s.size), &s.pool
	}
	return make([]byte, 0, n), nil
}

// givenBack sees the buffers that nobody uses any more, in tests; nil elsewhere.
var givenBack func([]byte)

// errShort is the error for a body that ends before its length.
var errShort = errors.New("the body of the request ends too early")

// shortened is the error for a body that ends with err before its length.
func shortened(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errShort
	}
	return err
}

// readBody reads a body of the length that was announced, or to its end if that is -1. If
// it is longer than most, whole is false, and rest begins with what has been read.
func readBody(src io.ReadCloser, length, most int64) (b *body, rest io.ReadCloser, err error) {
	if src == nil || src == http.NoBody || length == 0 {
		return &body{}, nil, nil
	}
	if length > most {
		return nil, src, nil
	}
	b = &body{}
	if length > 0 {
		b.buf, b.pool = buffer(length)
		b.buf = b.buf[:length]
		if _, err := io.ReadFull(src, b.buf); err != nil {
			return nil, nil, shortened(err)
		}
		return b, nil, nil
	}
	b.buf, b.pool = buffer(smallBuffer)
	for {
		if len(b.buf) == cap(b.buf) {
			b.grow()
		}
		n, err := src.Read(b.buf[len(b.buf):cap(b.buf)])
		b.buf = b.buf[:len(b.buf)+n]
		switch {
		case int64(len(b.buf)) > most:
			return nil, joined{io.MultiReader(newReader(b), src), src}, nil
		case err == io.EOF:
			return b, nil, nil
		case err != nil:
			return nil, nil, err
		}
	}
}

// grow doubles the buffer; a grown one is not pooled.
func (b *body) grow() {
	next := make([]byte, len(b.buf), 2*cap(b.buf))
	copy(next, b.buf)
	if b.pool != nil {
		if givenBack != nil {
			givenBack(b.buf)
		}
		old := b.buf[:0]
		b.pool.Put(&old)
	}
	b.buf, b.pool = next, nil
}

// joined reads from one and closes the other.
type joined struct {
	io.Reader
	io.Closer
}

// passed counts the bytes of a body that is sent on as it comes.
type passed struct {
	io.ReadCloser
	n atomic.Int64
}

func (p *passed) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	p.n.Add(int64(n))
	return n, err
}

// hold is let go of by release.
func (b *body) hold() { b.refs.Add(1) }

func (b *body) release() {
	if b.refs.Add(-1) > 0 {
		return
	}
	if b.pool != nil {
		if givenBack != nil {
			givenBack(b.buf)
		}
		buf := b.buf[:0]
		b.pool.Put(&buf)
	}
	b.room.free()
	b.buf, b.pool = nil, nil
}

// keep takes the bytes out of the pool: somebody else will hold them for longer.
func (b *body) keep() { b.pool = nil }

// A reader sends a body, or other bytes in its place. Reading ends with Close, whatever
// goroutine is in the middle of it.
type reader struct {
	mu    sync.Mutex
	b     *body
	bytes []byte
	open  bool
}

func newReader(b *body) *reader { return newReaderOf(b, b.buf) }

// sends is the body of an outgoing request: bytes that lie in the body, or that nobody
// changes.
func (b *body) sends(p []byte) io.ReadCloser {
	if b.pool == nil && len(p) <= tinyBody {
		return io.NopCloser(bytes.NewReader(p))
	}
	return newReaderOf(b, p)
}

func newReaderOf(b *body, p []byte) *reader {
	b.hold()
	return &reader{b: b, bytes: p, open: true}
}

func (r *reader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.open {
		return 0, http.ErrBodyReadAfterClose
	}
	if len(r.bytes) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.bytes)
	r.bytes = r.bytes[n:]
	return n, nil
}

// left is how much has not been read.
func (r *reader) left() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return int64(len(r.bytes))
}

// writeTo writes all that is left in one piece, behind a head. The bytes are held meanwhile,
// and Close does not wait: what it interrupts is the connection. The head is not counted.
func (r *reader) writeTo(w io.Writer, head []byte) (int64, error) {
	r.mu.Lock()
	if !r.open {
		r.mu.Unlock()
		return 0, http.ErrBodyReadAfterClose
	}
	left := r.bytes
	r.bytes = nil
	r.b.hold()
	r.mu.Unlock()
	defer r.b.release()
	if len(head) == 0 {
		n, err := w.Write(left)
		return int64(n), err
	}
	both := net.Buffers{head, left}
	n, err := both.WriteTo(w)
	return max(n-int64(len(head)), 0), err
}

func (r *reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open {
		r.open, r.bytes = false, nil
		r.b.release()
	}
	return nil
}
