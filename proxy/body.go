package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
)

// A requestBody is the body of a request, read once. All attempts share its bytes. The buffer
// returns to its pool when the last user has released it, because an HTTP client may still read
// the body when the reply arrives.
type requestBody struct {
	buf    []byte
	pool   *sync.Pool // nil: the garbage collector frees the buffer
	refs   atomic.Int32
	memory memoryClaim // released with the buffer
}

const (
	// tinyBody is the largest body that is copied instead of lent. A transport writes such a body
	// together with its headers if it knows the type of the reader, and that type cannot report
	// when it was read.
	tinyBody    = 4 << 10
	smallBuffer = 64 << 10 // initial size of a buffer
)

// A bufferPool lends buffers of one size.
type bufferPool struct {
	size int64
	pool sync.Pool
}

// bufferPools lends buffers by size, so that small requests do not occupy large buffers. Larger
// buffers are not pooled: processing such a body costs more than its buffer.
var bufferPools = [...]bufferPool{{size: 32 << 10}, {size: smallBuffer}, {size: 256 << 10}, {size: 1 << 20}, {size: 4 << 20}, {size: 16 << 20}}

// buffer returns an empty buffer with room for n bytes, and its pool.
func buffer(n int64) ([]byte, *sync.Pool) {
	if n <= tinyBody {
		return make([]byte, 0, n), nil
	}
	for i := range bufferPools {
		s := &bufferPools[i]
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

// onBufferReturned is called with every returned buffer in tests.
var onBufferReturned func([]byte)

// errBodyTooShort is the error for a body that ends before its announced length.
var errBodyTooShort = errors.New("the body of the request ends too early")

// bodyError returns the error for a body that ends with err before its length.
func bodyError(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errBodyTooShort
	}
	return err
}

// readBody reads a body of a given length, or to its end if the length is -1. If the body is
// larger than the limit, rest reads all of it. Memory is claimed for the bytes that have arrived,
// not for the announced length.
func readBody(ctx context.Context, src io.ReadCloser, length, most int64, room memoryClaim) (b *requestBody, rest io.ReadCloser, err error) {
	b = &requestBody{memory: room}
	if src == nil || src == http.NoBody || length == 0 {
		return b, nil, nil
	}
	if length > most {
		return nil, src, nil
	}
	for {
		if len(b.buf) == cap(b.buf) {
			if err := b.grow(ctx, length); err != nil {
				b.discard()
				return nil, nil, err
			}
		}
		end := int64(cap(b.buf))
		if length > 0 {
			end = min(end, length)
		}
		n, err := src.Read(b.buf[len(b.buf):end])
		b.buf = b.buf[:len(b.buf)+n]
		switch {
		case int64(len(b.buf)) > most:
			r := newBodyReader(b)
			return nil, joinedBody{io.MultiReader(r, src), bothClosers{r, src}}, nil
		case int64(len(b.buf)) == length, err == io.EOF && length < 0:
			return b, nil, nil
		case err != nil:
			b.discard()
			return nil, nil, bodyError(err)
		}
	}
}

// grow enlarges a full buffer. The length is that of the body, or -1.
func (b *requestBody) grow(ctx context.Context, length int64) error {
	size := max(2*int64(cap(b.buf)), smallBuffer)
	if length > 0 {
		size = min(size, length)
	}
	next, pool := buffer(size)
	if err := b.memory.acquire(ctx, int64(cap(next))); err != nil {
		putBack(next, pool)
		return err
	}
	next = next[:len(b.buf)]
	copy(next, b.buf)
	putBack(b.buf, b.pool)
	b.memory.release(int64(cap(b.buf)))
	b.buf, b.pool = next, pool
	return nil
}

// discard releases a body that has no users.
func (b *requestBody) discard() {
	b.hold()
	b.release()
}

func putBack(buf []byte, pool *sync.Pool) {
	if pool == nil {
		return
	}
	if onBufferReturned != nil {
		onBufferReturned(buf)
	}
	buf = buf[:0]
	pool.Put(&buf)
}

// A joinedBody reads from one value and closes another.
type joinedBody struct {
	io.Reader
	io.Closer
}

// bothClosers closes two values.
type bothClosers [2]io.Closer

func (b bothClosers) Close() error { return errors.Join(b[0].Close(), b[1].Close()) }

// A countingBody counts the bytes of a body that is not inspected.
type countingBody struct {
	io.ReadCloser
	count atomic.Int64
}

func (p *countingBody) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	p.count.Add(int64(n))
	return n, err
}

// hold adds a user. Each hold needs a release.
func (b *requestBody) hold() { b.refs.Add(1) }

func (b *requestBody) release() {
	if b.refs.Add(-1) > 0 {
		return
	}
	putBack(b.buf, b.pool)
	b.memory.releaseAll()
	b.buf, b.pool = nil, nil
}

// detach removes the buffer from its pool, for users that retain it.
func (b *requestBody) detach() { b.pool = nil }

// A bodyReader sends a body, or other bytes in its place. It releases the body when it is closed,
// which may happen during a Read.
type bodyReader struct {
	mu    sync.Mutex
	b     *requestBody
	bytes []byte
	open  bool
}

func newBodyReader(b *requestBody) *bodyReader { return newBytesReader(b, b.buf) }

// reader returns a reader for bytes of the body, or for immutable bytes.
func (b *requestBody) reader(p []byte) io.ReadCloser {
	if b.pool == nil && len(p) <= tinyBody {
		return io.NopCloser(bytes.NewReader(p))
	}
	return newBytesReader(b, p)
}

func newBytesReader(b *requestBody, p []byte) *bodyReader {
	b.hold()
	return &bodyReader{b: b, bytes: p, open: true}
}

func (r *bodyReader) Read(p []byte) (int, error) {
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

func (r *bodyReader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open {
		r.open, r.bytes = false, nil
		r.b.release()
	}
	return nil
}
