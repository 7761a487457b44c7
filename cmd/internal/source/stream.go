package source

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// A stream is the bytes of one source, decompressed. It keeps in memory what has
// been read and not been taken: a document, or the line at hand.
type stream struct {
	r      io.ReadCloser
	size   int64       // how many bytes r gives; -1: unknown
	off    int64       // how many it has given
	ahead  io.ReaderAt // the same bytes, to look ahead in; nil: impossible
	base   int64       // where in ahead the first byte of r stands
	buf    []byte
	eof    bool
	packed string
	err    error // what ended it early
	whole  bool  // all of it is wanted
	lent   *buffer
	plain  counter // what r is if nothing has to be unpacked
}

// A buffer is memory for one file after the other; see [Input.Lend].
type buffer struct{ data []byte }

// buffers are those that nobody uses. One that a large file has grown is not kept.
var buffers = sync.Pool{New: func() any { return &buffer{make([]byte, chunkSize)} }}

func (b *buffer) free() {
	if cap(b.data) <= 16*chunkSize {
		buffers.Put(b)
	}
}

const (
	chunkSize = 256 << 10
	// spare is room behind a line, so that the read that finds the end of the file,
	// or the next line, does not need a new buffer.
	spare = 512
)

// utf8Mark is a byte order mark, which some editors write.
var utf8Mark = []byte{0xef, 0xbb, 0xbf}

// openStream unpacks r, up to max bytes. It counts in done what is read from r. st is the
// file that r is, if it has just been opened; nil: it has not, or is none.
func openStream(r io.Reader, st fs.FileInfo, max int64, done *atomic.Int64, lent *buffer) (*stream, error) {
	s := &stream{size: -1, lent: lent, plain: counter{r, done}}
	s.r = &s.plain
	s.lookAhead(r, st)
	if lent != nil {
		s.buf = lent.data[:0]
	}
	for len(s.buf) < len(zstdMagic) && s.more() {
	}
	if s.err != nil && len(s.buf) == 0 {
		return nil, s.err
	}
	if packedLike(s.buf) == Plain {
		return s, nil
	}
	unpacked, packed, err := Unpack(io.MultiReader(bytes.NewReader(s.buf), s.r), max)
	if err != nil {
		return nil, err
	}
	return &stream{r: unpacked, packed: packed, size: -1}, nil
}

func (s *stream) close() { s.r.Close() }

// drop gives back the memory of a stream that nobody wants.
func (s *stream) drop() {
	if s.lent != nil {
		s.lent.free()
		s.lent, s.buf = nil, nil
	}
}

// lookAhead notes size and place of a regular file, standard input included.
func (s *stream) lookAhead(r io.Reader, st fs.FileInfo) {
	f, ok := r.(*os.File)
	if !ok {
		return
	}
	opened := st != nil
	if !opened {
		var err error
		if st, err = f.Stat(); err != nil {
			return
		}
	}
	if !st.Mode().IsRegular() {
		return
	}
	if !opened { // some of it may have been read
		var err error
		if s.base, err = f.Seek(0, io.SeekCurrent); err != nil || st.Size() < s.base {
			return
		}
	}
	s.ahead, s.size = f, st.Size()-s.base
}

// more reads on and returns false when there is nothing more.
func (s *stream) more() bool {
	if s.eof {
		return false
	}
	if len(s.buf) == cap(s.buf) {
		if s.ahead == nil && cap(s.buf) > 0 {
			return s.far()
		}
		s.reserve(s.wanted())
	}
	n := s.read(s.buf[len(s.buf):cap(s.buf)])
	s.buf = s.buf[:len(s.buf)+n]
	if s.off == s.size && len(s.buf) < cap(s.buf) {
		s.eof = true // all of a file was read, and there was room for more
	}
	return n > 0 || !s.eof
}

// read reads on into p, and notes the end.
func (s *stream) read(p []byte) int {
	n, err := s.r.Read(p)
	s.off += int64(n)
	if err != nil {
		s.eof = true
		if !errors.Is(err, io.EOF) {
			s.err = err
		}
	}
	return n
}

// far is more for a full buffer and a stream that nobody can look ahead in. A line may be a whole
// conversation: it is kept in pieces up to its end, and put together once.
func (s *stream) far() bool {
	const most = 16 << 20
	var pieces [][]byte
	total := 0
	for ended := false; !ended && !s.eof; {
		piece := make([]byte, min(max(chunkSize, total/2), most))
		n := 0
		for n < len(piece) && !ended && !s.eof {
			k := s.read(piece[n:])
			if i := bytes.IndexByte(piece[n:n+k], '\n'); i >= 0 && !s.whole {
				ended = true
			}
			n += k
		}
		pieces, total = append(pieces, piece[:n]), total+n
	}
	s.reserve(max(len(s.buf)+total+spare, cap(s.buf)+cap(s.buf)/2))
	for i, piece := range pieces {
		s.buf, pieces[i] = append(s.buf, piece...), nil
	}
	if total > hugeSize {
		debug.FreeOSMemory() // else they would stay beside it
	}
	return total > 0 || !s.eof
}

// reserve makes room for n bytes in all.
func (s *stream) reserve(n int) {
	if n > cap(s.buf) {
		s.buf = append(make([]byte, 0, n), s.buf...)
		if s.lent != nil {
			s.lent.data = s.buf
		}
	}
}

// wanted returns how large the full buffer should grow: just to the end of its
// last line if that can be seen, because a line may be a whole conversation.
func (s *stream) wanted() int {
	if cap(s.buf) == 0 {
		if s.size >= 0 {
			return int(min(s.size+spare, chunkSize))
		}
		return chunkSize
	}
	end := s.lineEnd()
	if end < s.size {
		return len(s.buf) + int(end-s.off) + spare
	}
	return len(s.buf) + int(end-s.off+spare)
}

// lineEnd looks ahead for the end of the line at hand, as an offset in r.
func (s *stream) lineEnd() int64 {
	window := make([]byte, chunkSize)
	for at := s.base + s.off; ; {
		n, err := s.ahead.ReadAt(window, at)
		if i := bytes.IndexByte(window[:n], '\n'); i >= 0 {
			n, err = i+1, io.EOF
		}
		at += int64(n)
		if err != nil {
			return at - s.base
		}
	}
}

// oneLine reports whether the stream is known to be a single line, of which little has been read.
func (s *stream) oneLine() bool {
	return s.ahead != nil && s.off < s.size && bytes.IndexByte(s.buf, '\n') < 0 && s.lineEnd() == s.size
}

// skipMark passes over a byte order mark and returns its length.
func (s *stream) skipMark() int {
	for len(s.buf) < len(utf8Mark) && s.more() {
	}
	if !bytes.HasPrefix(s.buf, utf8Mark) {
		return 0
	}
	s.buf = s.buf[len(utf8Mark):]
	return len(utf8Mark)
}

// head returns the first bytes, enough to say what is wrong with them.
func (s *stream) head() []byte {
	for len(s.buf) < chunkSize && s.more() {
	}
	return s.buf
}

// text returns where the first byte that is not white space stands, from i on, or
// -1.
func (s *stream) text(i int) int {
	for ; ; i++ {
		for i >= len(s.buf) {
			if !s.more() {
				return -1
			}
		}
		if c := s.buf[i]; c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return i
		}
	}
}

// newline returns where the first line break stands, from i on, or -1.
func (s *stream) newline(i int) int {
	for {
		if n := bytes.IndexByte(s.buf[i:], '\n'); n >= 0 {
			return i + n
		}
		i = len(s.buf)
		if !s.more() {
			return -1
		}
	}
}

// all returns everything, in one buffer that is allocated once if the size is
// known.
func (s *stream) all() []byte {
	s.whole = true
	if rest := s.size - s.off; s.size >= 0 && !s.eof {
		if n := len(s.buf) + int(rest) + 1; n > cap(s.buf) {
			s.reserve(n + spare)
		}
	}
	for s.more() {
	}
	return s.buf
}

// lines takes all whole lines that are at hand, and at least one. It returns
// nothing at the end.
func (s *stream) lines() []byte {
	for seen := 0; ; {
		if n := bytes.LastIndexByte(s.buf[seen:], '\n'); n >= 0 {
			return s.take(seen + n + 1)
		}
		seen = len(s.buf)
		if !s.more() {
			return s.take(seen)
		}
	}
}

// take hands out the first n bytes for good.
func (s *stream) take(n int) []byte {
	rest := s.buf[n:]
	if n < cap(s.buf)/4 {
		// A slow writer sends short lines one by one; keep the buffer.
		taken := bytes.Clone(s.buf[:n])
		s.buf = s.buf[:copy(s.buf, rest)]
		return taken
	}
	taken := s.buf[:n:n]
	s.buf = append(make([]byte, 0, max(chunkSize, len(rest)+spare)), rest...)
	return taken
}

// countLines counts the lines of data, the last one also if it is not ended.
func countLines(data []byte) int {
	n := bytes.Count(data, []byte{'\n'})
	if len(data) > 0 && data[len(data)-1] != '\n' {
		n++
	}
	return n
}

// A counter counts the bytes that pass. Whoever has opened what it reads closes that.
type counter struct {
	r    io.Reader
	done *atomic.Int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.done.Add(int64(n))
	return n, err
}

func (c *counter) Close() error { return nil }
